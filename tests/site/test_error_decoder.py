from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import error_decoder
from doctree_markdown import Place, blocks
from error_catalogue import browser_data, catalogue_script, wordings
from torchguide.errors import load
from torchguide.errors.templates import javascript_pattern, readable

CATALOGUE = load()
PAGE = "# Decode\n\n```{error-decoder}\n```\n\n## All\n\n```{error-messages}\n```\n"
CONF = """
extensions = ["myst_parser", "catalogs", "complete_translations", "error_entries", "error_decoder"]
source_suffix = {".md": "markdown"}
"""
PUBLISHED = "matmul-shape"


@pytest.fixture
def built(make_site, po, tmp_path, monkeypatch):
    """Build a site where one page of the catalogue is written, and that of another is missing."""
    pages = {
        PUBLISHED: f"other#{PUBLISHED}",
        "numpy-requires-grad": "unwritten#numpy-requires-grad",
    }
    entries = tuple(e._replace(page=pages.get(e.id, "")) for e in CATALOGUE.entries)
    monkeypatch.setattr(error_decoder, "load", lambda: CATALOGUE._replace(entries=entries))
    files = {
        "index.md": PAGE,
        "other.md": f"---\norphan: true\n---\n# Other\n\n({PUBLISHED})=\n## Sizes\n",
        # nothing of the table: its words come from the catalogue of errors
        "locales/zh_CN/LC_MESSAGES/index.po": po({"Decode": "解读", "All": "全部"}),
        "locales/zh_CN/LC_MESSAGES/other.po": po({"Other": "其他", "Sizes": "尺寸"}),
    }

    def build(language="en", builder="html"):
        return make_site(tmp_path, files, CONF, language, builder)

    return build


def parsed(app, name="index"):
    return BeautifulSoup((app.outdir / f"{name}.html").read_text("utf-8"), "html.parser")


def data_of(app):
    script = Path(app.outdir, "_static", "error_catalogue.js").read_text("utf-8")
    return json.loads(script.removeprefix("globalThis.guideErrors = ").removesuffix(";\n"))


# -- The data --------------------------------------------------------------------------------------


def unpacked(data):
    """Read the patterns as the engine does."""
    for entry in data["entries"]:
        for match, words, rank, *rest in entry["patterns"]:
            usual = ["", 0, 0, "", "", 0, False]
            yield [entry["id"], match, words, rank, *rest, *usual[len(rest) :]]


def test_every_pattern_is_there_with_its_settings():
    data = browser_data(CATALOGUE, "en", str, {})
    found = list(unpacked(data))
    patterns = [(e.id, p) for e in CATALOGUE.entries for p in e.patterns]
    for row, (name, pattern) in zip(found, patterns, strict=True):
        assert row[:4] == [
            name, javascript_pattern(pattern.match), " ".join(pattern.words), pattern.rank
        ]  # fmt: skip
        kinds, confidence, level, within, without, requires, consequence = row[4:]
        assert len(kinds) == pattern.regex.groups
        assert ("certain", "likely", "possible")[confidence] == pattern.confidence
        assert ("error", "warning", "fallback")[level] == pattern.level
        assert within == javascript_pattern(pattern.within)
        assert without == javascript_pattern(pattern.without)
        assert data["requires"][requires] == pattern.requires
        assert consequence is pattern.consequence


def test_the_data_are_in_one_language_and_small():
    for language, other in (("en", "zh"), ("zh", "en")):
        script = catalogue_script(browser_data(CATALOGUE, language, str, {}))
        for entry in CATALOGUE.entries:
            texts = [entry.data["fix"], entry.data["cause"]]
            for text in (json.dumps(each[language], ensure_ascii=False) for each in texts):
                assert text in script
            assert json.dumps(entry.data["cause"][other], ensure_ascii=False) not in script
        assert len(script.encode()) < 400_000


def test_only_pages_that_are_published_are_linked():
    asked = []
    data = browser_data(CATALOGUE, "en", lambda page: asked.append(page) or "link", {})
    assert asked == [entry.page for entry in CATALOGUE.entries if entry.page]
    assert [bool(e["page"]) for e in data["entries"]] == [bool(e.page) for e in CATALOGUE.entries]


def test_the_wordings_of_an_entry_are_readable_and_hold_all_messages():
    for entry in CATALOGUE.entries:
        shown = wordings(entry)
        assert len(shown) == len(set(shown)) > 0
        for pattern in entry.patterns:
            assert any(readable(pattern.match) in text for text in shown)


# -- The page --------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_a_page_has_a_hidden_box_a_table_and_the_data(built, language):
    app = built(language)
    page = parsed(app)
    form = page.select_one(".error-decoder > form")
    assert form.has_attr("hidden")
    box = form.select_one("textarea")
    assert form.select_one(f"label[for={box['id']}]").get_text()
    assert form.select_one(f"#{box['aria-describedby']}").get_text()
    assert form.select_one("[role=status][aria-live=polite]")
    short = "zh" if language == "zh_CN" else "en"
    rows = page.select(".error-messages tbody tr")
    titles = [re.sub(r"\{\w+\}", "…", entry.data["title"][short]) for entry in CATALOGUE.entries]
    assert [row.td.get_text(strip=True) for row in rows] == titles
    first = [code.get_text() for code in rows[0].select("code")]
    assert first == wordings(CATALOGUE.entries[0])
    data = data_of(app)
    assert data["entries"][0]["title"] == CATALOGUE.entries[0].data["title"][short]
    assert data["words"]["nothing"] == CATALOGUE.interface["nothing"][short]


def test_the_examples_are_messages_that_the_catalogue_explains(built):
    page = parsed(built())
    shown = [button["data-example"] for button in page.select("[data-example]")]
    tests = [CATALOGUE.entry(name).data["test"][0] for name in error_decoder.EXAMPLES]
    assert shown == tests


def test_answers_and_table_link_to_the_section_where_its_page_is_written(built):
    app = built()
    links = {entry["id"]: entry["page"] for entry in data_of(app)["entries"]}
    assert links[PUBLISHED] == f"other.html#{PUBLISHED}"
    assert [name for name, link in links.items() if link] == [PUBLISHED]
    in_table = [each["href"] for each in parsed(app).select(".error-messages tbody a")]
    assert in_table == [f"other.html#{PUBLISHED}"]


def test_a_section_that_is_missing_is_reported(built):
    warnings = built().warning.getvalue()
    assert "numpy-requires-grad" in warnings
    assert PUBLISHED not in warnings


def test_only_pages_with_the_box_load_its_data(built):
    app = built()
    assert "error_catalogue.js" in (app.outdir / "index.html").read_text("utf-8")
    assert "error_catalogue.js" not in (app.outdir / "other.html").read_text("utf-8")


def test_nothing_of_the_catalogue_goes_to_the_translators(built):
    app = built(builder="gettext")
    text = (app.outdir / "index.pot").read_text("utf-8")
    assert re.findall(r'^msgid "(.+)"$', text, re.MULTILINE) == ["Decode", "All"]


def test_a_download_of_the_page_has_the_table(built):
    app = built()
    doctree = app.env.get_doctree("index")
    unknown = []
    place = Place("", str, lambda _node: "", unknown.append)
    text = "\n".join(part for node in doctree.children for part in blocks(node, place))
    assert unknown == []
    assert "The box works on the web page" in text
    assert "`mat1 and mat2 shapes cannot be multiplied (…x… and …x…`" in text


def test_no_title_of_the_table_shows_the_name_of_a_number(built):
    for language in ("en", "zh_CN"):
        table = parsed(built(language)).select_one("table.error-messages")
        titles = [row.select_one("td").get_text() for row in table.select("tbody tr")]
        assert len(titles) == len(CATALOGUE.entries)
        assert not [title for title in titles if re.search(r"\{\w+\}", title)]
