"""Turn TeX into MathML at build: no script, no other host, and a TeX error fails the build.

MathML Core is drawn by the browser in the text's own colour, so that it is right in light and
dark. The letters come from `math_font.py`. An equation's number is Sphinx's (a label gives it).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils import get_source_line
from math_core import LatexError, LatexToMathML
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

__all__ = ["MathError", "to_mathml"]

# These number their rows themselves, and Sphinx could not refer to such a number.
SELF_NUMBERED = re.compile(r"\\begin\{(align|alignat|eqnarray|equation|flalign|gather|multline)\}")
ENVIRONMENT = re.compile(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", re.DOTALL)


class MathError(ValueError):
    """TeX that cannot be shown."""


@lru_cache(maxsize=1)
def _converter() -> LatexToMathML:
    return LatexToMathML(fancy_error=False)


def _aligned(tex: str) -> str:
    """Join an RST block's paragraphs, and give bare rows the environment that Sphinx gives them."""
    parts = [part for part in re.split(r"\n\s*\n", tex) if part.strip()]
    joined = r" \\ ".join(parts)
    if r"\\" in ENVIRONMENT.sub("", joined):
        return rf"\begin{{aligned}}{joined}\end{{aligned}}"
    return joined


def to_mathml(tex: str, *, display: bool) -> str:
    """Return TeX as a `<math>` element.

    Raises:
        MathError: The TeX is empty, wrong or unknown; the message says where in it.
    """
    if not tex.strip():
        raise MathError("there is no formula between the math signs")
    if found := SELF_NUMBERED.search(tex):
        raise MathError(
            f"{found[1]} numbers its own rows; write {found[1]}*, "
            "or $$ … $$ (label) where the equation needs a number"
        )
    if display:
        tex = _aligned(tex)
    try:
        return _converter().convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        at, _colon, what = str(error).partition(": ")
        rest = " ".join(tex[int(at) : int(at) + 30].split()) if at.isdecimal() else ""
        raise MathError(f"{what} At: {rest or 'the end'}") from error


def _place(node: nodes.Node, page: str) -> str:
    source, line = get_source_line(node)
    if source and source.endswith(":<translated>"):  # Sphinx's name for text of a catalog
        return source.replace(":<translated>", " (its translation)")
    return f"{source or page}:{line or 1}"


def check_math(app: Sphinx, doctree: nodes.document) -> None:
    """Fail with each formula of a page that is wrong, at its line."""
    wrong = []
    for node in doctree.findall(lambda n: isinstance(n, nodes.math | nodes.math_block)):
        try:
            to_mathml(node.astext(), display=isinstance(node, nodes.math_block))
        except MathError as error:
            wrong.append(f"{_place(node, doctree['source'])}: {error}\n    {node.astext()}")
    if wrong:
        raise ExtensionError(f"math in {app.config.language}:\n" + "\n".join(wrong))


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight"))
    self.body.append(f"{to_mathml(node.astext(), display=False)}</span>")
    raise nodes.SkipNode


def visit_display(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on its own line, with its number where it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight"))
    self.body.append(f'<div class="math-scroll">{to_mathml(node.astext(), display=True)}</div>')
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def choose_renderer(_app: Sphinx, config: Any) -> None:
    """Take this renderer without a line in conf.py."""
    config.html_math_renderer = "static_math"


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer and the check."""
    app.add_html_math_renderer("static_math", (visit_inline, None), (visit_display, None))
    app.connect("config-inited", choose_renderer)
    app.connect("doctree-read", check_math)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
