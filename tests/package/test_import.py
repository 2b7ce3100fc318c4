from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchguide

SRC = Path(torchguide.__file__).parents[1]


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, torchguide\n"
        "print(sorted({'torch', 'numpy', 'matplotlib'} & set(sys.modules)))\n"
        "print([name for name in sys.modules if name.startswith('torchguide.')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize("name", torchguide.SUBMODULES)
def test_each_submodule_is_loaded_when_it_is_used(name):
    module = getattr(torchguide, name)
    assert module.__name__ == f"torchguide.{name}"
    assert all(hasattr(module, public) for public in module.__all__)
    assert name in dir(torchguide)


@pytest.mark.parametrize("name", torchguide.FUNCTIONS)
def test_each_function_is_that_of_its_submodule(name):
    module = getattr(torchguide, torchguide.FUNCTIONS[name])
    assert getattr(torchguide, name) is getattr(module, name)
    assert name in module.__all__
    assert name in dir(torchguide)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'timings'; it has .*'timing'"):
        torchguide.timings  # noqa: B018 - reading it is the test


def test_the_version_is_the_installed_one(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", {"torchguide": "1.2.3"}.__getitem__)
    assert torchguide.__version__ == "1.2.3"
