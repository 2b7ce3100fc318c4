"""
See a sum depend on its order
=============================

Adding the same numbers in another order gives another result, because each addition rounds.
You see the smallest case by hand, measure how the error grows with the length for two ways of adding, and learn what that means for comparing results.
"""

# %%
# See one addition lose a number
# ------------------------------
#
# A ``float32`` has 24 significant bits.
# Beside 2²⁴ = 16777216 the next number is two away, so adding 1 changes nothing, and adding it twice changes nothing twice.
import torch

big = torch.tensor(2.0**24)
one = torch.tensor(1.0)
print("(big + 1) + 1 =", f"{((big + one) + one).item():.0f}")
print("big + (1 + 1) =", f"{(big + (one + one)).item():.0f}")
print("next number   =", f"{torch.nextafter(big, torch.tensor(torch.inf)).item():.0f}")

# %%
# Add the same numbers in two ways
# --------------------------------
#
# A running total adds one number after the other, as a loop does; ``sum`` adds in a tree of partial sums, which stay small for longer.
# Each row is a list of its own, and the loop below adds all rows side by side.
rows = torch.rand(100, 10_000, generator=torch.Generator().manual_seed(0))


def running_total(rows: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(len(rows))
    for column in rows.T:
        total += column
    return total


exact = rows.double().sum(dim=1)
for name, result in {"running total": running_total(rows), "sum()": rows.sum(dim=1)}.items():
    error = (result - exact).abs()
    print(f"{name:14} mean error {error.mean():.6f}  largest {error.max():.6f}")
print("device:", rows.device)

# %%
# Measure how the error grows
# ---------------------------
#
# For each length the relative error is the mean over the hundred rows.
lengths = [10, 30, 100, 300, 1000, 3000, 10_000]
ways = {"running total": running_total, "sum()": lambda part: part.sum(dim=1)}
errors = {name: [] for name in ways}
for length in lengths:
    part = rows[:, :length]
    exact = part.double().sum(dim=1)
    for name, way in ways.items():
        errors[name].append(((way(part) - exact).abs() / exact).mean().item())
for name, values in errors.items():
    print(f"{name:14}", " ".join(f"{value:.1e}" for value in values))

# %%
# Draw it
# -------
#
# The dotted line is the rounding of a single ``float32`` operation, 2⁻²⁴.
# A running total loses more with each addition; the tree stays near the line.
import matplotlib.pyplot as plt

name = "The relative error of a running total grows with the length; that of sum stays near one rounding."
fig, ax = plt.subplots(figsize=(4.8, 3), layout="constrained", num=name)
for (label, values), marker in zip(errors.items(), "os", strict=True):
    ax.loglog(lengths, values, marker=marker, label=label)
ax.axhline(2**-24, color="0.3", linestyle=":", label="2⁻²⁴")
ax.set(xlabel="n", ylabel="|error| / sum")
ax.legend()
plt.show()

# %%
# Compare with a tolerance
# ------------------------
#
# Two correct programs may differ in the last digits: another order, another number of threads, another device.
# Ask whether results are close, with a tolerance that fits the dtype.
a, b = rows.sum(dim=1), running_total(rows)
print("equal:", torch.equal(a, b))
print("close:", torch.allclose(a, b, rtol=1e-5))
torch.testing.assert_close(a, b, rtol=1e-5, atol=0.0)

# %%
# What you can do now
# -------------------
#
# - Expect the last digits of a sum to differ between devices and versions.
# - Compare with ``torch.testing.assert_close``, not with ``==``.
# - Add many numbers with ``sum``, not in a loop, or in ``float64`` where it matters.
