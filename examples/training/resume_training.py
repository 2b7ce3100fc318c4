"""
Resume a training on its own curve
==================================

A training that is stopped in the middle and resumed should draw the curve that it would have drawn anyway.
You save a checkpoint after half of the steps and resume from it, once whole and four times with one part left out.
The curves show what each part is for: some mistakes are a bump, some change all that follows, and none raises an error.
"""

# %%
# Make the data
# -------------
#
# A noisy sine in 512 points.
import torch
from torch import nn

data = torch.Generator().manual_seed(0)
x = torch.rand(512, 1, generator=data) * 6 - 3
y = (2 * x).sin() + 0.1 * torch.randn(512, 1, generator=data)
print("device:", x.device)


# %%
# Put all that changes into one object
# ------------------------------------
#
# A step changes the weights, the momentum, the learning rate and the state of the random numbers, which choose the batch and the dropped units.
def make_model() -> nn.Module:
    return nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Dropout(0.05), nn.Linear(64, 1))


class Run:
    """A training with everything it needs to go on."""

    def __init__(self, seed: int) -> None:
        torch.manual_seed(seed)
        self.model = make_model()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.03)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=200)


print(Run(seed=0).model)


# %%
# Train without a break
# ---------------------
#
# This is the curve to compare with; its losses are those of the training batches.
def go_on(run: Run, steps: int) -> list[float]:
    losses = []
    for _ in range(steps):
        rows = torch.randint(len(x), (64,))
        loss = nn.functional.mse_loss(run.model(x[rows]), y[rows])
        run.optimizer.zero_grad()
        loss.backward()
        run.optimizer.step()
        run.scheduler.step()
        losses.append(loss.item())
    return losses


whole = go_on(Run(seed=0), 200)
print("steps 1, 100, 200:", [round(whole[k], 4) for k in (0, 99, 199)])

# %%
# Save in the middle
# ------------------
#
# The file holds three dictionaries of states and the state of the random numbers.
import io

run = Run(seed=0)
before = go_on(run, 100)
PARTS = ("model", "optimizer", "scheduler")
file = io.BytesIO()  # a path would do as well
torch.save({p: getattr(run, p).state_dict() for p in PARTS} | {"rng": torch.get_rng_state()}, file)
print(f"{len(file.getvalue()) / 1e3:.0f} kB")


# %%
# Resume it
# ---------
#
# The new run starts from another seed, as a new process would, and gets all that counts from the file.
# Its losses are the same numbers, to the last bit.
def resume(without: str = "") -> list[float]:
    run = Run(seed=1)
    file.seek(0)
    state = torch.load(file)
    for part in set(PARTS) - {without}:
        getattr(run, part).load_state_dict(state[part])
    if without != "rng":
        torch.set_rng_state(state["rng"])
    return go_on(run, 100)


resumed = resume()
print("equal to the last bit:", before + resumed == whole)
torch.testing.assert_close(before + resumed, whole, rtol=0, atol=0)

# %%
# Leave something out
# -------------------
#
# The first loss after the break shows the weights, the mean of the next fifty what the missing part did.
others = {part: resume(without=part) for part in (*PARTS, "rng")}
print(f"{'nothing':10} first {whole[100]:.4f}  mean {sum(whole[100:150]) / 50:.4f}")
for part, losses in others.items():
    print(f"{part:10} first {losses[0]:.4f}  mean {sum(losses[:50]) / 50:.4f}")

# %%
# Draw the curves
# ---------------
#
# A running mean over twenty steps hides the noise of the batches.
import matplotlib.pyplot as plt


def smooth(losses: list[float]) -> torch.Tensor:
    return torch.tensor(losses).unfold(0, 20, 1).mean(dim=1)


name = "Loss curves after step 100: without the model the loss starts high, without the optimizer it has a bump, without the scheduler or rng it only differs a little; the whole checkpoint lies on the curve of the unbroken run."
fig, axes = plt.subplots(2, 2, figsize=(6, 4), layout="constrained", sharex=True, num=name)
for ax, (part, losses) in zip(axes.flat, others.items(), strict=True):
    ax.semilogy(range(20, 201), smooth(whole), color="0.6", linewidth=3)
    ax.semilogy(range(120, 201), smooth(resumed), "k:", label="checkpoint")
    ax.semilogy(range(120, 201), smooth(losses), "C1", label=f"− {part}")
    ax.legend(fontsize=8)
plt.show()

# %%
# What you can do now
# -------------------
#
# - Save model, optimizer, scheduler and random numbers in one file, at the end of a step.
# - Test it as here: run whole, run in two parts, compare the losses with ``==``.
# - Recognise a bump after a restart: the optimizer lost what it had gathered, or the learning rate jumped.
