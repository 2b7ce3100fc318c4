"""Pages as Markdown that plain Jupyter and Colab show."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from markdown_inline import code_span, escape, link

URL = "https://example.org/en"
CONF = """
extensions = ["myst_nb", "catalogs", "code_comments", "downloads"]
html_baseurl = "https://example.org/en/"
html_theme = "basic"
guide_package = None
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
numfig = True
html_static_path = []
"""
HEAD = """---
file_format: mystnb
kernelspec:
  name: python3
  display_name: Python 3
---

# Title

"""
CELL = "\n\n```{code-cell} python\nx = 1\n```\n"
OTHER = "# Other page\n\n(other-target)=\n## A part\n\n```{glossary}\nview\n  A view.\n```\n"
PIXEL = "<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>"


def markdown(notebook):
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    return "\n\n".join(prose).removeprefix("# Title\n\n")


@pytest.fixture
def build(make_site, tmp_path):
    """Build a page of each text; return their Markdown, and the warnings."""

    def run(texts, language="en"):
        pages = {f"a/page{number}": HEAD + text + CELL for number, text in enumerate(texts)}
        toctree = "\n".join(["other", *pages])
        files = {
            "index.md": f"# Home\n\n```{{toctree}}\n{toctree}\n```\n",
            "a/pixel.svg": PIXEL,
            "other.md": OTHER,
            **{f"{name}.md": text for name, text in pages.items()},
        }
        app = make_site(tmp_path, files, CONF, language)
        told = app.warning.getvalue().splitlines()
        # Without execution, MyST-NB does not know the language of the cells.
        warnings = [line for line in told if "source code lexer" not in line]
        return [markdown(Path(app.outdir, f"downloads/{name}.ipynb")) for name in pages], warnings

    return run


CASES = {
    "emphasis": ("*a* **b** `c`", "*a* **b** `c`"),
    "emphasis that stars cannot write": (
        "中{strong}`“文”`字",
        "中<strong>“文”</strong>字",
    ),
    "signs that would be markup": (r"1 \* 2 \_x\_ no_grad \$3", r"1 \* 2 \_x\_ no_grad \$3"),
    "link to a page": ("[text](../other.md)", f"[text]({URL}/other.html)"),
    "link to a page, its title": ("[](../other.md)", f"[Other page]({URL}/other.html)"),
    "link to an anchor": ("[t](../other.md#a-part)", f"[t]({URL}/other.html#a-part)"),
    "link within the page": (
        "[t](#here)\n\n## Here",
        f"[t]({URL}/a/PAGE.html#here)\n\n## Here",
    ),
    "ref": ("{ref}`other-target`", f"[A part]({URL}/other.html#other-target)"),
    "ref with a text": ("{ref}`t <other-target>`", f"[t]({URL}/other.html#other-target)"),
    "doc": ("{doc}`/other`", f"[Other page]({URL}/other.html)"),
    "term": ("{term}`view`", f"[view]({URL}/other.html#term-view)"),
    "address": (
        "<https://pytorch.org/docs>",
        "[https://pytorch.org/docs](https://pytorch.org/docs)",
    ),
    "inline math": ("$a_1 * b$ and {math}`c`", "$a_1 * b$ and $c$"),
    "math": ("$$\na = b\n$$", "$$\na = b\n$$"),
    "labelled math": (
        "$$\na\n$$ (eq)\n\n{eq}`eq`",
        f"$$\na \\tag{{1}}\n$$\n\n[(1)]({URL}/a/PAGE.html#equation-eq)",
    ),
    "rows of math": (
        "```{math}\na &= b \\\\\nc &= d\n```",
        "$$\n\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}\n$$",
    ),
    "note": (":::{note}\nBody.\n:::", "> **Note**\n>\n> Body."),
    "admonition with a class": (
        ":::{admonition} A `title`\n:class: warning\nOne.\n\nTwo.\n:::",
        "> **A `title`**\n>\n> One.\n>\n> Two.",
    ),
    "nested admonitions": (
        "::::{tip}\nA\n\n:::{warning}\nB\n:::\n::::",
        "> **Tip**\n>\n> A\n>\n> > **Warning**\n> >\n> > B",
    ),
    "dropdown": (
        ":::{admonition} Solution\n:class: dropdown\n- a\n:::",
        "<details><summary>Solution</summary>\n\n- a\n\n</details>",
    ),
    "see also": (":::{seealso}\nX\n:::", "> **See also**\n>\n> X"),
    "list table": (
        ":::{list-table} Rules\n:header-rows: 1\n\n* - a\n  - `b|c`\n* - $|x|$\n  - d\n\n    e\n:::",
        "*Table 1 Rules*\n\n| a | `b\\|c` |\n| --- | --- |\n| $\\vert x\\vert $ | d<br>e |",
    ),
    "pipe table": ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
    "figure": (
        ":::{figure} pixel.svg\n:alt: one point\n\nA caption.\n:::",
        f"![one point]({URL}/_images/pixel.svg)\n\n*Fig. 1 A caption.*",
    ),
    "footnote": ("Text.[^n]\n\n[^n]: A note.", "Text.<sup>1</sup>\n\n---\n\n<sup>1</sup> A note."),
    "definitions": ("Term\n: Meaning\n\nB\n: C", "- **Term**\\\n  Meaning\n- **B**\\\n  C"),
    "target and comment": ("(here)=\n\n% a comment\n\nText.", "Text."),
    "nested lists": ("1. a\n   - b\n   - c\n2. d", "1. a\n   - b\n   - c\n2. d"),
    "quote": ("> wise\n> words", "> wise\n> words"),
    "static code": ("```python\ny = '`'\n```", "```python\ny = '`'\n```"),
    "console": ("```console\n$ pip\n```", "```console\n$ pip\n```"),
}


@pytest.fixture
def converted(build):
    """Build the pages of all cases once, and keep them for the other cases."""
    if not DONE:
        pages, warnings = build([myst for myst, _expected in CASES.values()])
        DONE.update(zip(CASES, pages, strict=True), warnings=warnings)
    return DONE


DONE: dict[str, str | list[str]] = {}


@pytest.mark.parametrize("case", CASES)
def test_markdown_of(converted, case):
    page = f"page{list(CASES).index(case)}"
    assert converted[case] == CASES[case][1].replace("PAGE", page)


def test_what_can_be_converted_gives_no_warning(converted):
    assert converted["warnings"] == []


def test_titles_of_admonitions_are_in_the_pages_language(build):
    pages, _warnings = build([":::{note}\nB\n:::"], "zh_CN")
    assert pages == ["> **备注**\n>\n> B"]


def test_what_has_no_markdown_is_a_warning_with_page_and_line(build):
    wide = "+---+---+\n| a | b |\n+---+---+\n| c     |\n+---+---+"
    _pages, warnings = build([
        "```{eval-rst}\n.. function:: f(x)\n\n   Text.\n```",
        f"```{{eval-rst}}\n{wide}\n```",
        "```{raw} latex\nx\n```",
    ])  # fmt: skip
    assert len(warnings) == 3
    for page, node in enumerate(["<desc>", "<entry>", "<raw>"]):
        place = rf"page{page}\.md:\d+: WARNING: a notebook cannot show {node}"
        assert re.search(place, warnings[page])


def test_code_spans_hold_backticks():
    assert code_span("a`b") == "``a`b``"
    assert code_span("`a") == "`` `a ``"


def test_line_starts_are_not_lists_or_headings():
    assert escape("1. x\n- y\n# z") == "1\\. x\n\\- y\n\\# z"


def test_addresses_with_parentheses_stand_in_brackets():
    assert link("t", "https://a.org/x_(y)") == "[t](<https://a.org/x_(y)>)"
