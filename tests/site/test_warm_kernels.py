"""Forked kernels do what ordinary ones do: the same cells in both, and what can go wrong."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from myst_nb.core.read import read_myst_markdown_notebook

from page_client import PageError, execute_page
from warm_kernels import WarmProvisioner, warm_kernels

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="kernels are forked on Linux only"),
]
ENVIRON = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
FRONT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"


@pytest.fixture(scope="module")
def forked() -> Iterator[None]:
    with warm_kernels(environ=ENVIRON):
        yield


@pytest.fixture
def ordinary() -> Iterator[None]:
    with warm_kernels(environ=ENVIRON, fork=False):
        yield


def run(folder: Path, *cells: str, timeout: int = 60) -> list[str]:
    """Execute cells as a page; return the text of each cell's outputs."""
    blocks = [f"```{{code-cell}} python\n{cell.strip()}\n```\n" for cell in cells]
    text = FRONT + "# Page\n\n" + "\n".join(blocks)
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # ipykernel captures less where it sees this
    path = folder / "page.md"
    path.write_text(text, "utf-8")
    notebook = read_myst_markdown_notebook(text, add_source_map=True, path=path)
    execute_page(path, text, notebook, timeout)
    return [shown(cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def shown(outputs) -> str:
    parts = []
    for output in outputs:
        data = output.get("data", {})
        parts.append(
            output.get("text")
            or data.get("image/png")
            or data.get("text/plain")
            or "\n".join(output["traceback"])
        )
    return "".join(
        f"[{o.get('name', o.output_type)}]{p}" for o, p in zip(outputs, parts, strict=True)
    )


def ended(pid: int) -> bool:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


STATE = """
import multiprocessing, os, random, sys, threading, warnings
import matplotlib, numpy as np, torch
print(__name__, sys.argv[0], sys.path, os.getcwd(), matplotlib.get_backend())
print(torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled())
print(multiprocessing.get_start_method(), multiprocessing.current_process().name)
print(sorted(k for k in os.environ if not k.startswith(("JPY", "_"))))
print(os.getsid(0) == os.getpid(), threading.current_thread().name, sys.stdin.closed)
print({"a", "b", "c"}, sys.flags, sorted(str(f[:3]) for f in warnings.filters))
print(sorted(v for v in globals() if not v.startswith("_")))
"""
DRAW = """
import matplotlib.pyplot as plt
plt.plot([1, 3, 2]); plt.title("$x^2$");
"""
NOISE = """
print("to stderr", file=sys.stderr); os.system("echo from a command"); os.system("echo bad >&2")
"""
SEEDED = """
torch.manual_seed(0); np.random.seed(0); random.seed(0)
torch.rand(3).tolist(), np.random.rand(), random.random()
"""
RAISES = """
:tags: [raises-exception]

torch.ones(2) @ torch.ones(3)
"""


def test_outputs_are_those_of_ordinary_kernels(tmp_path, forked):
    cells = (STATE, DRAW, NOISE, SEEDED, RAISES)
    cold_starts = WarmProvisioner.cold_starts
    forked_outputs = run(tmp_path, *cells)
    assert WarmProvisioner.cold_starts == cold_starts
    with warm_kernels(environ=ENVIRON, fork=False):
        ordinary_outputs = run(tmp_path, *cells)
    for one, other in zip(forked_outputs, ordinary_outputs, strict=True):
        assert one == other
    assert "iVBOR" in forked_outputs[1]
    assert "[stderr]to stderr" in forked_outputs[2]
    assert "from a command" in forked_outputs[2]
    assert "size mismatch" in forked_outputs[4] or "inconsistent tensor size" in forked_outputs[4]


def test_random_states_differ_unless_seeded(tmp_path, forked):
    cell = "import random, numpy, torch\ntorch.rand(3), numpy.random.rand(3), random.random()"
    assert run(tmp_path, cell) != run(tmp_path, cell)


def test_data_loader_workers(tmp_path, forked):
    for method in ("fork", "spawn"):
        (output,) = run(
            tmp_path,
            f"""
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.arange(4.0))
loader = DataLoader(data, batch_size=2, num_workers=1, multiprocessing_context="{method}")
[batch.tolist() for (batch,) in loader]
""",
        )
        assert output == "[execute_result][[0.0, 1.0], [2.0, 3.0]]", method


def test_gloo_between_processes_of_a_page(tmp_path, forked):
    (output,) = run(
        tmp_path,
        """
import torch, torch.distributed as dist, torch.multiprocessing as mp

def member(rank, results):
    dist.init_process_group("gloo", init_method="file://{path}", rank=rank, world_size=2)
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x)
    results.put((rank, x.item()))
    dist.destroy_process_group()

context = mp.get_context("fork")
results = context.SimpleQueue()
members = [context.Process(target=member, args=(rank, results)) for rank in range(2)]
[each.start() for each in members]; [each.join() for each in members]
sorted(results.get() for _ in members)
""".replace("{path}", str(tmp_path / "meeting")),
    )
    assert output.endswith("[execute_result][(0, 3.0), (1, 3.0)]")


@pytest.mark.parametrize("way", ["forked", "ordinary"])
def test_a_cell_that_takes_too_long_fails_with_its_line_and_its_kernel_ends(tmp_path, way, request):
    request.getfixturevalue(way)
    started = tmp_path / "pid"
    cell = f"import os\nopen({str(started)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
    with pytest.raises(PageError, match="took longer than 2 s") as caught:
        run(tmp_path, "1 + 1", cell, timeout=2)
    assert caught.value.line == 15
    assert ended(int(started.read_text()))


@pytest.mark.parametrize("way", ["forked", "ordinary"])
def test_a_kernel_that_is_killed_fails_its_page(tmp_path, way, request):
    request.getfixturevalue(way)
    with pytest.raises(PageError, match=r"page\.md:15: the kernel died"):
        run(tmp_path, "1 + 1", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")


def test_an_error_names_the_line_of_the_page(tmp_path, forked):
    cell = """
:tags: [measured]

def outer():
    return 1 / 0

outer()
"""
    with pytest.raises(PageError) as caught:
        run(tmp_path, "1 + 1", cell)
    assert str(caught.value).startswith(f"{tmp_path}/page.md:20: ZeroDivisionError: division by")
    assert "return 1 / 0" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_cell_said_to_raise_must_raise(tmp_path, forked):
    with pytest.raises(PageError, match=r"page\.md:13: .*raised nothing"):
        run(tmp_path, ":tags: [raises-exception]\n\n1 + 1")


def test_what_a_page_leaves_running_is_ended(tmp_path, forked):
    (output,) = run(tmp_path, "import subprocess\nsubprocess.Popen(['sleep', '600']).pid")
    assert ended(int(output.removeprefix("[execute_result]")))


def test_warnings_of_torch_are_errors_unless_the_cell_catches_them(tmp_path, forked):
    old = "import torch\ntorch.cuda.amp.autocast(enabled=False)"
    with pytest.raises(PageError, match="FutureWarning: `torch"):
        run(tmp_path, old)
    caught = """
import warnings, torch
with warnings.catch_warnings(record=True) as caught:
    torch.cuda.amp.autocast(enabled=False)
[each.category.__name__ for each in caught]
"""
    assert run(tmp_path, caught) == ["[execute_result]['FutureWarning']"]
    other = "import sys, types\nm = types.ModuleType('m')\nexec('import warnings\\ndef f(): warnings.warn(\"no\", FutureWarning)', m.__dict__)\nm.f()"
    assert "FutureWarning: no" in run(tmp_path, other)[0]


def test_without_the_helper_kernels_start_in_the_ordinary_way(tmp_path, monkeypatch):
    monkeypatch.setattr(WarmProvisioner, "cold_starts", 0)
    with warm_kernels(environ=ENVIRON, modules=()) as helper:
        assert run(tmp_path, "1 + 1") == ["[execute_result]2"]
        assert WarmProvisioner.cold_starts == 0
        os.kill(helper, signal.SIGKILL)
        assert run(tmp_path, "2 + 2") == ["[execute_result]4"]
        assert WarmProvisioner.cold_starts == 1
