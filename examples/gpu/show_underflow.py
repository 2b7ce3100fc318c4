"""
Show gradients that vanish in float16
=====================================

Small gradients become zero in ``float16``, without a message, and the scale of a ``GradScaler`` saves them.
You draw the gradients of a small network over the range that each format can hold, and count what survives with and without a scale.
Then you let the scaler look for a scale, and see it stop just below the point where the largest gradient overflows.
The formats are the same on every device, so that the drawing holds for a GPU too.
"""

# %%
# Compute gradients that are small
# --------------------------------
#
# The network is ordinary; its loss is one small term of a larger one, as in a model with several tasks.
import torch
from torch import nn

from torchguide.devices import best_device

device = torch.device(best_device())
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
x, y = torch.randn(256, 16, device=device), torch.randn(256, 1, device=device)
print("device:", device)

# %%
# Take the truth in float32
# -------------------------
#
# The gradients in ``float32`` are what the other formats are compared with.


# Gives the gradients of all parameters, computed in a dtype and divided by the scale again.
def gradients(dtype: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    net.zero_grad()
    with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
        loss = 1e-6 * nn.functional.mse_loss(net(x), y)
    (loss * scale).backward()
    return torch.cat([p.grad.flatten() for p in net.parameters()]) / scale


exact = gradients(torch.float32)
sizes = exact.abs()[exact != 0].log2()
print(f"gradients {exact.numel()}, sizes from 2**{sizes.min():.0f} to 2**{sizes.max():.0f}")

# %%
# Draw them over the ranges of the formats
# ----------------------------------------
#
# A range has two ends: above the first ``float16`` is precise, below the second it is zero, and in between it loses digits.
# Scaling by a power of two moves the histogram to the right and changes nothing else.
import math

import matplotlib.pyplot as plt

info = torch.finfo(torch.float16)
low, normal, high = (math.log2(v) for v in (info.tiny * info.eps, info.tiny, info.max))
name = "The gradients lie below what float16 can hold; multiplied by 2 to the 24th they lie within."
fig, ax = plt.subplots(figsize=(5.2, 3), layout="constrained", num=name)
for power, hatch in ((0, None), (24, "//")):
    label = rf"$\times\,2^{{{power}}}$"
    ax.hist((sizes + power).cpu(), bins=40, alpha=0.7, hatch=hatch, edgecolor="w", label=label)
ax.axvspan(normal, high, color="0.5", alpha=0.25, label="float16")
ax.axvspan(low, normal, color="0.5", alpha=0.12, label="float16 (subnormal)")
ax.set(xlabel=r"$\log_2 |g|$", xlim=(-46, high + 2))
ax.legend(fontsize="small")
plt.show()

# %%
# Count what survives
# -------------------
#
# The histogram shows the final gradients; on their way back they pass through intermediate results that are smaller still.
# So the count is taken from a real backward pass: how many are zero, how many are infinite, and how far the rest is off.
rows = {}
for power in range(0, 49, 4):
    found = gradients(torch.float16, 2.0**power)
    finite = found.isfinite()
    zero = (found == 0).float().mean().item()
    error = ((found - exact)[finite].norm() / exact[finite].norm()).item()
    rows[power] = (zero, 1 - finite.float().mean().item(), error)
    print(f"2**{power:<3} zero {zero:4.0%}  not finite {rows[power][1]:4.0%}  error {error:8.1e}")
lost = (gradients(torch.bfloat16) == 0).float().mean().item()
print(f"bfloat16 without a scale: zero {lost:.0%}")

# %%
# Find the window
# ---------------
#
# Between the two ends lies a window of scales that lose nothing, many powers of two wide.
# Where it lies depends on the model and moves during training.
name = "Without a scale most gradients are zero, in a middle window none is lost, above it they overflow."
fig, ax = plt.subplots(figsize=(5.2, 2.8), layout="constrained", num=name)
for column, marker, label in ((0, "o", "$g = 0$"), (1, "s", r"$g = \infty$, NaN")):
    ax.plot(list(rows), [row[column] for row in rows.values()], marker=marker, label=label)
ax.set(xlabel=r"$\log_2$ scale", ylim=(-0.05, 1.05))
ax.legend()
plt.show()

# %%
# Let the scaler search
# ---------------------
#
# ``GradScaler`` needs no window given: it halves the scale after every overflow and raises it when none came for a while.
# The start is set too high and the interval short, so that both happen within a few steps.
scaler = torch.amp.GradScaler(device.type, init_scale=2.0**48, growth_interval=3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
powers = []
for _ in range(20):
    optimizer.zero_grad()
    with torch.autocast(device.type, dtype=torch.float16):
        loss = 1e-6 * nn.functional.mse_loss(net(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    powers.append(round(math.log2(scaler.get_scale())))
print("log2 of the scale:", *powers)

# %%
# What you can do now
# -------------------
#
# - Tell from a histogram whether gradients fit into ``float16``.
# - Explain why the scaler multiplies the loss and not the gradients: what has become zero stays zero.
# - Read the course of the scale: a saw near the upper end of the window is healthy.
# - Leave the scaler out with ``bfloat16``, where nothing is lost.
