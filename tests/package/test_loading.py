from __future__ import annotations

import time

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from torchguide.loading import StepTimes, advise, measure_steps


def times(waiting=1.0, copying=0.0, computing=1.0, **values):
    values = {"device": "cuda:0", "workers": 0, "pinned": False, "cores": 4} | values
    return StepTimes((waiting,) * 3, (copying,) * 3, (computing,) * 3, **values)


def slow_batches(seconds, count=6):
    for _ in range(count):
        time.sleep(seconds)
        yield {"x": torch.ones(2), "name": "text"}


def test_time_is_charged_to_the_part_that_took_it():
    seen = []

    def step(batch):
        seen.append(batch)
        time.sleep(0.002)

    measured = measure_steps(slow_batches(0.02), step, steps=3, warmup=1)
    assert len(measured.waiting) == 3
    assert min(measured.waiting) >= 0.02
    assert min(measured.computing) >= 0.002
    assert measured.shares["waiting"] > 0.5
    assert sum(measured.shares.values()) == pytest.approx(1)
    assert seen[0]["name"] == "text"
    assert "3 steps on cpu" in str(measured)


def test_a_loader_tells_its_workers_and_a_short_one_ends_early():
    loader = DataLoader(TensorDataset(torch.ones(8, 2)), batch_size=2)
    measured = measure_steps(loader, lambda _: None, steps=100, warmup=1)
    assert (len(measured.computing), measured.workers, measured.pinned) == (3, 0, False)
    assert measured.cores >= 1


def test_bad_input_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="gave 2 batches, 2 of them for the warm-up"):
        measure_steps(slow_batches(0, count=2), lambda _: None)
    with pytest.raises(TypeError, match="expected a function of a batch"):
        measure_steps([], step=None)
    with pytest.raises(ValueError, match="steps is 0"):
        measure_steps([], print, steps=0)


@pytest.mark.parametrize(
    ("measured", "words"),
    [
        (times(waiting=3.0), ["75%", "num_workers=3"]),
        (times(waiting=30.0), ["num_workers=4", "30 workers would be needed"]),
        (times(waiting=1.0, workers=2), ["try more workers", "4 cores"]),
        (times(waiting=1.0, workers=4), ["make loading one sample cheaper"]),
        (times(waiting=0.0, copying=1.0), ["pin_memory=True"]),
        (times(waiting=0.0, copying=1.0, pinned=True), ["although memory is pinned"]),
        (times(waiting=0.01), ["the data arrives in time"]),
    ],
)
def test_the_advice_fits_the_numbers(measured, words):
    said = " ".join(advise(measured, "en"))
    assert all(word in said for word in words)
    chinese = " ".join(advise(measured, "zh"))
    assert "?" not in said + chinese
    assert len(advise(measured, "zh")) == len(advise(measured, "en"))
