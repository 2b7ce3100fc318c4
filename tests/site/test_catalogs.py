from __future__ import annotations

import os

import pytest
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hypothesis import given
from hypothesis import strategies as st
from sphinx.errors import ExtensionError

from catalogs import CatalogError, page_catalog, read, read_entries

HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
CONF = 'extensions = ["myst_parser", "complete_translations"]\n'
PAGE = "# Views\n\nSee `x` and {ref}`the end <end>`.\n\n(end)=\n\n## End\n"
CATALOG = {
    "Views": "视图",
    "See `x` and {ref}`the end <end>`.": "见 {ref}`结尾 <end>` 和 `x`。",
    "End": "结尾",
}
PO = "locales/zh_CN/LC_MESSAGES/index.po"


@pytest.fixture
def write(tmp_path):
    def write_catalog(body, header=HEADER):
        path = tmp_path / "page.po"
        path.write_bytes(header.encode() + (body if isinstance(body, bytes) else body.encode()))
        return path

    return write_catalog


def test_a_catalog_is_read_with_lines_and_joined_strings(write):
    path = write('#: a.md:1\nmsgid ""\n"one "\n"two"\nmsgstr "一\\n\\"二\\""\n')
    assert read(path) == {"one two": '一\n"二"'}
    assert read_entries(path)[0].line == 6


def test_fuzzy_and_untranslated_messages_are_not_read(write):
    path = write(
        '#, fuzzy\nmsgid "a"\nmsgstr "甲"\n\nmsgid "b"\nmsgstr ""\n\nmsgid "c"\nmsgstr "丙"\n'
    )
    assert read(path) == {"c": "丙"}


def test_the_flag_of_an_obsolete_entry_stays_there(write):
    path = write('#, fuzzy\n#~ msgid "a"\n#~ msgstr "甲"\n\nmsgid "b"\nmsgstr "乙"\n')
    assert read(path) == {"b": "乙"}


def test_a_form_feed_or_line_separator_inside_a_string_does_not_end_the_line(write):
    assert read(write('msgid "a\u2028b"\nmsgstr "甲\x0c乙"\n')) == {"a\u2028b": "甲\x0c乙"}


@pytest.mark.parametrize(
    ("body", "line", "fault"),
    [
        ('msgid "a"\nmsgstr "甲\n', 6, "expected"),  # the string does not end
        ('msgid "a"\nmsgstr 甲\n', 6, "expected"),
        ('msgid "a"\nmsgstr "say "hi""\n', 6, "expected"),  # a quote inside
        ('msgid "a"\nmsgstr "\\q"\n', 6, "expected"),  # no such escape
        ('msgid "a"\nmsgtr "甲"\n', 6, "expected"),
        ("<<<<<<< HEAD\n", 5, "expected"),
        ('msgid "a"\n\nmsgid "b"\nmsgstr "乙"\n', 5, "no msgstr"),
        ('msgid "a"\n', 5, "no msgstr"),
        ('msgid "a"\nmsgstr "甲"\nmsgstr "乙"\n', 7, "without a msgid"),
        ('msgid "a"\nmsgstr "甲"\n\nmsgid "a"\nmsgstr "乙"\n', 8, "same msgid as in line 5"),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[0] "甲"\n', 6, "expected"),
        ('msgid "a"\nmsgstr "甲"\n# caf\xe9\n'.encode("latin-1", "replace"), 7, "not UTF-8"),
    ],
)
def test_a_malformed_catalog_is_an_error_with_file_and_line(write, body, line, fault):
    path = write(body)
    with pytest.raises(CatalogError, match=fault) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:{line}: ")


def test_a_string_before_any_msgid_is_an_error(write):
    with pytest.raises(CatalogError, match=":1: a string without"):
        read(write("", header='"a"\n'))


def test_a_catalog_needs_a_header(write):
    with pytest.raises(CatalogError, match="header"):
        read(write('msgid "a"\nmsgstr "甲"\n', header=""))


def test_a_changed_catalog_is_read_again(write):
    path = write('msgid "a"\nmsgstr "甲"\n')
    read(path)
    path = write('msgid "a"\nmsgstr "乙"\n')
    os.utime(path, ns=(1, 1))
    assert read(path) == {"a": "乙"}


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=3))
def test_any_text_survives_the_way_through_a_catalog(tmp_path_factory, messages):
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import write_po

    text = {key: value for key, value in messages.items() if _encodable(key + value)}
    catalog = Catalog()
    for message, translation in text.items():
        catalog.add(message, translation)
    path = tmp_path_factory.mktemp("po") / "page.po"
    with path.open("wb") as file:
        write_po(file, catalog, width=0)
    assert read(path) == text


def _encodable(text):
    """Tell whether a catalog can hold the text: Babel escapes no other control characters."""
    return not any(0xD800 <= ord(c) <= 0xDFFF or (ord(c) < 32 and c not in "\n\t\r") for c in text)


def test_a_complete_site_builds_without_a_warning(tmp_path, make_site, po):
    files = {"index.md": PAGE, PO: po(CATALOG)}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    assert app.warning.getvalue() == ""
    assert page_catalog(app.env, "index") == CATALOG
    assert "结尾" in (app.outdir / "index.html").read_text("utf-8")


def test_the_source_language_needs_no_catalog(tmp_path, make_site):
    app = make_site(tmp_path, {"index.md": PAGE}, CONF)
    assert app.warning.getvalue() == ""
    assert page_catalog(app.env, "index") == {}


def test_a_malformed_catalog_stops_the_build(tmp_path, make_site, po):
    files = {"index.md": PAGE, PO: po(CATALOG) + 'msgid "x\n'}
    with pytest.raises(ExtensionError, match=r"index\.po:\d+: expected"):
        make_site(tmp_path, files, CONF, language="zh_CN")


def test_a_missing_message_is_a_warning_with_page_and_line(tmp_path, make_site, po):
    catalog = {message: text for message, text in CATALOG.items() if message != "End"}
    files = {"index.md": PAGE, PO: po(catalog)}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    (warning,) = app.warning.getvalue().strip().splitlines()
    assert "index.md:7: WARNING:" in warning
    assert "'End'" in warning


def test_a_page_without_a_catalog_is_a_warning(tmp_path, make_site):
    app = make_site(tmp_path, {"index.md": PAGE}, CONF, language="zh_CN")
    assert app.warning.getvalue().count("not in the page's catalog") == 3


LONG = "See `x` and {ref}`the end <end>`."


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"End": ""}, "untranslated: 'End'"),
        ({LONG: "见 {ref}`结尾 <end>`。"}, "lacks `x`"),
        ({LONG: "见 `x` 和 {ref}`结尾 <fin>`。"}, "only the translation has role ref: fin"),
    ],
)
def test_an_unfinished_message_is_a_warning_with_catalog_and_line(
    tmp_path, make_site, po, change, fault
):
    files = {"index.md": PAGE, PO: po(CATALOG | change)}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    lines = [line for line in app.warning.getvalue().splitlines() if fault in line]
    assert any(f"{PO}:" in line for line in lines)


def test_a_fuzzy_message_is_a_warning(tmp_path, make_site, po):
    catalog = po(CATALOG).replace('msgid "End"', '#, fuzzy\nmsgid "End"')
    app = make_site(tmp_path, {"index.md": PAGE, PO: catalog}, CONF, language="zh_CN")
    assert "index.po:12: WARNING: fuzzy" in app.warning.getvalue()


def test_formulas_are_no_messages(tmp_path, make_site):
    conf = CONF + 'myst_enable_extensions = ["amsmath", "dollarmath"]\n'
    page = "# Sum\n\n$$\na + b\n$$\n\n\\begin{align}\na\n\\end{align}\n"
    app = make_site(tmp_path, {"index.md": page}, conf, builder="gettext")
    template = (app.outdir / "index.pot").read_text("utf-8")
    assert 'msgid "Sum"' in template
    assert "a + b" not in template
    assert "align" not in template


def test_catalogs_shared_by_pages_are_refused(tmp_path, make_site):
    conf = CONF + "gettext_compact = True\n"
    with pytest.raises(ExtensionError, match="gettext_compact = False"):
        make_site(tmp_path, {"index.md": PAGE}, conf, language="zh_CN")


@pytest.mark.parametrize("content", [b"", b"\xde\x12\x04\x95cut", None])
def test_a_compiled_catalog_of_another_time_is_compiled_again(tmp_path, make_site, po, content):
    messages = {"Views": "视图", "A text.": "一段文字。"}
    files = {
        "index.rst": "Views\n=====\n\nA text.\n",
        "locales/zh_CN/LC_MESSAGES/index.po": po(messages),
    }
    make_site(tmp_path, files, conf=CONF, language="zh_CN")
    compiled = tmp_path / "docs/locales/zh_CN/LC_MESSAGES/index.mo"
    if content is None:  # whole, but of a source that was half saved: only the header
        content = compiled.read_bytes()
        header = tmp_path / "header.po"
        header.write_text(po({}), "utf8")
        with header.open("rb") as source, compiled.open("wb") as target:
            write_mo(target, read_po(source))
    else:
        compiled.write_bytes(content)
    later = compiled.stat().st_mtime + 60
    os.utime(compiled, (later, later))

    files["index.rst"] += "\nA text.\n"
    app = make_site(tmp_path, files, conf=CONF, language="zh_CN")
    assert app.warning.getvalue() == ""
    assert "一段文字。" in (app.outdir / "index.html").read_text("utf8")
    assert compiled.stat().st_mtime < later
