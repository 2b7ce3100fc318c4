"""
Compare the precisions of the dtypes
====================================

A number in 16 bits takes half the memory of one in ``float32``, and loses four to five digits.
You read what each dtype can hold, watch a running total in 16 bits stop growing, and measure the errors of sums, products and dot products against their size.
One of the three stays accurate in 16 bits, and much of training is made of it.
"""

# %%
# Read what a dtype can hold
# --------------------------
#
# ``eps`` is the distance from 1 to the next number, ``max`` the largest number, ``tiny`` the smallest with full precision.
# ``bfloat16`` has the range of ``float32`` with fewer digits; ``float16`` has more digits and a short range.
import torch

DTYPES = {"float16": "o", "bfloat16": "s", "float32": "^", "float64": "D"}
for name in DTYPES:
    info = torch.finfo(getattr(torch, name))
    print(
        f"{name:8}  {info.bits} bits  eps {info.eps:.1e}  max {info.max:.1e}  tiny {info.tiny:.1e}"
    )
print("device:", torch.ones(1).device)

# %%
# Watch a running total stop
# --------------------------
#
# Adding 1 again and again ends where the next number is two away: the sum is a tie, and rounds back.
# That is at 2⁸ for ``bfloat16`` and at 2¹¹ for ``float16``.
for name in DTYPES:
    total = torch.zeros((), dtype=getattr(torch, name))
    for _ in range(3000):
        total += 1
    print(f"{name:8}  0 + 1 + 1 + … = {total.item():.0f}")


# %%
# Write three computations
# ------------------------
#
# A running total, a running product of factors around 1, and a dot product, each for fifty rows side by side.
def running_total(a: torch.Tensor) -> torch.Tensor:
    result = torch.zeros(len(a), dtype=a.dtype)
    for column in a.T:
        result = result + column
    return result


def running_product(a: torch.Tensor) -> torch.Tensor:
    result = torch.ones(len(a), dtype=a.dtype)
    for column in a.T:
        result = result * column
    return result


print(running_total(torch.tensor([[1.0, 2, 4]])), running_product(torch.tensor([[1.0, 2, 4]])))

# %%
# Measure the error against the size
# ----------------------------------
#
# The factors are rounded to the dtype first; ``float64`` then computes the right result from them, so that only the errors of the computation count.
# That is why ``float64`` has no curve of its own.
factors = 0.9 + 0.2 * torch.rand(50, 1000, generator=torch.Generator().manual_seed(0))
ways = {"total": running_total, "product": running_product, "dot": lambda a: (a @ a.T).diagonal()}
lengths = [10, 30, 100, 300, 1000]
errors = {}
for way, function in ways.items():
    for name in list(DTYPES)[:3]:
        errors[way, name] = []
        for length in lengths:
            part = factors[:, :length].to(getattr(torch, name))
            exact = function(part.double())
            error = ((function(part).double() - exact) / exact).abs().mean().item()
            errors[way, name].append(error)
        print(f"{way:8} {name:8}", " ".join(f"{error:.0e}" for error in errors[way, name]))

# %%
# Draw it
# -------
#
# Totals and products lose more with each operation, products about with the root of their number, because ups and downs cancel in part.
# The dot product stays at the size of one rounding: inside it adds with more bits and rounds to 16 at the end.
import matplotlib.pyplot as plt

name = "Relative errors over the length for three dtypes: those of running totals and products grow, those of dot products in 16 bits stay level; float32 lies several powers of ten below."
fig, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained", sharey=True, num=name)
for (way, label), values in errors.items():
    ax = axes[list(ways).index(way)]
    ax.loglog(lengths, values, marker=DTYPES[label], markersize=4, label=label)
    ax.set(title=way, xlabel="n")
axes[0].set_ylabel("|error|")
axes[2].legend(fontsize=8)
plt.show()

# %%
# Leave the range
# ---------------
#
# The other limit is the range: a square of 300 is too large for ``float16``, a square of 10⁻⁴ too small.
# ``bfloat16`` holds both, with two or three digits.
for name in DTYPES:
    large, small = torch.tensor([300.0, 1e-4], dtype=getattr(torch, name)).square().tolist()
    print(f"{name:8}  300² = {large:.6g}   0.0001² = {small:.2g}")

# %%
# What you can do now
# -------------------
#
# - Say from ``torch.finfo`` how many digits and which range a dtype has.
# - Keep running totals, such as a mean loss, in ``float32`` or ``float64``, whatever the model computes in.
# - Leave matrix products in 16 bits: inside they add more exactly than a loop.
