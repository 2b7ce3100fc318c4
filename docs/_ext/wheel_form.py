"""The selector's form in HTML, and its words in the page's language."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from sphinx.locale import _

from torchguide.facts import Gpu, table
from torchguide.versions import numbers
from wheel_offers import FIELDS, OTHER_GPUS, driver_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torchguide.texts import Texts

__all__ = ["PYTHON", "form", "label"]

PYTHON = "3.12"  # of the table, and chosen at first
FIRST = {"os": "linux", "gpu": "GeForce RTX 4090", "python": PYTHON}


def label(name: str, value: str) -> str:
    """Put an option of a field into words."""
    if name == "driver":
        low, _dash, high = value.partition("-")
        if low and high:
            return _("{low} or newer, but older than {high}").format(low=low, high=high)
        if value:
            return (_("{low} or newer") if low else _("older than {high}")).format(
                low=low, high=high
            )
    words = {
        "os": {
            "linux": "Linux",
            "linux-aarch64": _("Linux on ARM (Grace, Jetson)"),
            "wsl": _("Linux inside Windows (WSL 2)"),
            "windows": "Windows",
            "macos": _("macOS, Apple chip"),
            "macos-intel": _("macOS, Intel processor"),
        },
        "gpu": {
            "none": _("no GPU, or none used"),
            "amd": _("AMD GPU (ROCm)"),
            "intel": _("Intel GPU (XPU)"),
            "apple": _("Apple GPU (MPS)"),
        },
        "driver": {"": _("not known, or not needed")},
        "manager": {"conda": "conda-forge", "docker": "Docker"},
        "python": {"": _("comes with it")},
        "torch": {"": _("the newest that fits")},
        "mirror": {"": _("none")},
    }
    return words[name].get(value, value)


def field_names() -> dict[str, str]:
    """Give the fields' names in the page's language."""
    return {
        "os": _("System"), "gpu": _("GPU"), "driver": _("Driver Version of nvidia-smi"),
        "manager": _("Install with"), "python": _("Python version"), "torch": _("PyTorch version"),
        "mirror": _("Mirror in mainland China"),
    }  # fmt: skip


def form(options: list[list[str]], texts: Texts) -> str:
    """Write the form with every option of each field, and the places that the script fills."""
    selects = "".join(_select(*each) for each in zip(FIELDS, options, strict=True))
    told = {name: html.escape(texts.say(f"install.{name}")) for name in ("why", "check")}
    unverified = html.escape(texts.say("install.unverified"))
    return f"""
<form class="wheel-form" aria-label="{html.escape(_("Choose a machine"))}" hidden>
{selects}
<div class="wheel-answer" role="status" aria-live="polite">
<p class="wheel-impossible"><strong>{html.escape(texts.say("install.impossible"))}</strong></p>
<ul class="wheel-why-not"></ul>
<p class="wheel-nearest">{html.escape(texts.say("install.nearest"))}</p>
<pre class="wheel-command" tabindex="0"></pre>
<p class="wheel-unverified">{unverified}</p>
</div>
<p><button type="button" class="wheel-copy" data-done="{html.escape(_("Copied"))}">{
        html.escape(_("Copy the command"))
    }</button></p>
<p>{told["why"]}</p>
<ul class="wheel-why"></ul>
<p>{told["check"]}</p>
<pre class="wheel-check" tabindex="0"></pre>
<p>{html.escape(_("The same question in a terminal"))}</p>
<pre class="wheel-question" tabindex="0"></pre>
</form>
"""


def _select(name: str, options: Iterable[str]) -> str:
    rows: list[str] = []
    words = {value: _words(name, value) for value in sorted(options, key=_order(name))}
    if name == "gpu":
        rows += [
            _option(name, value, value, words[value]) for value in OTHER_GPUS if value in words
        ]
        cards = sorted(
            table(Gpu), key=lambda row: (numbers(row.capability), row.kind), reverse=True
        )
        for architecture in dict.fromkeys(row.architecture for row in cards):
            group = html.escape(_("{name} architecture").format(name=architecture))
            rows.append(f'<optgroup label="{group}">')
            rows += [
                _option(name, row.gpu, row.capability, f'--gpu "{row.gpu}"')
                for row in cards
                if row.architecture == architecture and row.capability in words
            ]
            rows.append("</optgroup>")
    else:
        rows += [_option(name, value, value, words[value]) for value in words]
    field = f'<label for="wheel-{name}">{html.escape(field_names()[name])}</label>'
    return f'<p>{field}<select id="wheel-{name}" name="{name}">{"".join(rows)}</select></p>'


def _order(name: str) -> Callable[[str], tuple[int, ...]]:
    """Sort drivers from unknown to old; the other options stay as they are."""
    if name != "driver":
        return lambda _value: ()
    return lambda value: (bool(value), *(-n for n in numbers(value.partition("-")[0])), 0)


def _words(name: str, value: str) -> str:
    """Give what stands for an option on the command line."""
    if name == "driver":
        value = driver_number(value)
    if name == "gpu":
        return f"--accelerator {OTHER_GPUS[value]}" if value in OTHER_GPUS else ""
    return f"--{name} {value}" if value else ""


def _option(name: str, value: str, key: str, words: str) -> str:
    chosen = " selected" if FIRST.get(name) == value else ""
    attributes = f'value="{html.escape(value)}" data-key="{key}" data-words="{html.escape(words)}"'
    shown = label(name, value)
    name_only = ' lang="en"' if shown.isascii() else ""  # names of products and versions
    return f"<option {attributes}{name_only}{chosen}>{html.escape(shown)}</option>"
