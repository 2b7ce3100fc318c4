"""Read an environment out of whatever people paste: reports, tables, sessions, error messages."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from torchguide.environment import Device, Package, Sign, Snapshot, cuda_of_tag
from torchguide.environment_lines import lines_of
from torchguide.environment_readers import read
from torchguide.environment_signs import signs_in

if TYPE_CHECKING:
    from torchguide.environment_labels import Found

__all__ = ["UnusableTextError", "parse"]

_BOX = re.compile(
    r"\.dockerenv|\bdocker[ -](?:run|exec|compose|image)\b|root@[0-9a-f]{12}\b|\bkubectl\b"
    r"|NVIDIA Deep Learning Container License|hub\.docker\.com|nvcr\.io/"
    r"|\b(?:in|inside) (?:the |a |my )?(?:docker )?container\b|(?:在|进入?) ?(?:docker )?容器"
)
_LIMIT = 4_000_000  # characters; a report has some thousand
_TOPIC = re.compile(r"torch|cuda|nvidia|\bgpu|python|\bpip\b|conda|driver|numpy", re.IGNORECASE)


class UnusableTextError(ValueError):
    """The text holds nothing about an environment."""


def parse(text: str) -> Snapshot:
    """Read a report of any kind, or the doctor's own JSON.

    Raises:
        UnusableTextError: the text is empty or says nothing about torch, CUDA or Python.
    """
    text = text[:_LIMIT].replace("\x00", "")
    if not text.strip():
        raise UnusableTextError("empty")
    data = _json(text)
    if data is not None:
        own = data.get("environment", data.get("facts"))
        if isinstance(own, dict) and "verdict" in data:
            return _from_dict(own)
        text = "\n".join(_flat(data))
    lines = lines_of(text)
    found = read(lines)
    signs = signs_in(lines)
    if not (found.fields or found.gpus or found.pip or found.conda or signs) and not _TOPIC.search(
        text
    ):
        raise UnusableTextError("unrelated")
    return _snapshot(found, signs, lines)


def _json(text: str) -> dict[str, Any] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _flat(data: object, depth: int = 0) -> list[str]:
    """Turn foreign JSON into `key: value` lines."""
    if depth > 8:
        return []
    if isinstance(data, dict):
        out: list[str] = []
        for key, value in data.items():
            inner = _flat(value, depth + 1)
            simple = not isinstance(value, (dict, list))
            out += [f"{key}: {inner[0] if inner else ''}"] if simple else [f"{key}:", *inner]
        return out
    if isinstance(data, list):
        return [line for entry in data for line in _flat(entry, depth + 1)]
    return str(data).split("\n")


def _from_dict(data: dict[str, Any]) -> Snapshot:
    """Read back what `Snapshot.as_dict` or `Snapshot.facts` wrote; odd entries are left out."""
    known: dict[str, Any] = {}
    empty = Snapshot()
    for name, value in data.items():
        default = getattr(empty, name, None) if name in Snapshot.__dataclass_fields__ else ...
        if default is ... or value is None:
            continue
        try:
            known[name] = _field(name, value, default)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
    known.setdefault("source", "json")
    return Snapshot(**known)


def _field(name: str, value: Any, default: object) -> object:
    if name in ("gpus", "signs", "pip_packages", "conda_packages"):
        return _nested(name, value)
    if isinstance(default, dict):
        return {str(key): str(entry) for key, entry in value.items()}
    if isinstance(default, (tuple, frozenset)):
        return type(default)(str(entry) for entry in value)
    kinds: dict[str, type] = dict.fromkeys(("cuda_available", "container", "cjk_font"), bool)
    kinds |= dict.fromkeys(("wsl", "device_count", "shm_bytes"), int)
    kinds |= {"jetson": bool}
    if not isinstance(value, kinds.get(name, str)):
        raise TypeError(name)
    return value


def _nested(name: str, value: Any) -> object:
    if name == "gpus":
        return tuple(Device(g) if isinstance(g, str) else Device(**g) for g in value)
    if name == "signs":
        return tuple(Sign(s["id"], s["text"], s["line"], tuple(s["values"])) for s in value)
    return {str(key): Package(**entry) for key, entry in value.items()}


def _snapshot(found: Found, signs: tuple[Sign, ...], lines: list[str]) -> Snapshot:
    fields = found.fields
    text_platform = " ".join(filter(None, (fields.get("platform"), fields.get("os"))))
    kernel = _kernel(text_platform)
    gpus = _gpus(found)
    torch = _torch(found, signs)
    system = _system(found, text_platform)
    wsl = _wsl(kernel, fields, system, text_platform)
    system = "linux" if wsl else system
    tegra = "tegra" in text_platform or any(
        re.search(r"nvgpu|tegra", g.name, re.IGNORECASE) for g in gpus
    )
    glibc = re.search(r"glibc[- ]?(\d\.\d+)", f"{fields.get('libc', '')} {text_platform}")
    machine = re.search(r"x86_64|aarch64|arm64|AMD64", text_platform)
    cuda = fields.get("driver_cuda")
    absent = found.absent - set(fields) - ({"gpus"} if gpus else set())
    return Snapshot(
        source=_source(found),
        torch=torch,
        torch_cuda=_cuda(found, torch),
        architectures=tuple((fields.get("arch_list") or _arch_signs(signs)).split()),
        cuda_available=_available(found, signs),
        driver=fields.get("driver"),
        driver_cuda=cuda if cuda and cuda[0].isdigit() else _found_version(signs),
        gpus=gpus or _warned_of(signs),
        python=_python(found),
        os=_os_name(fields, wsl, system),
        system=system,
        machine={"AMD64": "x86_64"}.get(machine.group(), machine.group()) if machine else None,
        kernel=kernel,
        glibc=glibc.group(1) if glibc else None,
        wsl=wsl,
        container=True if any(_BOX.search(line) for line in lines) else None,
        jetson=tegra,
        toolkit=fields.get("toolkit"),
        manager="conda" if found.conda and not found.pip else None,
        pip_packages=_pip(found, signs),
        conda_packages=found.conda,
        visible_devices=fields.get("visible_devices"),
        device_count=int(fields["device_count"]) if "device_count" in fields else None,
        launcher=found.launcher,
        signs=(*signs, *_derived(fields, cuda)),
        absent=frozenset(absent),
        where=found.where,
    )


def _source(found: Found) -> str:
    if "models" in found.fields or "cuda_traces" in found.fields:
        return "collect_env"
    return found.shown[0] if found.shown else "text"


def _kernel(platform: str) -> str | None:
    match = re.search(r"\bLinux[- ](\d+\.\d+[\w.+-]*)", platform)
    return match.group(1) if match else None


def _system(found: Found, platform: str) -> str | None:
    fields = found.fields
    told = f"{platform} {fields.get('sys_platform', '')}".lower()
    if re.search(r"mac ?os|darwin", told):
        return "macos"
    if re.search(r"\bwindows\b|win32|^nt\b|\bnt ", f"{told} ") and "wsl" not in told:
        return "windows"
    if re.search(r"linux|ubuntu|debian|centos|red hat|rocky|posix|fedora|suse|\bos arch", told):
        return "linux"
    if re.fullmatch(r"\d{3}\.\d+\.\d+", fields.get("driver", "")):
        return "linux"  # drivers for Windows have two numbers
    return next((name for name in ("windows", "linux") if name in fields), None)


def _wsl(
    kernel: str | None, fields: dict[str, str], system: str | None, platform: str
) -> int | None:
    if kernel and re.search(r"-microsoft-standard|WSL2", kernel):
        return 2
    if kernel and "Microsoft" in kernel:
        return 1
    tool, driver = fields.get("smi_tool"), fields.get("driver")
    if tool and driver and tool != driver and system != "windows":
        return 2  # inside WSL nvidia-smi has a number of its own and prints the Windows driver
    if "wsl" in fields and not kernel and not re.search(r"windows|macos", platform, re.IGNORECASE):
        form = fields["wsl"].startswith(
            "WSL"
        )  # filled in; prose counts where nothing is against it
        if form or "windows" not in fields:
            return int(fields["wsl"][-1])
    return None


def _gpus(found: Found) -> tuple[Device, ...]:
    order = ("lines", "smi", "ultralytics", "type", "comfy", "fastai", "csv", "lightning", "xpu")
    best: dict[str, Device] = {}
    for reader in (*order, "session", "models", "named"):
        devices = found.gpus.get(reader, {})
        if len(devices) > len(best):
            best = devices
    return tuple(best.values())


def _warned_of(signs: tuple[Sign, ...]) -> tuple[Device, ...]:
    """Give the GPUs that torch's warnings name, where nothing else does."""
    found = {sign.text: Device(*sign.values) for sign in signs if sign.id == "arch-found"}
    if found:
        return tuple(found.values())
    named = {sign.values for sign in signs if sign.id == "arch-warning"}
    return tuple(Device(name, f"{cc[:-1]}.{cc[-1]}") for name, cc in sorted(named))


def _torch(found: Found, signs: tuple[Sign, ...]) -> str | None:
    told = found.fields.get("torch")
    for package in (found.pip.get("torch"), found.conda.get("pytorch"), found.conda.get("torch")):
        if not told and package:
            told = package.version
    if not told:
        for sign in signs:
            has = re.search(r"you(?:'ll)? have torch (\d\S*)", sign.text)
            if sign.id == "conflict" and has:
                told = has.group(1)
    return told.rstrip(".,") if told else None


def _conda_cuda(found: Found) -> str | None:
    if "cpuonly" in found.conda or "pytorch-cpu" in found.conda:
        return "cpu"
    package = found.conda.get("pytorch")
    build = package.build if package else ""
    mutex = found.conda.get("pytorch-mutex")
    if re.search(r"(?:^|_)cpu(?:_|$)", build) or (mutex and mutex.build.startswith("cpu")):
        return "cpu"
    dotted = re.search(r"cuda(\d+\.\d+)", build)
    plain = re.search(r"cuda_?(\d{2})(\d)(?!\d)", build)
    if dotted or plain:
        return dotted.group(1) if dotted else f"{plain[1]}.{plain[2]}" if plain else None
    toolkit = found.conda.get("pytorch-cuda")
    return toolkit.version if toolkit else None


def _cuda(found: Found, torch: str | None) -> str | None:
    told = "cpu" if "cpu_build" in found.fields else found.fields.get("torch_cuda")
    tag = cuda_of_tag(torch) if torch else None
    if told in ("rocm", "xpu"):
        return told
    loose = found.rank_of("torch_cuda") >= 3  # only an install command
    if tag and (told is None or loose or tag in ("cpu", "rocm", "xpu")):
        return tag
    from_conda = _conda_cuda(found) if "torch" not in found.pip or not torch else None
    return from_conda if from_conda and (told is None or loose) else told


def _pip(found: Found, signs: tuple[Sign, ...]) -> dict[str, Package]:
    packages = dict(found.pip)
    for name in ("torchvision", "torchaudio", "numpy"):
        if name in found.fields:
            packages.setdefault(name, Package(found.fields[name]))
    for sign in signs:
        if sign.id == "conflict" and sign.values[0] in ("torchvision", "torchaudio"):
            packages.setdefault(sign.values[0], Package(sign.values[1]))
    return packages


def _python(found: Found) -> str | None:
    told = found.fields.get("python")
    if told:
        return told
    for name in ("pytorch", "torchvision", "torchaudio", "numpy"):
        package = found.conda.get(name)
        build = re.search(r"py(\d)\.?(\d+)", package.build) if package else None
        if build:
            return f"{build.group(1)}.{build.group(2)}"
    return None


def _os_name(fields: dict[str, str], wsl: int | None, system: str | None) -> str | None:
    name = fields.get("os") or fields.get("platform") or {"windows": "Windows"}.get(system or "")
    if name in ("nt", "posix"):
        name = {"nt": "Windows", "posix": "Linux"}[name]
    return f"{name} (WSL{wsl})" if name and wsl and "WSL" not in name else name


def _available(found: Found, signs: tuple[Sign, ...]) -> bool | None:
    fields = found.fields
    found_devices = bool(found.gpus.get("ultralytics") or found.gpus.get("comfy"))
    if "cuda_available" in fields:
        return fields["cuda_available"] == "yes"
    if found_devices or any(sign.id in ("arch-warning", "arch-found") for sign in signs):
        return True  # torch has named the device
    if any(sign.id in ("not-compiled", "no-gpus", "wants-gpu", "driver-old") for sign in signs):
        return False
    return None


def _found_version(signs: tuple[Sign, ...]) -> str | None:
    for sign in signs:
        digits = sign.values[0] if sign.id == "driver-old" and sign.values else ""
        if digits.isdigit() and len(digits) >= 4:
            return f"{int(digits) // 1000}.{int(digits) % 1000 // 10}"
    return None


def _arch_signs(signs: tuple[Sign, ...]) -> str:
    for sign in signs:
        if sign.id == "arch-list":
            return " ".join(re.findall(r"(?:sm|compute)_\d+[af]?", sign.values[0]))
    return ""


def _derived(fields: dict[str, str], cuda: str | None) -> list[Sign]:
    out = []
    if cuda in ("ERR!", "N/A"):
        out.append(Sign("smi-cuda", fields.get("driver_cuda", ""), 0, (cuda,)))
    if fields.get("bits") == "32":
        out.append(Sign("bits32", "32-bit Python"))
    if "asked" in fields:
        out.append(Sign("asked", fields["asked"]))
    if "cuda_traces" in fields:
        out.append(Sign("cuda-traces", fields["cuda_traces"]))
    return out
