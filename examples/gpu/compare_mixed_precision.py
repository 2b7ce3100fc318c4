"""
Compare error and time of mixed precision
=========================================

Narrow numbers take half the memory, and on some devices a fraction of the time; what do they cost?
You train the same small network in ``float32`` and with ``autocast`` in ``bfloat16``, and compare the losses step by step.
Then you measure the error of a single product in each format, and the time of a step on this device.
"""

# %%
# Prepare one training
# --------------------
#
# Same seed, same data, same order: only the format differs.
from collections.abc import Callable

import torch
from torch import nn

from torchguide.devices import best_device, describe_device

device = torch.device(best_device())
generator = torch.Generator().manual_seed(0)
x = torch.randn(512, 64, generator=generator).to(device)
noise = torch.randn(512, 1, generator=generator).to(device)
y = (x[:, :1] * x[:, 1:2]).sign() + noise  # no line fits that
print(describe_device(device))

# %%
# Write one training for all formats
# ----------------------------------
#
# The weights stay in ``float32``; ``autocast`` chooses the format of each operation.


# A network, its optimizer, and a function that makes one step.
def make_step(dtype: torch.dtype | None) -> Callable[[], float]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 1)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)

    def step() -> float:
        optimizer.zero_grad()
        with torch.autocast(device.type, dtype=dtype, enabled=dtype is not None):
            loss = nn.functional.mse_loss(net(x).float(), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


print(f"loss of the first step: {make_step(None)():.3f}")

# %%
# Train in both formats
# ---------------------
#
# Sixty steps each; the gap is the largest difference of the two losses in one step.
losses = {}
for name, dtype in {"float32": None, "bfloat16": torch.bfloat16}.items():
    step = make_step(dtype)
    losses[name] = [step() for _ in range(60)]
gap = max(abs(a - b) for a, b in zip(*losses.values(), strict=True))
print({name: round(values[-1], 3) for name, values in losses.items()}, f"largest gap {gap:.3f}")

# %%
# Draw the losses
# ---------------
#
# The curves lie on each other as long as rounding is small against the noise of training.
import matplotlib.pyplot as plt

name = "The losses in float32 and in bfloat16 over 60 steps; the two curves fall together."
fig, ax = plt.subplots(figsize=(4.8, 2.8), layout="constrained", num=name)
for style, (label, values) in zip(("-", "--"), losses.items(), strict=True):
    ax.plot(values, style, label=label)
ax.set(xlabel="step", ylabel="loss")
ax.legend()
plt.show()

# %%
# Measure the error of a product
# ------------------------------
#
# Against the same product in ``float64``, relative to its size.
# The error follows the rounding step ``eps`` of the format, not the size of the matrix.
a, b = (torch.randn(256, 256, generator=generator, dtype=torch.float64) for _ in range(2))
exact = a @ b
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    result = (a.to(dtype) @ b.to(dtype)).double()
    error = (result - exact).norm() / exact.norm()
    print(f"{dtype!s:15} error {error:.0e}, eps {torch.finfo(dtype).eps:.0e}")

# %%
# Compare the time of a step
# --------------------------
#
# The ratio belongs to this device alone: without units for the format, ``autocast`` only adds conversions.
# At 1 nothing is gained, above 1 time is lost.
from torchguide.timing import measure

times = {
    name: measure(make_step(dtype), device=device, repeats=15).median
    for name, dtype in {"float32": None, "bfloat16": torch.bfloat16}.items()
}
print(f"{device.type}: bfloat16 takes {times['bfloat16'] / times['float32']:.1f} of float32's time")

# %%
# What you can do now
# -------------------
#
# - Compare two formats in the same training, and judge the gap by the curve.
# - Tell from ``eps`` what error a product will have.
# - Measure on your device whether a narrow format is faster before you use it for that.
