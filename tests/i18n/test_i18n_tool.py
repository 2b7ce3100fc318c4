from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import i18n

EXTENSIONS = Path(i18n.__file__).parent.parent / "docs" / "_ext"
CONF = f"""
import os, sys
sys.path.insert(0, {str(EXTENSIONS)!r})
project = "Miniature"
language = os.environ["DOCS_LANGUAGE"]
extensions = ["myst_parser", "complete_translations", "code_comments"]
locale_dirs = ["locales"]
gettext_compact = False
templates_path = ["_templates"]
exclude_patterns = ["_templates"]
"""
SOURCES = {
    "docs/conf.py": CONF,
    "docs/index.md": "# Home\n\nUse `view` for **all** of it, see [part](page.md).\n\n"
    "```{toctree}\npage\n```\n",
    "docs/page.md": "# PyTorch\n\n```python\nx = 1  # the number\n```\n",
    "docs/old.rst": ":orphan:\n\nOld\n===\n\nA ``word`` and :doc:`home <index>`.\n",
    "docs/_templates/page.html": '{{ _("Page %(number)s") }}\n',
    "docs/reference/glossary.csv": "term,forms,chinese,chinese_forms,everyday,not_chinese,definition,"
    "chinese_definition,page\nnumber,,数,,,数目,A number.,一个数。,page\n",
    "docs/locales/zh_CN/same_as_english.csv": "message,reason\nPyTorch,a name\n",
}
CATALOGS = {
    "index": {
        "Home": "首页",
        "Use `view` for **all** of it, see [part](page.md).": "**全部**都用 `view`，见[这里](page.md)。",
    },
    "page": {"PyTorch": "PyTorch", "the number": "这个数"},
    "old": {
        "Old": "旧",
        "A ``word`` and :doc:`home <index>`.": r"一个 ``word``，和\ :doc:`首页 <index>`。",
    },
    "sphinx": {"Page %(number)s": "第 %(number)s 页"},
}
LOCALES = Path("docs/locales/zh_CN/LC_MESSAGES")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A complete project, and the templates that Sphinx makes of it."""
    root = tmp_path_factory.mktemp("project")
    for name, text in SOURCES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    templates = i18n.make_templates(root)
    i18n.update(root, templates)
    for domain, messages in CATALOGS.items():
        path = root / LOCALES / f"{domain}.po"
        text = path.read_text("utf-8")
        for message, translation in messages.items():
            quoted = (t.replace("\\", "\\\\").replace('"', '\\"') for t in (message, translation))
            source, target = quoted
            assert f'msgid "{source}"\nmsgstr ""\n' in text
            text = text.replace(
                f'msgid "{source}"\nmsgstr ""\n', f'msgid "{source}"\nmsgstr "{target}"\n'
            )
        path.write_text(text, "utf-8")
    return root, templates


@pytest.fixture
def site(project, tmp_path):
    root, templates = project
    copy = tmp_path / "copy"
    shutil.copytree(root, copy)
    return copy, templates


def edit(root, name, old, new):
    path = root / (name if "/" in name else LOCALES / name)
    text = path.read_text("utf-8")
    assert old in text
    before, _, after = text.rpartition(old)  # the last one: not the msgid but the msgstr
    path.write_text(before + new + after, "utf-8")


def test_a_complete_project_has_no_fault(project):
    assert i18n.check(*project) == []


def test_an_update_without_changes_writes_nothing(project, capsys):
    assert i18n.update(*project) == []
    assert capsys.readouterr().out == ""


def test_a_written_catalog_has_neither_dates_nor_places(project):
    text = (project[0] / LOCALES / "index.po").read_text("utf-8")
    assert text.startswith(i18n.HEADER)
    assert "#:" not in text
    assert "POT" not in text


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("page.po", '"这个数"', '"这个数', "page.po:15: expected"),
        ("page.po", '"这个数"', '""', "page.po:14: untranslated: 'the number'"),
        ("page.po", 'msgid "the', '#, fuzzy\nmsgid "the', "page.po:15: fuzzy"),
        ("page.po", 'msgid "the number"', 'msgid "a number"', "docs/page.md:3: not in docs/"),
        ("page.po", 'msgid "the number"', 'msgid "a number"', "page.po:14: the page no longer"),
        (
            "page.po",
            'msgid "the',
            '#~ msgid "old"\n#~ msgstr "旧"\n\nmsgid "the',
            "page.po:14: an obs",
        ),
        ("page.po", '"这个数"', '"the number"', "page.po:14: no Chinese"),
        ("page.po", '"这个数"', '"这个number数"', "space is missing between Chinese and Latin"),
        ("page.po", '"这个数"', '"这个数,然后"', "half-width punctuation"),
        ("page.po", '"这个数"', '"x = 1, 然后"', "half-width punctuation"),
        ("page.po", '"这个数"', '"这个(数)"', "half-width punctuation"),
        ("page.po", '"这个数"', '"这个， 数"', "a space beside full-width punctuation"),
        ("page.po", '"这个数"', '"这个数目"', "page.po:14: this guide says 数, not 数目"),
        ("index.po", "`view`", "`views`", "index.po:14: the translation lacks `view`"),
        (
            "index.po",
            "[这里](page.md)",
            "[这里](pages.md)",
            "only the translation has link to pages",
        ),
        ("index.po", "**全部**都", "**全部。**都", "does not become bold"),
        ("index.po", "**全部**都", "那**“全部”**", "does not become bold"),
        ("index.po", "**全部**都用 `view`", "**用 `view`**都", "does not become bold"),
        ("index.po", "都用 `view`", "都用`view`", "space is missing between Chinese and Latin"),
        ("old.po", r"和\\ :doc:", "和:doc:", "is missing beside the markup"),
        ("old.po", "<index>", "<home>", "role doc: home"),
        ("sphinx.po", '第 %(number)s 页"', '第 %(numbr)s 页"', "unknown named placeholder"),
        ("docs/locales/zh_CN/same_as_english.csv", "a name", "", "csv:2: no reason for 'PyTorch'"),
        ("docs/locales/zh_CN/same_as_english.csv", "PyTorch,a name", "", "page.po:11: no Chinese"),
        (
            "docs/locales/zh_CN/same_as_english.csv",
            "a name",
            "a name\nCUDA,b",
            "csv:3: no catalog has",
        ),
    ],
)
def test_each_fault_is_found_with_file_and_line(site, name, old, new, fault):
    root, templates = site
    edit(root, name, old, new)
    assert any(fault in line for line in i18n.check(root, templates)), i18n.check(root, templates)


def test_a_missing_catalog_is_found(site):
    root, templates = site
    (root / LOCALES / "old.po").unlink()
    assert any("old.po:1: this catalog is missing" in line for line in i18n.check(root, templates))


def test_a_catalog_without_a_page_is_found(site):
    root, templates = site
    shutil.copy(root / LOCALES / "old.po", root / LOCALES / "older.po")
    (fault,) = i18n.check(root, templates)
    assert "older.po:1: no page has this catalog" in fault


def test_an_update_adds_marks_and_drops_messages(site):
    root, templates = site
    edit(root, "page.po", 'msgid "the number"', 'msgid "that number"')
    edit(root, "old.po", 'msgid "Old"', 'msgid "Something quite different"')
    todo = i18n.update(root, templates)
    assert [line.partition("LC_MESSAGES/")[2] for line in todo] == [
        "old.po:11: untranslated: 'Old'",
        "page.po:15: fuzzy: 'the number'",
    ]
    text = (root / LOCALES / "old.po").read_text("utf-8")
    assert "different" not in text
    assert "#~" not in text


def test_an_update_does_not_lose_what_it_cannot_read(site):
    root, templates = site
    edit(root, "page.po", '"这个数"', '"这个数')
    before = (root / LOCALES / "page.po").read_text("utf-8")
    with pytest.raises(i18n.CatalogError, match=r"page\.po:15: expected"):
        i18n.update(root, templates)
    assert (root / LOCALES / "page.po").read_text("utf-8") == before


def test_a_source_that_sphinx_refuses_is_an_error(site):
    root, _ = site
    (root / "docs" / "page.md").write_text("# Page\n\n```{nothing}\n```\n", "utf-8")
    with pytest.raises(SystemExit, match="Sphinx could not extract"):
        i18n.make_templates(root)


def test_an_unknown_argument_lists_the_valid_ones():
    result = subprocess.run(
        [sys.executable, i18n.__file__, "upgrade"], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert "update" in result.stderr
    assert "check" in result.stderr
