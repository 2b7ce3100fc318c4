"""
Clip gradients at a cliff
=========================

A network that applies one weight again and again has a loss with a plain and a cliff: one step on the cliff can undo a whole training.
You build the smallest such loss, watch plain descent fly off, and see what clipping the gradient cures and what it doesn't.
"""

# %%
# Apply one weight twenty times
# -----------------------------
#
# The output is :math:`w^{20}`, as in a recurrent network of twenty steps, and should be 1.
# Between 0.6 and 1.2 the gradient changes from almost nothing to tens of thousands.
import torch


def loss_of(w: torch.Tensor) -> torch.Tensor:
    return (w**20 - 1).square()


for value in (0.6, 0.8, 0.95, 1.05, 1.2):
    w = torch.tensor(value, requires_grad=True)
    loss_of(w).backward()
    print(f"w = {value:.2f}  loss {loss_of(w).item():9.4f}  gradient {w.grad.item():11.4f}")
print("device:", w.device)


# %%
# Descend with and without clipping
# ---------------------------------
#
# ``clip_grad_norm_`` scales the gradients down if their norm is above the limit, and returns the norm that it found.
# Without a limit, the first step leads so far away that the next loss is infinite.
def descend(start: float, limit: float = torch.inf, steps: int = 150) -> list[float]:
    w = torch.tensor(start, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.002)
    path = [w.item()]
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(w).backward()
        torch.nn.utils.clip_grad_norm_([w], limit)
        optimizer.step()
        path.append(w.item())
    return path


print("no limit:", [f"{w:.4g}" for w in descend(1.2)[:4]])
print("limit 1: ", [f"{w:.4g}" for w in descend(1.2, limit=1.0)[:4]])

# %%
# Draw the three cases
# --------------------
#
# Clipped, descent walks down the cliff in even steps and settles at 1.
# From 0.6 nothing moves, clipped or not: a limit makes large gradients small, never small ones large.
import matplotlib.pyplot as plt

name = "The weight over the steps: clipped it falls evenly from 1.2 to 1 and stays; from 0.6 it does not move; without a limit it leaves the picture at the first step."
fig, ax = plt.subplots(figsize=(5, 3), layout="constrained", num=name)
ax.plot(descend(1.2, limit=1.0), "o-", markersize=3, label="limit=1.0")
ax.plot(descend(0.6, limit=1.0), "s-", markersize=3, label="w=0.6, limit=1.0")
ax.plot(descend(1.2), "^--", label="limit=inf")
ax.axhline(1, color="0.5", linestyle=":")
ax.set(xlabel="k", ylabel="w", ylim=(0.5, 1.3))
ax.legend(fontsize=8)
plt.show()

# %%
# Keep the direction
# ------------------
#
# With several parameters, the norm of all of them together is scaled, and the direction stays.
# ``clip_grad_value_`` cuts each number for itself and turns the step.
for clip in (torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_):
    p = torch.zeros(2, requires_grad=True)
    p.grad = torch.tensor([30.0, 0.4])
    clip([p], 1.0)
    print(f"{clip.__name__:16} {[round(g, 4) for g in p.grad.tolist()]}")

# %%
# What you can do now
# -------------------
#
# - Clip after ``backward`` and before ``step``, and log the norm that ``clip_grad_norm_`` returns.
# - Set the limit somewhat above the usual norm, so that it only catches the spikes.
# - Cure small gradients elsewhere: initial weights, normalisation, residual connections.
