"""Describe the figures of the gallery for readers who do not see them.

sphinx-gallery makes a figure's alternative text from the titles in it. Here the text
is the figure's name, which a script gives in ``plt.subplots(num="...")`` and which is
the title of its window when the script runs alone. A figure without one ends the build.
"""

from __future__ import annotations

import re
from typing import Any

import matplotlib.pyplot as plt
from sphinx.errors import ExtensionError
from sphinx_gallery.scrapers import matplotlib_scraper

__all__ = ["scrape_figures"]

ALT = re.compile(r"(?<=:alt: ).*")


def scrape_figures(
    block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]
) -> str:
    """Save the figures of a block as sphinx-gallery does; put their names as alternative texts.

    Raises:
        ExtensionError: If a figure has no name, with the script and the line of its block.
    """
    names = [str(plt.figure(number).get_label()) for number in plt.get_fignums()]
    if not all(names):
        raise ExtensionError(
            f"{block_vars['src_file']}:{block[2]}: a figure without a name; describe what it "
            'shows in plt.subplots(num="...")'
        )
    rst: str = matplotlib_scraper(block, block_vars, gallery_conf)
    described = iter(names)
    return ALT.sub(lambda _: next(described), rst)
