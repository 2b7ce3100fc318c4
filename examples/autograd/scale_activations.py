"""
Watch gradients vanish and explode with depth
=============================================

A gradient is multiplied once for each layer that it passes, so that it shrinks or grows like a power of the depth.
You measure its norm at every layer of deep networks with different activations and initial weights, and see which choices keep it level.
"""

# %%
# Build a deep network
# --------------------
#
# Twenty layers of width 64, all alike; only the activation and the initial weights change.
from collections.abc import Callable

import torch
from torch import nn


def deep(activation: type[nn.Module], initialise: Callable[[torch.Tensor], object]) -> nn.Module:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(20):
        linear = nn.Linear(64, 64, bias=False)
        initialise(linear.weight)
        layers += [linear, activation()]
    return nn.Sequential(*layers)


print(deep(nn.ReLU, nn.init.kaiming_normal_)[:2])


# %%
# Measure the norm at each layer
# ------------------------------
#
# One backward pass fills the gradients of all weights.
def gradient_norms(model: nn.Module) -> list[float]:
    x = torch.randn(256, 64, generator=torch.Generator().manual_seed(1))
    model(x).square().mean().backward()
    linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    return [layer.weight.grad.norm().item() for layer in linear]


print([f"{norm:.2f}" for norm in gradient_norms(deep(nn.ReLU, nn.init.kaiming_normal_))[:5]])
print("device: cpu")

# %%
# Compare activations and initial weights
# ---------------------------------------
#
# PyTorch's own start for ``Linear`` draws weights of standard deviation :math:`1/\sqrt{3 n}`; He's rule for ReLU asks for :math:`\sqrt{2/n}`, Glorot's for tanh about :math:`1/\sqrt{n}`.
from functools import partial

default = partial(nn.init.kaiming_uniform_, a=5**0.5)
networks = {
    "Sigmoid, default": (nn.Sigmoid, default),
    "ReLU, default": (nn.ReLU, default),
    "ReLU, He": (nn.ReLU, nn.init.kaiming_normal_),
    "Tanh, Glorot": (nn.Tanh, nn.init.xavier_normal_),
    "ReLU, std=0.4": (nn.ReLU, partial(nn.init.normal_, std=0.4)),
}
norms = {name: gradient_norms(deep(*choice)) for name, choice in networks.items()}
for name, values in norms.items():
    ratio = values[0] / values[-1]
    print(f"{name:17} first {values[0]:8.1e}  last {values[-1]:8.1e}  ratio {ratio:8.1e}")

# %%
# Draw them layer by layer
# ------------------------
#
# The scale is logarithmic: a straight slope is a constant factor for each layer.
# ReLU by default is level and tiny: forwards the signal shrinks, backwards the gradient, and each layer's weights get the product of both.
import matplotlib.pyplot as plt

name = "Gradient norms over twenty layers: Sigmoid falls steeply towards the first one; ReLU is tiny by default, huge with std=0.4, and near one with He, as tanh is with Glorot."
fig, ax = plt.subplots(figsize=(5, 3.4), layout="constrained", num=name)
for (label, values), marker in zip(norms.items(), "osv^D", strict=True):
    ax.semilogy(range(1, len(values) + 1), values, marker=marker, markersize=4, label=label)
ax.set(xlabel="layer", ylabel="‖∂L/∂W‖")
ax.legend(fontsize=8)
plt.show()


# %%
# Give the gradient a way past each layer
# ---------------------------------------
#
# A residual connection adds the input of a layer to its output.
# With normalisation before the layer, even twenty of them keep the gradient level.
class Residual(nn.Module):
    """Add the input of a layer to its output."""

    def __init__(self, layer: nn.Module) -> None:
        """Keep the layer."""
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute x + f(x)."""
        return x + self.layer(x)


torch.manual_seed(0)
parts = (nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64), nn.ReLU()) for _ in range(20))
through = gradient_norms(nn.Sequential(*map(Residual, parts)))
print(f"first {through[0]:.1e}  last {through[-1]:.1e}  ratio {through[0] / through[-1]:.1e}")

# %%
# What you can do now
# -------------------
#
# - Print the gradient norm of each layer before you doubt the data.
# - Match the initial weights to the activation: He for ReLU, Glorot for tanh.
# - Add normalisation and residual connections where a network is deep.
