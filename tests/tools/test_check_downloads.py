"""The program that runs every download of a built site."""

from __future__ import annotations

import json
import zipfile

import pytest

import check_downloads
from package_wheel import build_wheel

CHECK = '"""Title."""\n\n\ndef check_environment(needed):\n    print({!r})\n\n\ncheck_environment({{}})\n'
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "torchguide"
version = "9.9.9"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel]
packages = ["src/torchguide"]
"""


def notebook(code):
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": code, "outputs": []}
    cells = [cell | {"execution_count": None}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def make_built(tmp_path):
    """Write a built site with a course in both languages, and a wheel that says its version."""

    def make(code="import torchguide\nassert torchguide.V == 9\n", **changed):
        package = tmp_path / "project/src/torchguide/__init__.py"
        package.parent.mkdir(parents=True)
        package.write_text("V = 9\n")
        (tmp_path / "project/pyproject.toml").write_text(PYPROJECT)
        wheel = build_wheel(tmp_path / "project", tmp_path / "cache")
        for folder, message in {"en": "check", "zh-cn": "检查"}.items():
            files = {
                "tensors/views.py": CHECK.format(message) + code,
                "tensors/views.ipynb": notebook(code),
            }
            course = tmp_path / "site" / folder / "downloads/course.zip"
            course.parent.mkdir(parents=True)
            with zipfile.ZipFile(course, "w") as archive:
                archive.write(wheel, f"course/{wheel.name}")
                for name, text in (files | changed.get(folder.replace("-", "_"), {})).items():
                    archive.writestr(f"course/{name}", text)
        return str(tmp_path / "site")

    return make


@pytest.mark.slow
def test_scripts_and_notebooks_run_with_the_wheel_of_the_archive(make_built, capsys):
    assert check_downloads.main([make_built()]) == 0
    out = capsys.readouterr().out
    assert "zh_CN tensors/views.ipynb" in out
    assert "en = zh_CN tensors/views.py" in out
    assert out.endswith("6 passed, 0 failed\n")


@pytest.mark.slow
def test_what_fails_is_said_with_its_error(make_built, capsys):
    assert check_downloads.main([make_built("raise OSError('no such disk')\n"), "en"]) == 1
    out = capsys.readouterr().out
    assert "FAILED" in out
    assert out.count("no such disk") >= 2
    assert out.endswith("1 passed, 2 failed\n")


def test_programs_that_differ_between_the_languages_fail(make_built, tmp_path):
    other = {"tensors/views.py": CHECK.format("检查") + "x = 2\n"}
    site = make_built("x = 1\n", zh_cn=other)
    folders = {
        language: check_downloads.unpack(tmp_path / "site", language, tmp_path / language)
        for language in ("en", "zh_CN")
    }
    faults = [outcome.fault for outcome in check_downloads.compare(folders)]
    assert faults == ["not the same program"], site


def test_a_module_of_the_repository_that_could_be_imported_is_named(tmp_path):
    source = str(check_downloads.ROOT / "docs/_ext")
    fault = check_downloads.imported_from_here(tmp_path, {"PYTHONPATH": source})
    assert "from the repository" in fault
    assert "catalogs" in fault


def test_a_script_that_takes_too_long_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(check_downloads, "SECONDS", 0.5)
    script = tmp_path / "slow.py"
    script.write_text("import time\ntime.sleep(60)\n")
    assert check_downloads.run_script(script, {}) == "not done after 0.5 seconds"


def test_a_site_that_is_not_built_is_named(tmp_path):
    with pytest.raises(SystemExit, match=r"course\.zip is missing"):
        check_downloads.main([str(tmp_path)])


def test_an_unknown_language_lists_those_that_are_known(tmp_path, capsys):
    with pytest.raises(SystemExit):
        check_downloads.main([str(tmp_path), "de"])
    assert "unknown: de; languages: en, zh_CN" in capsys.readouterr().err
