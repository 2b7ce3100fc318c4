"""HTML that every browser and screen reader reads the same way."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from justhtml import Element

from site_checks.site import LANGUAGES, attribute, line_of, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from site_checks.site import Failure, Page, Site

__all__ = ["alternative_texts", "languages_named", "unique_ids", "valid_html", "weights"]

# https://html.spec.whatwg.org/multipage/obsolete.html#non-conforming-features
OBSOLETE_WORDS = """
    acronym applet basefont big center dir font frame frameset marquee nobr noframes strike tt
"""
OBSOLETE = frozenset(OBSOLETE_WORDS.split())
# https://html.spec.whatwg.org/multipage/indices.html#attributes-3, and RDFa's `property`,
# which search engines and chat programs read
ATTRIBUTES_WORDS = """
    abbr accept accept-charset accesskey action allow allowfullscreen alt as async
    autocapitalize autocomplete autofocus autoplay charset checked cite class color cols
    colspan content contenteditable controls coords crossorigin data datetime decoding default
    defer dir dirname disabled download draggable enctype enterkeyhint fetchpriority for form
    formaction hidden headers height high href hreflang http-equiv id imagesizes imagesrcset
    inert inputmode integrity is ismap itemid itemprop itemref itemscope itemtype kind label
    lang list loading loop low max maxlength media method min minlength multiple muted name
    nomodule nonce novalidate open optimum pattern ping placeholder playsinline popover
    popovertarget poster preload property readonly referrerpolicy rel required reversed role
    rows rowspan sandbox scope selected shape size sizes slot span spellcheck src srcdoc
    srclang srcset start step style tabindex target title translate type usemap value width
    wrap xmlns
"""
ATTRIBUTES = frozenset(ATTRIBUTES_WORDS.split())
IDREFS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")

PAGE_BYTES = 400_000  # one page's HTML; a longer one is split
LOADED_BYTES = 1_500_000  # a page with all it loads at once: about ten seconds on slow 3G
MATH_BYTES = 100_000  # what the formulas of a page may cost, font included
LOADS = (("script", "src"), ("img", "src"), ("source", "src"))
FILE_NAME = re.compile(r"\S+\.(png|svg|jpe?g|gif|webp)")


def valid_html(page: Page) -> Iterator[Failure]:
    """No parse error, no obsolete element, no attribute that HTML does not have."""
    for line, message in page.errors:
        yield page.fail(line, f"not valid HTML: {message}")
    for each in page.all:
        if each.namespace != "html":
            continue
        if each.name in OBSOLETE:
            yield page.fail(each, f"<{each.name}> is obsolete")
        for name in each.attrs:
            if name not in ATTRIBUTES and not name.startswith(("data-", "aria-", "on")):
                yield page.fail(each, f"<{each.name}> has the attribute {name!r}, unknown to HTML")
    headings = [each for each in page.all if each.name == "h1"]
    if len(headings) != 1 and page.docname != "search":  # a script writes that page's heading
        yield page.fail(headings[1] if headings else 1, f"{len(headings)} <h1>; a page has one")


def unique_ids(page: Page) -> Iterator[Failure]:
    """An id stands once, and what refers to one finds it."""
    seen: dict[str, int] = {}
    for each in page.all:
        name = each.attrs.get("id")
        if name is None:
            continue
        if name in seen:
            yield page.fail(each, f"the id {name!r} was used in line {seen[name]}")
        seen.setdefault(name, line_of(each))
    for each in page.all:
        for key in IDREFS:
            for name in attribute(each, key).split():
                if name not in page.ids:
                    yield page.fail(each, f"{key}={name!r}: no such id in the page")


def _beside_its_title(image: Element) -> bool:
    """Say whether an image stands on a gallery's card, whose link says the same in words."""
    around = image.parent
    return isinstance(around, Element) and "sphx-glr-thumbcontainer" in attribute(around, "class")


def alternative_texts(page: Page) -> Iterator[Failure]:
    """Each image says in words what it shows."""
    for each in page.all:
        if each.name != "img":
            continue
        source = PurePosixPath(attribute(each, "src")).name
        words = attribute(each, "alt").strip()
        if not words and "alt" in each.attrs and _beside_its_title(each):
            continue
        if not words:
            yield page.fail(each, f"the image {source} has no alternative text")
        elif FILE_NAME.fullmatch(words):
            yield page.fail(each, f"the image {source} has a file's name as alternative text")


def languages_named(page: Page) -> Iterator[Failure]:
    """Each page names its language, and has a title."""
    wanted = LANGUAGES.get(page.language or "", "en")
    found = page.root.attrs.get("lang")
    if found != wanted:
        yield page.fail(page.root, f"<html lang={found!r}>, but the folder's is {wanted!r}")
    titles = [each for each in page.all if each.name == "title" and each.namespace == "html"]
    if not titles or not text_of(titles[0]):
        yield page.fail(1, "no <title>")


def weights(site: Site, page: Page) -> Iterator[Failure]:
    """No page is too heavy for a phone."""
    size = len(page.text.encode())
    if size > PAGE_BYTES:
        yield page.fail(1, f"{size:,} bytes of HTML; at most {PAGE_BYTES:,}")
    loaded = {each.attrs.get(key) for each in page.all for tag, key in LOADS if each.name == tag}
    loaded |= {
        each.attrs.get("href")
        for each in page.all
        if each.name == "link" and each.attrs.get("rel") == "stylesheet"
    }
    local = {each.partition("?")[0] for each in loaded if each and "//" not in each}
    files = [page.path.parent / each for each in local if (page.path.parent / each).is_file()]
    total = size + sum(path.stat().st_size for path in files)
    if total > LOADED_BYTES:
        yield page.fail(1, f"{total:,} bytes with all it loads; at most {LOADED_BYTES:,}")
    font = site.folder / (page.language or "") / "_static" / "math.woff"
    formulas = re.findall(r"<math\b.*?</math>", page.text, re.DOTALL)
    if formulas and font.is_file():
        cost = font.stat().st_size + sum(len(each.encode()) for each in formulas)
        if cost > MATH_BYTES:
            yield page.fail(1, f"its formulas cost {cost:,} bytes; at most {MATH_BYTES:,}")
