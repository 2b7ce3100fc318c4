from __future__ import annotations

import json
import re

import pytest
from bs4 import BeautifulSoup

from torchguide.errors import load

CONF = 'extensions = ["catalogs", "error_entries"]\nguide_error_reports = "reports.jsonl"\n'
RAISED = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)"
PAGE = """Home
====

.. _matmul-shape:

Inner sizes
-----------

.. code-block:: none
   :class: output traceback

   {raised}

.. error-entry:: {entry}
{more}
"""


@pytest.fixture
def build(tmp_path, make_site):
    def build(raised=RAISED, entry="matmul-shape", more="", language="en", builder="html"):
        text = PAGE.format(raised=raised, entry=entry, more=more)
        reports = [
            {"id": "R1", "kind": "cuda-oom", "text": "x"},
            {"id": "R2", "kind": "matmul-shape", "text": "log\n" * 20 + RAISED},
        ]
        files = {"index.rst": text, "reports.jsonl": "\n".join(map(json.dumps, reports))}
        app = make_site(tmp_path, files, CONF, language, builder)
        page = app.outdir / "index.html"
        soup = BeautifulSoup(page.read_text("utf-8"), "html.parser") if builder == "html" else None
        return soup, app.warning.getvalue()

    return build


@pytest.mark.parametrize(("language", "code"), [("en", "en"), ("zh_CN", "zh")])
def test_the_catalogue_answers_with_the_numbers_of_the_message(build, language, code):
    soup, warnings = build(language=language)
    box = soup.select_one(".error-entry")
    entry = load().entry("matmul-shape").data
    title = box.select_one(".admonition-title").get_text()
    assert title.startswith(entry["title"][code])
    assert {"5", "10"} <= set(re.findall(r"\d+", title))
    assert load().interface["fix"][code] in box.get_text()
    assert "error-entry" not in warnings


def test_the_known_wordings_are_folded_and_readable(build):
    soup, _ = build()
    wordings = [each.get_text() for each in soup.select(".error-entry details code")]
    assert "mat1 and mat2 shapes cannot be multiplied (…x… and …x…" in wordings
    versions = {each.get_text() for each in soup.select(".error-entry details span")}
    assert {"", "torch ≥ 1.8", "torch ≤ 1.7", "torch 1.7", "torch 1.7–1.13"} <= versions
    assert len(wordings) == len(load().entry("matmul-shape").patterns)


def test_a_message_that_torch_words_anew_fails(build):
    _, warnings = build(raised="RuntimeError: these matrices do not go together")
    assert "index.rst:14: WARNING: error-entry matmul-shape: torchguide explain knows" in warnings
    assert "these matrices do not go together" in warnings


def test_a_message_of_another_entry_fails(build):
    raised = (
        "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation."
    )
    assert "takes this for leaf-inplace" in build(raised=raised)[1]


def test_nothing_raised_fails(build, tmp_path, make_site):
    text = PAGE.format(raised=RAISED, entry="matmul-shape", more="")
    text = text.replace("   :class: output traceback\n", "")
    app = make_site(tmp_path, {"index.rst": text}, CONF)
    assert "no cell of its section raises or prints it" in app.warning.getvalue()


def test_a_message_printed_to_stderr_counts(tmp_path, make_site):
    text = PAGE.format(raised=RAISED, entry="matmul-shape", more="")
    app = make_site(tmp_path, {"index.rst": text.replace("traceback", "stderr")}, CONF)
    assert "error-entry" not in app.warning.getvalue()


def test_the_section_bears_the_anchor_of_the_entry(tmp_path, make_site):
    text = PAGE.format(raised=RAISED, entry="matmul-shape", more="")
    app = make_site(tmp_path, {"index.rst": text.replace("_matmul-shape", "_other")}, CONF)
    assert "write (matmul-shape)= above the heading" in app.warning.getvalue()


def test_an_unknown_entry_fails(build):
    assert "no such entry" in build(entry="matmul-shapes")[1]


def test_a_recorded_message_is_marked_and_cut_to_its_end(build):
    soup, warnings = build(raised="nothing", more="   :recorded: R2\n")
    assert "error-entry" not in warnings
    mark = soup.select_one("p.recorded")
    assert "Not run here" in mark.get_text()
    block = mark.find_next("pre").get_text()
    assert RAISED in block
    assert len(block.strip().splitlines()) <= 12


def test_a_message_worded_by_the_source_is_marked(build):
    soup, _ = build(more="   :recorded: source\n")
    assert "words it, with values put in" in soup.select_one("p.recorded").get_text()


@pytest.mark.parametrize(
    ("report", "problem"),
    [("R1", "R1 in reports.jsonl is of cuda-oom"), ("R9", "no report R9 in reports.jsonl")],
)
def test_a_recording_must_exist_and_be_of_the_entry(build, report, problem):
    assert problem in build(more=f"   :recorded: {report}\n")[1]


def test_nothing_of_an_entry_is_left_for_catalogs(build, tmp_path):
    build(builder="gettext")
    template = next((tmp_path / "build").rglob("index.pot")).read_text("utf-8")
    assert "Inner sizes" in template
    assert load().entry("matmul-shape").data["title"]["en"] not in template
