#!/usr/bin/env -S python3
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""All that is done with this repository, one session a task.

Everyday:

    nox -s docs             build the site, both languages, into build/site/
    nox -s docs -- en       one language only: en or zh_CN
    nox -s serve            build, serve on http://127.0.0.1:8000, rebuild at each change
    nox -s tests            tests of the package, the site's extensions, translations, examples
    nox -s lint             ruff and mypy
    nox -s facts            tables of the package: unique, ordered, each row with its source
    nox -s examples         every script of the gallery alone, with a time and memory budget

Translations:

    nox -s i18n_update      bring the Chinese catalogs up to date with the English source
    nox -s i18n_check       nothing untranslated, fuzzy, orphaned or malformed

The built site (run docs first):

    nox -s site_check       same anchors in both languages, no English left, no dead link
    nox -s downloads        run every script and notebook that the site offers, away from here
    nox -s browser          what readers do, in the system's Chromium
    nox -s linkcheck        addresses on other hosts

Versions and machines:

    nox -s tests_ext        the site's extensions on every Python that nox finds
    nox -s tests_torch      the package on named torch builds; `nox -t cpu`, `nox -t gpu`
    nox -s gpu              tests, records and examples on this machine's accelerator, with its torch
    nox -s container        the container's servers without Docker, and its files
    nox -s hosts            torchrun on two hosts, one cut off: two network namespaces, as root
    nox -s build            sdist and wheel, installed and run

Sessions whose needs are the same share one environment, .nox/env.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import nox

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "tools"))

from torch_builds import BUILDS, DOCS  # noqa: E402  (found through the line above)

nox.needs_version = ">=2025.2.9"  # tags of parameters, requirements of dependency groups
nox.options.default_venv_backend = "virtualenv"  # pip inside; uv only on request (-db uv)
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = False

PYPROJECT = nox.project.load_toml("pyproject.toml")
LANGUAGES = ("en", "zh_CN")
ENV_GROUPS = ("docs", "tests", "lint", "browser")
# As root, the container's servers run as another user, who has no way into root's home.
SYSTEM_PYTHON = Path("/usr/bin/python3")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
SHARED_PYTHON = str(SYSTEM_PYTHON) if IS_ROOT and SYSTEM_PYTHON.is_file() else None
ENV = HERE / ".nox" / "env"
ENV_PYTHON = str(ENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def groups(*names: str) -> tuple[str, ...]:
    """Return the requirements of dependency groups in pyproject.toml."""
    return nox.project.dependency_groups(PYPROJECT, *names)


def python(session: nox.Session, *arguments: str, **env: str) -> None:
    """Run the Python of the environment that most sessions share; make that first if need be."""
    wanted = hashlib.sha256((HERE / "pyproject.toml").read_bytes() + DOCS.encode()).hexdigest()
    stamp = ENV / "installed.sha256"
    if not (stamp.is_file() and stamp.read_text() == wanted):
        session.run(sys.executable, "-m", "venv", str(ENV), external=True)
        session.run(ENV_PYTHON, "tools/torch_builds.py", "install", "docs", external=True)
        pip = (ENV_PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        session.run(*pip, *groups(*ENV_GROUPS), external=True)
        session.run(*pip, "--no-deps", "--editable", ".", external=True)
        stamp.write_text(wanted)
    session.run(ENV_PYTHON, *arguments, external=True, env=env)


def choose(session: nox.Session, valid: tuple[str, ...], most: int | None = None) -> list[str]:
    """Return the session's arguments; an unknown one is an error that lists the valid ones."""
    unknown = [each for each in session.posargs if each not in valid]
    if unknown or (most is not None and len(session.posargs) > most):
        wrong = ", ".join(unknown) or "too many arguments"
        accepted = ", ".join(valid) or "none"
        session.error(f"{session.name} does not know: {wrong}. Arguments it takes: {accepted}")
    return list(session.posargs)


@nox.session(default=True, venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style with ruff and types with mypy."""
    choose(session, ())
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")
    python(session, "-m", "mypy")


@nox.session(default=True, venv_backend="none")
def tests(session: nox.Session) -> None:
    """Test the package, the site's extensions, the translations and the examples' form."""
    python(session, "-m", "pytest", *session.posargs)


@nox.session(default=False, python=["3.10", "3.11", "3.12", "3.13", "3.14"])
def tests_ext(session: nox.Session) -> None:
    """Test the site's extensions on miniature sites, on this Python and its newest Sphinx."""
    session.install(*groups("docs", "tests"))
    session.run("python", "-m", "pytest", "tests/site", "-m", "not torch", *session.posargs)


@nox.session(default=False, tags=["matrix"])
@nox.parametrize(
    "name", [nox.param(build.name, id=build.name, tags=build.tags) for build in BUILDS.values()]
)
def tests_torch(session: nox.Session, name: str) -> None:
    """Test the package on one named build of torch."""
    session.run("python", "tools/torch_builds.py", "install", name)
    session.install(*groups("tests"))
    session.install("--no-deps", ".")
    session.run("python", "tools/torch_builds.py", "check", name)
    session.run("python", "-m", "pytest", "tests/package", *session.posargs)


@nox.session(default=False, venv_backend="none")
def gpu(session: nox.Session) -> None:
    """Test, record and run on this machine's accelerator, with its torch; none is a failure."""
    session.run("python", "-m", "pytest", "tests/gpu", *session.posargs, external=True)
    record = ("record", "--out", "src/torchguide/data/records")
    session.run("python", "-m", "torchguide", *record, external=True)
    scripts = [path.stem for path in (HERE / "examples" / "gpu").glob("*.py")]
    session.run("python", "tools/run_examples.py", *scripts, external=True)


@nox.session(default=True, venv_backend="none")
def facts(session: nox.Session) -> None:
    """Check that the package's tables of facts are sourced, ordered and agree with each other."""
    choose(session, ())
    python(session, "-m", "torchguide.facts_check")


@nox.session(default=False, python=SHARED_PYTHON)
def container(session: nox.Session) -> None:
    """Run the container's start script without Docker, and check its files; needs sshd."""
    session.install(*groups("container"), "-r", "examples/container/requirements.txt")
    session.run("python", "-m", "pytest", "tests/container", *session.posargs)


@nox.session(default=False, venv_backend="none")
def hosts(session: nox.Session) -> None:
    """Cut a host off in a training on two; skipped where no network namespaces are allowed."""
    python(session, "-m", "pytest", "tests/hosts", *session.posargs)


@nox.session(default=False, venv_backend="none")
def examples(session: nox.Session) -> None:
    """Run each gallery script alone, within its budget of time and memory."""
    python(session, "tools/run_examples.py", *session.posargs)


@nox.session(default=True, venv_backend="none")
def docs(session: nox.Session) -> None:
    """Build the site: both languages, or the one given."""
    python(session, "tools/build_site.py", *choose(session, LANGUAGES, most=1))


@nox.session(default=False, venv_backend="none")
def serve(session: nox.Session) -> None:
    """Serve one language (English by default) and rebuild it at each change."""
    language = (choose(session, LANGUAGES, most=1) or ["en"])[0]
    folder = f"build/serve/{language}"
    python(
        session, "-m", "sphinx_autobuild", "--watch", "examples", "--watch", "src",
        "--ignore", "*/docs/gallery/*", "--ignore", "*.mo", "-d", f"build/doctrees/serve-{language}",
        "docs", folder, DOCS_LANGUAGE=language,
    )  # fmt: skip


@nox.session(default=False, venv_backend="none")
def i18n_update(session: nox.Session) -> None:
    """Bring the Chinese catalogs up to date with the English source."""
    choose(session, ())
    python(session, "tools/i18n.py", "update")


@nox.session(default=False, venv_backend="none")
def i18n_check(session: nox.Session) -> None:
    """Fail on anything untranslated, fuzzy, orphaned or malformed in the catalogs."""
    choose(session, ())
    python(session, "tools/i18n.py", "check")


@nox.session(default=False, venv_backend="none")
def site_check(session: nox.Session) -> None:
    """Check the built site: anchors, leftovers, links, downloads, requests, HTML."""
    choose(session, ())
    python(session, "tools/site_check.py", "build/site")


@nox.session(default=False, venv_backend="none")
def downloads(session: nox.Session) -> None:
    """Run everything that the built site offers for download, outside the repository."""
    choose(session, LANGUAGES)
    python(session, "tools/check_downloads.py", "build/site", *session.posargs)


@nox.session(default=False, venv_backend="none")
def browser(session: nox.Session) -> None:
    """Read the built site as readers do, in the system's Chromium."""
    python(session, "-m", "pytest", "tests/browser", *session.posargs)


@nox.session(default=False, venv_backend="none")
def linkcheck(session: nox.Session) -> None:
    """Check the addresses on other hosts."""
    choose(session, ())
    python(
        session, "-m", "sphinx", "-b", "linkcheck", "-d", "build/doctrees/linkcheck",
        "docs", "build/linkcheck",
    )  # fmt: skip


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build sdist and wheel, install the wheel alone, and run it."""
    choose(session, ())
    session.install(*groups("build"))
    out = session.create_tmp()
    session.run("python", "-m", "build", "--outdir", out, ".")
    wheel = next(Path(out).glob("*.whl"))
    session.install("--force-reinstall", "--no-deps", str(wheel))
    session.run("torchguide", "--version")
    session.run("torchguide", "doctor", success_codes=[0, 1])  # 1: a problem of this machine


if __name__ == "__main__":
    nox.main()
