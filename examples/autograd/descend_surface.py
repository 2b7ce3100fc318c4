"""
Watch optimizers descend a surface
==================================

A long, narrow valley shows what a learning rate and momentum do: the gradient points across the valley, and the minimum lies along it.
You draw the paths of four optimizers from one start, count their steps, and find the learning rate at which plain descent begins to jump.
"""

# %%
# Make the valley
# ---------------
#
# :math:`f(x, y) = \tfrac12 (x^2 + 25 y^2)` bends 25 times more along :math:`y` than along :math:`x`.
# Its gradient is :math:`(x, 25 y)`; autograd computes it for us.
import torch


def surface(p: torch.Tensor) -> torch.Tensor:
    return 0.5 * (p[..., 0] ** 2 + 25 * p[..., 1] ** 2)


point = torch.tensor([4.0, 1.0], requires_grad=True)
surface(point).backward()
print("f =", surface(point).item(), " gradient =", point.grad.tolist())
print("device:", point.device)


# %%
# Go down
# -------
#
# A step changes the point by its gradient, in the way of the optimizer; here is plain descent.
def descend(kind: type[torch.optim.Optimizer], steps: int = 60, **options: float) -> torch.Tensor:
    p = torch.tensor([4.0, 1.0], requires_grad=True)
    optimizer = kind([p], **options)
    path = [p.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        surface(p).backward()
        optimizer.step()
        path.append(p.detach().clone())
    return torch.stack(path)


print(descend(torch.optim.SGD, steps=3, lr=0.03))

# %%
# Compare four optimizers
# -----------------------
#
# Each gets the same start and 60 steps.
sgd, adam = torch.optim.SGD, torch.optim.Adam
paths = {
    "SGD, lr=0.03": descend(sgd, lr=0.03),
    "SGD, lr=0.079": descend(sgd, lr=0.079),
    "SGD, momentum=0.8": descend(sgd, lr=0.03, momentum=0.8),
    "Adam, lr=0.3": descend(adam, lr=0.3),
}
for name, path in paths.items():
    near = (surface(path) < 0.01).nonzero().flatten().tolist()
    when = f"below 0.01 after {near[0]} steps" if near else "not below 0.01"
    print(f"{name:18} f = {surface(path[-1]).item():.1e}  {when}")

# %%
# Draw the paths
# --------------
#
# A small learning rate creeps along the valley, one just under the limit jumps from side to side, and momentum and Adam build up speed along it.
import matplotlib.pyplot as plt

name = "Four paths from (4, 1) to (0, 0) over the contours of a narrow valley: one creeps, one zigzags, two curve."
fig, axes = plt.subplots(
    2, 2, figsize=(6, 4), layout="constrained", sharex=True, sharey=True, num=name
)
xs, ys = torch.linspace(-2, 5, 80), torch.linspace(-1.5, 1.5, 60)
grid = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), dim=-1)
for ax, (label, path) in zip(axes.flat, paths.items(), strict=True):
    ax.contour(xs, ys, surface(grid), levels=[0.5, 2, 5, 10, 20, 40], colors="0.6", linewidths=0.8)
    ax.plot(path[:, 0], path[:, 1], "o-", markersize=3, linewidth=1)
    ax.plot(0, 0, "k*")
    ax.set_title(label, fontsize=9)
plt.show()

# %%
# Find where plain descent breaks
# -------------------------------
#
# Along an axis of curvature :math:`c`, a step multiplies the distance by :math:`1 - \eta c`.
# With :math:`c = 25` that leaves the interval from −1 to 1 at :math:`\eta = 2/25 = 0.08`.
for rate in (0.079, 0.080, 0.081):
    path = descend(sgd, steps=200, lr=rate)
    print(
        f"lr={rate:.3f}  factor {1 - rate * 25:+.3f}  |y| after 200 steps {path[-1, 1].abs().item():.2e}"
    )

# %%
# What you can do now
# -------------------
#
# - Recognise a learning rate that is too large: the loss jumps, then grows without bound.
# - Say why: the steepest direction limits the step for all others.
# - Reach for momentum, Adam, or a better scaling of the inputs before a smaller learning rate.
