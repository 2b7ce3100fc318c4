"""
Find a learning rate in one run
===============================

Let the learning rate grow at every step and watch the loss: it stands still, falls, then explodes.
You run this test on a small classifier, choose a rate from the curve, and check the choice against four others.
"""

# %%
# Make data that a line cannot separate
# -------------------------------------
#
# Two classes in rings: a point belongs to the outer one if it lies more than 1 from the centre.
import torch
from torch import nn

generator = torch.Generator().manual_seed(0)
points = torch.randn(2000, 2, generator=generator)
labels = (points.norm(dim=1) > 1).long()
print("points", tuple(points.shape), " outer ring:", f"{labels.float().mean():.2f}")
print("device:", points.device)


# %%
# Take one step
# -------------
#
# A step draws a batch, computes the loss and changes the weights; the test and the check both use it.
def classifier() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
    return nn.Sequential(*layers)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, batches: torch.Generator) -> float:
    batch = torch.randint(len(points), (64,), generator=batches)
    loss = nn.functional.cross_entropy(model(points[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


print(f"parameters: {sum(p.numel() for p in classifier().parameters())}")

# %%
# Let the rate grow
# -----------------
#
# Each step multiplies the rate by the same factor, from 10⁻⁴ to 10.
# A smoothed loss hides the noise of the batches.
model, batches = classifier(), torch.Generator().manual_seed(1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=1e5 ** (1 / 150))
rates, losses = [], []
for _ in range(150):
    rates.append(scheduler.get_last_lr()[0])
    loss = step(model, optimizer, batches)
    losses.append(loss if not losses else 0.9 * losses[-1] + 0.1 * loss)
    scheduler.step()

lowest = torch.tensor(losses).nan_to_num(torch.inf).argmin()
chosen = rates[lowest] / 10
print(f"lowest loss at {rates[lowest]:.2f}; a tenth of it: {chosen:.2f}")

# %%
# Read the curve
# --------------
#
# The lowest point is already too late: the steepest fall lies before it.
# A tenth of that rate is a usual choice.
import matplotlib.pyplot as plt

name = "The loss over a growing learning rate: flat at first, then falling, with the chosen rate marked before the minimum."
fig, ax = plt.subplots(figsize=(4.8, 3), layout="constrained", num=name)
ax.semilogx(rates, losses)
ax.axvline(chosen, color="0.3", linestyle="--", label=f"lr = {chosen:.2f}")
ax.set(xlabel="lr", ylabel="loss", ylim=(0, 1.2))
ax.legend()
plt.show()


# %%
# Check the choice
# ----------------
#
# Each rate trains for 200 steps from the same start on the same batches.
def train(rate: float, steps: int = 200) -> float:
    model, batches = classifier(), torch.Generator().manual_seed(2)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(steps):
        step(model, optimizer, batches)
    with torch.no_grad():
        return (model(points).argmax(dim=1) == labels).float().mean().item()


for rate in (chosen / 100, chosen / 10, chosen, chosen * 10, chosen * 100):
    print(f"lr = {rate:8.4f}  accuracy {train(rate):.3f}")

# %%
# What you can do now
# -------------------
#
# - Find the order of magnitude of a learning rate in one short run.
# - Repeat the test when you change the batch size, the model or the optimizer.
# - Distrust a curve that never falls: the data or the loss is wrong, not the rate.
