from __future__ import annotations

import pytest
import torch
import torch.utils.benchmark

from torchguide.devices import available_devices, best_device, describe_device, synchronize
from torchguide.loading import measure_steps
from torchguide.memory import allocator_state, estimate_training_memory
from torchguide.records import take_record
from torchguide.roofline import matmul_work, measure_roofline
from torchguide.timing import measure


def test_the_accelerator_is_found_and_named(accelerator):
    assert str(best_device()).startswith(accelerator.type)
    assert any(str(device).startswith(accelerator.type) for device in available_devices())
    assert "cpu" in map(str, available_devices())
    assert describe_device(best_device()) != describe_device("cpu")


def test_a_product_is_the_same_as_on_the_cpu(accelerator):
    a = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        (a.to(accelerator) @ a.to(accelerator)).cpu(), a @ a, rtol=1e-3, atol=1e-3
    )


def test_the_measured_time_includes_the_work_on_the_device(accelerator):
    """A call returns when the work is queued; the median must not be that short time."""
    a = torch.randn(4096, 4096, device=accelerator)
    measured = measure(lambda: a @ a, device=accelerator)
    theirs = torch.utils.benchmark.Timer("a @ a", globals={"a": a}).blocked_autorange(
        min_run_time=1
    )
    assert 0.5 < measured.median / theirs.median < 2
    synchronize(accelerator)


def test_the_estimated_memory_of_a_step_is_the_measured_one(accelerator):
    module = torch.nn.Sequential(
        torch.nn.Linear(4096, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096)
    ).to(accelerator)
    x = torch.rand(4096, 4096, device=accelerator)
    optimizer = torch.optim.AdamW(module.parameters())
    estimate = estimate_training_memory(module, x, optimizer=torch.optim.AdamW)
    before = allocator_state(accelerator).allocated - estimate.parameters - estimate.inputs
    for _ in range(2):
        module(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    assert allocator_state(accelerator).peak_allocated - before == pytest.approx(
        estimate.peak, rel=0.1
    )


def test_a_large_product_takes_about_the_time_that_the_roofline_expects(accelerator):
    limits = measure_roofline(accelerator)
    a = torch.randn(4096, 4096, device=accelerator)
    measured = measure(lambda: a @ a, device=accelerator).median
    assert 0.5 < measured / limits.expected_seconds(matmul_work(4096)) < 3


def test_steps_are_measured_on_the_device_and_records_name_it(accelerator):
    batches = [torch.ones(64, 64) for _ in range(8)]
    times = measure_steps(batches, lambda x: (x @ x).sum(), device=accelerator, steps=5)
    assert times.device.startswith(accelerator.type)
    assert min(times.copying) > 0
    record = take_record("launch", str(best_device()))
    assert record.from_accelerator
    assert record.medians["returned"] < record.medians["done"]
