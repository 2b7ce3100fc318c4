from __future__ import annotations

import re

import pytest

FURO = 'html_theme = "furo"\nextensions = ["catalogs"{more}]\n'
PAGES = {
    "index.rst": "Home\n====\n\n.. toctree::\n   :hidden:\n   :caption: All\n\n   a/index\n   b\n   Away <https://example.org/>\n",
    "a/index.rst": "A\n=\n\n.. toctree::\n\n   one\n   deep/index\n",
    "a/one.rst": "One & only\n==========\n\nSection\n-------\n",
    "a/deep/index.rst": "Deep\n====\n\n.. toctree::\n\n   down\n",
    "a/deep/down.rst": "Down\n====\n",
    "b.rst": "B\n=\n",
}


@pytest.fixture
def trees(tmp_path, make_site):
    """Build with or without the extension and return each page's navigation."""

    def build(more=""):
        folder = tmp_path / (more.strip(' ,"') or "plain")
        app = make_site(folder, PAGES, FURO.format(more=more))
        assert not app.warning.getvalue()
        pages = sorted(app.outdir.rglob("*.html"))
        return {
            page.relative_to(app.outdir).as_posix(): re.search(
                r'(?s)<div class="sidebar-tree">.*?</div>', page.read_text("utf-8")
            )[0]
            for page in pages
        }

    return build


def test_every_page_has_the_tree_that_furo_would_write(trees):
    plain = trees()
    quick = trees(', "quick_navigation"')
    assert quick == plain
    assert len(plain) > len(PAGES)  # search and index, too
    assert "current-page" in plain["a/deep/down.html"]
    assert plain["a/deep/down.html"].count("checked") == 2


def test_marks_of_one_page_are_not_left_for_the_next(trees):
    assert all(tree.count("current-page") <= 1 for tree in trees(', "quick_navigation"').values())
