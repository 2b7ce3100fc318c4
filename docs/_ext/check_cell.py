"""The cell that opens each download: what is missing here, and how to get it."""

from __future__ import annotations

import ast
import sys
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.locale import _

from script_sources import docstring_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_cell", "insert_check", "needed_packages"]

_CODE = """\
# {comment}
def check_environment(needed):
    import platform
    import sys
    from importlib.metadata import version
    from importlib.util import find_spec
    from pathlib import Path

    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        here = Path(globals().get("__file__", "notebook")).resolve().parent
        folders = [here, *here.parents][:3]
        beside = [wheel for folder in folders for wheel in folder.glob("torchguide-*.whl")]
        sources = needed | ({{"torchguide": beside[0]}} if beside else {{}})
        packages = " ".join(f'"{{sources[name]}}"' for name in missing)
        command = f'"{{sys.executable}}" -m pip install {{packages}}'
        message = {message}
        raise ModuleNotFoundError(message.format(names=", ".join(missing), command=command))
    torch = f", torch {{version('torch')}}" if "torch" in needed else ""
    print(f"Python {{platform.python_version()}}{{torch}}")


check_environment({needed})"""


def check_cell(needed: Mapping[str, str]) -> str:
    """Write the cell in the language of the build.

    Args:
        needed: module → what pip installs for it: a name, or a wheel's address.
    """
    rows = "".join(f"    {module!r}: {source!r},\n" for module, source in sorted(needed.items()))
    message = _("This file also needs {names}. Install what is missing, then run it again:")
    return _CODE.format(
        comment=_("Check the environment: what this file needs, and how to get what is missing."),
        message=repr(f"{message}\n{{command}}"),
        needed=f"{{\n{rows}}}".replace("'", '"') if needed else "{}",
    )


def needed_packages(code: str, wheel_url: str | None) -> dict[str, str]:
    """Find what the code imports beside the standard library, with what pip installs for it.

    What a module of torchguide imports counts too: the package itself requires nothing.
    """
    roots: set[str] = set()
    names = _imports(code)
    while names:
        name = names.pop()
        roots.add(name.partition(".")[0])
        names |= _imports_of_ours(name)
    needed = {root: _distribution(root) for root in sorted(roots - sys.stdlib_module_names)}
    if wheel_url and "torchguide" in needed:
        needed["torchguide"] = wheel_url
    return needed


def _imports(code: str) -> set[str]:
    """Return the dotted names that code imports, `a.b.c` for `from a.b import c`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


@lru_cache(maxsize=256)
def _imports_of_ours(name: str) -> frozenset[str]:
    """Return what a module of torchguide imports from others, itself or through its siblings."""
    module = name.split(".")[1] if name.startswith("torchguide.") else ""
    spec = find_spec("torchguide")
    file = Path(spec.origin or "").parent / f"{module}.py" if spec and module else None
    if file is None or not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text("utf-8"))
    imports = filter(lambda node: isinstance(node, (ast.Import, ast.ImportFrom)), tree.body)
    names = _imports("\n".join(map(ast.unparse, imports)))  # not those of TYPE_CHECKING
    ours = {each for each in names if each.startswith("torchguide.")}
    return frozenset(names - ours).union(*map(_imports_of_ours, ours))


@lru_cache(maxsize=1)
def _installed() -> Mapping[str, list[str]]:
    return packages_distributions()


def _distribution(module: str) -> str:
    """Name the distribution that holds a module; most bear its name."""
    with suppress(PackageNotFoundError):
        distribution(module)
        return module  # without a look at all that is installed, which takes a second
    names = _installed().get(module, [])
    return module if module in names or not names else min(names)


def insert_check(script: str, check: str, name: str) -> str:
    """Put the check into a gallery script: after its docstring and `from __future__` lines."""
    last = docstring_lines(script, name)[1]
    for node in ast.parse(script).body[1:]:
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        last = node.end_lineno or node.lineno
    lines = script.split("\n")
    head, rest = "\n".join(lines[:last]), "\n".join(lines[last:]).strip("\n")
    mark = "" if rest.startswith("# %%") else "# %%\n"
    return f"{head}\n\n# %%\n{check}\n\n{mark}{rest}\n"
