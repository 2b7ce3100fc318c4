"""
Accumulate gradients instead of a large batch
=============================================

A batch that does not fit into memory can be computed in parts: gradients add up until you set them to zero.
You compare the accumulated gradient with that of the whole batch, make the two usual mistakes with the mean, and measure what the parts save.
"""

# %%
# Take the gradient of the whole batch
# ------------------------------------
#
# The loss is a mean over 48 samples.
# Double precision keeps rounding out of the comparisons.
import torch
from torch import nn

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
x, labels = torch.randn(48, 20), torch.randint(3, (48,))
model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 3))


def gradient() -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


nn.functional.cross_entropy(model(x), labels).backward()
whole = gradient()
print(f"device: {x.device}, gradient: {whole.numel()} numbers, norm {whole.norm():.4f}")

# %%
# Accumulate it in four parts
# ---------------------------
#
# ``backward`` adds to ``.grad``.
# Each part's loss is a mean over 12 samples, so a quarter of each gives the mean over 48.


def accumulate(sizes: list[int], weights: list[float]) -> torch.Tensor:
    model.zero_grad()
    for rows, classes, weight in zip(x.split(sizes), labels.split(sizes), weights, strict=True):
        loss = nn.functional.cross_entropy(model(rows), classes) * weight
        loss.backward()
    return gradient()


def error(other: torch.Tensor) -> float:
    return ((other - whole).norm() / whole.norm()).item()


quarters = [12] * 4, [1 / 4] * 4
print(f"relative difference below 1e-12: {error(accumulate(*quarters)) < 1e-12}")

# %%
# Forget to divide
# ----------------
#
# Without the weight the gradient is four times too long.
# With SGD that is a learning rate four times too high, and nothing fails.
forgotten = accumulate([12] * 4, [1.0] * 4)
print(f"length: {(forgotten.norm() / whole.norm()).item():.4f} times the right one")

# %%
# Use parts of different sizes
# ----------------------------
#
# The last part of an epoch is often smaller, and texts have different numbers of tokens.
# A mean of means then counts the samples of a small part too much; each part needs its share of all samples as the weight.
sizes = [20, 20, 8]
mean_of_means = accumulate(sizes, [1 / 3] * 3)
shares = accumulate(sizes, [size / 48 for size in sizes])
print(f"mean of means: {error(mean_of_means):.1%} wrong")
print(f"shares: relative difference below 1e-12: {error(shares) < 1e-12}")

# %%
# Draw the error of the mean of means
# -----------------------------------
#
# Two parts share the 48 samples.
# Only where they are equal is the mean of means right, while shares are right everywhere.
import matplotlib.pyplot as plt

first = list(range(4, 45, 4))
wrong = [error(accumulate([n, 48 - n], [1 / 2, 1 / 2])) for n in first]
right = [error(accumulate([n, 48 - n], [n / 48, 1 - n / 48])) for n in first]

name = "The error of the mean of means falls to zero where both parts hold 24 samples and grows to both sides; with shares as weights it is zero everywhere."
fig, ax = plt.subplots(figsize=(4.8, 3), layout="constrained", num=name)
ax.plot(first, wrong, "o-", label="1/2, 1/2")
ax.plot(first, right, "s--", label="$n/48$, $1 - n/48$")
ax.set(xlabel="$n$", ylabel=r"$\|g - g_{48}\| / \|g_{48}\|$")
ax.legend()
plt.show()

# %%
# Count what the parts save
# -------------------------
#
# Autograd keeps tensors for ``backward``; a hook sees each of them.
# Parameters are the same for every batch, so only the rest is counted.


def kept_bytes(rows: torch.Tensor) -> int:
    kept = {}
    known = {p.untyped_storage().data_ptr() for p in model.parameters()}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in known:
            kept[tensor.data_ptr()] = tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        nn.functional.cross_entropy(model(rows), labels[: len(rows)])
    return sum(kept.values())


for rows in (48, 12):
    print(f"{rows} samples at once: {kept_bytes(x[:rows]) / 1024:.1f} KiB kept")

# %%
# Know the exception
# ------------------
#
# The parts give the same gradient only if no sample's output depends on the others.
# ``BatchNorm`` computes mean and variance over the samples it sees, and four parts have four means.
model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 3))
whole = accumulate([48], [1.0])
print(f"with BatchNorm, four parts: {error(accumulate(*quarters)):.1%} off")
model[1] = nn.LayerNorm(64)
whole = accumulate([48], [1.0])
print(f"with LayerNorm: difference below 1e-12: {error(accumulate(*quarters)) < 1e-12}")

# %%
# What you can do now
# -------------------
#
# - Train with a batch that does not fit into memory, and get the gradient of the whole.
# - Weight each part by its share of the samples or tokens, not by the number of parts.
# - Use a normalisation that looks at one sample, such as ``LayerNorm``, where parts are small.
