"""What torch says of mistakes in gradients, mixed precision and compilation is recognised.

The mistakes are made here, so that a message which a new version of torch words in another way
fails the test.
"""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import io
import socket
import sys
import traceback
import types
import warnings

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.func import vmap
from torch.nn.functional import binary_cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset, random_split

from torchguide.errors import explain
from torchguide.versions import numbers

MEASURED = (2, 13)  # the oldest torch that was tried; older ones are known by the catalogue's tests

pytestmark = pytest.mark.skipif(
    numbers(torch.__version__)[:2] < MEASURED, reason="older torch has other wordings"
)


def leaf(*shape):
    return torch.ones(*shape or (3,), requires_grad=True)


def layer():
    return nn.Linear(2, 3)


def output():
    return layer()(torch.ones(4, 2))


def inference():
    with torch.inference_mode():
        return torch.ones(4, 2)


def trained_once():
    model = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(4, 2)).sum()).backward()
    return optimizer, scaler


def step_between_two_backward():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    result = model(torch.ones(4, 2))
    result.sum().backward(retain_graph=True)
    optimizer.step()
    result.square().sum().backward()


def hidden_state_kept():
    rnn, hidden = nn.RNN(2, 3), None
    for _ in range(2):
        result, hidden = rnn(torch.ones(4, 1, 2), hidden)
        result.sum().backward()


def view_made_without_record():
    x = leaf(4, 2)
    with torch.no_grad():
        view = x[0]
    view += 1


def update_that_makes_a_new_tensor():
    w = leaf()
    w.sum().backward()
    w = w - 0.1 * w.grad
    w.grad.zero_()


def nan_in_backward():
    with torch.autograd.set_detect_anomaly(mode=True):
        (torch.zeros(3, requires_grad=True).sqrt() * 0).sum().backward()


class Doubled(torch.autograd.Function):
    """Give back what the test says."""

    gradient = staticmethod(lambda gradient: gradient * 2)

    @staticmethod
    def forward(_ctx, x):
        return x * 2

    @staticmethod
    def backward(_ctx, gradient):
        return Doubled.gradient(gradient)


def custom(gradient, dtype=torch.float64):
    Doubled.gradient = staticmethod(gradient)
    x = torch.ones(3, dtype=dtype, requires_grad=True)
    Doubled.apply(x).sum().backward()
    torch.autograd.gradcheck(Doubled.apply, (x,))


def half_weights():
    optimizer, scaler = trained_once()
    (weight, *_) = optimizer.param_groups[0]["params"]
    weight.grad = None
    weight.data = weight.data.half()
    weight.grad = torch.ones_like(weight)
    scaler.step(optimizer)


def unscaled_twice():
    optimizer, scaler = trained_once()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def unscaled_after_step():
    optimizer, scaler = trained_once()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def stepped_twice():
    optimizer, scaler = trained_once()
    scaler.step(optimizer)
    scaler.step(optimizer)


def nothing_scaled():
    optimizer, _ = trained_once()
    torch.amp.GradScaler("cpu").step(optimizer)


def other_optimizer():
    _, scaler = trained_once()
    scaler.step(torch.optim.SGD(layer().parameters(), lr=0.1))


def scheduler_first():
    optimizer = torch.optim.SGD(layer().parameters(), lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1).step()


def compiled(function, x=None, **settings):
    torch.compile(function, backend="eager", **settings)(torch.ones(3) if x is None else x)


def branch(x):
    return x * 2 if x.sum() > 0 else x


def printing(x):
    print(x.sum())
    return x


class Old(torch.autograd.Function):
    """Square in the form from before torch.func."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class New(torch.autograd.Function):
    """Square with what it takes for grad, but not for vmap and jvp."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, _output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


class SavesNumber(Old):
    """Save what is no tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, 2.0)
        return x * 2


class Dirty(Old):
    """Change the input and return another tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x.mul_(2))
        return x * 1


def filled(x):
    out = torch.zeros(2)
    out[0] = x
    return out


def loss_with_backward(x):
    loss = x.sum()
    loss.backward()
    return loss


def hooked(hook):
    hidden = leaf() * 2
    hidden.register_hook(hook)
    hidden.sum().backward()


def module_hook(hook):
    linear = layer()
    linear.register_full_backward_hook(hook)
    linear(torch.ones(4, 2, requires_grad=True)).sum().backward()


def both_hooks():
    linear = layer()
    linear.register_backward_hook(print)
    linear.register_full_backward_hook(print)


def run_twice(first, second):
    """Checkpoint a function that is another one the second time."""
    functions = [second, first]

    def run(x):
        return functions.pop()(x)

    checkpoint(run, leaf(), use_reentrant=False).sum().backward()


def reentrant_grad():
    x = leaf()
    torch.autograd.grad(checkpoint(torch.sin, x, use_reentrant=True).sum(), x)


def exported():
    return torch.export.export(layer(), (torch.ones(4, 2),))


def saved_class_renamed():
    name = "a_module_of_models"
    module = types.ModuleType(name)
    exec("class Net: pass", vars(module))  # noqa: S102  # a class of that module
    sys.modules[name] = module
    file = io.BytesIO()
    try:
        torch.save(module.Net(), file)
        del module.Net
        torch.load(io.BytesIO(file.getvalue()), weights_only=False)
    finally:
        del sys.modules[name]


def saved_module_missing():
    name = "a_module_that_is_gone"
    module = types.ModuleType(name)
    exec("class Net: pass", vars(module))  # noqa: S102  # a class of that module
    sys.modules[name] = module
    file = io.BytesIO()
    try:
        torch.save(module.Net(), file)
    finally:
        del sys.modules[name]
    torch.load(io.BytesIO(file.getvalue()), weights_only=False)


def saved_local_class():
    class Net:
        pass

    torch.save(Net(), io.BytesIO())


@contextlib.contextmanager
def one_process():
    """Make a group of one process, and take it down."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        yield
    finally:
        dist.destroy_process_group()


def group_twice():
    with one_process():
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)


def wrapped(model, use=bool):
    with one_process():
        use(DistributedDataParallel(model))


def divided(use):
    with one_process():
        model = layer()
        fully_shard(model, mesh=init_device_mesh("cpu", (1,)))
        use(model)


def alone_at_the_meeting_point():
    timeout = dt.timedelta(seconds=1)
    dist.TCPStore("127.0.0.1", 0, world_size=2, is_master=True, timeout=timeout)


def nobody_at_the_meeting_point():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    timeout = dt.timedelta(seconds=1)
    dist.TCPStore("127.0.0.1", port, is_master=False, timeout=timeout)


class Lengthless(Dataset):
    """Give samples, but not their number."""

    def __getitem__(self, index):
        return index


class Empty(Dataset):
    """Say how many samples there are, and give none."""

    def __len__(self):
        return 3


def tf32_mixed():
    settings = torch.backends.cuda.matmul
    settings.fp32_precision = "tf32"
    try:
        _ = settings.allow_tf32
    finally:
        settings.fp32_precision = "none"


MISTAKES = {
    "no_grad": ("no-grad-fn", lambda: output().detach().sum().backward()),
    "argmax": ("no-grad-fn", lambda: output().argmax(1).float().mean().backward()),
    "a number": ("no-grad-fn", lambda: output().sum().item().backward()),
    "a hook": ("no-grad-fn", lambda: torch.ones(3).register_hook(print)),
    "retain_grad": ("no-grad-fn", lambda: torch.ones(3).retain_grad()),
    "a copied loss": (
        "no-grad-fn",
        lambda: torch.tensor(output().sum(), requires_grad=True).backward(),
    ),
    "a new weight": ("grad-none", update_that_makes_a_new_tensor),
    "no gradient yet": ("grad-none", lambda: 0.1 * leaf().grad),
    "grad of a result": ("non-leaf-grad-warning", lambda: (leaf() * 2).grad),
    "requires_grad of a result": (
        "non-leaf-grad-warning",
        lambda: output().requires_grad_(requires_grad=False),
    ),
    "a hidden state": ("backward-twice", hidden_state_kept),
    "losses": ("backward-non-scalar", lambda: output().backward()),
    "a complex loss": (
        "backward-non-scalar",
        lambda: torch.ones(3, dtype=torch.cfloat, requires_grad=True).sum().backward(),
    ),
    "a gradient of another shape": (
        "backward-non-scalar",
        lambda: (leaf() * 2).backward(torch.ones(2)),
    ),
    "a gradient assigned": ("backward-non-scalar", lambda: setattr(leaf(), "grad", torch.ones(2))),
    "func.grad": ("backward-non-scalar", lambda: torch.func.grad(torch.sin)(torch.ones(3))),
    "if": ("one-value-expected", lambda: bool(torch.ones(3) > 0)),
    "item": ("one-value-expected", lambda: torch.ones(3).item()),
    "float": ("one-value-expected", lambda: float(torch.ones(3))),
    "a class for its object": (
        "one-value-expected",
        lambda: nn.CrossEntropyLoss(output(), torch.zeros(4)),
    ),
    "+=": ("inplace-modified", lambda: leaf().exp().add_(1).sum().backward()),
    "ReLU(inplace=True)": (
        "inplace-modified",
        lambda: nn.ReLU(inplace=True)(leaf().sigmoid()).sum().backward(),
    ),
    "step": ("inplace-modified", step_between_two_backward),
    "a chunk": ("inplace-modified", lambda: (leaf(4, 2) * 1).chunk(2)[0].mul_(2)),
    "a view without record": ("inplace-modified", view_made_without_record),
    "expand": ("overlapping-memory", lambda: torch.ones(1, 2).expand(3, 2).add_(1)),
    "a leaf": ("leaf-inplace", lambda: leaf().mul_(2)),
    "a part of a leaf": ("leaf-inplace", lambda: layer().bias[:1].add_(1)),
    "out": ("leaf-inplace", lambda: torch.add(leaf(), 1, out=torch.empty(3))),
    "a tensor as parameter": (
        "leaf-inplace",
        lambda: setattr(layer(), "weight", torch.ones(3, 2)),
    ),
    "inference": ("inference-tensor", lambda: layer()(inference())),
    "inference changed": ("inference-tensor", lambda: inference().add_(1)),
    "inference as leaf": ("inference-tensor", lambda: inference().requires_grad_()),
    "numpy": ("numpy-requires-grad", lambda: output().numpy()),
    "numpy.array": ("numpy-requires-grad", lambda: np.array([output().sum(), output().sum()])),
    "a number of a tensor": ("numpy-requires-grad", lambda: float(output().sum())),
    "deepcopy": ("numpy-requires-grad", lambda: copy.deepcopy(output())),
    "conj": ("numpy-requires-grad", lambda: torch.ones(3, dtype=torch.cfloat).conj().numpy()),
    "a clone": (
        "autograd-grad-unused",
        lambda: torch.autograd.grad((x := leaf()).sum(), x.clone()),
    ),
    "data": (
        "autograd-grad-unused",
        lambda: torch.autograd.grad(layer()(x := torch.ones(4, 2)).sum(), x),
    ),
    "two gradients for one": ("custom-function", lambda: custom(lambda g: (g, g))),
    "a short gradient": ("custom-function", lambda: custom(lambda g: g[:2])),
    "a wrong gradient": ("custom-function", lambda: custom(lambda g: g * 3)),
    "no parameters": ("optimizer-parameters", lambda: torch.optim.SGD([], lr=0.1)),
    "a result": ("optimizer-parameters", lambda: torch.optim.SGD([leaf() * 2], lr=0.1)),
    "one tensor": ("optimizer-parameters", lambda: torch.optim.SGD(leaf(), lr=0.1)),
    "names": ("optimizer-parameters", lambda: torch.optim.SGD(["weight"], lr=0.1)),
    "a NaN": ("nan-anomaly", nan_in_backward),
    "a NaN as probability": (
        "nan-anomaly",
        lambda: torch.multinomial(torch.tensor([float("nan"), 1.0]), 1),
    ),
    "scores as probabilities": (
        "nan-anomaly",
        lambda: binary_cross_entropy(torch.tensor([1.2]), torch.tensor([1.0])),
    ),
    "half weights": ("amp-unscale-fp16", half_weights),
    "no gradient": ("amp-no-inf-checks", other_optimizer),
    "unscaled twice": ("amp-step-order", unscaled_twice),
    "unscaled after step": ("amp-step-order", unscaled_after_step),
    "stepped twice": ("amp-step-order", stepped_twice),
    "nothing scaled": ("amp-step-order", nothing_scaled),
    "the scheduler first": ("lr-scheduler-order", scheduler_first),
    "an old scaler": (
        "amp-deprecated-warning",
        lambda: torch.cuda.amp.GradScaler(enabled=False),
    ),
    "no device": ("amp-deprecated-warning", torch.autocast),
    "an unknown dtype": (
        "amp-disabled-warning",
        lambda: torch.autocast("cpu", dtype=torch.float64),
    ),
    "a branch": ("compile-graph-break", lambda: compiled(branch, fullgraph=True)),
    "print": ("compile-graph-break", lambda: compiled(printing, fullgraph=True)),
    "a mode": ("compile-settings", lambda: torch.compile(branch, mode="fast")),
    "a backend": ("compile-settings", lambda: torch.compile(branch, backend="inducter")),
    "vmap: if": ("vmap-data-dependent", lambda: vmap(lambda x: x if x > 0 else -x)(torch.ones(3))),
    "vmap: item": ("vmap-data-dependent", lambda: vmap(lambda x: x * x.item())(torch.ones(3))),
    "vmap: nonzero": ("vmap-data-dependent", lambda: vmap(torch.nonzero)(torch.ones(3, 2))),
    "vmap: a mask": ("vmap-data-dependent", lambda: vmap(lambda x: x[x > 0])(torch.ones(3, 2))),
    "vmap: dropout": ("vmap-randomness", lambda: vmap(nn.Dropout(0.5))(torch.ones(3, 2))),
    "vmap: sizes": ("vmap-in-dims", lambda: vmap(torch.add)(torch.ones(3), torch.ones(4))),
    "vmap: an axis": ("vmap-in-dims", lambda: vmap(torch.sin, in_dims=1)(torch.ones(3))),
    "vmap: a number": ("vmap-in-dims", lambda: vmap(torch.mul)(torch.ones(3), 2.0)),
    "vmap: a number as result": ("vmap-in-dims", lambda: vmap(lambda _: 1.0)(torch.ones(3))),
    "vmap: structure": (
        "vmap-in-dims",
        lambda: vmap(torch.add, in_dims=(0,))(torch.ones(3), torch.ones(3)),
    ),
    "vmap: no axis": ("vmap-in-dims", lambda: vmap(torch.sin, in_dims=None)(torch.ones(3))),
    "vmap: filled": ("vmap-inplace", lambda: vmap(filled)(torch.ones(3))),
    "vmap: batch norm": ("vmap-inplace", lambda: vmap(nn.BatchNorm1d(4))(torch.ones(3, 2, 4))),
    "backward in grad": (
        "func-transform-inside",
        lambda: torch.func.grad(loss_with_backward)(torch.ones(3)),
    ),
    "requires_grad_ in grad": (
        "func-transform-inside",
        lambda: torch.func.grad(lambda x: x.requires_grad_().sum())(torch.ones(3)),
    ),
    "item in grad": (
        "func-transform-inside",
        lambda: torch.func.grad(lambda x: x.sum().item())(torch.ones(3)),
    ),
    "no setup_context": ("func-custom-function", lambda: vmap(Old.apply)(torch.ones(3))),
    "no rule for vmap": ("func-custom-function", lambda: vmap(New.apply)(torch.ones(3))),
    "no jvp": (
        "func-custom-function",
        lambda: torch.func.jvp(New.apply, (torch.ones(3),), (torch.ones(3),)),
    ),
    "a number saved": ("custom-function", lambda: SavesNumber.apply(leaf())),
    "a dirty input": ("custom-function", lambda: Dirty.apply(leaf() * 1)),
    "a number returned": ("custom-function", lambda: custom(lambda _: 1.0)),
    "gradcheck of constants": (
        "gradcheck-inputs",
        lambda: torch.autograd.gradcheck(torch.sin, (torch.ones(3),)),
    ),
    "gradcheck in float32": (
        "gradcheck-inputs",
        lambda: torch.autograd.gradcheck(torch.sin, (leaf(),), raise_exception=False),
    ),
    "gradcheck of expanded": (
        "gradcheck-inputs",
        lambda: torch.autograd.gradcheck(
            torch.sin, (torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(),)
        ),
    ),
    "a hook after accumulation": (
        "hook-refused",
        lambda: (leaf() * 2).register_post_accumulate_grad_hook(print),
    ),
    "a hook with another size": ("hook-refused", lambda: hooked(lambda g: g[:2])),
    "a hook with a number": ("hook-refused", lambda: hooked(lambda _: 1.0)),
    "a module hook with two": ("hook-refused", lambda: module_hook(lambda *_: (1, 2))),
    "two kinds of module hooks": ("hook-refused", both_hooks),
    "create_graph": (
        "create-graph-cycle",
        lambda: (leaf() ** 3).sum().backward(create_graph=True),
    ),
    "checkpoint: fewer tensors": (
        "checkpoint-recompute",
        lambda: run_twice(lambda x: x.sin().exp(), torch.sin),
    ),
    "checkpoint: other shapes": (
        "checkpoint-recompute",
        lambda: run_twice(lambda x: x[:2].sin(), lambda x: x[:1].sin()),
    ),
    "checkpoint: no choice": ("checkpoint-reentrant", lambda: checkpoint(torch.sin, leaf())),
    "checkpoint: no input": (
        "checkpoint-reentrant",
        lambda: checkpoint(layer(), torch.ones(4, 2), use_reentrant=True),
    ),
    "checkpoint: grad": ("checkpoint-reentrant", reentrant_grad),
    "export: size": ("export-other-input", lambda: exported().module()(torch.ones(3, 2))),
    "export: count": (
        "export-other-input",
        lambda: exported().module()(torch.ones(4, 2), torch.ones(4, 2)),
    ),
    "export: name": ("export-other-input", lambda: exported().module()(input=torch.ones(4, 2))),
    "export: eval": ("export-usage", lambda: exported().module().eval()),
    "export: call": ("export-usage", lambda: exported()(torch.ones(4, 2))),
    "export: no tuple": ("export-usage", lambda: torch.export.export(layer(), torch.ones(4, 2))),
    "export: a function": (
        "export-usage",
        lambda: torch.export.export(torch.sin, (torch.ones(3),)),
    ),
    "export: no such argument": (
        "export-usage",
        lambda: torch.export.export(
            layer(), (torch.ones(4, 2),), dynamic_shapes={"y": {0: torch.export.Dim("batch")}}
        ),
    ),
    "a class that was renamed": ("whole-model-saved", saved_class_renamed),
    "a module that is gone": ("whole-model-saved", saved_module_missing),
    "a local class": ("whole-model-saved", saved_local_class),
    "weights.eval()": ("state-dict-as-model", lambda: layer().state_dict().eval()),
    "weights(x)": ("state-dict-as-model", lambda: layer().state_dict()(torch.ones(4, 2))),
    "a random state on another device": (
        "rng-state-moved",
        lambda: torch.set_rng_state(torch.get_rng_state().to("meta")),
    ),
    "a group made twice": ("dist-init-twice", group_twice),
    "a part and a whole tensor": (
        "dtensor-mixed",
        lambda: divided(lambda m: torch.dist(m.weight, torch.zeros(3, 2))),
    ),
    "DDP of nothing": ("ddp-wrapper", lambda: wrapped(nn.ReLU())),
    "an attribute of DDP": ("ddp-wrapper", lambda: wrapped(layer(), lambda m: m.predict)),
    "a rank that does not come": ("rendezvous-failed", alone_at_the_meeting_point),
    "no meeting point": ("rendezvous-failed", nobody_at_the_meeting_point),
    "no length, shuffled": (
        "dataset-incomplete",
        lambda: DataLoader(Lengthless(), shuffle=True),
    ),
    "no length": ("dataset-incomplete", lambda: next(iter(DataLoader(Lengthless())))),
    "no sample": ("dataset-incomplete", lambda: next(iter(DataLoader(Empty())))),
    "a loader with an index": ("dataset-incomplete", lambda: DataLoader([1, 2])[0]),
    "parts that do not add up": ("dataset-split", lambda: random_split(range(7), [5, 1])),
    "an empty part": ("dataset-split", lambda: random_split(range(3), [0.9, 0.1])),
    "an empty dataset": ("dataset-split", lambda: DataLoader([], shuffle=True)),
    "TF32 in two ways": ("tf32-mixed", tf32_mixed),
    "an unknown precision": (
        "tf32-mixed",
        lambda: torch.set_float32_matmul_precision("fast"),
    ),
    "trace": ("torchscript-deprecated", lambda: torch.jit.trace(torch.sin, torch.ones(3))),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_its_answer(name):
    kind, mistake = MISTAKES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            mistake()
        except Exception:  # noqa: BLE001  # whatever torch raises is the message to explain
            text = traceback.format_exc()
        else:
            text = "\n".join(f"{w.category.__name__}: {w.message}" for w in caught)
    matches = explain(text)
    assert matches, text
    assert matches[0].id == kind, text
    assert matches[0].page.endswith(f"#{kind}")
