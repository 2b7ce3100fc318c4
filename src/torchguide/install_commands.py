"""Put a chosen wheel into the words of pip and uv."""

from __future__ import annotations

from dataclasses import dataclass

from torchguide import compat
from torchguide.facts import Mirror, table
from torchguide.versions import numbers

__all__ = [
    "Pick",
    "find_mirror",
    "from_pypi",
    "mirrors",
    "pip_command",
    "torchvision_of",
    "uv_command",
]


@dataclass(frozen=True)
class Pick:
    """A wheel that was chosen, and where it will be installed from.

    `exact` is False where the newest release is wanted anyway: then the version is not named.
    """

    torch: str
    variant: str
    platform: str = ""
    mirror: str = "none"
    exact: bool = True
    verified: bool = True
    status_note: str = ""


def mirrors() -> tuple[str, ...]:
    """List the names of mirrors, "none" first."""
    return tuple(dict.fromkeys(["none", *sorted(row.mirror for row in table(Mirror))]))


def find_mirror(name: str, carries: str) -> Mirror | None:
    """Find a mirror of "pypi" or of "wheels"."""
    return next(
        (row for row in table(Mirror) if (row.mirror, row.carries) == (name, carries)), None
    )


def from_pypi(pick: Pick) -> bool:
    """Tell whether a plain install, without an index, gives this build."""
    return compat.pypi_variant(pick.torch, pick.platform) == pick.variant


def torchvision_of(pick: Pick) -> str | None:
    """Give the torchvision that belongs to the choice."""
    pair = compat.pair_of(pick.torch)
    return pair.torchvision if pair else None


def _packages(pick: Pick, *, tagged: bool = False) -> str:
    # a comparison sign must not reach the shell as a redirection
    numpy = ' "numpy<2"' if numbers(pick.torch) < (2, 3) else ""
    if pick.variant == "xpu" or not pick.exact:
        return f"torch torchvision{numpy}"
    suffix = f"+{pick.variant}" if tagged else ""
    words = [f"torch=={pick.torch}{suffix}"]
    vision = torchvision_of(pick)
    if vision:
        words.append(f"torchvision=={vision}{suffix}")
    return " ".join(words) + numpy


def _wheels(pick: Pick) -> tuple[str, str] | None:
    """Give the address of a mirror's wheels and the way it is used, if it has wheels."""
    row = find_mirror(pick.mirror, "wheels") if pick.mirror != "none" else None
    return (row.url.format(variant=pick.variant), row.use) if row else None


def official_index(variant: str) -> str:
    """Give the address of PyTorch's own index for a variant."""
    row = find_mirror("none", "wheels")
    return (row.url if row else "").format(variant=variant)


def pip_command(pick: Pick) -> str:
    """Give the command for pip."""
    start = "python -m pip install"
    pypi = find_mirror(pick.mirror, "pypi")
    index = f" -i {pypi.url}" if pypi else ""
    if from_pypi(pick):
        return f"{start} {_packages(pick)}{index}"
    wheels = _wheels(pick)
    exact = Pick(pick.torch, pick.variant)
    if wheels and wheels[1] == "index-url":
        return f"{start} {_packages(exact)} --index-url {wheels[0]}"
    if wheels:
        return f"{start} {_packages(exact, tagged=True)} -f {wheels[0]}{index}"
    url = official_index(pick.variant)
    if pypi and pick.variant != "xpu":
        # the exact tag keeps pip from taking another build of the same version from the mirror
        return f"{start} {_packages(exact, tagged=True)}{index} --extra-index-url {url}"
    return f"{start} {_packages(exact)} --index-url {url}"


def uv_command(pick: Pick) -> str:
    """Give the command for uv's pip interface, which knows PyTorch's index by itself."""
    start = "uv pip install"
    pypi = find_mirror(pick.mirror, "pypi")
    index = f" --default-index {pypi.url}" if pypi else ""
    if from_pypi(pick):
        return f"{start} {_packages(pick)}{index}"
    wheels = _wheels(pick)
    exact = Pick(pick.torch, pick.variant)
    if wheels and wheels[1] == "index-url":
        return f"{start} {_packages(exact)} --default-index {wheels[0]}"
    if wheels:
        return f"{start} {_packages(exact, tagged=True)} --find-links {wheels[0]}{index}"
    return f"{start} {_packages(exact)} --torch-backend={pick.variant}{index}"
