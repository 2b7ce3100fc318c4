from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.roofline import Roofline, Work, count_work, draw_roofline, matmul_work
from torchguide.roofline import measure_roofline as measured_roofline
from torchguide.timing import measure

SIZES = st.integers(1, 40)
LIMITS = Roofline("cpu", "float32", peak=1e12, bandwidth=1e11)


@given(SIZES, SIZES, SIZES)
@settings(max_examples=30, deadline=None)
def test_the_formula_of_a_product_is_what_the_counter_counts(n, k, m):
    a, b = torch.ones(n, k), torch.ones(k, m)
    assert count_work(lambda: a @ b) == matmul_work(n, k, m)
    assert matmul_work(n, k, m).flop == 2 * n * k * m


def test_a_sum_reads_two_operands_and_writes_one():
    a, b = torch.ones(100, 10), torch.ones(100, 10)
    assert count_work(lambda: a + b) == Work(flop=1000, bytes=3 * 4000)
    row = torch.ones(1, 10)
    assert count_work(lambda: a + row).bytes == 2 * 4000 + 40
    assert count_work(lambda: a + row.expand(100, 10)).bytes == 2 * 4000 + 40, "stored once"
    assert count_work(lambda: a.T) == Work(0, 0), "a view moves nothing"


def test_the_counter_follows_the_dtype():
    a, b = torch.ones(64, 64, dtype=torch.float64), torch.ones(64, 64, dtype=torch.float64)
    assert count_work(lambda: a @ b) == matmul_work(64, itemsize=8)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(TypeError, match="write lambda"):
        count_work(torch.ones(2))
    with pytest.raises(ValueError, match="at least 1"):
        matmul_work(0)
    with pytest.raises(ValueError, match="int64"):
        measured_roofline(dtype=torch.int64)


def test_the_roof_is_the_lower_of_two_limits():
    assert LIMITS.ridge == 10
    assert LIMITS.attainable(5) == 5e11
    assert LIMITS.attainable(10) == LIMITS.attainable(1000) == 1e12
    small, large = Work(flop=1e9, bytes=1e9), Work(flop=1e12, bytes=1e9)
    assert LIMITS.expected_seconds(small) == pytest.approx(1e-2)
    assert LIMITS.expected_seconds(large) == pytest.approx(1)
    assert (LIMITS.bound(small), LIMITS.bound(large)) == ("memory", "compute")
    assert "ridge at 10 FLOP/byte" in str(LIMITS)


def test_measured_limits_bound_what_is_measured():
    limits = measured_roofline(repeats=2)
    a = torch.rand(1024, 1024)
    seconds = measure(lambda: a @ a, repeats=5).best
    # a product of this size is one of those that gave the peak; other programs only slow it
    assert seconds > 0.5 * limits.expected_seconds(matmul_work(1024))
    assert limits.bandwidth > 1e8


def test_operations_are_drawn_below_the_roof_at_their_intensity():
    ax = draw_roofline(
        LIMITS, {"a @ b": (matmul_work(1000), 0.01), "a + b": (Work(1e6, 1.2e7), 1e-3)}
    )
    points = {line.get_label().split("  ")[0]: line.get_xydata()[0] for line in ax.get_lines()[2:]}
    assert points["a @ b"] == pytest.approx([matmul_work(1000).intensity, 2e11])
    assert points["a + b"] == pytest.approx([1 / 12, 1e9])
    assert "cpu" in ax.figure.get_label()
    plt.close(ax.figure)
    with pytest.raises(ValueError, match="'nothing' has"):
        draw_roofline(LIMITS, {"nothing": (Work(0, 1), 1.0)})
