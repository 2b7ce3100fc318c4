from __future__ import annotations

import re

import pytest
from sphinx.errors import ExtensionError

CONF = """
extensions = ["sphinx_gallery.gen_gallery"]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"], "gallery_dirs": ["gallery"], "nested_sections": True,
    "filename_pattern": r"\\.py$", "image_scrapers": ("figure_alt.scrape_figures",),
    "min_reported_time": float("inf"), "write_computation_times": False,
    "download_all_examples": False, "abort_on_example_error": True,
}
"""
SCRIPT = '''"""
Figures
=======

Text.
"""
import matplotlib.pyplot as plt

'''


def build(tmp_path, make_site, code):
    files = {
        "index.rst": "Home\n====\n\n.. toctree::\n\n   gallery/index\n",
        "../examples/GALLERY_HEADER.rst": "Gallery\n=======\n",
        "../examples/a/GALLERY_HEADER.rst": "Section\n=======\n",
        "../examples/a/draw_figures.py": SCRIPT + code,
    }
    app = make_site(tmp_path, files, CONF)
    page = (app.outdir / "gallery" / "a" / "draw_figures.html").read_text("utf-8")
    return re.findall(r'<img src="[^"]*sphx_glr_draw_figures_00[^"]*"[^>]*>', page)


def test_the_name_of_a_figure_is_its_alternative_text(tmp_path, make_site):
    images = build(
        tmp_path, make_site, 'plt.subplots(num="A rising line: \\\\n at 1.")\nplt.title("t")'
    )
    assert len(images) == 1
    assert 'alt="A rising line: \\n at 1."' in images[0]


def test_figures_of_one_block_each_have_their_own(tmp_path, make_site):
    images = build(tmp_path, make_site, 'plt.figure("One.")\nplt.figure("Two.")\n')
    assert [re.findall('alt="([^"]*)"', image) for image in images] == [["One."], ["Two."]]


def test_a_figure_without_a_name_ends_the_build_with_script_and_line(tmp_path, make_site):
    with pytest.raises(ExtensionError, match=r"draw_figures\.py:7: a figure without a name"):
        build(tmp_path, make_site, "plt.subplots()\n")
