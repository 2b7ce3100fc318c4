from __future__ import annotations

import ast

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from sphinx.errors import ExtensionError

import comment_text
from comment_text import find_comments, translate_comments

CODE = '''\
x = "# not a comment"  # real
# first line of a
# two-line comment
def f():
    # inner
    return """
# inside a string
"""

# sphinx_gallery_thumbnail_number = 2
y = 1  # noqa: E501
# - one item
# - another
#
# a paragraph
'''


def texts(code):
    return [comment.text for comment in find_comments(code)]


def test_comments_for_people_are_found_adjacent_lines_together():
    assert texts(CODE) == [
        "real",
        "first line of a two-line comment",
        "inner",
        "- one item",
        "- another",
        "a paragraph",
    ]


def test_a_comment_after_code_does_not_join_the_next_line():
    assert texts("x = 1  # one\n       # two\n") == ["one", "two"]
    assert texts("# one\nx = 1  # two\n# three\n") == ["one", "two", "three"]


@pytest.mark.parametrize(
    "code",
    [
        "%matplotlib inline\nx = 1  # c",
        "!ls  # c",
        "def f(:  # c",
        ">>> x = 1  # c",
        "x = '\x00'  # c",
    ],
)
def test_what_is_not_plain_python_is_left_alone(code):
    assert find_comments(code) == []
    assert translate_comments(code, {"c": "注"}) == code


@pytest.mark.parametrize(
    "mark", ["%%", "!/bin/sh", "-*- coding: utf-8 -*-", "type: ignore", "noqa", "pragma: no cover"]
)
def test_comments_for_programs_are_not_messages(mark):
    assert texts(f"x = 1  # {mark}\n") == []


def test_translation_keeps_the_lines_and_the_program():
    catalog = {
        "real": "真的",
        "first line of a two-line comment": "这是分成两行的注释，first line 在前",
        "inner": "里面",
    }
    translated = translate_comments(CODE, catalog)
    assert ast.dump(ast.parse(translated)) == ast.dump(ast.parse(CODE))
    assert translated.splitlines()[:5] == [
        'x = "# not a comment"  # 真的',
        "# 这是分成两行的注释，",
        "# first line 在前",
        "def f():",
        "    # 里面",
    ]
    assert translated.count("\n") == CODE.count("\n")


def test_no_line_of_a_comment_begins_with_a_closing_mark():
    code = "# one two three four\n# five six\n# seven\n"
    for width in range(1, 12):
        text = "甲" * width + "，" + "乙（" + "丙" * width + "）。丁"
        lines = translate_comments(code, {"one two three four five six seven": text}).splitlines()
        assert not any(line.startswith(("# ，", "# ）", "# 。")) for line in lines)
        assert not any(line.endswith("（") for line in lines)
        assert "".join(line.removeprefix("#").strip() for line in lines) == text


@pytest.mark.parametrize(
    "text", ["%% a cell", "noqa", "type: ignore", "!ls", "coding: gbk", "空\x00字", "反\u202e向"]
)
def test_a_translation_that_programs_would_read_is_an_error_with_the_place(text):
    with pytest.raises(ExtensionError, match=r"^page\.md:7: .*would change the program"):
        translate_comments("x = 1  # one\n", {"one": text}, place="page.md:7")


def test_a_changed_program_is_an_error_with_the_place(monkeypatch):
    monkeypatch.setattr(comment_text, "_spread", lambda text, _count: [f"{text}\nimport os"])
    with pytest.raises(ExtensionError, match=r"^page\.md:7: .*changed the program"):
        translate_comments("x = 1  # one\n", {"one": "一"}, place="page.md:7")


@given(
    st.dictionaries(
        st.sampled_from(texts(CODE)),
        st.text(max_size=40) | st.text("\n\r\f\v\x1c\x85\u2028#'\"\\ aé中，（", max_size=40),
    )
)
def test_any_translation_keeps_the_program_or_is_refused(catalog):
    try:
        translated = translate_comments(CODE, catalog)
    except ExtensionError:
        return
    assert ast.dump(ast.parse(translated)) == ast.dump(ast.parse(CODE))
    assert translated.count("\n") == CODE.count("\n")
    assert len(translated.splitlines()) == len(CODE.splitlines())


@given(
    st.lists(
        st.sampled_from(["x = 1", "if x:", "    pass", "# a", "    # b", "'''", "\\", "\f", "\r"])
    )
)
def test_any_program_stays_the_same(lines):
    code = "\n".join(lines)
    translated = translate_comments(code, dict.fromkeys(texts(code), "译 文\n#"))
    assert (translated == code) is (not find_comments(code))
    if translated != code:
        assert ast.dump(ast.parse(translated)) == ast.dump(ast.parse(code))


DOCKERFILE = """\
# Two lines
# of one comment.
FROM x  # no comment to Docker
# hadolint ignore=DL3008
RUN apt-get update \\
  # inside of a command
 && echo "#"
"""


def test_lines_of_comments_are_found_in_other_languages():
    found = [comment.text for comment in find_comments(DOCKERFILE, "docker")]
    assert found == ["Two lines of one comment.", "inside of a command"]


def test_only_whole_lines_change_in_other_languages():
    catalog = {"Two lines of one comment.": "一条两行的注释。", "inside of a command": "命令之内"}
    translated = translate_comments(DOCKERFILE, catalog, language="docker").splitlines()
    kept = [line for line in DOCKERFILE.splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in translated if not line.lstrip().startswith("#")] == kept
    assert translated[:2] == ["# 一条两行", "# 的注释。"]
    assert translated[5] == "  # 命令之内"
    assert "# hadolint ignore=DL3008" in translated


CONF = """
extensions = ["myst_nb", "code_comments"]
nb_execution_mode = "off"
"""
FRONT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n"
FRONT = FRONT.replace("  name:", "  language: python\n  name:")  # else known from the execution
PAGE = f"""{FRONT}
# Views

```{{code-cell}} python
# a comment of
# two lines
x = "# no"  # `x` is * not parsed
```

```python
y = 2  # static
```

```bash
# a shell
```

```text
# not Python
```
"""
CATALOG = {
    "Views": "视图",
    "a comment of two lines": "一条两行的注释",
    "`x` is * not parsed": "`x` 不作为 * 标记解析",
    "static": "静态",
    "a shell": "命令行",
}
PO = "locales/zh_CN/LC_MESSAGES/index.po"


def code_blocks(app):
    soup = BeautifulSoup((app.outdir / "index.html").read_text("utf-8"), "html.parser")
    return [block.get_text() for block in soup.find_all("pre")]


def test_comments_are_messages_of_the_template(tmp_path, make_site):
    app = make_site(tmp_path, {"index.md": PAGE}, CONF, builder="gettext")
    template = (app.outdir / "index.pot").read_text("utf-8")
    assert all(f'msgid "{message}"' in template for message in CATALOG)
    assert "not Python" not in template


def test_a_translated_page_shows_translated_comments(tmp_path, make_site, po):
    app = make_site(tmp_path, {"index.md": PAGE, PO: po(CATALOG)}, CONF, language="zh_CN")
    assert app.warning.getvalue() == ""
    assert [block.strip() for block in code_blocks(app)] == [
        '# 一条两行\n# 的注释\nx = "# no"  # `x` 不作为 * 标记解析',
        "y = 2  # 静态",
        "# 命令行",
        "# not Python",
    ]


def test_the_source_page_is_unchanged(tmp_path, make_site, po):
    app = make_site(tmp_path, {"index.md": PAGE, PO: po(CATALOG)}, CONF)
    assert "# a comment of\n# two lines" in code_blocks(app)[0]


def test_an_untranslated_comment_is_a_warning_with_page_and_line(tmp_path, make_site, po):
    catalog = {message: text for message, text in CATALOG.items() if message != "static"}
    app = make_site(tmp_path, {"index.md": PAGE, PO: po(catalog)}, CONF, language="zh_CN")
    (warning,) = app.warning.getvalue().strip().splitlines()
    assert "index.md:17: WARNING: " in warning
    assert "'# static'" in warning


def test_a_translation_that_changes_a_block_stops_the_build(tmp_path, make_site, po):
    files = {"index.md": PAGE, PO: po(CATALOG | {"static": "%% 静态"})}
    with pytest.raises(ExtensionError, match=r"index\.md:17: .*would change the program"):
        make_site(tmp_path, files, CONF, language="zh_CN")


def test_an_edited_catalog_is_shown_by_the_next_build(tmp_path, make_site, po):
    make_site(tmp_path, {"index.md": PAGE, PO: po(CATALOG)}, CONF, language="zh_CN")
    files = {"index.md": PAGE, PO: po(CATALOG | {"static": "不执行"})}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    assert code_blocks(app)[1].strip() == "y = 2  # 不执行"
