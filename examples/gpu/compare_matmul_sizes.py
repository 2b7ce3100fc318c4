"""
Compare matrix products over sizes and devices
==============================================

A matrix product is the work that a GPU is made for, yet small ones run no faster there.
You count the operations in a product, measure products of growing size on each device of this machine, and draw the rate that each device reaches.
On a machine without an accelerator the curve of the CPU alone is drawn, and it already shows why size matters.
"""

# %%
# Find the devices
# ----------------
#
# The script uses every device that torch can compute on here.
# All the numbers below belong to these devices and to no others.
import torch

from torchguide.devices import available_devices, describe_device

devices = available_devices()
print("torch", torch.__version__)
for device in devices:
    print(describe_device(device))

# %%
# Count the operations
# --------------------
#
# Each of the :math:`n^2` elements of a product is a sum of :math:`n` products, so that the whole takes about :math:`2n^3` floating-point operations (FLOP).
# The matrices have only :math:`3n^2` elements: the larger they are, the more work is done with each number that is read.


# Counts the additions and multiplications in a product of n × n matrices.
def count_flop(n: int) -> int:
    return 2 * n**3


for n in (100, 1000, 10_000):
    print(f"n = {n:6d}: {count_flop(n):.0e} FLOP, {count_flop(n) / (3 * n**2):7.1f} per element")

# %%
# Measure honestly
# ----------------
#
# An accelerator works on its own: the call returns when the product is queued, long before it is done.
# ``measure`` waits for the device around each sample and leaves out the first calls; the best sample is the one that other programs disturbed least.
from torchguide.timing import measure


# Measures the FLOP per second of a product of n × n matrices.
def rate(n: int, device: str, dtype: torch.dtype = torch.float32) -> float:
    a = torch.rand(n, n, device=device, dtype=dtype)
    b = torch.rand(n, n, device=device, dtype=dtype)
    measured = measure(lambda: a @ b, device=device, repeats=7)
    return count_flop(n) / measured.best


torch.manual_seed(0)
print(f"cpu, n = 512: {rate(512, 'cpu') / 1e9:.1f} GFLOP/s")

# %%
# Let the size grow
# -----------------
#
# The largest size depends on the device, so that every machine is done within seconds.
# Small products reach a small part of the rate of large ones: the time goes into calling and waiting instead of computing.
rates = {}
for device in devices:
    largest = 1024 if device == "cpu" else 4096
    sizes = [2**power for power in range(4, largest.bit_length())]
    rates[device] = {n: rate(n, device) for n in sizes}
    for n in sizes[::2]:
        print(f"{device:7} n = {n:5d}: {rates[device][n] / 1e9:9.2f} GFLOP/s")

# %%
# Draw the rates
# --------------
#
# On logarithmic axes each curve climbs while overhead rules and flattens where the arithmetic does.
# An accelerator usually starts below the CPU and ends far above it: where the curves cross, moving the work begins to pay.
import matplotlib.pyplot as plt

name = "The rate of each device climbs with the size of the matrices, then flattens."
fig, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained", num=name)
for marker, (device, measured) in zip("os^vD<>ph", rates.items(), strict=False):
    ax.loglog(list(measured), list(measured.values()), marker=marker, label=device)
ax.set(xlabel="$n$", ylabel="FLOP/s")
ax.grid(visible=True, alpha=0.4)
ax.legend()
plt.show()

# %%
# Ask for the dtype too
# ---------------------
#
# A rate means nothing without its dtype: a CPU does half as much in ``float64``, and many consumer GPUs do a sixty-fourth.
# From the best rate follows the least time for :math:`n = 10^4`, which you can compare with what you read elsewhere.
for device in devices:
    dtypes = [torch.float32] if device == "mps" else [torch.float32, torch.float64]  # MPS lacks it
    for dtype in dtypes:
        best = max(rate(n, device, dtype) for n in list(rates[device])[-2:])
        print(f"{device:7} {dtype}: n = 10000 in {count_flop(10_000) / best:.3g} s at best")

# %%
# What you can do now
# -------------------
#
# - Work out the FLOP of a product and the rate that a measured time means.
# - Measure on any device without being misled by work that is still queued.
# - Tell from the curve of your own machine above which size its accelerator pays.
# - Doubt a speed-up that names neither size nor dtype.
