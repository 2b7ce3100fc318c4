"""
Trade memory for layers that run twice
======================================

Backward needs what forward kept, and that is most of the memory of many training steps.
Activation checkpointing keeps less and computes the rest again.
You count both sides, the bytes alive at the peak and the layers that run twice, for segments of different lengths, and find that the best are neither the shortest nor the longest.
"""

# %%
# Build something deep
# --------------------
#
# Each of the 16 layers leaves an activation for backward.
# A hook before each layer counts how often it runs.
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(1024, 32)
layers = [nn.Sequential(nn.Linear(32, 32), nn.Tanh()) for _ in range(16)]
runs: list[nn.Module] = []
for layer in layers:
    layer.register_forward_pre_hook(lambda layer, _: runs.append(layer))
print(f"one activation {x.nbytes / 1e6:.2f} MB, all {16 * x.nbytes / 1e6:.1f} MB")
print("device:", x.device)

# %%
# Count the bytes that are alive
# ------------------------------
#
# A dispatch mode sees the result of each operation, forward and backward.
# A weak dictionary forgets the memory of a result as soon as it is freed.
# The test needs three results at once: the old total, the summand, the new total.
from torch.utils._python_dispatch import TorchDispatchMode


class Alive(TorchDispatchMode):
    """Know the bytes of all results that are alive, and their peak."""

    def __init__(self) -> None:
        super().__init__()
        self.alive, self.peak = WeakKeyDictionary(), 0

    def __torch_dispatch__(self, call: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = call(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.alive[result.untyped_storage()] = result.nbytes
        self.peak = max(self.peak, sum(self.alive.values()))
        return result


with Alive() as counter:
    sum(x + k for k in range(10))
print(f"peak {counter.peak / x.nbytes:.0f} activations")

# %%
# Train a step with checkpoints
# -----------------------------
#
# ``checkpoint`` keeps only the input of a segment and runs the segment again when backward arrives there.
# Here the first layers are cut into segments of one length, and the rest runs as usual.
from torch.utils.checkpoint import checkpoint


def measure(length: int, segments: int) -> tuple[int, float]:
    runs.clear()
    with Alive() as counter:
        out = x
        for k in range(segments):
            part = nn.Sequential(*layers[k * length : (k + 1) * length])
            out = checkpoint(part, out, use_reentrant=False)
        nn.Sequential(*layers[segments * length :])(out).square().mean().backward()
    return len(runs) - len(layers), counter.peak / 1e6


measure(1, 0)  # the first step also makes the gradients of the weights, which stay
for length in (1, 4, 16):
    twice, peak = measure(length, 16 // length)
    print(f"segments of {length:2}: {twice} layers run twice, peak {peak:.2f} MB")

# %%
# Place the checkpoints
# ---------------------
#
# Only one segment is computed again at a time, so the peak is, up to a few temporary results, the inputs of all segments plus the inside of one.
# For 16 layers that is :math:`16 / \ell + \ell` activations, the least for :math:`\ell = \sqrt{16} = 4`.
lengths = [1, 2, 4, 8, 16]
peaks = [measure(length, 16 // length)[1] for length in lengths]
for length, peak in zip(lengths, peaks, strict=True):
    rule = (16 / length + length) * x.nbytes / 1e6
    print(f"segments of {length:2}: peak {peak:.2f} MB, by the rule {rule:.2f} MB")

# %%
# Draw the trade
# --------------
#
# Right, a point further along a line has one more segment under a checkpoint.
# Segments of 4 get the furthest down; segments of 1 buy nothing, because the input of a layer is as large as what it keeps.
import matplotlib.pyplot as plt

name = "Left, the peak over the segment length is a valley with its floor at 4. Right, it falls with the layers that run twice, deepest for segments of 4, not at all for 1."
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", num=name)
left.plot(lengths, peaks, "ko-")
left.set(xlabel="ℓ", ylabel="MB", ylim=(0, 3))
for length, marker in zip((1, 4, 8), "os^", strict=True):
    points = [
        measure(length, segments)
        for segments in range(0, 16 // length + 1, 4 if length == 1 else 1)
    ]
    right.plot(*zip(*points, strict=True), marker=marker, markersize=4, label=f"ℓ = {length}")
right.set(xlabel="n", ylim=(0, 3))
right.legend()
plt.show()

# %%
# Check that nothing else changed
# -------------------------------
#
# The gradients are the same with and without checkpoints.
# Dropout would be, too: ``checkpoint`` restores the state of the random numbers before it runs a segment again.
gradients = []
for segments in (0, 4):
    nn.Sequential(*layers).zero_grad()
    measure(4, segments)
    gradients.append([layer[0].weight.grad for layer in layers])
print("equal:", all(map(torch.equal, *gradients)))

# %%
# What you can do now
# -------------------
#
# - Count the bytes at the peak of any function, forward and backward, without a GPU.
# - Begin with segments of about :math:`\sqrt{n}` layers: one more forward for a fraction of the memory.
# - Leave single layers and whole networks alone: a checkpoint around one of these saves almost nothing.
