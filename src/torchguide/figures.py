"""Draw tensors, broadcasting and the graph of autograd from the real objects.

The drawings are made from real tensors, never by hand. Their text consists of symbols, shapes
and names of torch's interface, so that they read alike in every language. They can be saved as
SVG, fit a phone's screen, bring their own background for dark pages, and mark nothing by colour
alone. A new figure's label (`ax.figure.get_label()`) says in one line what is drawn.

Needs matplotlib; torch itself brings networkx, which lays out graphs.
"""

from __future__ import annotations

from torchguide.figures_broadcast import draw_broadcast
from torchguide.figures_graph import draw_graph
from torchguide.figures_panels import draw_panels
from torchguide.figures_storage import draw_shared_storage, draw_storage, storage_cells

__all__ = [
    "draw_broadcast",
    "draw_graph",
    "draw_panels",
    "draw_shared_storage",
    "draw_storage",
    "storage_cells",
]
