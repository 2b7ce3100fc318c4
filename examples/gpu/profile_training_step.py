"""
Profile a training step and read its trace
==========================================

Before you make a training step faster, you should know where its time goes.
You record a few steps of a small network with PyTorch's profiler, read the table, and draw which operations take most of it.
Then you open the trace itself, and draw the named parts of one step along time as a viewer would.
With an accelerator the same script records its kernels as well; the drawn times are those of the CPU that starts them.
"""

# %%
# Build a step with names
# -----------------------
#
# ``record_function`` gives a part of your code a name that the profiler keeps.
import os

os.environ["KINETO_LOG_LEVEL"] = "99"  # the profiler's own messages

import torch
from torch import nn
from torch.profiler import profile, record_function, supported_activities

from torchguide.devices import best_device

device = torch.device(best_device())
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
optimizer = torch.optim.Adam(net.parameters(), foreach=False)
x = torch.randn(256, 256, device=device)
y = torch.randint(10, (256,), device=device)
print("device:", device)

# %%
# Record five steps
# -----------------
#
# One step runs before the record, since the first one allocates memory and the optimizer's state.
PARTS = ("forward", "backward", "update")


def step() -> None:
    optimizer.zero_grad()
    with record_function("forward"):
        loss = nn.functional.cross_entropy(net(x), y)
    with record_function("backward"):
        loss.backward()
    with record_function("update"):
        optimizer.step()


step()
with profile(activities=supported_activities(), acc_events=True) as record:
    for _ in range(5):
        step()
rows = {row.key: row for row in record.key_averages()}
print("calls:", *(f"{name} {rows[name].count}" for name in PARTS))

# %%
# Read the table
# --------------
#
# ``Self CPU`` is the time in an operation without those that it calls: sort by it.
# The number of calls doesn't depend on the machine.
print(
    record.key_averages().table(
        sort_by="self_cpu_time_total", row_limit=8, max_name_column_width=28
    )
)

# %%
# Find the operations that cost most
# ----------------------------------
#
# The same numbers as shares of the whole; what is not among the bars is spread over many small calls.
import matplotlib.pyplot as plt

own = {key: row.self_cpu_time_total for key, row in rows.items() if key.startswith("aten::")}
top = sorted(own, key=own.get)[-6:]
shares = [100 * own[key] / sum(own.values()) for key in top]
name = "A bar for each of the six operations that take the largest share of the time."
fig, ax = plt.subplots(figsize=(4.8, 2.6), layout="constrained", num=name)
ax.barh([key.removeprefix("aten::") for key in top], shares)
ax.set(xlabel="%")
plt.show()

# %%
# Keep the trace
# --------------
#
# The trace is a JSON file with a bar for each call; here it lies in a temporary folder that is removed at once.
# Write it to a folder of yours to open it in a viewer such as Perfetto.
import json
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "trace.json")
    record.export_chrome_trace(str(path))
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
bars = [e for e in events if e.get("cat") == "user_annotation" and e["name"] in PARTS]
bars.sort(key=lambda event: event["ts"])
print(f"{len(bars)} named bars: {len(PARTS)} parts in 5 steps")

# %%
# Draw the steps along time
# -------------------------
#
# Gaps between the bars are code without a name.
# A part that is long in one step only was disturbed from outside: judge by all steps.
name = "The parts of five steps along time: forward, backward and update follow each other in each step."
fig, ax = plt.subplots(figsize=(5.6, 2), layout="constrained", num=name)
start = bars[0]["ts"]
for row, part in enumerate(PARTS):
    spans = [((e["ts"] - start) / 1e3, e["dur"] / 1e3) for e in bars if e["name"] == part]
    ax.broken_barh(spans, (row - 0.4, 0.8), color=f"C{row}")
ax.set(xlabel="ms", yticks=range(len(PARTS)), yticklabels=PARTS)
ax.invert_yaxis()
plt.show()

# %%
# What you can do now
# -------------------
#
# - Name the parts of your training step, and record a few steps after a warm-up.
# - Find the most expensive operations by ``Self CPU``, and mistakes by the number of calls.
# - Write a trace, read it as JSON, or open it in a viewer.
