"""What the table says about old code is what this torch does with it."""

from __future__ import annotations

import importlib
import io
import warnings
from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn

from torchguide.facts import Deprecation, table
from torchguide.versions import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEASURED = (2, 13)  # the oldest torch that the table was measured with

pytestmark = pytest.mark.skipif(
    numbers(torch.__version__)[:2] < MEASURED, reason="the table was measured from torch 2.13 on"
)

SQUARE = torch.tensor([[2.0, 1.0], [1.0, 3.0]])
IMAGE = torch.ones(1, 1, 2, 2)


def _load_whole_module() -> None:
    file = io.BytesIO()
    torch.save(nn.Linear(2, 2), file)
    file.seek(0)
    torch.load(file)


def _read_gradient_of_non_leaf() -> None:
    middle = torch.ones(2, requires_grad=True) * 2
    middle.sum().backward()
    assert middle.grad is None


def _scheduler(**options: bool) -> torch.optim.lr_scheduler.StepLR:
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1)
    return torch.optim.lr_scheduler.StepLR(optimizer, 1, **options)


OLD: dict[str, Callable[[], object]] = {
    "torch.cuda.amp.autocast": torch.cuda.amp.autocast,
    "torch.cuda.amp.GradScaler": torch.cuda.amp.GradScaler,
    "torch.cuda.amp.custom_fwd": lambda: torch.cuda.amp.custom_fwd(lambda *each: each),
    "torch.cpu.amp.autocast": torch.cpu.amp.autocast,
    "torch.load(f) of a whole": _load_whole_module,
    "torch.jit.script": lambda: torch.jit.trace(nn.Linear(2, 2), torch.ones(1, 2)),
    "lr_scheduler(..., verbose": lambda: _scheduler(verbose=True),
    "scheduler.get_lr()": lambda: _scheduler().get_lr(),
    "torch.onnx.dynamo_export": lambda: torch.onnx.dynamo_export,
    "import functorch": lambda: importlib.import_module("functorch").vmap(torch.sin)(IMAGE),
    "set_default_tensor_type": lambda: torch.set_default_tensor_type(torch.FloatTensor),
    "torch.solve": lambda: torch.solve(SQUARE, SQUARE),
    "torch.qr": lambda: torch.qr(SQUARE),
    "torch.cholesky": lambda: torch.cholesky(SQUARE),
    "torch.lu,": lambda: torch.lu(SQUARE),
    "torch.stft": lambda: torch.stft(torch.ones(64), 16, window=torch.ones(16)),
    "torch.range": lambda: torch.range(0, 3),
    "x.T on": lambda: torch.ones(2, 3, 4).T,
    "torch.meshgrid": lambda: torch.meshgrid(torch.ones(2), torch.ones(3)),
    "torch.cross": lambda: torch.cross(torch.eye(3), torch.ones(3, 3)),
    "tensor.storage()": SQUARE.storage,
    "Variable(x": lambda: torch.autograd.Variable(SQUARE, volatile=True),
    "nn.MSELoss(size_average": lambda: nn.MSELoss(size_average=False),
    "nn.functional.upsample": lambda: nn.functional.upsample(IMAGE, scale_factor=2),
    "nn.utils.weight_norm": lambda: nn.utils.weight_norm(nn.Linear(2, 2)),
    "nn.utils.clip_grad_norm": lambda: nn.utils.clip_grad_norm(nn.Linear(2, 2).parameters(), 1.0),
    "torch.backends.cuda.sdp_kernel": torch.backends.cuda.sdp_kernel,
    "torch.quantization": lambda: torch.ao.quantization.quantize_dynamic(nn.Linear(2, 2)),
    "export_for_training": lambda: torch.export.export_for_training,
    "torch.testing.assert_allclose": lambda: torch.testing.assert_allclose(SQUARE, SQUARE),
    "torch.has_cuda": lambda: torch.has_cuda,
    "torch._six": lambda: importlib.import_module("torch._six"),
    "reading .grad of a non-leaf": _read_gradient_of_non_leaf,
}


@pytest.fixture
def every_warning() -> Iterator[None]:
    """Let torch repeat the warnings that come only once in a process."""
    before = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(before)


def _answers(call: Callable[[], object]) -> set[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as error:  # noqa: BLE001 -- which one is what the test asks
            return {type(error).__name__}
    return {warning.category.__name__ for warning in caught}


@pytest.mark.usefixtures("every_warning")
@pytest.mark.parametrize("name", OLD)
def test_old_code_behaves_as_the_table_says(name):
    [behaviour] = {row.behaviour for row in table(Deprecation) if name in row.old}
    answers = _answers(OLD[name])
    assert any(answer in behaviour for answer in answers), f"{answers}, but: {behaviour}"
