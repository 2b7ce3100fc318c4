"""Check a model and its optimizers between the steps: mode, parameters, finite numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from torchguide.checks.results import Findings, finding, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["check_finite", "check_mode", "check_optimizer"]


def mode_layers(model: torch.nn.Module) -> dict[str, torch.nn.Module]:
    """List the layers of torch.nn that behave differently in training, by name."""
    return {
        name or type(layer).__name__: layer
        for name, layer in model.named_modules()
        if _depends_on_mode(layer)
    }


def _depends_on_mode(layer: torch.nn.Module) -> bool:
    if isinstance(layer, torch.nn.modules.dropout._DropoutNd):  # noqa: SLF001 -- the common base
        return layer.p > 0
    if isinstance(layer, torch.nn.modules.batchnorm._NormBase):  # noqa: SLF001 -- the common base
        return layer.running_mean is not None
    dropout = getattr(layer, "dropout", 0.0)
    return (
        isinstance(layer, torch.nn.RNNBase | torch.nn.MultiheadAttention)
        and isinstance(dropout, float)
        and dropout > 0
    )


def check_mode(model: torch.nn.Module, *, training: bool) -> Findings:
    """Find a model that is in training mode at evaluation, or the other way round.

    Only layers of torch.nn that behave differently count: a model without dropout and
    BatchNorm passes in either mode. Layers in another mode than the whole model are taken as
    wanted, such as a frozen BatchNorm in a model that trains.

    Args:
        model: The model about to be used.
        training: True before training, False before evaluation.
    """
    layers = [
        f"{name} ({type(layer).__name__})"
        for name, layer in mode_layers(model).items()
        if layer.training is not training
    ]
    if model.training is training or not layers:
        return Findings()
    kind = "eval-mode" if training else "train-mode"
    return Findings((finding(kind, type(model).__name__, layers=shorten(layers)),))


def optimizer_parameters(optimizers: Iterable[torch.optim.Optimizer]) -> list[torch.Tensor]:
    """List the tensors that optimizers hold."""
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    return [parameter for group in groups for parameter in group["params"]]


def sort_parts(
    parts: Iterable[object],
) -> tuple[list[torch.nn.Module], list[torch.optim.Optimizer]]:
    """Sort models and optimizers apart.

    Raises:
        TypeError: If there is something else, or no model.
    """
    models: list[torch.nn.Module] = []
    optimizers: list[torch.optim.Optimizer] = []
    for part in parts:
        if isinstance(part, torch.nn.Module):
            models.append(part)
        elif isinstance(part, torch.optim.Optimizer):
            optimizers.append(part)
        else:
            raise TypeError(f"{type(part).__name__} is neither an nn.Module nor an Optimizer")
    if not models:
        raise TypeError("give at least one nn.Module")
    return models, optimizers


def named_parameters(
    models: Iterable[torch.nn.Module],
) -> dict[int, tuple[str, torch.nn.Parameter]]:
    """Name each parameter once, by its identity; with several models the class stands before.

    Layers that a model keeps in a plain list or dictionary, where torch does not see them, count.
    """
    listed = list(models)
    named: dict[int, tuple[str, torch.nn.Parameter]] = {}
    for model in listed:
        prefix = f"{type(model).__name__}." if len(listed) > 1 else ""
        for name, parameter in (*model.named_parameters(), *_unregistered(model)):
            named.setdefault(id(parameter), (prefix + name, parameter))
    return named


def _unregistered(model: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Parameter]]:
    for owner, layer in model.named_modules():
        held = {name: value for name, value in vars(layer).items() if not name.startswith("_")}
        for name, value in held.items():
            if isinstance(value, list | tuple | dict):
                where = f"{owner}.{name}" if owner else name
                found = tensors(where, value)
                yield from ((n, p) for n, p in found if isinstance(p, torch.nn.Parameter))


def check_optimizer(*parts: torch.nn.Module | torch.optim.Optimizer) -> Findings:
    """Find trainable parameters that no optimizer holds, and tensors left over from another model.

    Give all models and all optimizers of the program, in any order; a loss with parameters of
    its own is a model, too.

    Raises:
        TypeError: If something is neither an nn.Module nor an Optimizer, or one kind is absent.
    """
    models, optimizers = sort_parts(parts)
    if not optimizers:
        raise TypeError("give at least one Optimizer")
    named = named_parameters(models)
    trainable = {key for key, (_, parameter) in named.items() if parameter.requires_grad}
    held = {id(parameter) for parameter in optimizer_parameters(optimizers)}
    return optimizer_findings(named, trainable - held, len(held - set(named)))


def optimizer_findings(
    named: Mapping[int, tuple[str, torch.nn.Parameter]], missing: set[int], foreign: int
) -> Findings:
    """Say which parameters no optimizer holds, and whether it holds others in their place."""
    if not missing:
        return Findings()  # a tensor that no model has is wanted: a learned weight of a loss
    where = shorten(name for key, (name, _) in named.items() if key in missing)
    if foreign:
        return Findings((finding("optimizer-stale", where, foreign=foreign, count=len(missing)),))
    return Findings((finding("optimizer-missing", where, count=len(missing)),))


def check_finite(*values: object, **named: object) -> Findings:
    """Find NaN and infinite numbers in tensors, and in the parameters and gradients of models.

    Args:
        values: Tensors, models, or lists and dictionaries of them.
        named: The same, with the names to show: ``check_finite(loss=loss)``.
    """
    findings = []
    pairs = name_values(values, named)
    for name, tensor in (leaf for pair in pairs for leaf in tensors(*pair)):
        if not (tensor.is_floating_point() or tensor.is_complex()):
            continue
        kept = tensor.detach()
        kept = kept.coalesce().values() if kept.is_sparse else kept
        if not bool(torch.isfinite(kept).all()):
            kind = "NaN" if bool(torch.isnan(kept).any()) else "Inf"
            findings.append(finding("not-finite", name, kind=kind))
    return Findings(findings)


def name_values(values: Iterable[object], named: Mapping[str, object]) -> list[tuple[str, object]]:
    """Name values by their place; the parameters of a model have names of their own."""
    placed = enumerate(values)
    return [
        *(("" if isinstance(value, torch.nn.Module) else f"x{n}", value) for n, value in placed),
        *named.items(),
    ]


def tensors(name: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
    """Name the tensors in a tensor, a NumPy array, a model, a list or a dictionary."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, torch.nn.Module):
        yield from _model_tensors(f"{name}." if name else "", value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors(f"{name}[{key!r}]", item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from tensors(f"{name}[{number}]", item)
    elif hasattr(value, "__array_interface__"):  # a NumPy array
        yield name, torch.as_tensor(value)


def _model_tensors(prefix: str, model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    for name, parameter in model.named_parameters():
        yield prefix + name, parameter
        if parameter.grad is not None:
            yield f"{prefix}{name}.grad", parameter.grad
    for name, buffer in model.named_buffers():
        yield prefix + name, buffer
