from __future__ import annotations

import contextlib
import gc
import time

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import benchmark

from torchguide import timing
from torchguide.timing import Measurement, format_seconds, measure


def test_a_known_duration_is_measured():
    measured = measure(lambda: time.sleep(0.003), warmup=0, repeats=5)
    assert 0.003 <= measured.median < 0.009
    assert measured.calls == 1


def test_the_result_agrees_with_torch_utils_benchmark():
    a = torch.rand(256, 256)
    timer = benchmark.Timer("a @ a", globals={"a": a}, num_threads=torch.get_num_threads())
    # The best samples of several rounds: other programs can slow both, but speed up neither.
    rounds = [(measure(lambda: a @ a, repeats=10), timer.blocked_autorange(min_run_time=0.05))
              for _ in range(5)]  # fmt: skip
    ours = min(mine.best for mine, _ in rounds)
    theirs = min(min(reference.times) for _, reference in rounds)
    assert ours == pytest.approx(theirs, rel=0.5)


def test_each_sample_begins_and_ends_with_an_idle_device(monkeypatch):
    events = []
    monkeypatch.setattr(timing, "check_device", torch.device)
    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: events.append(str(device)))
    measured = measure(lambda: events.append("f"), device="mps", warmup=1, repeats=2, calls=3)
    assert events == ["f", *["mps", "f", "f", "f", "mps"] * 2]
    assert measured.device == "mps"


def test_cuda_is_measured_between_events_in_milliseconds(monkeypatch):
    log = []

    class Event:
        def __init__(self, device, *, enable_timing):
            assert enable_timing
            assert device == torch.device("cuda:0")

        def record(self):
            log.append("record")

        def synchronize(self):
            log.append("wait")

        def elapsed_time(self, end):
            assert end is not self
            return 12.0

    monkeypatch.setattr(timing, "check_device", torch.device)
    monkeypatch.setattr(torch, "Event", Event)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: log.append("idle"))
    measured = measure(lambda: log.append("f"), device="cuda:0", warmup=0, repeats=1, calls=4)
    assert log == ["idle", "record", "f", "f", "f", "f", "record", "wait"]
    assert measured.samples == (0.003,)


def test_short_functions_are_called_until_a_sample_is_long_enough():
    measured = measure(lambda: None, warmup=0, repeats=1)
    assert measured.calls > 100


def test_the_garbage_collector_rests_while_measuring_and_works_again_after():
    seen = []
    measure(lambda: seen.append(gc.isenabled()), warmup=1, repeats=1, calls=1)
    assert seen == [False, False]
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError):
        measure(lambda: 1 / 0)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warmup": -1}, "warmup is -1; it must be at least 0"),
        ({"repeats": 0}, "repeats is 0; it must be at least 1"),
        ({"calls": 0}, "calls is 0; it must be at least 1"),
        ({"device": "gpu"}, "'gpu' is no device"),
    ],
)
def test_a_wrong_setting_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        measure(lambda: None, **settings)


def test_a_result_in_place_of_a_function_is_an_error():
    with pytest.raises(TypeError, match="measure needs a function, not 3; write lambda"):
        measure(3)


def test_median_best_and_spread_are_those_of_the_samples():
    measured = Measurement((5.0, 1.0, 2.0, 4.0, 3.0), calls=7, device="cpu")
    assert (measured.median, measured.best, measured.iqr) == (3.0, 1.0, 2.0)
    assert str(measured) == "3.00 s (IQR 2.00 s, 5 samples of 7 on cpu)"
    assert Measurement((1.0,), calls=1, device="cpu").iqr == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (123.4, "123 s"),
        (1.0, "1.00 s"),
        (0.9996, "1.00 s"),
        (0.0123, "12.3 ms"),
        (99.96e-6, "100 µs"),
        (4.567e-6, "4.57 µs"),
        (8.9e-9, "8.90 ns"),
        (0.0, "0.00 ns"),
    ],
)
def test_times_have_three_digits_and_a_fitting_unit(seconds, text):
    assert format_seconds(seconds) == text


@given(st.floats(min_value=1e-9, max_value=999))
def test_a_written_time_is_the_time(seconds):
    number, unit = format_seconds(seconds).split()
    assert float(number) * timing.UNITS[unit] == pytest.approx(seconds, rel=5.1e-3)
    assert 1 <= float(number) < 1000
