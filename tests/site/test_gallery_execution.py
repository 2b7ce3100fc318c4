"""Gallery scripts run once, each alone, and nothing broken is taken for whole."""

from __future__ import annotations

import json
import sys

import pytest
from miniature_project import Project

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scripts are forked on Linux only")
HEADER = '"""\n{title}\n{line}\n\n{prose}\n"""\n\n'


def script(project: Project, name: str, code: str, prose: str = "Prose.") -> None:
    header = HEADER.format(title=name, line="=" * len(name), prose=prose)
    project.write(f"examples/part/{name}.py", f"{header}# %%\n# Do it.\n\n{code}\n")


def gallery(project: Project) -> None:
    project.index("gallery/index")
    project.write("examples/GALLERY_HEADER.rst", "Gallery\n=======\n")
    project.write("examples/part/GALLERY_HEADER.rst", "Part\n====\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two scripts, built once in English."""
    project = Project(tmp_path_factory.mktemp("gallery"), gallery=True, fork=True)
    gallery(project)
    leak = "import sys\nprint('leaked:', hasattr(sys, 'mark'), 'mark' in globals())\nsys.mark = mark = 1"
    script(project, "one", leak)
    script(project, "two", leak + "\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])")
    first = project.build(SOURCE_DATE_EPOCH="86400")
    assert first.code == 0, first.log
    return project, first


def test_scripts_run_once_for_both_languages_and_without_each_other(built):
    project, first = built
    assert first.examples == {"one", "two"}
    second = project.build("zh_CN")
    assert (second.code, second.examples) == (0, set()), second.log
    for name in ("one", "two"):
        assert "leaked: False False" in project.html(f"gallery/part/{name}", "zh_CN")


def test_provenance_of_a_script(built):
    project, _ = built
    pages = json.loads((project.folder / "out-en" / "provenance.json").read_text())
    assert pages["gallery/part/one"]["date"] == "1970-01-02"
    assert pages["gallery/part/index"] is None


def test_an_edit_of_prose_runs_that_script_only(built):
    project, _ = built
    code = (project.folder / "examples/part/one.py").read_text().partition("# Do it.\n")[2]
    script(project, "one", code, prose="Other words.")
    result = project.build()
    assert (result.code, result.examples) == (0, {"one"}), result.log
    assert "Other words." in project.html("gallery/part/one")


def test_outputs_that_are_not_whole_are_made_again(built):
    project, _ = built
    folder = project.folder / "docs" / "gallery" / "part"
    (folder / "one.execution.json").unlink()  # interrupted before its record was written
    result = project.build()
    assert (result.code, result.examples) == (0, {"one"}), result.log
    (image,) = folder.glob("images/sphx_glr_two_*.png")
    image.write_bytes(image.read_bytes()[:100])
    page = folder / "one.rst"
    page.chmod(0o644)
    page.write_text(page.read_text()[:200])
    result = project.build()
    assert (result.code, result.examples) == (0, {"one", "two"}), result.log
    assert "leaked" in project.html("gallery/part/one")


def test_what_is_left_of_a_removed_script_goes(built):
    project, _ = built
    script(project, "three", "print(3)")
    assert project.build().examples == {"three"}
    (project.folder / "examples/part/three.py").unlink()
    result = project.build()
    assert (result.code, result.examples) == (0, set()), result.log
    assert not list((project.folder / "docs/gallery/part").glob("three*"))


def test_an_edit_of_the_package_runs_all_scripts(built):
    project, _ = built
    project.write("src/torchguide/__init__.py", "VERSION = 2\n")
    result = project.build()
    assert (result.code, result.examples) == (0, {"one", "two"}), result.log


def test_a_failing_script_fails_the_build_until_it_is_repaired(tmp_path):
    project = Project(tmp_path, gallery=True, fork=True)
    gallery(project)
    script(project, "good", "print('good')")
    script(project, "bad", "x = 1\n\n# %%\n# Then.\n\nx / 0")
    for _ in range(2):
        result = project.build()
        assert result.code != 0
        assert f'{tmp_path}/examples/part/bad.py", line 16' in result.log
        assert "ZeroDivisionError: division by zero" in result.log
    script(project, "bad", "x = 1")
    result = project.build()
    assert (result.code, result.examples) == (0, {"bad"}), result.log


def test_a_script_whose_process_dies_fails_the_build(tmp_path):
    project = Project(tmp_path, gallery=True, fork=True)
    gallery(project)
    script(project, "dies", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    script(project, "lives", "print(1)")
    result = project.build()
    assert result.code != 0
    assert "ended without a result (exit code -9)" in result.log


@pytest.mark.torch
def test_a_warning_of_torch_fails_the_build(tmp_path):
    project = Project(tmp_path, gallery=True, fork=True)
    gallery(project)
    script(project, "old", "import torch\n\ntorch.cuda.amp.autocast(enabled=False)")
    script(
        project,
        "teaches",
        "import warnings\n\nimport torch\n\nwith warnings.catch_warnings(record=True) as caught:\n"
        "    torch.cuda.amp.autocast(enabled=False)\nprint(len(caught), 'caught')",
    )
    result = project.build()
    assert result.code != 0
    assert 'old.py", line 13' in result.log
    assert "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated" in result.log
    assert 'teaches.py", line' not in result.log
