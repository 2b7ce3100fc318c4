"""
Broadcast shapes, and avoid the silent mistake
==============================================

Broadcasting lets tensors of different shapes meet without copying either of them.
You read the rule from the last axis, watch it work, and see the error it gives when shapes do not fit.
Then you meet the case that gives no error: a loss between the shapes ``(N, 1)`` and ``(N,)`` that trains a useless model.
"""

# %%
# Compare axes from the last one
# ------------------------------
#
# Write the shapes below each other, aligned at the right.
# Two sizes fit if they are equal or one of them is 1, and a missing axis counts as 1.
import torch

print("    (3, 1, 5)")
print("       (4, 1)")
print("   ", tuple(torch.broadcast_shapes((3, 1, 5), (4, 1))))
print("device:", torch.ones(1).device)

# %%
# See which elements meet
# -----------------------
#
# A column of shape ``(3, 1)`` and a row of shape ``(4,)`` give a table: each element of one meets each element of the other.
# Nothing is copied for it, because an expanded axis has the stride 0.
column = torch.tensor([[0], [10], [20]])
row = torch.tensor([1, 2, 3, 4])

print(column + row)
print("strides of the expanded column:", column.expand(3, 4).stride())

# %%
# Read the error when shapes do not fit
# -------------------------------------
#
# Here 4 stands above 3, so torch refuses.
# To give each row of the matrix its own number, the three numbers must stand in a column.
matrix = torch.zeros(3, 4)
numbers = torch.tensor([1.0, 2.0, 3.0])

try:
    matrix + numbers
except RuntimeError as error:
    print(error)
print(matrix + numbers.unsqueeze(1))

# %%
# Let a loss broadcast by mistake
# -------------------------------
#
# A model with one output feature returns the shape ``(N, 1)``, while targets often come as ``(N,)``.
# The predictions below are perfect, yet the loss is far from zero, because each prediction meets all the targets.
generator = torch.Generator().manual_seed(0)
x = torch.linspace(-1, 1, 50).unsqueeze(1)  # shape (50, 1), as a model wants it
target = (2 * x + 1 + 0.2 * torch.randn(50, 1, generator=generator)).squeeze(1)  # shape (50,)
perfect = target.unsqueeze(1)  # shape (50, 1), as a model gives it

difference = perfect - target
print("shape of the difference:", tuple(difference.shape))
print(f"loss of perfect predictions: {difference.square().mean():.4f}")

# %%
# Train on both losses
# --------------------
#
# The same model is trained twice, and only the shape of the target differs.
# The wrong loss runs without an error, falls and settles like any other.


# Fits y = w x + b to the target and returns w and b.
def train(target: torch.Tensor) -> tuple[float, float]:
    parameters = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.SGD([parameters], lr=0.3)
    for _ in range(100):
        optimizer.zero_grad()
        (x * parameters[0] + parameters[1] - target).square().mean().backward()
        optimizer.step()
    return tuple(parameters.tolist())


right = train(target.unsqueeze(1))
wrong = train(target)
print("target (50, 1):  w {:6.3f}  b {:6.3f}".format(*right))
print("target (50,):    w {:6.3f}  b {:6.3f}".format(*wrong))

# %%
# Look at the damage
# ------------------
#
# Averaged over all pairs, the loss is smallest when every prediction is the mean of the targets.
# So the model has learnt one number and nothing about :math:`x`:
#
# .. math::
#
#    \frac{1}{N^2} \sum_{i=1}^{N} \sum_{j=1}^{N} (\hat y_i - y_j)^2
#    = \frac{1}{N} \sum_{i=1}^{N} (\hat y_i - \bar y)^2 + \frac{1}{N} \sum_{j=1}^{N} (y_j - \bar y)^2
import matplotlib.pyplot as plt

name = "With equal shapes the line follows the points; with broadcasting it is flat at their mean."
fig, ax = plt.subplots(figsize=(4.5, 3.4), layout="constrained", num=name)
ax.plot(x, target, ".", color="0.5")
ax.plot(x, right[0] * x + right[1], color="C0", label="$(N, 1) - (N, 1)$")
ax.plot(x, wrong[0] * x + wrong[1], "--", color="C1", label="$(N, 1) - (N,)$")
ax.set(xlabel="$x$", ylabel="$y$", xticks=[-1, 0, 1])
ax.legend()
plt.show()

# %%
# Let the mistake be heard
# ------------------------
#
# ``torch.nn.functional.mse_loss`` and the losses in ``torch.nn`` warn about unequal shapes; arithmetic of your own does not.
# Turn that warning into an error, and compare the shapes wherever you write a loss yourself.
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        torch.nn.functional.mse_loss(perfect, target)
    except UserWarning as warning:
        print(warning)

fixed = torch.nn.functional.mse_loss(perfect.squeeze(1), target)
print(f"loss of perfect predictions: {fixed:.4f}")

# %%
# What you can do now
# -------------------
#
# - Predict the shape of any elementwise operation from the last axis.
# - Repair an error of shapes with ``unsqueeze`` in place of trial and error.
# - Recognise a model that predicts the mean as one whose loss may have broadcast.
# - Write ``assert prediction.shape == target.shape`` before every loss of your own.
