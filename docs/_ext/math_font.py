"""Give the site a small mathematical font with just the characters that its formulas use.

Without one, Android and many Linux browsers cannot stretch a bracket or a root. STIX Two Math
(SIL Open Font License) is 1.5 MB; the part that a site uses is some tens of kilobytes. The file
comes with the package `ziamath`, which is not imported.
"""

from __future__ import annotations

import html
import logging
import re
import string
import unicodedata
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["font_file", "subset_font", "used_characters"]

MATH = re.compile(r"<math\b.*?</math>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
# Browsers draw a lone letter in its italic form (text-transform: math-auto).
ITALIC = [0x210E, *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C)]
ALWAYS = frozenset(string.digits + string.punctuation)
NAME_AND_LICENSE = [0, 1, 2, 4, 6, 13, 14]  # name records; the licence asks to keep them


def font_file() -> Path:
    """Return the whole font's file."""
    spec = find_spec("ziamath")
    file = Path(spec.origin or "").parent / "fonts" / "STIXTwoMath-Regular.ttf" if spec else None
    if file is None or not file.is_file():
        raise ExtensionError("math_font: no STIXTwoMath-Regular.ttf; install the package ziamath")
    return file


@lru_cache(maxsize=1)
def _italic_forms() -> dict[str, str]:
    return {unicodedata.normalize("NFKC", chr(code)): chr(code) for code in ITALIC}


def used_characters(site: Path) -> frozenset[str]:
    """Return the characters of all formulas in a folder of HTML pages, and their italic forms."""
    used = set(ALWAYS)
    for page in site.rglob("*.html"):
        for formula in MATH.findall(page.read_text("utf-8")):
            used.update("√" if re.search("<m(sqrt|root)", formula) else "")  # drawn, not written
            used.update(html.unescape(TAG.sub("", formula)))
    return frozenset(used | {_italic_forms()[each] for each in used & _italic_forms().keys()})


def subset_font(characters: frozenset[str], target: Path) -> None:
    """Write the part of the font that draws these characters, as WOFF, the same bytes each time."""
    from fontTools import subset  # noqa: PLC0415  (takes longer than the rest of a build with no change)

    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)  # else a line for each table
    options = subset.Options()
    options.flavor = "woff"  # compresses with zlib; WOFF2 would need one more package
    options.hinting = False
    options.layout_features = ["ssty"]  # the shapes of primes in exponents
    options.name_IDs = NAME_AND_LICENSE
    with subset.load_font(str(font_file()), options) as font:
        font.recalcTimestamp = False
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[ord(each) for each in characters])
        subsetter.subset(font)
        subset.save_font(font, str(target), options)


def write_font(app: Sphinx, exception: Exception | None) -> None:
    """Write `_static/math.woff`, unless it is there for the same characters."""
    if exception or app.builder.format != "html":
        return
    characters = used_characters(app.outdir)
    target = app.outdir / "_static" / "math.woff"
    record = app.doctreedir / "math-font.txt"
    wanted = version("ziamath") + "".join(sorted(characters))
    if target.is_file() and record.is_file() and record.read_text("utf-8") == wanted:
        return
    target.parent.mkdir(exist_ok=True)
    subset_font(characters, target)
    record.write_text(wanted, "utf-8")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Write the font when all pages are written."""
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
