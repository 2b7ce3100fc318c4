"""
Measure what a second process brings
====================================

Twice the processes rarely means twice the speed: gradients must be exchanged, and processes share a machine.
You start two processes, measure the samples per second of one and of both under ``DistributedDataParallel``, and see how the gain depends on the batch.
"""

# %%
# Look at the machine
# -------------------
#
# The processes run on the CPU with ``gloo``, so the results below belong to this CPU and to what else it does.
# With one core, or a busy machine, a second process cannot gain anything.
import os
from importlib.metadata import version

print("torch", version("torch"), "on the CPU")
print("cores:", os.cpu_count())

# %%
# Write the program of each process
# ---------------------------------
#
# Every process runs the same file.
# Its first part times training steps in a process group, whether that has one member or two, and takes the median.
program = """
import json, sys, time, torch, torch.distributed as dist
from pathlib import Path
from torch.nn.parallel import DistributedDataParallel as DDP

def samples_per_second(group, batch, steps=6):
    layers = [torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU()) for _ in range(3)]
    model, times = DDP(torch.nn.Sequential(*layers), process_group=group), []
    for _ in range(steps + 2):
        start = time.perf_counter()
        model(torch.ones(batch, 512)).square().mean().backward()
        times.append(time.perf_counter() - start)
    return dist.get_world_size(group) * batch / sorted(times[2:])[steps // 2]
"""
print(f"each gradient: {4 * 3 * (512 * 512 + 512) / 2**20:.1f} MiB")

# %%
# Let one process wait
# --------------------
#
# Rank 0 measures alone while rank 1 waits at a barrier; then both work together.
# Every process has one thread, so that two of them use twice the cores of one.
program += """
torch.set_num_threads(1)
store, rank = Path("store").resolve().as_uri(), int(sys.argv[1])
dist.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
alone = dist.new_group([0])
batches, one = [8, 64, 256], None
if dist.get_rank() == 0:
    one = [samples_per_second(alone, batch) for batch in batches]
dist.barrier()
two = [samples_per_second(dist.group.WORLD, batch) for batch in batches]
if dist.get_rank() == 0:
    print(json.dumps({"batches": batches, "one": one, "two": two}))
dist.destroy_process_group()
"""
print(len(program.splitlines()), "lines for measure.py")

# %%
# Start it
# --------
#
# For a real job ``torchrun`` starts the processes and looks after them.
# Here two subprocesses find each other through a file, which needs no port and starts sooner.
import json
import subprocess
import sys
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "measure.py").write_text(program, "utf-8")
    command, pipe = [sys.executable, "measure.py"], subprocess.PIPE
    pair = [
        subprocess.Popen([*command, str(rank)], cwd=folder, stdout=pipe, text=True)
        for rank in range(2)
    ]
    outputs = [process.communicate()[0] for process in pair]
result = json.loads(outputs[0])
print("measured:", *result)

# %%
# Compare the rates
# -----------------
#
# A gain of 2 would be perfect.
# Each step exchanges one gradient for each parameter, whatever the batch; a larger batch spreads that cost over more samples.
gains = [two / one for one, two in zip(result["one"], result["two"], strict=True)]
for batch, gain in zip(result["batches"], gains, strict=True):
    print(f"batch {batch:3d} for each process: {gain:.2f} times the samples per second of one")

# %%
# Draw the gain
# -------------
#
# Below the dotted line the second process made the training slower.
# The rates are medians of a few steps, so expect other numbers in your next run.
import matplotlib.pyplot as plt

name = "The gain of two processes over one for four batch sizes, with a dotted line at 1 and a dashed line at 2."
fig, ax = plt.subplots(figsize=(4.8, 3), layout="constrained", num=name)
ax.semilogx(result["batches"], gains, "o-")
ax.axhline(1, color="0.3", linestyle=":")
ax.axhline(2, color="0.3", linestyle="--")
ax.set(xlabel="batch", ylabel="gain", ylim=(0, 2.5))
plt.show()

# %%
# What you can do now
# -------------------
#
# - Measure the gain of a second process on your own model before you rent a second device.
# - Give each process a batch large enough to hide the exchange, and remember that the whole batch grows with the processes.
# - Compare with one process that uses all cores as threads, which exchanges nothing.
