from __future__ import annotations

import pytest
from fontTools.ttLib import TTFont
from sphinx.testing.util import SphinxTestApp

from math_font import subset_font, used_characters

FORMULAS = [
    r"\frac{\partial L}{\partial w} = \frac{2}{n}\sum_{i=1}^{n}(w x_i + b - y_i)\,x_i",
    r"\hat{y} = \mathbf{X}\mathbf{w} + b, \quad \vec{v}, \bar{x}, \tilde{z}, \theta, \eta, \lambda",
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}\left[\int_0^1 x\,dx\right]\sqrt{\frac{a}{b}}",
    r"f(x)=\begin{cases} x & x > 0 \\ 0 & x \le 0 \end{cases}",
    r"x \in \mathbb{R}^{n \times m}, W^\top, \odot, \mathcal{L}, \|x\|_2, \text{批量}, f'(x)",
]


def test_characters_come_from_formulas_only(tmp_path):
    (tmp_path / "a.html").write_text("<p>Ω</p><math><mi>x</mi><mo>&sum;</mo></math>", "utf-8")
    used = used_characters(tmp_path)
    assert {"x", "\N{MATHEMATICAL ITALIC SMALL X}", "∑", "7"} <= used
    assert "Ω" not in used


def test_the_italic_of_h_is_the_planck_constant(tmp_path):
    (tmp_path / "a.html").write_text("<math><mi>h</mi></math>", "utf-8")
    assert "\N{PLANCK CONSTANT}" in used_characters(tmp_path)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    source = tmp_path_factory.mktemp("docs")
    (source / "conf.py").write_text(
        "extensions = ['myst_parser', 'static_math', 'math_font']\n"
        "myst_enable_extensions = ['dollarmath']\n"
    )
    text = "# Title\n\n" + "\n\n".join(f"$$\n{each}\n$$" for each in FORMULAS)
    (source / "index.md").write_text(text, "utf-8")
    app = SphinxTestApp("html", srcdir=source)
    app.build()
    yield app
    app.cleanup()


def test_the_font_draws_every_formula_within_the_budget(site):
    file = site.outdir / "_static" / "math.woff"
    elsewhere = "批量\N{VARIATION SELECTOR-1}"  # words come from the text's font; no glyph
    used = {ord(each) for each in used_characters(site.outdir) - set(elsewhere)}
    with TTFont(file) as font:
        assert used <= font.getBestCmap().keys()
        assert "MATH" in font
    page = (site.outdir / "index.html").stat().st_size
    assert file.stat().st_size + page <= 100_000


def test_the_font_keeps_its_licence(site):
    with TTFont(site.outdir / "_static" / "math.woff") as font:
        assert "SIL Open Font License" in font["name"].getDebugName(13)


def test_the_same_characters_give_the_same_bytes(tmp_path):
    for name in ("a.woff", "b.woff"):
        subset_font(frozenset("x=∑(√"), tmp_path / name)
    assert (tmp_path / "a.woff").read_bytes() == (tmp_path / "b.woff").read_bytes()


def test_an_unchanged_site_does_not_cut_the_font_again(site, monkeypatch):
    def never(*_):
        raise AssertionError("the font was cut again")

    monkeypatch.setattr("math_font.subset_font", never)
    site.build()
    (site.outdir / "_static" / "math.woff").unlink()
    with pytest.raises(Exception, match="cut again"):
        site.build()


def test_a_root_has_its_sign_although_no_text_holds_it(tmp_path):
    (tmp_path / "a.html").write_text("<math><msqrt><mi>x</mi></msqrt></math>", "utf-8")
    assert "√" in used_characters(tmp_path)
    (tmp_path / "a.html").write_text("<math><mi>x</mi></math>", "utf-8")
    assert "√" not in used_characters(tmp_path)
