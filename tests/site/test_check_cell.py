"""The cell that opens each download."""

from __future__ import annotations

import ast
import sys

import pytest

from check_cell import check_cell, insert_check, needed_packages

WHEEL = "https://example.org/en/downloads/wheels/torchguide-0.1.0-py3-none-any.whl"


def run(code, **names):
    exec(compile(code, "check", "exec"), names)  # noqa: S102  # the cell under test


def test_needed_packages_are_those_of_the_imports_beside_the_standard_library():
    code = "import json, numpy.linalg\ndef f():\n    from matplotlib import pyplot\n"
    assert needed_packages(code, None) == {"matplotlib": "matplotlib", "numpy": "numpy"}


def test_a_module_is_named_by_its_distribution():
    assert needed_packages("import PIL, yaml", None) == {"PIL": "pillow", "yaml": "PyYAML"}


def test_the_packages_own_wheel_comes_from_the_site():
    assert needed_packages("import torchguide.timing", WHEEL)["torchguide"] == WHEEL


def test_an_environment_with_all_that_is_needed_is_named(capsys):
    run(check_cell({"numpy": "numpy"}))
    assert capsys.readouterr().out == f"Python {sys.version.split()[0]}\n"


def test_what_is_missing_is_said_with_the_command_that_installs_it():
    with pytest.raises(ModuleNotFoundError) as caught:
        run(check_cell({"no_such_module": "no-such", "numpy": "numpy", "not_here": "not-here"}))
    assert "no_such_module, not_here" in str(caught.value)
    assert f'"{sys.executable}" -m pip install "no-such" "not-here"' in str(caught.value)


@pytest.mark.parametrize("place", ["lesson.py", "tensors/lesson.py", "gallery/tensors/lesson.py"])
def test_a_wheel_in_the_archive_is_preferred_to_the_site(tmp_path, monkeypatch, place):
    wheel = tmp_path / "torchguide-0.1.0-py3-none-any.whl"
    wheel.touch()
    monkeypatch.setitem(sys.modules, "torchguide", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModuleNotFoundError) as caught:
        run(check_cell({"torchguide": WHEEL}), __file__=str(tmp_path / place))
    assert f'install "{wheel}"' in str(caught.value)


def test_without_a_wheel_beside_it_the_sites_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    monkeypatch.chdir(tmp_path)  # a notebook knows its folder only
    with pytest.raises(ModuleNotFoundError, match=WHEEL):
        run(check_cell({"torchguide": WHEEL}))


def test_the_check_follows_docstring_and_future_imports():
    script = '"""Title."""\nfrom __future__ import annotations\n\nx = 1\n'
    text = insert_check(script, check_cell({}), "x.py")
    compile(text, "x.py", "exec")
    kinds = [type(node).__name__ for node in ast.parse(text).body]
    assert kinds == ["Expr", "ImportFrom", "FunctionDef", "Expr", "Assign"]
    assert text.endswith("\n\n# %%\nx = 1\n")


def test_what_a_module_of_the_package_imports_is_needed_too():
    code = "from torchguide.figures import draw_storage\n"
    assert {"torch", "matplotlib", "torchguide"} <= needed_packages(code, None).keys()
    assert "matplotlib" in needed_packages("from torchguide import figures\n", None)
    assert "matplotlib" not in needed_packages("from torchguide.timing import measure\n", None)
    assert "torch" in needed_packages("from torchguide.timing import measure\n", None)
    assert needed_packages("import torchguide\n", None).keys() == {"torchguide"}
