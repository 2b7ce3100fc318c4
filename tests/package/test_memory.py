from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.profiler import ProfilerActivity, profile

from torchguide.memory import (
    allocator_state,
    estimate_training_memory,
    format_bytes,
    largest_batch,
    read_allocator,
)


def perceptron():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Dropout(), nn.Linear(512, 10))


def convolutions():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 14 * 14, 10),
    )  # fmt: skip


def transformer():
    return nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def real_peak(module, x, make_optimizer):
    """The peak of a step as torch's profiler sees the CPU's allocator, and what lived before."""
    optimizer = make_optimizer(module.parameters())

    def step():
        module(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    step()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    live = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    assert peak
    return peak


@pytest.mark.parametrize("optimizer", [torch.optim.AdamW, sgd])
@pytest.mark.parametrize(
    ("make", "shape"),
    [(perceptron, (2048, 784)), (perceptron, (8, 784)), (convolutions, (16, 3, 32, 32)),
     (transformer, (8, 64, 128))],
)  # fmt: skip
def test_the_estimated_peak_is_the_real_one_within_a_tenth(make, shape, optimizer):
    torch.manual_seed(0)
    module, x = make(), torch.rand(shape)
    estimate = estimate_training_memory(module, x, optimizer=optimizer)
    lasting = estimate.parameters + estimate.buffers + estimate.optimizer + estimate.inputs
    real = real_peak(module, x, optimizer) + lasting
    assert estimate.peak == pytest.approx(real, rel=0.1)


def test_the_parts_are_those_that_can_be_counted_by_hand():
    estimate = estimate_training_memory(nn.Linear(1000, 500), torch.rand(64, 1000),
                                        optimizer=torch.optim.AdamW)  # fmt: skip
    parameters = 4 * (1000 * 500 + 500)
    assert estimate.parameters == estimate.gradients == parameters
    assert estimate.optimizer == 2 * parameters + 2 * 4  # two moments, and a step for each
    assert estimate.inputs == 4 * 64 * 1000
    assert estimate.buffers == 0
    assert estimate.activations == 4, "a sum needs no value of the layer's result: the loss is left"
    rectified = nn.Sequential(nn.Linear(1000, 500), nn.ReLU())
    kept = estimate_training_memory(rectified, torch.rand(64, 1000)).activations
    assert kept == 4 * 64 * 500 + 4
    assert "peak" in str(estimate)


def test_frozen_and_shared_parameters_count_once_and_have_no_gradient():
    module = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 100))
    module[0].requires_grad_(requires_grad=False)
    estimate = estimate_training_memory(module, torch.rand(1, 100))
    assert estimate.gradients == estimate.parameters // 2
    tied = nn.Sequential(nn.Linear(100, 100), nn.Linear(100, 100))
    tied[1].weight = tied[0].weight
    assert estimate_training_memory(tied, torch.rand(1, 100)).parameters == 4 * (100 * 100 + 200)


def test_the_module_is_left_as_it_was():
    module = perceptron()
    before = copy.deepcopy(module.state_dict())
    estimate_training_memory(module, torch.rand(4, 784), optimizer=sgd)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    assert module.training


def test_a_module_too_large_for_this_machine_can_be_estimated():
    with torch.device("meta"):
        module = nn.Sequential(*(nn.Linear(30_000, 30_000) for _ in range(20)))
        x = torch.empty(1, 30_000)
    assert estimate_training_memory(module, x).parameters > 70e9


def test_checkpointing_is_seen():
    class Blocks(nn.Module):
        def __init__(self, *, save):
            super().__init__()
            self.save = save
            self.blocks = nn.ModuleList(
                nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
                for _ in range(8)
            )

        def forward(self, x):
            for block in self.blocks:
                x = (
                    torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
                    if self.save
                    else block(x)
                )
            return x

    x = torch.rand(512, 64)
    kept, saved = (estimate_training_memory(Blocks(save=save), x) for save in (False, True))
    assert saved.activations < 0.5 * kept.activations
    assert saved.peak < kept.peak


def test_a_loss_with_targets_and_a_module_with_several_outputs():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(10, 4)

        def forward(self, x):
            return {"scores": self.layer(x), "same": x}

    estimate_training_memory(Two(), torch.rand(3, 10))
    target = torch.zeros(3, dtype=torch.long, device="meta")
    estimate_training_memory(
        Two(), torch.rand(3, 10),
        loss=lambda out: nn.functional.cross_entropy(out["scores"], target),
    )  # fmt: skip


def test_what_cannot_be_estimated_is_said():
    class Looks(nn.Linear):
        def forward(self, x):
            return super().forward(x) if x.sum() > 0 else x

    with pytest.raises(RuntimeError, match="looks at values"):
        estimate_training_memory(Looks(3, 3), torch.rand(2, 3))
    with pytest.raises(ValueError, match="nothing is trained"):
        estimate_training_memory(nn.ReLU(), torch.rand(2))
    with pytest.raises(TypeError, match=r"expected torch\.nn\.Module"):
        estimate_training_memory(torch.relu, torch.rand(2))
    with pytest.raises(RuntimeError, match="reduction dim"):
        estimate_training_memory(nn.Linear(3, 3), torch.rand(2, 4))


def test_the_largest_batch_fits_and_one_more_does_not():
    module, budget = perceptron(), 64 << 20

    def inputs(size):
        return (torch.empty(size, 784, device="meta"),)

    size = largest_batch(module, inputs, budget, optimizer=sgd)
    assert estimate_training_memory(module, *inputs(size), optimizer=sgd).peak <= budget
    assert estimate_training_memory(module, *inputs(size + 1), optimizer=sgd).peak > budget
    assert largest_batch(module, inputs, budget, optimizer=sgd, most=100) == 100
    with pytest.raises(ValueError, match="a batch of 1 needs"):
        largest_batch(module, inputs, 1 << 20)


def test_the_allocator_is_read_from_its_counters():
    state = read_allocator({
        "allocated_bytes.all.current": 6 << 30, "reserved_bytes.all.current": 10 << 30,
        "inactive_split_bytes.all.current": 1 << 30, "num_ooms": 2,
    })  # fmt: skip
    assert state.cached == 4 << 30
    assert state.fragmentation == 0.25
    assert state.ooms == 2
    assert "10.0 GiB" in str(state)
    assert read_allocator({}).fragmentation == 0
    with pytest.raises(ValueError, match="cpu has no caching allocator"):
        allocator_state("cpu")


@given(st.integers(0, 2**60))
def test_amounts_are_short_and_right(amount):
    text, unit = format_bytes(amount).split()
    factor = 1024 ** ["bytes", "KiB", "MiB", "GiB", "TiB"].index(unit)
    assert float(text) * factor == pytest.approx(amount, rel=0.006)
    assert len(text) <= 5 or unit == "TiB"
