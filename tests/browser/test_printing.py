"""Cheat sheets are made for paper: what comes out of the printer."""

from __future__ import annotations

import re

import pytest

SHEETS = ("tensors/cheat-sheet", "autograd/cheat-sheet")
PAGE = re.compile(rb"/Type\s*/Page\b(?!s)")  # one such object a page of a PDF


@pytest.mark.parametrize("language", ["en", "zh-cn"])
@pytest.mark.parametrize("sheet", SHEETS)
def test_a_cheat_sheet_fits_on_both_sides_of_a_sheet(page, address, language, sheet):
    page.goto(f"{address}/{language}/{sheet}.html")
    pdf = page.pdf(format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "10mm"))
    assert 1 <= len(PAGE.findall(pdf)) <= 2


@pytest.mark.parametrize("sheet", SHEETS)
def test_paper_shows_the_results_and_neither_menus_nor_buttons(page, address, sheet):
    page.goto(f"{address}/en/{sheet}.html")
    page.emulate_media(media="print")
    assert page.locator("article .output pre").first.is_visible()
    for hidden in (".sidebar-drawer", ".toc-drawer", "article details.hide", "p.downloads"):
        assert page.locator(hidden).count(), (
            f"{hidden} is gone from the page, and so from this test"
        )
        assert not page.locator(hidden).first.is_visible(), hidden
