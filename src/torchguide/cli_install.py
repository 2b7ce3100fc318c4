"""`torchguide install`: print the command that installs torch, and why it is that one."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import sys
from typing import TYPE_CHECKING, Any

from torchguide import install
from torchguide.compat import Machine, find_gpu
from torchguide.facts import Gpu, table
from torchguide.install import Answer, Choices, ImpossibleError, Reason
from torchguide.style import Style
from torchguide.texts import Texts

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

__all__ = ["SYSTEMS", "add_arguments", "choices_of", "run"]

# what --os takes -> platform of the facts, whether it is WSL
SYSTEMS: dict[str, tuple[str, bool]] = {
    "linux": ("linux_x86_64", False),
    "linux-aarch64": ("linux_aarch64", False),
    "wsl": ("linux_x86_64", True),
    "windows": ("windows", False),
    "macos": ("macos_arm64", False),
    "macos-intel": ("macos_x86_64", False),
}
_MAKERS = ("amd", "radeon", "instinct", "intel", "arc")


class InvalidOptionError(ValueError):
    """An option's value cannot be used; holds a message's key and values."""

    def __init__(self, key: str, **values: str) -> None:
        """Keep what the message needs."""
        super().__init__(key)
        self.key, self.values = key, values


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options; what is not given is taken from this machine if no option is given."""
    add = parser.add_argument
    add("--os", choices=tuple(SYSTEMS), help="the system")
    add("--python", metavar="X.Y", help="the Python that will run torch")
    add(
        "--gpu",
        action="append",
        metavar="NAME",
        help="a GPU's name, its compute capability (8.6), or none; repeat for several",
    )
    add("--driver", metavar="VERSION", help="Driver Version as nvidia-smi shows it")
    add("--manager", choices=install.MANAGERS, help="default: pip")
    add("--torch", metavar="VERSION", help="an exact version, or a minor such as 2.9")
    add("--mirror", choices=install.mirrors(), default="none", help="a mirror in China")
    add("--accelerator", choices=install.ACCELERATORS, default="auto", help="default: auto")
    add("--glibc", metavar="X.Y", help="the C library of a Linux (ldd --version)")
    add("--macos", metavar="N", help="the version of macOS")
    add("--json", action="store_true", help="print JSON")


def _checked(value: str | None, pattern: str, key: str) -> str | None:
    if value is not None and not re.fullmatch(pattern, value.strip()):
        raise InvalidOptionError(key, value=value)
    return value.strip() if value is not None else None


def _capability(name: str) -> str | None:
    if re.fullmatch(r"\d{1,2}\.\d", name):
        return name
    if any(maker in re.findall(r"[a-z]+", name.lower()) for maker in _MAKERS):
        return None
    capabilities = {gpu.capability for gpu in _meant(name)}
    if len(capabilities) != 1:
        names = {gpu.gpu.lower(): gpu.gpu for gpu in table(Gpu)}
        close = difflib.get_close_matches(name.lower(), list(names), n=3, cutoff=0.0)
        raise InvalidOptionError("error.gpu", name=name, close=", ".join(names[c] for c in close))
    return capabilities.pop()


def _meant(name: str) -> list[Gpu]:
    """Return the GPUs that a person means, who may leave out the series: "4090" for "RTX 4090"."""
    found = [find_gpu(f"{series} {name}".strip()) for series in ("", "rtx", "gtx")]
    return [gpu for gpu in found if gpu is not None]


def _detected() -> Choices:
    from torchguide.collect import collect  # noqa: PLC0415 -- not needed when options are given

    snapshot = collect(load_torch=False)
    machine = snapshot.as_machine() or Machine("linux_x86_64")
    names = tuple(gpu.name for gpu in snapshot.gpus)
    return Choices(machine, names, manager=snapshot.manager or "pip")


def choices_of(options: argparse.Namespace) -> Choices:
    """Turn options into choices; with none of them, look at this machine.

    Raises:
        InvalidOptionError: a value cannot be used.
    """
    described = (options.os, options.python, options.gpu, options.driver, options.glibc)
    python = _checked(options.python, r"3\.\d{1,2}(\.\d+)?", "error.python")
    driver = _checked(options.driver, r"\d{3}(\.\d+){0,2}", "error.driver")
    torch = _checked(options.torch, r"\d+\.\d+(\.\d+)?", "error.version")
    if not any(described):
        found = _detected()
        return dataclasses.replace(
            found,
            accelerator=options.accelerator,
            manager=options.manager or found.manager,
            torch=torch,
            mirror=options.mirror,
        )
    platform, wsl = SYSTEMS[options.os or "linux"]
    names = [name for name in options.gpu or [] if name.lower() not in ("none", "no", "cpu")]
    capabilities = [_capability(name) for name in names]
    accelerator = options.accelerator
    if options.gpu and not names and accelerator == "auto" and not platform.startswith("macos"):
        accelerator = "cpu"
    return Choices(
        Machine(
            platform,
            python=python,
            driver=driver,
            capabilities=tuple(dict.fromkeys(c for c in capabilities if c)),
            glibc=_checked(options.glibc, r"2\.\d+", "error.version"),
            macos=_checked(options.macos, r"\d+(\.\d+)*", "error.version"),
            wsl=wsl,
        ),
        tuple(names),
        accelerator=accelerator,
        manager=options.manager or "pip",
        torch=torch,
        mirror=options.mirror,
    )


def run(options: argparse.Namespace) -> int:
    """Print the command and its reasons; run nothing."""
    texts = Texts(options.lang)
    try:
        choices = choices_of(options)
    except InvalidOptionError as error:
        sys.stderr.write(f"torchguide install: {texts.say(error.key, **error.values)}\n")
        return 2
    try:
        answer = install.recommend(choices)
    except ImpossibleError as error:
        if options.json:
            _print_json({"possible": False, **_impossible_json(error, texts)})
        else:
            sys.stdout.write("\n".join(_impossible(error, texts, Style(sys.stdout))) + "\n")
        return 1
    if options.json:
        _print_json({"possible": True, **answer_json(answer, texts)})
    else:
        sys.stdout.write("\n".join(_human(answer, texts, Style(sys.stdout))) + "\n")
    return 0


def _print_json(data: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")


def _said(reasons: Iterable[Reason], texts: Texts) -> list[dict[str, str]]:
    return [
        {
            "id": reason.key,
            "text": texts.say(reason.key, **reason.values),
            "source": reason.source,
        }
        for reason in reasons
    ]


def answer_json(answer: Answer, texts: Texts) -> dict[str, Any]:
    """Give an answer as JSON."""
    return {
        "command": answer.command,
        "torch": answer.torch,
        "variant": answer.variant,
        "torchvision": answer.torchvision,
        "verified": answer.verified,
        "reasons": _said(answer.reasons, texts),
        "check": answer.check,
        "language": texts.language,
    }


def _impossible_json(error: ImpossibleError, texts: Texts) -> dict[str, Any]:
    nearest = answer_json(error.nearest, texts) if error.nearest else None
    return {"why": _said(error.reasons, texts), "nearest": nearest, "language": texts.language}


def _short(source: str) -> str:
    """Give the first of several sources; --json has all of them."""
    first = source.split("; ", maxsplit=1)[0]
    return first if first == source else f"{first}; …"


def _human(answer: Answer, texts: Texts, style: Style) -> list[str]:
    lines = [style.paint(answer.command, "green", bold=True), ""]
    if not answer.verified:
        lines += [style.paint(texts.say("install.unverified"), "yellow"), ""]
    lines.append(style.paint(texts.label("install.why"), bold=True))
    for reason in answer.reasons:
        lines.append(f"  - {texts.say(reason.key, **reason.values)}")
        if reason.source:
            lines.append(f"    ({texts.label('install.source', _short(reason.source))})")
    lines += ["", style.paint(texts.label("install.check"), bold=True)]
    lines += [f"  {answer.check}", "  torchguide doctor"]
    return lines


def _impossible(error: ImpossibleError, texts: Texts, style: Style) -> list[str]:
    lines = [style.paint(texts.say("install.impossible"), "red", bold=True)]
    lines += [f"  - {texts.say(reason.key, **reason.values)}" for reason in error.reasons]
    if error.nearest:
        lines += ["", style.paint(texts.say("install.nearest"), bold=True), ""]
        lines += _human(error.nearest, texts, style)
    return lines
