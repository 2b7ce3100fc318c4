from __future__ import annotations

import re

import pytest
from justhtml import JustHTML
from sphinx.errors import ExtensionError
from sphinx.testing.util import SphinxTestApp

from static_math import MathError, to_mathml

CONF = """
extensions = ["myst_parser", "static_math", "math_font"]
myst_enable_extensions = ["amsmath", "dollarmath"]
"""

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'

FORMULAS = [
    r"\frac{\partial L}{\partial w} = \frac{2}{n}\sum_{i=1}^{n}(w x_i + b - y_i)\,x_i",
    r"\hat{y} = \mathbf{X}\mathbf{w} + b, \quad \vec{v}, \bar{x}, \tilde{z}",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}\begin{bmatrix} a \\ b \end{bmatrix}",
    r"\begin{aligned} a &= b + c \\ &= d \end{aligned}",
    r"f(x)=\begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases}",
    r"\left.\frac{dy}{dx}\right|_{x=2} = 7, \quad \nabla_\theta J, \|x\|_2^2",
    r"\operatorname{softmax}(x)_i = \frac{e^{x_i}}{\sum_j e^{x_j}}, \sqrt[3]{x}",
    r"x \in \mathbb{R}^{n \times m}, W^\top, \odot, \mathcal{L}, \text{批量}",
]


@pytest.fixture
def build(tmp_path):
    apps = []

    def run(pages, language="en", catalog=None):
        source = tmp_path / "docs"
        source.mkdir()
        (source / "conf.py").write_text(
            CONF + f"language = {language!r}\nlocale_dirs = ['locales']\n"
        )
        for name, text in pages.items():
            (source / name).write_text(text, "utf-8")
        if catalog:
            folder = source / "locales" / language / "LC_MESSAGES"
            folder.mkdir(parents=True)
            (folder / "index.po").write_text(HEADER + catalog, "utf-8")
        apps.append(SphinxTestApp("html", srcdir=source))
        apps[0].build()
        assert apps[0].warning.getvalue() == ""
        return apps[0].outdir

    yield run
    for app in apps:
        app.cleanup()


@pytest.mark.parametrize("tex", FORMULAS)
@pytest.mark.parametrize("display", [True, False])
def test_formula_becomes_valid_html(tex, display):
    page = f"<!doctype html><html lang=en><title>t</title><p>{to_mathml(tex, display=display)}</p>"
    parsed = JustHTML(page, sanitize=False, collect_errors=True)
    assert parsed.errors == []
    assert len(parsed.query("math")) == 1
    assert "merror" not in page


@pytest.mark.parametrize(
    ("tex", "says"),
    [
        (r"\frac{1}", "Expected argument.*the end"),
        (r"a + \foo x", r"Unknown command.*\\foo x"),
        ("x_i_j", "Duplicate subscript"),
        (r"\begin{aligned} a \end{cases}", "Expected"),
        (r"\left( a", "right"),
        ("a & b", "table-like"),
        ("  ", "no formula"),
        (r"\begin{align} a &= b \end{align}", r"align\*"),
    ],
)
def test_wrong_tex_is_refused_with_its_place(tex, says):
    with pytest.raises(MathError, match=says):
        to_mathml(tex, display=True)


def test_bare_rows_are_aligned_rows():
    assert to_mathml("a &= b \\\\\nc &= d", display=True).count("<mtr>") == 2
    assert to_mathml("a\n\nb", display=True).count("<mtr>") == 2


def test_wrong_tex_fails_the_build_with_page_and_line(build):
    with pytest.raises(
        ExtensionError, match=r"index\.md:3: Unknown command(.|\n)*index\.md:5: Dup"
    ):
        build({"index.md": "# Title\n\nSome $\\foo$ text.\n\n$$\nx_i_j\n$$\n"})


def test_wrong_tex_in_a_translation_fails_the_build(build):
    catalog = 'msgid "Some $x$ text."\nmsgstr "一些 $x_$ 文字。"\n'
    with pytest.raises(
        ExtensionError, match=r"math in zh_CN:\n.*index\.md:3 \(its translation\): Expected"
    ):
        build({"index.md": "# Title\n\nSome $x$ text.\n"}, "zh_CN", catalog)


def test_formula_in_chinese_text_is_drawn(build):
    catalog = 'msgid "Some $x^2$ text."\nmsgstr "设 $x^2$ 为函数。"\n'
    site = build({"index.md": "# Title\n\nSome $x^2$ text.\n"}, "zh_CN", catalog)
    page = (site / "index.html").read_text("utf-8")
    assert re.search(r"设 <span[^>]*><math><msup>.*</math></span> 为函数。", page)


def test_labels_number_equations_in_markdown_and_rst(build):
    site = build(
        {
            "index.md": "# Title\n\n$$\na = b\n$$ (first)\n\nSee {eq}`first`.\n\n"
            "```{toctree}\nother\n```\n",
            "other.rst": "Other\n=====\n\n.. math:: c = d\n   :label: second\n\n"
            "See :eq:`second` and :eq:`first`, :math:`x`.\n",
        },
    )
    page = (site / "index.html").read_text("utf-8")
    assert 'id="equation-first"' in page
    assert '<span class="eqno">(1)<a class="headerlink" href="#equation-first"' in page
    assert 'href="#equation-first">(1)</a>' in page
    assert 'href="index.html#equation-first">(1)</a>' in (site / "other.html").read_text()


def test_a_page_with_math_loads_nothing_from_another_host(build):
    site = build({"index.md": "# Title\n\n$x$ and\n\n\\begin{align*} a &= b \\end{align*}\n"})
    page = (site / "index.html").read_text("utf-8")
    assert "<mtable" in page
    assert not re.search(
        r'(src|href)="(https?:)?//', page.replace("https://www.sphinx-doc.org", "")
    )
