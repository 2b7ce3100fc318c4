"""Run everything that a built site offers for download, as a reader does: away from here.

    python tools/check_downloads.py build/site           both languages
    python tools/check_downloads.py build/site zh_CN     one of them

The archive of the course is unpacked in a temporary folder, the wheel in it is installed beside
it, and every script and notebook runs from there. Both languages must hold the same programs.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from warm_kernels import warm_kernels  # noqa: E402  # found through the line above

LANGUAGES = {"en": "en", "zh_CN": "zh-cn"}
SECONDS = 120  # for one file; a reader's patience is shorter, a busy machine slower
WORKERS = 2

# Says where modules come from; nothing may come from the repository.
FIND_MODULES = """
import importlib.util, sys
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    print(name, spec.origin if spec else "")
"""


@dataclass(frozen=True)
class Outcome:
    """How one file ran."""

    name: str
    fault: str
    seconds: float = 0.0


def unpack(site: Path, language: str, target: Path) -> Path:
    """Unpack the course of a language and return its folder."""
    archive = site / LANGUAGES[language] / "downloads" / "course.zip"
    if not archive.is_file():
        raise SystemExit(f"{archive} is missing; build the site first: nox -s docs")
    with zipfile.ZipFile(archive) as course:
        course.extractall(target)
    return target / "course"


def install(wheels: list[Path], target: Path) -> dict[str, str]:
    """Install the wheels that the archives carry; return the variables to run with."""
    packages = target / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    for wheel in {wheel.read_bytes(): wheel for wheel in wheels}.values():
        command = [*pip, "--disable-pip-version-check", "--target", str(packages), str(wheel)]
        subprocess.run(command, check=True, cwd=target)
    return {
        "PYTHONPATH": str(packages),
        "IPYTHONDIR": str(target / "ipython"),
        "OMP_NUM_THREADS": "1",  # as many runs as cores
    }


def imported_from_here(folder: Path, variables: dict[str, str]) -> str:
    """Say which of the repository's modules the downloads could import; "" if none."""
    modules = [path.stem for place in ("docs/_ext", "tools") for path in ROOT.glob(f"{place}/*.py")]
    command = [sys.executable, "-c", FIND_MODULES, "torchguide", *modules]
    found = subprocess.run(
        command, cwd=folder, env=os.environ | variables, check=True, capture_output=True, text=True
    ).stdout
    origins = dict(line.split(" ", 1) for line in found.splitlines())
    ours = [name for name, origin in origins.items() if Path(origin or "/").is_relative_to(ROOT)]
    return f"from the repository, not from the archive: {', '.join(ours)}" if ours else ""


def run(file: Path, name: str, variables: dict[str, str]) -> Outcome:
    """Run a script or a notebook in its own folder."""
    started = time.monotonic()
    fault = run_notebook(file) if file.suffix == ".ipynb" else run_script(file, variables)
    return Outcome(name, fault, time.monotonic() - started)


def run_script(script: Path, variables: dict[str, str]) -> str:
    """Run a script in a new process; return what is wrong, or nothing."""
    try:
        done = subprocess.run(
            [sys.executable, script.name], cwd=script.parent, timeout=SECONDS, check=False,
            env=os.environ | variables | {"MPLBACKEND": "agg"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} seconds"
    output = done.stdout.decode("utf-8", "replace").splitlines()[-20:]
    return "\n".join([f"exit status {done.returncode}", *output]) if done.returncode else ""


def run_notebook(file: Path) -> str:
    """Run a notebook in a new kernel; return what is wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:
        manager = AsyncKernelManager(connection_file=str(Path(folder, "k.json")))
        if sys.platform != "win32":
            manager.transport = "ipc"  # else each kernel warns of its open port
        try:
            notebook = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]  # has no types
            nbformat.validate(notebook)
            resources: dict[str, Any] = {"metadata": {"path": str(file.parent)}}
            client = NotebookClient(notebook, km=manager, timeout=SECONDS, resources=resources)
            client.owns_km = True  # so that it ends with the notebook
            asyncio.run(client.async_execute())  # execute() would leave its loop open
        except (CellControlSignal, nbformat.ValidationError, RuntimeError, TimeoutError) as error:
            return re.sub(r"\x1b\[[0-9;]*m", "", str(error)) or repr(error)
    return ""


def program(script: Path) -> list[str]:
    """Return the statements of a script without its check, docstring and site address."""
    text = re.sub(r"(?<=/)(?:en|zh-cn)(?=/downloads/)", "", script.read_text("utf-8"))
    return [
        ast.dump(node)
        for node in ast.parse(text).body
        if not (isinstance(node, ast.FunctionDef) and node.name == "check_environment")
        and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    ]


def compare(folders: dict[str, Path]) -> list[Outcome]:
    """Compare the programs of both languages."""
    names = {
        language: {path.relative_to(folder) for path in folder.rglob("*.py")}
        for language, folder in folders.items()
    }
    first, *others = folders
    outcomes = []
    for language in others:
        for name in sorted(names[first] | names[language]):
            scripts = [folders[each] / name for each in (first, language)]
            missing = [str(script) for script in scripts if not script.is_file()]
            same = not missing and program(scripts[0]) == program(scripts[1])
            fault = "" if same else f"missing: {missing}" if missing else "not the same program"
            outcomes.append(Outcome(f"{first} = {language} {name.as_posix()}", fault))
    return outcomes


def main(arguments: list[str] | None = None) -> int:
    """Run all downloads and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("site", type=Path, help="the built site, for instance build/site")
    parser.add_argument("languages", nargs="*", help=f"of {', '.join(LANGUAGES)}; all by default")
    options = parser.parse_args(arguments)
    languages = options.languages or list(LANGUAGES)
    if unknown := set(languages) - set(LANGUAGES):
        parser.error(f"unknown: {', '.join(unknown)}; languages: {', '.join(LANGUAGES)}")
    with tempfile.TemporaryDirectory(prefix="downloads-") as temporary:
        target = Path(temporary).resolve()
        folders = {each: unpack(options.site, each, target / each) for each in languages}
        files = {
            f"{language} {path.relative_to(folder).as_posix()}": path
            for language, folder in folders.items()
            for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.ipynb")])
        }
        wheels = [wheel for each in folders.values() for wheel in each.glob("torchguide-*.whl")]
        variables = install(wheels, target)
        outcomes = [Outcome("on their own", imported_from_here(target, variables))]
        with warm_kernels(environ=variables), ThreadPoolExecutor(WORKERS) as pool:
            outcomes += pool.map(lambda name: run(files[name], name, variables), files)
        outcomes += compare(folders)
    for each in outcomes:
        print(f"{'FAILED' if each.fault else 'passed'} {each.seconds:5.1f} s  {each.name}")
        if each.fault:
            print("    " + each.fault.replace("\n", "\n    "))
    failed = sum(bool(each.fault) for each in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
