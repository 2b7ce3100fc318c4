from __future__ import annotations

import torch
import torch.utils.benchmark

from torchguide.devices import available_devices, best_device, describe_device, synchronize
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
