"""Run everything that a built site offers for download, as a reader does: away from here.

    python tools/check_downloads.py build/site           both languages
    python tools/check_downloads.py build/site zh_CN     one of them

The archive of the course is unpacked in a temporary folder, the wheel in it is installed beside
it, and every script and notebook runs from there. Both languages must hold the same programs.
"""

from __future__ import annotations

import argparse
import ast
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

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = {"en": "en", "zh_CN": "zh-cn"}
SECONDS = 120  # for one file; a reader's patience is shorter, a busy machine slower
WORKERS = 2

# Runs in a new process whose working folder is that of the notebook.
RUN_NOTEBOOK = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbformat.validate(notebook)
nbclient.NotebookClient(notebook, timeout={seconds}, kernel_name="python3").execute()
"""
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


def unpack(site: Path, language: str, target: Path) -> tuple[Path, dict[str, str]]:
    """Unpack the course and install its wheel; return the folder, and the environment to run in."""
    with zipfile.ZipFile(site / LANGUAGES[language] / "downloads" / "course.zip") as course:
        course.extractall(target)
    packages = target / "packages"
    for wheel in target.glob("course/torchguide-*.whl"):
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        command = [*pip, "--disable-pip-version-check", "--target", str(packages), str(wheel)]
        subprocess.run(command, check=True, cwd=target)
    settings = {"PYTHONPATH": str(packages), "MPLBACKEND": "agg"}
    settings |= {"OMP_NUM_THREADS": "1", "IPYTHONDIR": str(target / "ipython")}
    return target / "course", os.environ | settings


def imported_from_here(folder: Path, env: dict[str, str]) -> str:
    """Say which of the repository's modules the downloads could import; "" if none."""
    modules = [path.stem for place in ("docs/_ext", "tools") for path in ROOT.glob(f"{place}/*.py")]
    command = [sys.executable, "-c", FIND_MODULES, "torchguide", *modules]
    found = subprocess.run(
        command, cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout
    origins = dict(line.split(" ", 1) for line in found.splitlines())
    ours = [name for name, origin in origins.items() if Path(origin or "/").is_relative_to(ROOT)]
    return f"from the repository, not from the archive: {', '.join(ours)}" if ours else ""


def run(file: Path, folder: Path, language: str, env: dict[str, str]) -> Outcome:
    """Run a script or a notebook in its own folder."""
    name = f"{language} {file.relative_to(folder).as_posix()}"
    notebook = ["-c", RUN_NOTEBOOK.format(seconds=SECONDS)] if file.suffix == ".ipynb" else []
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, *notebook, file.name], cwd=file.parent, env=env, timeout=SECONDS,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome(name, f"not done after {SECONDS} seconds", time.monotonic() - started)
    output = done.stdout.decode("utf-8", "replace")
    fault = "\n".join(output.splitlines()[-20:]) or f"exit status {done.returncode}"
    return Outcome(name, fault if done.returncode else "", time.monotonic() - started)


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
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="downloads-") as temporary:
        jobs, folders = [], {}
        for language in languages:
            folder, env = unpack(options.site, language, Path(temporary, language))
            folders[language] = folder
            outcomes.append(Outcome(f"{language} on its own", imported_from_here(folder, env)))
            files = sorted([*folder.rglob("*.py"), *folder.rglob("*.ipynb")])
            jobs += [(file, folder, language, env) for file in files]
        with ThreadPoolExecutor(WORKERS) as pool:
            outcomes += pool.map(lambda job: run(*job), jobs)
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
