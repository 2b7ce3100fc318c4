"""
Ask whether a transfer pays
===========================

Data must reach the device before it can compute with them, and the way there is slow.
You measure copies of growing size, from ordinary and, where there is a GPU, from pinned memory, and the rate of matrix products on the CPU.
Together they say how much must be computed with each byte before a transfer pays.
"""

# %%
# Measure copies
# --------------
#
# ``take_record`` measures here; ``find_record`` finds what was measured on an accelerator and came with the package.
# On a CPU the copy stays within its own memory: then the numbers show the method, and no link.
from torchguide.devices import best_device
from torchguide.records import find_record, take_record

record = find_record("transfer") or take_record("transfer", best_device())
print(record.provenance(language="en"))

# %%
# Turn times into rates
# ---------------------
#
# Small copies are ruled by the time it takes to start one, large ones by the link.
# The median of the samples is taken for each size.
rates: dict[str, dict[int, float]] = {}
for case, seconds in record.medians.items():
    kind, mebibytes, _unit = case.split()
    rates.setdefault(kind, {})[int(mebibytes)] = int(mebibytes) * 2**20 / seconds
for kind, by_size in rates.items():
    smallest, largest = by_size[min(by_size)], by_size[max(by_size)]
    print(
        f"{kind}: {largest / 1e9:.1f} GB/s at 64 MiB, {largest / smallest:.1f} times that at 1 MiB"
    )

# %%
# Draw the rates
# --------------
#
# Two curves appear only where memory can be pinned.
import matplotlib.pyplot as plt

name = "The rate of copies over their size, a curve for each kind of memory."
fig, ax = plt.subplots(figsize=(4.5, 2.8), layout="constrained", num=name)
for marker, (kind, by_size) in zip("os", rates.items(), strict=False):
    ax.semilogx(list(by_size), [rate / 1e9 for rate in by_size.values()], marker=marker, label=kind)
ax.set(xlabel="MiB", ylabel="GB/s", ylim=(0, None))
ax.legend()
plt.show()

# %%
# Compare with computing
# ----------------------
#
# While a byte travels, the CPU could compute.
# Below this number of operations for each byte, it is done before the byte has arrived.
import torch

from torchguide.timing import measure

torch.manual_seed(0)
m = torch.randn(512, 512)
product = measure(lambda: m @ m, repeats=9)
bandwidth = max(rates["pageable"].values())
break_even = 2 * 512**3 / product.best / bandwidth
print(f"break-even: {break_even:.1f} FLOP for each byte")

# %%
# Judge some operations
# ---------------------
#
# The FLOP for each byte that has to travel: float32, both inputs there, the result back.
# A product of large matrices is far above any break-even, an addition never.
operations = {"a + b": 1 / 12, "a @ b, n = 64": 2 * 64 / 12, "a @ b, n = 4096": 2 * 4096 / 12}
for operation, intensity in operations.items():
    print(f"{operation:16} {intensity:8.2f} FLOP/byte")

# %%
# What you can do now
# -------------------
#
# - Measure the link of your machine, and see from which size on it is used well.
# - Work out the break-even of FLOP for each byte, and compare an operation with it.
# - Leave data on the device for as long as it is used there.
