"""
Repeat a training, and know how far two runs may differ
=======================================================

With one seed a training gives the same numbers again; with another seed it gives others.
You check both, measure how far the seeds scatter, and see what that means for a comparison of two settings.
At the end you find which harmless lines make the same seed give another result.
"""

# %%
# Write the training as a function of its seed
# --------------------------------------------
#
# The data are fixed; the seed decides the first weights and the order of the samples.
import torch
from torch import nn

x = torch.randn(400, 2, generator=torch.Generator().manual_seed(1))
y = (x.norm(dim=1) > 1).long()
valid_x = torch.randn(1000, 2, generator=torch.Generator().manual_seed(2))
valid_y = (valid_x.norm(dim=1) > 1).long()


def make(seed: int, width: int = 8) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))


print(make(seed=0), "on the device", x.device)


# %%
# Train twice with the same seed
# ------------------------------
#
# Not one bit differs.
def fit(model: nn.Module, order: torch.Generator | None = None) -> float:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    for _ in range(3):
        for rows in torch.randperm(len(x), generator=order).split(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
    with torch.no_grad():
        return nn.functional.cross_entropy(model(valid_x), valid_y).item()


first, second = fit(make(seed=0)), fit(make(seed=0))
print(f"{first:.10f}\n{second:.10f}")
torch.testing.assert_close(first, second, rtol=0, atol=0)

# %%
# Train with twenty seeds
# -----------------------
#
# The same model on the same data: all that differs is luck.
losses = {8: torch.tensor([fit(make(seed)) for seed in range(20)])}
low, high = losses[8].aminmax()
print(f"lowest {low:.3f}  highest {high:.3f}")
print(f"mean   {losses[8].mean():.3f}  standard deviation {losses[8].std():.3f}")

# %%
# Compare two widths
# ------------------
#
# The wider model is better on average, but with one run of each you could have found the opposite.
# The share of pairs in which it is says how often.
losses[12] = torch.tensor([fit(make(seed, width=12)) for seed in range(20)])
wrong = (losses[12][:, None] > losses[8][None, :]).float().mean()
for width, values in losses.items():
    error = values.std() / len(values) ** 0.5
    print(f"width {width:2}: mean {values.mean():.4f} ± {error:.4f}")
print(f"pairs of runs in which width 12 loses: {wrong:.0%}")

# %%
# Draw the scatter
# ----------------
#
# Each dot is a run, each line a mean.
# Tell readers the spread, not your best run.
import matplotlib.pyplot as plt

name = "Final losses of twenty runs for each of two widths: two clouds of dots that overlap widely, with means that differ less than the clouds are wide."
fig, ax = plt.subplots(figsize=(5, 2.6), layout="constrained", num=name)
for row, (values, colour) in enumerate(zip(losses.values(), ("C0", "C1"), strict=True)):
    jitter = torch.linspace(-0.2, 0.2, len(values))
    ax.plot(values, row + jitter, "o", color=colour, markersize=4, alpha=0.7)
    ax.plot([values.mean()] * 2, [row - 0.35, row + 0.35], color=colour, linewidth=2)
ax.set_yticks(range(len(losses)), [f"width={width}" for width in losses])
ax.set(xlabel="loss")
plt.show()


# %%
# Find what breaks the repetition
# -------------------------------
#
# All functions share one generator, so a random number drawn anywhere shifts all that come later.
# With a generator of its own the order of the data no longer depends on what else is drawn.
def with_a_draw(order: torch.Generator | None = None) -> float:
    model = make(seed=0)
    torch.rand(1)  # as a plot of random samples would, or one more dropout layer
    return fit(model, order)


own = torch.Generator()
print("one more random number:", with_a_draw() == first)
print(
    "the same, order has its own generator:",
    with_a_draw(own.manual_seed(7)) == fit(make(0), own.manual_seed(7)),
)

# %%
# What you can do now
# -------------------
#
# - Fix a seed to find mistakes, and vary it to compare settings.
# - Give mean and spread of several runs, and distrust a gain smaller than the spread.
# - Give data, weights and augmentation generators of their own.
# - On a GPU, also ask for ``torch.use_deterministic_algorithms(True)``: the seed alone does not fix the order of sums.
