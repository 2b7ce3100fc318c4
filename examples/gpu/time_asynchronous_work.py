"""
Time work that has only been queued
===================================

On an accelerator a call returns when its work is in the queue, so that a clock around it may measure nothing.
You take three clocks to the same products: one that stops too early, one that waits for the device, and one that a library holds.
On a CPU all three agree, and a queue made of one thread shows what the first would read elsewhere.
"""

# %%
# Find the device
# ---------------
#
# All times below belong to this device.
import time
from collections.abc import Callable

import torch

from torchguide.devices import best_device, describe_device, synchronize

device = torch.device(best_device())
n = 512 if device.type == "cpu" else 4096
torch.manual_seed(0)
a = torch.randn(n, n, device=device)
print(describe_device(device), f"n = {n}")

# %%
# Stop the clock early, and late
# ------------------------------
#
# The only difference is ``synchronize`` before the second reading.
# The first runs are left out: they load libraries.


# Seconds until ten products are called, and until they are done.
def clock(product: Callable[[], object]) -> tuple[float, float]:
    synchronize(device)
    start = time.perf_counter()
    for _ in range(10):
        product()
    called = time.perf_counter() - start
    synchronize(device)
    return called, time.perf_counter() - start


readings = [clock(lambda: a @ a) for _ in range(9)][2:]
called, done = (sorted(each)[3] for each in zip(*readings, strict=True))
print(f"called: {called / done:.0%} of the time until they are done")

# %%
# Ask a library
# -------------
#
# ``Timer`` of PyTorch waits for accelerators by itself; it uses one thread unless you say otherwise.
# Its median should lie near the late reading, not near the early one.
from torch.utils.benchmark import Timer

timer = Timer("a @ a", globals={"a": a}, num_threads=torch.get_num_threads())
library = 10 * timer.blocked_autorange(min_run_time=0.2).median
print(f"late reading / library: {done / library:.1f}")

# %%
# Look at a queue
# ---------------
#
# One thread that does one job after the other is such a queue, with ``sleep`` for the work.
# It is a model of the order of events, and says nothing about the speed of a GPU.
from concurrent.futures import ThreadPoolExecutor, wait

with ThreadPoolExecutor(1) as queue:
    start = time.perf_counter()
    jobs = [queue.submit(time.sleep, 0.02) for _ in range(10)]
    queued = time.perf_counter() - start
    wait(jobs)
    finished = time.perf_counter() - start
print(f"ten jobs of 20 ms: called {queued / finished:.0%} of the time until they are done")

# %%
# Draw the clocks
# ---------------
#
# What an early clock reads, as a part of the true time.
# Near 100 % the device does not queue; near 0 % the early reading is worthless.
import matplotlib.pyplot as plt

name = "Two bars: the part of the time that an early clock reads, on this device and in the queue."
fig, ax = plt.subplots(figsize=(4.2, 2.2), layout="constrained", num=name)
ax.barh([device.type, "queue"], [100 * called / done, 100 * queued / finished])
ax.set(xlabel="%", xlim=(0, 105))
ax.invert_yaxis()
plt.show()

# %%
# What you can do now
# -------------------
#
# - Wait for the device before you start a clock and before you read it.
# - Leave out the first runs, and take the median of several.
# - Doubt a result that is faster than the device can be.
