"""
Watch the memory of a training step
===================================

The memory of a step is not one number: it grows through the forward pass and falls through the backward pass.
You follow every storage of three steps from its birth to its end, and draw how much is alive after each operation.
Parameters, gradients and the optimizer's state show as plateaus, the activations as a mountain.
"""

# %%
# Count each storage once
# -----------------------
#
# A finalizer tells when a storage is freed.
# A view shares the storage of its tensor, so it adds nothing.
import weakref

import torch

live, seen = [0], weakref.WeakSet()


def free(size: int) -> None:
    live[0] -= size


def add(tensor: torch.Tensor) -> None:
    storage = tensor.untyped_storage()
    if storage not in seen:
        seen.add(storage)
        live[0] += storage.nbytes()
        weakref.finalize(storage, free, storage.nbytes())


x = torch.ones(1000)
for tensor in (x, x.view(10, 100)):
    add(tensor)
print(live[0], "bytes for a tensor and its view")

# %%
# See every operation
# -------------------
#
# A ``TorchDispatchMode`` runs in the place of every operation, on any device, and notes the sum after it.
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

curve = []


class Watch(TorchDispatchMode):
    """Add what each operation returns."""

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, add, result)
        curve.append(live[0])
        return result


print("watching torch", torch.__version__)

# %%
# Make a network and a batch
# --------------------------
#
# They live before the first step, so they are added by hand.
from torch import nn

from torchguide.devices import best_device

device = torch.device(best_device())
torch.manual_seed(0)
net = nn.Sequential(*(nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(6))).to(device)
optimizer = torch.optim.Adam(net.parameters(), foreach=False)
x = torch.randn(2048, 256, device=device)
for tensor in (x, *net.parameters()):
    add(tensor)
print(f"{device.type}: {live[0] / 2**20:.1f} MiB before the first step")

# %%
# Take three steps
# ----------------
#
# The marks say where the forward pass, the backward pass and the update of each step end.
marks = []
with Watch():
    for _ in range(3):
        loss = net(x).square().mean()
        marks.append(("forward", len(curve)))
        loss.backward()
        marks.append(("backward", len(curve)))
        optimizer.step()
        optimizer.zero_grad()
        del loss
        marks.append(("update", len(curve)))
print(f"{len(curve)} operations, peak {max(curve) / 2**20:.1f} MiB")

# %%
# Draw the timeline
# -----------------
#
# Each mountain is a step: up in the forward pass, down in the backward pass.
# After the first update the floor is higher: Adam has made its state.
import matplotlib.pyplot as plt

name = "The bytes alive over the operations of three steps: three mountains, on a floor that rises after the first."
fig, ax = plt.subplots(figsize=(5.6, 2.8), layout="constrained", num=name)
ax.fill_between(range(len(curve)), [amount / 2**20 for amount in curve], alpha=0.5)
for number, (part, at) in enumerate(marks):
    ax.axvline(at, color=f"C{number % 3 + 1}", linestyle=":", label=part if number < 3 else None)
ax.set(xlabel="operation", ylabel="MiB", ylim=(0, None))
ax.legend(fontsize="small")
plt.show()

# %%
# Compare with the estimate
# -------------------------
#
# ``estimate_training_memory`` finds the same peak without running anything, on the meta device.
# Both count tensors; the workspaces of libraries come on top.
from torchguide.memory import estimate_training_memory

estimate = estimate_training_memory(
    net,
    x,
    loss=lambda result: result.square().mean(),
    optimizer=lambda parameters: torch.optim.Adam(parameters, foreach=False),
)
ratio = max(curve) / estimate.peak
print(f"estimate {estimate.peak / 2**20:.1f} MiB, watched / estimate {ratio:.2f}")

# %%
# What you can do now
# -------------------
#
# - Tell the parts of a step by the shape of its memory: plateaus and mountains.
# - Expect the second step to need more than the first, where the optimizer keeps state.
