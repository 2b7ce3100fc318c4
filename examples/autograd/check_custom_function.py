"""
Check the backward of a custom function
=======================================

A wrong ``backward`` raises no error: the model just learns badly.
You write a ``torch.autograd.Function`` with its own derivative, compare it with finite differences over many step sizes, and see in one curve why ``gradcheck`` wants ``float64`` and how it tells a right backward from a wrong one.
"""

# %%
# Meet a gradient that autograd gets wrong
# ----------------------------------------
#
# Softplus, :math:`\log(1 + e^x)`, has a slope between 0 and 1.
# Written as its formula it overflows: the value becomes infinite and the gradient ∞/∞.
from typing import Any

import torch

x = torch.tensor([0.0, 10.0, 100.0], requires_grad=True)
value = (1 + x.exp()).log()
value.sum().backward()
print("value", value.tolist(), "gradient", x.grad.tolist())
print("device:", x.device)


# %%
# Write value and derivative yourself
# -----------------------------------
#
# The derivative is the sigmoid of the input.
# ``backward`` receives the gradient of the loss with respect to the output and must multiply by it.
class Softplus(torch.autograd.Function):
    """Compute log(1 + exp(x)) without overflow."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keep the input and compute the value."""
        ctx.save_for_backward(x)
        return x.clamp(min=0) + (-x.abs()).exp().log1p()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Multiply by the derivative."""
        return grad * torch.sigmoid(ctx.saved_tensors[0])


x.grad = None
Softplus.apply(x).sum().backward()
print("gradient", x.grad.tolist())


# %%
# Write two wrong ones
# --------------------
#
# The first forgets the incoming gradient, the second takes a straight line for the sigmoid, which is nearly right around zero.
# Behind a plain sum the first even gives the right numbers, because there the incoming gradient is one.
class Forgets(Softplus):
    """Leave out the incoming gradient."""

    @staticmethod
    def backward(ctx: Any, _grad: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(ctx.saved_tensors[0])


class Shortcut(Softplus):
    """Take a straight line for the sigmoid."""

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * (0.5 + 0.25 * ctx.saved_tensors[0])


x.grad = None
Forgets.apply(x).sum().backward()
print("gradient", x.grad.tolist())

# %%
# Compare with finite differences
# -------------------------------
#
# The slope of a short piece of the curve approaches the derivative as the piece gets shorter.
# The error of that slope is measured here at 0.3 for steps from 1 to 10⁻¹².
from collections.abc import Callable


def slope_error(function: Callable, h: float, dtype: torch.dtype = torch.float64) -> float:
    x = torch.tensor(0.3, dtype=dtype, requires_grad=True)
    (gradient,) = torch.autograd.grad(function(x), x)
    slope = (function(x + h) - function(x - h)) / (2 * h)
    return (slope - gradient).abs().item()


steps = [10 ** (-k / 4) for k in range(49)]
curves = {
    "Softplus, float64": [slope_error(Softplus.apply, h) for h in steps],
    "Softplus, float32": [slope_error(Softplus.apply, h, torch.float32) for h in steps],
    "Shortcut, float64": [slope_error(Shortcut.apply, h) for h in steps],
}
print(f"{'h':17}", *(f"{h:7.0e}" for h in steps[::12]))
for name, errors in curves.items():
    print(name, *(f"{error:7.0e}" for error in errors[::12]))

# %%
# Draw the V
# ----------
#
# From the right, the error falls with the square of the step; then rounding takes over, the more the smaller the step.
# A wrong backward has no V: its error stops at the size of the mistake.
import matplotlib.pyplot as plt

name = "The error of a finite difference against its step: a deep V for float64, a shallow one for float32, and a flat floor for the wrong backward."
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained", num=name)
for (label, errors), marker in zip(curves.items(), "os^", strict=True):
    shown = [error if error > 0 else float("nan") for error in errors]
    ax.loglog(steps, shown, marker=marker, markersize=3, label=label)
ax.axvline(1e-6, color="0.3", linestyle=":", label="gradcheck: eps=1e-6")
ax.set(xlabel="h", ylabel="|error|")
ax.legend(fontsize=8)
plt.show()

# %%
# Let gradcheck do it
# -------------------
#
# ``gradcheck`` makes this comparison for each pair of input and output, and tries incoming gradients other than one.
# Its step lies near the bottom of the V of ``float64``, far up the left side of ``float32``.
points = torch.linspace(-3, 3, 7, dtype=torch.float64, requires_grad=True)
for function in (Softplus, Forgets, Shortcut):
    passed = torch.autograd.gradcheck(function.apply, points, raise_exception=False)
    print(f"{function.__name__:9} gradcheck: {passed}")
print("gradgradcheck:", torch.autograd.gradgradcheck(Softplus.apply, points))

# %%
# What you can do now
# -------------------
#
# - Write a ``Function`` where the formula overflows, and multiply by the incoming gradient.
# - Put ``gradcheck`` into a test, with ``float64`` and several points, also far from zero.
# - Read the V: a floor far above rounding is a mistake in ``backward``.
