"""
Find how many workers keep the model busy
=========================================

A loader with too few worker processes lets the model wait, and one with too many only fills memory.
You measure how a training step divides into waiting and computing for a growing number of workers, on a dataset that takes its time like a slow disk.
The answer belongs to this machine and this dataset; the way to find it doesn't.
"""

# %%
# Look at the machine
# -------------------
#
# Workers are processes: with one core they help only where reading is waiting.
import os

import torch
from torch.utils.data import DataLoader, Dataset

from torchguide.devices import best_device
from torchguide.loading import advise, measure_steps

device = torch.device(best_device())
print(device.type, "cores:", os.cpu_count())


# %%
# Make a slow dataset
# -------------------
#
# Each sample is a file's worth of waiting.
# The class stands at the top of the file, where worker processes can find it.
import time


class SlowFiles(Dataset):
    """Wait two milliseconds for each sample."""

    def __len__(self) -> int:
        return 192

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.002)
        return torch.full((64,), float(index))


if __name__ == "__main__":
    print(len(SlowFiles()), "samples of 2 ms")


# %%
# Measure one number of workers
# -----------------------------
#
# The warm-up leaves out the start of the processes; the step is a little training.
def sweep(counts: list[int]) -> dict:
    torch.manual_seed(0)
    net = torch.nn.Linear(64, 64).to(device)

    def step(batch: torch.Tensor) -> None:
        for _ in range(8):
            net(batch).square().mean().backward()

    found = {}
    for workers in counts:
        loader = DataLoader(SlowFiles(), batch_size=16, num_workers=workers)
        found[workers] = measure_steps(loader, step, device=device, steps=8, warmup=3)
    return found


if __name__ == "__main__":
    print("one after the other: 16 samples are", 16 * 2, "ms of reading")


# %%
# Try several numbers
# -------------------
#
# Where new processes begin as fresh interpreters, as on Windows and macOS, each imports this file: so work begins under the guard only.
# Where shared memory is scarce, as in a container, the loader says so in its error.
if __name__ == "__main__":
    found = sweep([0, 1, 2])
    for workers, times in found.items():
        waiting = sum(times.waiting) / len(times.waiting)
        print(f"{workers} workers: waiting {1e3 * waiting:.0f} ms in a step")

# %%
# Draw the sweep
# --------------
#
# Time of a step by its parts: with more workers the waiting shrinks until something else is the limit.
if __name__ == "__main__":
    import matplotlib.pyplot as plt

    name = "A bar for each number of workers, divided into waiting, copying and computing."
    fig, ax = plt.subplots(figsize=(4.6, 2.8), layout="constrained", num=name)
    bottom = [0.0] * len(found)
    for part in ("waiting", "copying", "computing"):
        heights = [1e3 * sum(getattr(t, part)) / len(t.waiting) for t in found.values()]
        ax.bar(list(found), heights, bottom=bottom, label=part)
        bottom = [low + high for low, high in zip(bottom, heights, strict=True)]
    ax.set(xlabel="num_workers", ylabel="ms", xticks=list(found))
    ax.legend()
    plt.show()

# %%
# Ask for advice
# --------------
#
# ``advise`` turns the numbers of one run into what to change.
if __name__ == "__main__":
    for line in advise(found[0], language="en"):
        print("-", line)

# %%
# What you can do now
# -------------------
#
# - Measure waiting, copying and computing apart, and change the part that is large.
# - Choose ``num_workers`` by a sweep on the machine that will train.
# - Keep work under a main guard, so that the script runs where processes are spawned.
