"""
Follow the curvature with the Hessian
=====================================

The gradient says which way is down; the Hessian says how soon the slope changes.
You compute the Hessian of a skewed bowl with ``torch.func``, read the limit of the learning rate from it, and let Newton's method, which divides by the curvature, race gradient descent.
"""

# %%
# Make a skewed bowl
# ------------------
#
# The bowl is steep in one direction and flat in another, neither along an axis, and not quite quadratic.
# Its minimum is at (0, 0).
import torch
from torch.func import grad, jacrev, vjp

TURN = torch.tensor([[0.8, -0.6], [0.6, 0.8]], dtype=torch.float64)


def bowl(p: torch.Tensor) -> torch.Tensor:
    u, v = TURN @ p
    return u.cosh() - 1 + 50 * v.square()


start = torch.tensor([2.0, 1.0], dtype=torch.float64)
print("value   ", f"{bowl(start):.4f}")
print("gradient", [round(g, 4) for g in grad(bowl)(start).tolist()])
print("device:", start.device)

# %%
# Compute the Hessian
# -------------------
#
# The Hessian is the Jacobian of the gradient; ``jacrev`` takes a function and returns a function, as ``grad`` does.
# The eigenvalues of the matrix are the curvatures along its eigenvectors; their ratio is the condition number.
hessian = jacrev(grad(bowl))
H = hessian(torch.zeros(2, dtype=torch.float64))
curvatures, directions = torch.linalg.eigh(H)
print(H)
print("curvatures      ", [round(c, 4) for c in curvatures.tolist()])
print("condition number", f"{curvatures[1] / curvatures[0]:.0f}")

# %%
# Ask for one direction only
# --------------------------
#
# With a million parameters the matrix has 10¹² numbers.
# Its product with one vector costs little more than two gradients: go backwards through the gradient with that vector.
_, backward = vjp(grad(bowl), torch.zeros_like(start))
for k in range(2):
    direction = directions[:, k]
    (product,) = backward(direction)
    print(f"direction {k}: curvature {direction @ product:.4f}")
    torch.testing.assert_close(product, H @ direction)


# %%
# Let the steepest direction set the rate
# ---------------------------------------
#
# Gradient descent is stable while the rate is below two divided by the largest curvature.
# The flat direction pays for it: there, a step at half the limit comes closer by one percent only.
def descend(rate: float, steps: int) -> torch.Tensor:
    path = [start]
    for _ in range(steps):
        path.append(path[-1] - rate * grad(bowl)(path[-1]))
    return torch.stack(path)


limit = 2 / curvatures[1].item()
for factor in (0.5, 0.95, 1.01):
    distance = descend(factor * limit, steps=500)[-1].norm()
    print(f"{factor:.2f} of the limit: distance after 500 steps {distance:.1e}")


# %%
# Divide by the curvature
# -----------------------
#
# Newton's step goes to the minimum of the parabola that has the gradient and the Hessian of this point.
# It needs no rate, and near the minimum the number of right digits at least doubles with each step.
def newton(steps: int) -> torch.Tensor:
    path = [start]
    for _ in range(steps):
        p = path[-1]
        path.append(p - torch.linalg.solve(hessian(p), grad(bowl)(p)))
    return torch.stack(path)


distances = newton(5).norm(dim=1)
print(" ".join(f"{distance:.1e}" for distance in distances))

# %%
# Draw the race
# -------------
#
# Left are the paths over the contours, right the distance from the minimum.
import matplotlib.pyplot as plt

paths = {"gradient descent": descend(0.95 * limit, 100), "Newton": newton(5)}
xs, ys = torch.linspace(-1, 2.5, 80).double(), torch.linspace(-2.2, 1.5, 80).double()
grid = torch.stack(torch.meshgrid(xs, ys, indexing="xy"), dim=-1)
heights = torch.func.vmap(torch.func.vmap(bowl))(grid)
name = "Gradient descent zigzags down a skewed bowl and is far from the minimum after 100 steps; Newton arrives in five."
fig, (left, right) = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", num=name)
left.contour(xs, ys, heights, levels=[0.2, 1, 3, 10, 30, 80], colors="0.7", linewidths=0.8)
for (label, path), marker in zip(paths.items(), "os", strict=True):
    left.plot(path[:, 0], path[:, 1], marker=marker, markersize=3, linewidth=1)
    right.semilogy(path.norm(dim=1), marker=marker, markersize=3, linewidth=1, label=label)
right.set(xlabel="k", ylabel="‖p‖", ylim=(1e-16, 10))
right.legend()
plt.show()


# %%
# See Newton walk into a saddle
# -----------------------------
#
# Where a curvature is negative, dividing by it turns the step uphill: Newton looks for any point without slope.
# Look at the signs of the eigenvalues before you trust it.
def saddle(p: torch.Tensor) -> torch.Tensor:
    return p[0].square() - p[1].square() + p[1] ** 4


p = torch.tensor([0.5, 0.1], dtype=torch.float64)
H = jacrev(grad(saddle))(p)
step = torch.linalg.solve(H, grad(saddle)(p))
print("curvatures", [round(c, 4) for c in torch.linalg.eigvalsh(H).tolist()])
print(f"value {saddle(p):.4f}; along y, Newton moves from {p[1]:.3f} to {(p - step)[1]:.3f}")
print(f"gradient descent moves y to {(p - 0.1 * grad(saddle)(p))[1]:.3f}")

# %%
# What you can do now
# -------------------
#
# - Compute a Hessian of a small function, and products with it of a large one.
# - Tell from the largest curvature how large a learning rate may be.
# - Say what scaling of inputs and Adam try to do without a Hessian: make all curvatures alike.
