"""The package's wheel, built without network and once."""

from __future__ import annotations

import zipfile

import pytest
from sphinx.errors import ExtensionError

from package_wheel import build_wheel, source_digest

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "torchguide"
version = "0.3.0"
requires-python = ">=3.10"
[tool.hatch.build.targets.wheel]
packages = ["src/torchguide"]
"""


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "src/torchguide").mkdir(parents=True)
    (folder / "src/torchguide/__init__.py").write_text("X = 1\n")
    (folder / "pyproject.toml").write_text(PYPROJECT)
    return folder


def test_the_wheel_holds_the_package(project, tmp_path):
    wheel = build_wheel(project, tmp_path / "cache")
    assert wheel.name == "torchguide-0.3.0-py3-none-any.whl"
    assert "torchguide/__init__.py" in zipfile.ZipFile(wheel).namelist()


def test_the_same_source_is_built_once(project, tmp_path):
    first = build_wheel(project, tmp_path / "cache")
    made = first.stat().st_mtime_ns
    assert build_wheel(project, tmp_path / "cache").stat().st_mtime_ns == made


def test_two_builds_give_the_same_bytes(project, tmp_path):
    one, other = (build_wheel(project, tmp_path / name).read_bytes() for name in ("a", "b"))
    assert one == other


def test_another_source_gives_another_wheel(project, tmp_path):
    before = build_wheel(project, tmp_path / "cache")
    (project / "src/torchguide/more.py").write_text("Y = 2\n")
    after = build_wheel(project, tmp_path / "cache")
    assert before.parent != after.parent
    assert "torchguide/more.py" in zipfile.ZipFile(after).namelist()


def test_what_is_compiled_does_not_count(project):
    before = source_digest(project)
    (project / "src/torchguide/__init__.pyc").write_bytes(b"1")
    assert source_digest(project) == before


def test_a_project_that_cannot_be_built_fails_with_its_folder_and_leaves_nothing(project, tmp_path):
    (project / "pyproject.toml").write_text(PYPROJECT.replace("version = ", "wrong = "))
    with pytest.raises(ExtensionError, match="project: no wheel could be built"):
        build_wheel(project, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
