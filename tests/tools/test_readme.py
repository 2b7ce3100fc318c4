from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
EN = (ROOT / "README.md").read_text("utf8")
ZH = (ROOT / "README.zh-CN.md").read_text("utf8")

# The headings of both files, in order: a new one needs its partner here and there.
HEADINGS = {
    "torchguide": "torchguide",
    "What is in here": "仓库里有什么",
    "Build the site": "构建网站",
    "Run the tests": "运行测试",
    "Use the package": "使用这个包",
    "Where to read on": "接着读什么",
    "Licence": "许可",
}


def headings(text: str) -> list[tuple[int, str]]:
    prose = re.sub(r"(?ms)^```.*?^```$", "", text)
    return [(len(marks), title) for marks, title in re.findall(r"(?m)^(#+) (.+)$", prose)]


def blocks(text: str) -> list[str]:
    return re.findall(r"(?ms)^```\w+\n(.*?)^```$", text)


def links(text: str) -> set[str]:
    return set(re.findall(r"\]\(([^)]+)\)", text)) - {"README.md", "README.zh-CN.md"}


def test_both_languages_have_the_same_headings_in_the_same_order():
    assert [(n, HEADINGS[title]) for n, title in headings(EN)] == headings(ZH)


def test_both_languages_show_the_same_commands_and_links():
    assert blocks(EN) == blocks(ZH)
    assert links(EN) == links(ZH)


def test_every_linked_file_exists():
    for link in links(EN):
        if not link.startswith("http"):
            assert (ROOT / link).exists(), link


@pytest.mark.parametrize("session", ["docs", "tests"])
def test_the_two_commands_are_one_line_each(session):
    command = f"python3 -m venv .venv && .venv/bin/pip install nox && .venv/bin/nox -s {session}\n"
    assert command in blocks(EN)


def test_ci_runs_the_test_command_of_the_readme():
    command = next(block for block in blocks(EN) if block.endswith("nox -s tests\n"))
    assert command.strip() in (ROOT / ".ci" / "run").read_text("utf8")


def test_sessions_named_in_the_readmes_workflows_and_ci_exist():
    sessions = set(re.findall(r"(?m)^def (\w+)\(session", (ROOT / "noxfile.py").read_text("utf8")))
    files = [ROOT / "README.md", ROOT / "README.zh-CN.md", ROOT / ".ci" / "run"]
    files += [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / ".readthedocs.yaml"]
    for file in files:
        for names in re.findall(r"nox -s ([\w ]+)", file.read_text("utf8")):
            assert set(names.split()) <= sessions, (file.name, names)


def test_workflows_and_readthedocs_are_yaml():
    for file in [*(ROOT / ".github" / "workflows").glob("*.yml"), ROOT / ".readthedocs.yaml"]:
        assert isinstance(yaml.safe_load(file.read_text("utf8")), dict), file


def test_the_changelog_has_an_entry_for_this_version():
    project = (ROOT / "pyproject.toml").read_text("utf8")
    version = re.search(r'(?m)^version = "(.+)"$', project)
    changelog = (ROOT / "CHANGELOG.md").read_text("utf8")
    assert version
    assert "## Unreleased" in changelog or f"## {version[1]}" in changelog
