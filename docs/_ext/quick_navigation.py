"""Make the tree of all pages once, and mark each page in it, instead of making it for each page.

Sphinx resolves the whole tree for every page, and furo parses it again: with a hundred pages that
is half of the time of writing them, and it grows with their square.  From page to page only the
addresses change, and which branch is the current one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bs4 import BeautifulSoup, Tag
from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.builders.html import StandaloneHTMLBuilder
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Navigation", "setup"]

NOWHERE = "search"  # a page of Sphinx's own, at the root and never in the tree
# as furo asks for it: furo/__init__.py, _compute_navigation_tree
ASKED = {"collapse": False, "titles_only": True, "maxdepth": -1, "includehidden": True}


class Navigation:
    """The tree of one build, as furo writes it."""

    def __init__(self, builder: StandaloneHTMLBuilder) -> None:
        """Make the tree as a page sees it that is not in it."""
        tree = global_toctree_for_doc(builder.env, NOWHERE, builder, tags=builder.tags, **ASKED)  # type: ignore[arg-type]  # a dict of several types
        html = builder.render_partial(tree)["fragment"]
        self.soup = BeautifulSoup(get_navigation_tree(html), "html.parser")
        self.links = [(link, str(link["href"])) for link in self.soup.find_all("a")]
        self.uri = builder.get_target_uri

    def tree(self, page: str) -> str:
        """Return the tree with addresses from a page, and the page marked."""
        here = self.uri(page)
        marked: list[tuple[Tag, dict[str, Any]]] = []
        for link, target in self.links:
            if target == here:
                marked += [(tag, dict(tag.attrs)) for tag in _branch(link)]
                _mark(link)
            elif not re.match(r"[a-z]+:", target):
                link["href"] = relative_uri(here, target)
        html = str(self.soup)
        for tag, attributes in marked:
            tag.attrs = attributes  # what it had before
        return html


def _branch(link: Tag) -> Iterator[Tag]:
    """Return a link, the items and lists around it, and the boxes that open these."""
    yield link
    for item in link.find_parents(["li", "ul"]):
        yield item
        yield from item.find_all("input", recursive=False)


def _mark(link: Tag) -> None:
    """Mark a branch as Sphinx and furo do: current, and open."""
    link["href"] = "#"
    link["class"] = " ".join(["current", *link.get_attribute_list("class")])
    for tag in _branch(link):
        if tag.name == "ul":
            tag["class"] = "current"
        elif tag.name == "li":
            level, *rest = tag.get_attribute_list("class")
            tag["class"] = " ".join([level, "current", *rest])
        elif tag.name == "input":
            tag["checked"] = ""
    item = link.find_parent("li")
    if item is not None:
        item["class"] = f"{item['class']} current-page"


def before_furo(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Give furo an empty tree, and keep the real function for templates."""
    if app.builder.format == "html" and "toctree" in context:
        context["guide_toctree"] = context["toctree"]
        context["toctree"] = lambda **_asked: ""


def after_furo(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Put in the tree."""
    if "guide_toctree" in context:
        context["toctree"] = context.pop("guide_toctree")
        builder: Any = app.builder
        if not hasattr(builder, "guide_navigation"):
            builder.guide_navigation = Navigation(builder)
        context["furo_navigation_tree"] = builder.guide_navigation.tree(page)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Stand around furo's handler, which has the priority 500."""
    app.connect("html-page-context", before_furo, priority=400)
    app.connect("html-page-context", after_furo, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
