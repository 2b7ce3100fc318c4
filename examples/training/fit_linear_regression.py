"""
Fit a line with linear regression, from scratch
===============================================

You make noisy points around the line :math:`y = 2x + 1` and let gradient descent find the line again.
Nothing is hidden in a library: the gradients are derived on paper, the training loop is written by hand, and both results are drawn.
At the end, autograd computes the same gradients, and the exact solution shows how far the loop has come.
"""

# %%
# Make the data
# -------------
#
# Each :math:`y_i` is :math:`2x_i + 1` plus normal noise with a standard deviation of 0.5.
# The seed makes the same points in every run.
import torch

generator = torch.Generator().manual_seed(0)
x = 6 * torch.rand(100, generator=generator) - 3  # uniform in [-3, 3)
noise = 0.5 * torch.randn(100, generator=generator)
y = 2 * x + 1 + noise

print("shapes:", tuple(x.shape), tuple(y.shape))
print("device:", x.device)

# %%
# Derive the gradients
# --------------------
#
# The model is :math:`\hat y_i = w x_i + b`, and the loss :math:`L` is the mean squared error (MSE) over the :math:`N` points:
#
# .. math::
#
#    L(w, b) = \frac{1}{N} \sum_{i=1}^{N} (w x_i + b - y_i)^2
#
# The chain rule gives its slope in the direction of each parameter:
#
# .. math::
#
#    \frac{\partial L}{\partial w} = \frac{2}{N} \sum_{i=1}^{N} (w x_i + b - y_i)\, x_i
#    \qquad
#    \frac{\partial L}{\partial b} = \frac{2}{N} \sum_{i=1}^{N} (w x_i + b - y_i)


# Returns the loss and its derivatives by w and b.
def loss_and_gradients(w: float, b: float) -> tuple[float, float, float]:
    error = w * x + b - y
    loss = error.square().mean()
    return loss.item(), 2 * (error * x).mean().item(), 2 * error.mean().item()


print("loss {:.3f}, dL/dw {:.3f}, dL/db {:.3f}".format(*loss_and_gradients(w=0.0, b=0.0)))

# %%
# Walk downhill
# -------------
#
# A negative derivative says that the loss falls as the parameter grows, so each step goes against the gradient.
# The learning rate scales the step, and ``k`` counts the steps; with a rate of 0.5 instead of 0.05, this loop would diverge.
w, b = 0.0, 0.0
learning_rate = 0.05
losses = []

for k in range(101):
    loss, dw, db = loss_and_gradients(w, b)
    losses.append(loss)
    if k % 20 == 0:
        print(f"k {k:3d}  loss {loss:7.4f}  w {w:.4f}  b {b:.4f}")
    w -= learning_rate * dw
    b -= learning_rate * db

# %%
# Draw the fit
# ------------
#
# The dashed line is the one that the points were made from, the solid line the one that was found.
import matplotlib.pyplot as plt

ends = torch.tensor([-3.0, 3.0])
# The name of a figure tells those who can't see it what it shows.
name = "The fitted line runs through the points, almost on top of the true line."
fig, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained", num=name)
ax.plot(x, y, ".", color="0.5", label="$(x_i, y_i)$")
ax.plot(ends, 2 * ends + 1, "--", color="C1", linewidth=3, label="$y = 2x + 1$")
ax.plot(ends, w * ends + b, color="C0", label=rf"$\hat y = {w:.2f}\,x + {b:.2f}$")
ax.set(xlabel="$x$", ylabel="$y$")
ax.legend()
plt.show()

# %%
# Draw the loss
# -------------
#
# The loss falls fast, then stays near the mean square of the noise, the dotted line: no line through these points can do much better.
name = "The loss falls to the level of the noise within 40 steps and stays there."
fig, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained", num=name)
ax.semilogy(losses, color="C0", label="$L$")
level = noise.square().mean().item()
ax.axhline(level, color="C1", linestyle=":", label=r"$\frac{1}{N} \sum (y_i - 2x_i - 1)^2$")
ax.set(xlabel="$k$", ylabel="$L$")
ax.legend()
plt.show()

# %%
# Check the gradients with autograd
# ---------------------------------
#
# Autograd knows nothing of the formulas above, so that equal numbers are a real test.
# It is made far from the minimum, where the gradients are large.
w_leaf = torch.tensor(-1.0, requires_grad=True)
b_leaf = torch.tensor(4.0, requires_grad=True)
(w_leaf * x + b_leaf - y).square().mean().backward()

_, dw, db = loss_and_gradients(w=-1.0, b=4.0)
print(f"dL/dw  formula {dw:.4f}  autograd {w_leaf.grad:.4f}")
print(f"dL/db  formula {db:.4f}  autograd {b_leaf.grad:.4f}")
torch.testing.assert_close(torch.tensor([dw, db]), torch.stack([w_leaf.grad, b_leaf.grad]))

# %%
# Compare with the exact solution
# -------------------------------
#
# Linear regression is one of the few models whose best parameters can be computed at once, by least squares.
# They are not exactly 2 and 1 either: noise moves the best line, and more points would move it back.
columns = torch.stack([x, torch.ones_like(x)], dim=1)
exact = torch.linalg.lstsq(columns, y).solution

print(f"gradient descent  w {w:.4f}  b {b:.4f}")
print(f"least squares     w {exact[0]:.4f}  b {exact[1]:.4f}")

# %%
# What you can do now
# -------------------
#
# - Write a training loop by hand: loss, gradients, one step against them.
# - Derive the gradients of a small model and check them with autograd.
# - Tell from the curve of the loss whether more steps would help.
# - Change ``learning_rate`` or the noise and predict what happens before you run the script.
