"""Probing this machine: every probe can be replaced, and none can break the others."""

# ruff: noqa: ARG002 -- the recorded probes keep the signatures of the real ones

from __future__ import annotations

import subprocess
import sys

import pytest

from torchguide.collect import collect
from torchguide.doctor import diagnose
from torchguide.probes import Completed, Probes

SMI = """\
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
|   0  NVIDIA A10                     Off |   00000000:01:00.0 Off |                    0 |
"""
VERSION = "__version__ = '2.11.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n"


class Recorded(Probes):
    """A machine as it was written down."""

    def __init__(self, **answers):
        super().__init__(environ=answers.pop("environ", {}))
        self.answers = {
            "smi": Completed(0, SMI),
            "load": Completed(0, "loaded 0 sm_75 sm_80 sm_86\n"),
            "files": {"/t/torch/version.py": VERSION, "/proc/1/cgroup": "0::/\n"},
            "exists": (),
            "kernel": "6.8.0-45-generic",
            **answers,
        }

    def run(self, *command, timeout=10.0):
        return (
            self.answers["smi"] if command[0] == "nvidia-smi" else Completed(None, err="not found")
        )

    def load_torch(self, folder, timeout):
        return self.answers["load"]

    def read(self, path):
        return self.answers["files"].get(path)

    def exists(self, path):
        return path in self.answers["exists"]

    def version(self, package):
        return {"torch": "2.11.0", "torchvision": "0.26.0"}.get(package)

    def metadata(self, package, name):
        return self.answers.get("installer", "pip\n")

    def torch_folder(self):
        return self.answers.get("folder", "/t/torch")

    def import_origin(self, package, folder):
        return self.answers.get("shadow")

    def platform(self):
        return "Linux", self.answers["kernel"], "x86_64", "2.39"

    def os_name(self):
        return "Ubuntu 24.04.1 LTS"

    def python(self):
        return "3.12.3"

    def shm_bytes(self):
        return self.answers.get("shm", 8 << 30)


def findings(**answers):
    diagnosis = diagnose(collect(Recorded(**answers)))
    return diagnosis, [finding.id for finding in diagnosis.findings]


def test_recorded_machine_is_read():
    snapshot = collect(Recorded())
    assert (snapshot.torch, snapshot.torch_cuda) == ("2.11.0+cu130", "13.0")
    assert (snapshot.driver, snapshot.driver_cuda) == ("550.90.07", "12.4")
    assert [gpu.name for gpu in snapshot.gpus] == ["NVIDIA A10"]
    assert snapshot.cuda_available is False
    assert snapshot.architectures == ("sm_75", "sm_80", "sm_86")
    assert (snapshot.manager, snapshot.wsl, snapshot.container) == ("pip", None, False)


def test_driver_too_old_gets_the_command_for_this_machine():
    diagnosis, ids = findings()
    assert ids[0] == "driver-too-old"
    assert "torch==2.14.1 torchvision==0.29.1" in diagnosis.findings[0].fix[1]
    assert diagnosis.findings[0].fix[1].endswith("cu126")


def test_gpu_that_torch_sees_is_available():
    diagnosis, _ = findings(
        load=Completed(0, "loaded 1 sm_75 sm_80 sm_86\n"),
        smi=Completed(0, SMI.replace("550.90.07", "580.95.05")),
    )
    assert diagnosis.verdict == "ok"
    assert diagnosis.snapshot.cuda_available is True


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (Completed(None, err="timeout"), "no answer within 60 s"),
        (Completed(-11), "the process ended with status -11"),
        (
            Completed(1, err="Traceback\nImportError: libcudart.so.13: cannot open"),
            "ImportError: lib",
        ),
    ],
    ids=["hangs", "crashes", "fails"],
)
def test_torch_that_does_not_load_is_a_finding(load, reason):
    diagnosis, ids = findings(load=load)
    assert "torch-broken" in ids
    broken = next(f for f in diagnosis.findings if f.id == "torch-broken")
    assert reason in broken.evidence[0]


def test_torch_that_is_absent_is_a_finding():
    class Without(Recorded):
        def version(self, package):
            return None

    diagnosis = diagnose(collect(Without(folder=None)))
    assert [finding.id for finding in diagnosis.findings] == ["torch-missing"]
    assert diagnosis.findings[0].fix[0].startswith("python -m pip install torch")


def test_shadowing_file_is_a_finding():
    _, ids = findings(shadow="/project/torch.py")
    assert ids[0] == "torch-shadowed"


def test_missing_driver_in_a_container_and_under_wsl():
    nothing = Completed(None, err="not found")
    _, ids = findings(smi=nothing, exists=("/.dockerenv",), shm=64 << 20)
    assert {"container-no-gpu", "no-nvidia-driver", "small-shm"} <= set(ids)
    _, ids = findings(smi=nothing, kernel="5.15.167.4-microsoft-standard-WSL2")
    assert "wsl-driver" in ids


def test_driver_is_read_from_the_kernel_where_nvidia_smi_is_missing():
    version = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 16\n"
    files = {"/t/torch/version.py": VERSION, "/proc/driver/nvidia/version": version}
    snapshot = collect(Recorded(smi=Completed(None, err="not found"), files=files))
    assert snapshot.driver == "580.95.05"


def test_hidden_devices_are_found():
    _, ids = findings(
        environ={"CUDA_VISIBLE_DEVICES": "-1"}, smi=Completed(0, SMI.replace("550.90", "580.90"))
    )
    assert "devices-hidden" in ids


def test_manager_is_the_one_that_installed_torch():
    assert collect(Recorded(installer="uv")).manager == "uv"
    assert collect(Recorded(installer="conda\n")).manager == "conda"
    assert collect(Recorded(installer="")).manager == "pip"


def test_failing_probes_leave_gaps_and_no_crash():
    class Broken(Probes):
        def __getattribute__(self, name):
            if name in ("environ", "__class__") or name.startswith("__"):
                return super().__getattribute__(name)
            raise RuntimeError(name)

    snapshot = collect(Broken())
    assert diagnose(snapshot).verdict in ("ok", "problem", "unknown")


def test_real_machine_is_read_without_importing_torch_here():
    program = (
        "import sys\n"
        "from torchguide.collect import collect\n"
        "snapshot = collect(load_torch=False)\n"
        "assert snapshot.python and snapshot.os\n"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_run_survives_a_missing_and_a_slow_program():
    probes = Probes()
    assert probes.run("no-such-program-here").status is None
    assert (
        probes.run(sys.executable, "-c", "import time; time.sleep(9)", timeout=0.2).err == "timeout"
    )


def test_shadow_is_a_file_or_a_folder_with_code(tmp_path):
    probes = Probes()
    assert probes.import_origin("torch", str(tmp_path)) is None
    (tmp_path / "torch").mkdir()
    assert probes.import_origin("torch", str(tmp_path)) is None
    (tmp_path / "torch.py").write_text("")
    assert probes.import_origin("torch", str(tmp_path)) == str(tmp_path / "torch.py")
