from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.patches import PathPatch, Rectangle

from torchguide import drawing, figures_graph
from torchguide.figures import (
    draw_broadcast,
    draw_graph,
    draw_panels,
    draw_shared_storage,
    draw_storage,
    storage_cells,
)

mpl.use("agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@st.composite
def views(draw):
    """Draw a view with any sizes, strides (0 among them) and offset on a storage of 60 cells."""
    shape = draw(st.lists(st.integers(1, 4), max_size=3))
    strides = draw(st.lists(st.integers(0, 6), min_size=len(shape), max_size=len(shape)))
    last = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    offset = draw(st.integers(0, 59 - last))
    return torch.arange(60).as_strided(shape, strides, offset)


def boxes(ax, state):
    """Read the numbers of the cells that a drawing shows as used or unused, per view."""
    found = {}
    for gid in filter(None, (patch.get_gid() for patch in ax.patches)):
        name, its_state, number = gid.rsplit(":", 2)
        if its_state == state:
            found.setdefault(name, set()).add(int(number))
    return found


@given(views())
def test_cells_and_their_elements_are_those_that_torch_reads(view):
    # Each cell of this storage holds its own number, so the values tell where torch reads.
    expected = {}
    for index in np.ndindex(*view.shape):
        expected.setdefault(int(view[index]), []).append(index)
    assert storage_cells(view) == expected


@settings(deadline=None, max_examples=15)
@given(views())
def test_a_drawing_marks_exactly_the_cells_that_the_view_uses(view):
    ax = draw_storage(view)
    used = set(view.flatten().tolist())
    assert boxes(ax, "used") == {"x": used}
    assert boxes(ax, "unused").get("x", set()) == set(range(60)) - used
    plt.close("all")


def texts(ax):
    return [patch.get_label() for patch in ax.patches if isinstance(patch, PathPatch)]


def test_a_drawing_says_name_values_indices_strides_and_offset():
    ax = draw_storage(torch.arange(10, 16).reshape(2, 3).T[1:], name="y")
    assert texts(ax)[:2] == ["y", "shape (2, 2), stride (1, 3), storage_offset 1"]
    shown = texts(ax)[2:]
    assert [text for text in shown if len(text) == 2] == ["11", "12", "14", "15", "10", "13"]
    assert [text for text in shown if "," in text] == ["0,0", "1,0", "0,1", "1,1"]
    assert ax.figure.get_label() == "y: shape (2, 2), stride (1, 3), storage_offset 1"


def test_a_cell_with_several_elements_says_how_many():
    assert texts(draw_storage(torch.tensor([7]).expand(3))).count("×3") == 1


def test_views_of_one_storage_are_drawn_below_each_other():
    x = torch.arange(6.0).reshape(2, 3)
    ax = draw_shared_storage({"x": x, "x[:, 1]": x[:, 1]})
    assert boxes(ax, "used") == {"x": set(range(6)), "x[:, 1]": {1, 4}}
    lowest = {
        name: min(p.get_y() for p in ax.patches if (p.get_gid() or "").startswith(f"{name}:"))
        for name in ("x", "x[:, 1]")
    }
    assert lowest["x[:, 1]"] < lowest["x"] - 1


@pytest.mark.parametrize("width", [1.5, 4.8, 12.0])
@pytest.mark.parametrize(
    "tensor",
    [
        torch.tensor([-1.23456e-30, 1e30, 0.5, -0.5]),
        torch.tensor([True, False]),
        torch.tensor([1 + 2j]),
        torch.arange(10**9, 10**9 + 20),
        torch.zeros(1, 1, 2, 1, 2),
    ],
    ids=["float", "bool", "complex", "int", "5-d"],
)
def test_all_text_stays_in_its_box_and_in_the_figure_at_any_size(tensor, width):
    fig, ax = plt.subplots(figsize=(width, width))
    draw_storage(tensor, ax=ax)
    fig.canvas.draw()
    cells = [p for p in ax.patches if isinstance(p, Rectangle) and p.get_gid()]
    background = ax.patches[0].get_window_extent()
    for patch in ax.patches:
        if not isinstance(patch, PathPatch):
            continue
        text = patch.get_window_extent()
        assert background.x0 < text.x0
        assert text.x1 < background.x1
        for cell in (cell.get_window_extent() for cell in cells):
            inside = (
                cell.x0 <= text.x0
                and text.x1 <= cell.x1
                and cell.y0 <= text.y0
                and text.y1 <= cell.y1
            )
            assert inside or not cell.overlaps(text)


def test_a_drawing_brings_its_background_to_a_dark_page():
    with plt.style.context("dark_background"):
        fig, ax = plt.subplots()
        draw_storage(torch.arange(3), ax=ax)
        fig.canvas.draw()
        pixels = np.asarray(fig.canvas.buffer_rgba())
        extent = ax.patches[0].get_window_extent()
        corner = pixels[len(pixels) - int(extent.y0) - 3, int(extent.x0) + 3, :3]
    assert corner.tolist() == [255, 255, 255]
    assert to_rgb(draw_storage(torch.arange(3)).figure.get_facecolor()) == (1, 1, 1)


def luminance(colour):
    """Compute the relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize(
    ("text", "ground"),
    [
        (drawing.INK, drawing.BACKGROUND),
        (drawing.FAINT, drawing.BACKGROUND),
        (drawing.INK, drawing.UNUSED),
        (drawing.BACKGROUND, drawing.USED),
        (drawing.BACKGROUND, drawing.WRONG),
        (drawing.INK, figures_graph.RESULT),
        (drawing.USED, drawing.UNUSED),  # told apart by brightness alone
    ],
)
def test_contrast_is_enough_to_read_without_colour(text, ground):
    bright, dark = sorted((luminance(text), luminance(ground)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5


def test_used_cells_differ_in_their_frames_too():
    cells = {p.get_gid(): p for p in draw_storage(torch.arange(4)[::2]).patches if p.get_gid()}
    assert cells["x:used:0"].get_linewidth() > 2 * cells["x:unused:1"].get_linewidth()


def test_a_tensor_of_a_graph_and_a_scalar_can_be_drawn():
    assert boxes(draw_storage(torch.ones(2, requires_grad=True) * 2), "used") == {"x": {0, 1}}
    assert boxes(draw_storage(torch.tensor(3.0)), "used") == {"x": {0}}


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(65), "the storage of 'x' has 65 cells; draw one of 1 to 64"),
        (torch.zeros(65)[:2], "has 65 cells"),
        (torch.empty(0), "has 0 cells"),
        (torch.empty(3, device="meta"), "'x' is on the meta device"),
        (torch.eye(2).to_sparse(), "layout torch.sparse_coo has no strides"),
        (torch.zeros(2, dtype=torch.bits8), "the values of 'x', torch.bits8, cannot be read"),
    ],
)
def test_a_tensor_that_cannot_be_drawn_is_refused_with_the_reason(tensor, message):
    with pytest.raises(ValueError, match=message):
        draw_storage(tensor)


def test_a_copy_is_not_drawn_as_a_view():
    x = torch.arange(6).reshape(2, 3)
    with pytest.raises(ValueError, match="'copy' does not share its storage with 'x'"):
        draw_shared_storage({"x": x, "copy": x.clone()})


@pytest.mark.parametrize("wrong", [{"views": {}}, {"views": {"x": torch.ones(1)}, "columns": 0}])
def test_a_drawing_of_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="at least one view and one column"):
        draw_shared_storage(**wrong)


# -- Panels, broadcasting and graphs -----------------------------------------------------------


def states(ax):
    return {p.get_gid() for p in ax.patches if p.get_gid()}


def test_panels_show_each_element_once_and_name_each_panel():
    ax = draw_panels(torch.arange(24).view(2, 3, 4), name="t")
    assert states(ax) == {f"t:{i},{j},{k}" for i in range(2) for j in range(3) for k in range(4)}
    assert [text for text in texts(ax) if text.isdigit()] == [str(n) for n in range(24)]
    assert {"t  shape (2, 3, 4)", "t[0]", "t[1]"} <= set(texts(ax))


def test_the_last_axis_of_panels_runs_across():
    ax = draw_panels(torch.zeros(2, 3, 1, 1))
    places = {p.get_gid(): (p.get_x(), p.get_y()) for p in ax.patches if p.get_gid()}
    assert places["x:0,0,0,0"][1] == places["x:0,2,0,0"][1] > places["x:1,0,0,0"][1]
    assert places["x:0,0,0,0"][0] == places["x:1,0,0,0"][0] < places["x:0,1,0,0"][0]


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (1, 1, 1, 1, 2)])
def test_tensors_of_any_number_of_axes_are_panels(shape):
    assert len(states(draw_panels(torch.zeros(shape)))) == torch.zeros(shape).numel()


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (torch.zeros(97), "97 elements; draw one of 1 to 96"),
        (torch.zeros(0, 3), "0 elements"),
        (torch.zeros(3, device="meta"), "no values to draw"),
        (torch.eye(2).to_sparse(), "layout torch.sparse_coo has no strides"),
        (torch.zeros(2, dtype=torch.bits8), "the values of 'x', torch.bits8, cannot be read"),
    ],
)
def test_a_tensor_without_panels_is_refused(tensor, message):
    with pytest.raises(ValueError, match=message):
        draw_panels(tensor)


def test_broadcasting_marks_what_is_stretched_and_what_fails():
    assert states(draw_broadcast((3, 1), (4,))) == {
        "0:kept:-2",
        "0:stretched:-1",
        "1:kept:-1",
        "result:kept:-2",
        "result:kept:-1",
    }
    wrong = states(draw_broadcast((8, 3, 32), (4, 1)))
    assert {"0:wrong:-2", "1:wrong:-2", "result:wrong:-2", "1:stretched:-1"} <= wrong
    assert "result:kept:-1" not in wrong


@pytest.mark.parametrize(
    ("shapes", "names"),
    [([], ()), ([(1,)] * 7, ()), ([(1,) * 9], ()), ([(1,), (2,)], ("only one",))],
)
def test_too_much_or_nothing_to_broadcast_is_refused(shapes, names):
    with pytest.raises(ValueError, match=r"draw|names for"):
        draw_broadcast(*shapes, names=names)


def test_a_graph_shows_leaves_saved_tensors_values_and_gradients():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2 + 3 * x + 1
    y.backward(retain_graph=True)
    shown = texts(draw_graph(y, {"x": x}, values=True, gradients=True))
    assert {"x", "= 2", ".grad = 7", "= 11", "PowBackward0", "[self ()]"} <= set(shown)
    plain = texts(draw_graph(y, saved=False))
    assert not [text for text in plain if "[" in text or "=" in text]
    assert "leaf ()" in plain


def test_after_backward_the_graph_says_that_tensors_are_freed():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    y.backward()
    assert "[self freed]" in texts(draw_graph(y))


def test_a_leaf_stands_beside_what_else_its_first_use_takes():
    w, b = (torch.ones(2, requires_grad=True) for _ in range(2))
    ax = draw_graph((w.exp().exp() + b).sum(), {"w": w, "b": b})
    tops = {p.get_gid(): p.get_y() + p.get_height() for p in ax.patches if p.get_gid()}
    leaves = sorted(top for gid, top in tops.items() if gid.startswith("leaf"))
    assert leaves[0] < leaves[1]  # b is below w


@pytest.mark.parametrize("draw", [draw_storage, draw_panels])
def test_what_is_no_tensor_is_not_drawn(draw):
    with pytest.raises(TypeError, match=r"'x' is of type list; expected a torch\.Tensor"):
        draw([1, 2])


@pytest.mark.parametrize(
    "leaf", [torch.ones(2, device="meta"), torch.eye(2).to_sparse()], ids=["meta", "sparse"]
)
def test_a_graph_of_leaves_without_values_shows_their_shapes(leaf):
    drawn = draw_graph((leaf.requires_grad_() * 2).sum(), {"w": leaf}, values=True)
    assert f"shape {tuple(leaf.shape)}" in texts(drawn)


def test_a_graph_too_large_is_refused():
    y = torch.ones(1, requires_grad=True)
    for _ in range(41):
        y = y * 2
    with pytest.raises(ValueError, match="has 42 nodes; draw one of at most 40"):
        draw_graph(y)


@pytest.mark.parametrize("width", [1.5, 12.0])
@pytest.mark.parametrize("kind", ["panels", "broadcast", "graph"])
def test_no_text_leaves_its_box_in_the_other_drawings(kind, width):
    fig, ax = plt.subplots(figsize=(width, width))
    if kind == "panels":
        draw_panels(torch.tensor([[-1.234e-30, 10**9], [0.5, 1]]).view(2, 1, 2), ax=ax)
    elif kind == "broadcast":
        draw_broadcast((1, 1000000), (123456, 1), names=("a long name", "b"), ax=ax)
    else:
        layer = torch.nn.Linear(3, 2)
        out = torch.nn.functional.cross_entropy(layer(torch.ones(4, 3)), torch.zeros(4).long())
        draw_graph(out, dict(layer.named_parameters(prefix="a.very.long.module.path")), ax=ax)
    fig.canvas.draw()
    boxes = [p.get_window_extent() for p in ax.patches if isinstance(p, Rectangle) and p.get_gid()]
    ground = ax.patches[0].get_window_extent()
    for patch in [p for p in ax.patches if isinstance(p, PathPatch)]:
        text = patch.get_window_extent()
        assert ground.x0 < text.x0
        assert text.x1 < ground.x1
        for box in boxes:
            inside = (
                box.x0 <= text.x0 and text.x1 <= box.x1 and box.y0 <= text.y0 and text.y1 <= box.y1
            )
            assert inside or not box.overlaps(text), patch.get_label()


def test_drawings_are_saved_as_vectors_with_their_description(tmp_path):
    fig = draw_broadcast((3, 1), (4,)).figure
    fig.savefig(tmp_path / "b.svg")
    assert "<path" in (tmp_path / "b.svg").read_text("utf-8")
    assert "(3, 4)" in fig.get_label()
