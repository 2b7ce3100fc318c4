from __future__ import annotations

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.tensors import describe, explain_broadcast, explain_view

SHAPES = st.lists(st.sampled_from([1, 1, 2, 3, 0]), max_size=4).map(tuple)


@settings(deadline=None)  # the first call imports
@given(st.lists(SHAPES, min_size=1, max_size=4))
def test_broadcasting_is_explained_as_torch_does_it(shapes):
    explained = explain_broadcast(*shapes)
    try:
        expected = tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        expected = None
    assert explained.shape == expected
    assert bool(explained.wrong_axes) == (expected is None)
    assert len(explained.aligned) == max(map(len, shapes))


def test_the_axis_that_fails_is_named_with_both_sizes():
    explained = explain_broadcast((8, 3, 32), (4, 1), language="en")
    assert explained.wrong_axes == (-2,)
    assert "Axis -2: 3 and 4 differ, and neither is 1." in str(explained)
    assert "第 -2 轴：3 与 4" in str(explain_broadcast((8, 3, 32), (4, 1), language="zh"))


def test_shapes_are_aligned_at_their_last_axis():
    assert str(explain_broadcast((3, 1), (4,), language="en")).splitlines() == [
        "(3, 1)   3   1",
        "(4,)         4",
        "→        3   4",
        "The shapes broadcast to (3, 4).",
    ]


@pytest.mark.parametrize(("shapes", "error"), [([(2.5,)], TypeError), ([(-1,)], ValueError)])
def test_what_is_no_shape_is_refused(shapes, error):
    with pytest.raises(error, match="shape"):
        explain_broadcast(*shapes)


def test_a_tensor_given_for_a_shape_is_refused_and_not_printed():
    huge = torch.zeros(1).expand(10**6, 10**6)
    for tensor in (torch.arange(3), huge):  # the numbers of the first would pass for sizes
        with pytest.raises(TypeError, match=r"^shape 1 is of type Tensor; give its \.shape$"):
            explain_broadcast(tensor, (3,))


@pytest.mark.parametrize("explain", [describe, lambda value: explain_view(value, 2)])
@pytest.mark.parametrize("value", [[1, 2], None, 3, torch.ones(2).numpy()])
def test_what_is_no_tensor_is_refused(explain, value):
    with pytest.raises(TypeError, match=r"expected a torch\.Tensor"):
        explain(value)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("explain", [describe, lambda value: explain_view(value, 2)])
def test_a_nested_tensor_without_a_shape_is_refused(explain):
    with pytest.raises(ValueError, match="nested tensor without one shape"):
        explain(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))


def test_a_number_and_a_torch_size_are_shapes():
    assert explain_broadcast(3, torch.Size([2, 1])).shape == (2, 3)
    assert explain_broadcast().shape == ()


@st.composite
def tensors_and_shapes(draw):
    """Draw a tensor with any strides, and a shape that often has as many elements."""
    size = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 0]), max_size=4))
    strides = draw(st.lists(st.integers(0, 12), min_size=len(size), max_size=len(size)))
    if draw(st.booleans()):  # lie in memory in some order of axes
        order = draw(st.permutations(range(len(size))))
        step = 1
        for axis in order:
            strides[axis], step = step, step * max(size[axis], 1)
    tensor = torch.zeros(20000).as_strided(size, strides)
    wanted = []
    rest = tensor.numel()
    while rest > 1 and len(wanted) < 4:
        divisors = [d for d in range(1, rest + 1) if rest % d == 0]
        wanted.append(draw(st.sampled_from(divisors)))
        rest //= wanted[-1]
    wanted.append(rest)
    if draw(st.booleans()):
        wanted[draw(st.integers(0, len(wanted) - 1))] = -1
    if draw(st.integers(0, 5)) == 0:
        wanted.append(draw(st.integers(-2, 3)))
    return tensor, tuple(wanted)


@settings(deadline=None)
@given(tensors_and_shapes())
def test_a_view_is_explained_as_torch_decides_it(case):
    tensor, shape = case
    explained = explain_view(tensor, shape)
    try:
        view = tensor.view(shape)
    except RuntimeError:
        assert not explained.possible
        assert explained.problem
    else:
        assert explained.possible, str(explained)
        assert explained.new_shape == tuple(view.shape)
        assert explained.new_stride == tuple(view.stride())
        assert not explained.problem


def test_the_blocks_that_do_not_merge_are_named():
    text = str(explain_view(torch.zeros(2, 3, 4).permute(0, 2, 1), 2, 12, language="en"))
    assert text.splitlines() == [
        "(2, 4, 3) stride (12, 1, 4) → (2, 12)",
        "axes 0: 2 elements, step 12",
        "axes 0 and 1 do not merge: stride[0] is 12, not 4",
        "axes 1: 4 elements, step 1",
        "axes 1 and 2 do not merge: stride[1] is 1, not 12",
        "axes 2: 3 elements, step 4; new axis 1: 12 does not fit in",
        "view is not possible; reshape copies.",
    ]


def test_a_view_that_splits_says_from_which_block_each_axis_comes():
    text = str(explain_view(torch.zeros(4, 6), 2, 2, 6, language="zh"))
    assert "轴 0, 1：24 个元素，步长 1 → 新轴 0: 2, 1: 2, 2: 6" in text
    assert "步长是 (12, 6, 1)" in text


@pytest.mark.parametrize(
    ("shape", "problem"),
    [((5, 5), "count"), ((-1, -1), "infer"), ((-2, 3), "negative"), ((-1, 5), "count"),
     ((-1, 0), "count"), ((2, 12), "")],
)  # fmt: skip
def test_the_problem_is_named(shape, problem):
    explained = explain_view(torch.zeros(4, 6), *shape, language="en")
    assert explained.problem == problem
    assert str(explained).splitlines()[-1].startswith("view is")


def test_a_sparse_tensor_has_no_view():
    with pytest.raises(ValueError, match="has no strides"):
        explain_view(torch.eye(2).to_sparse(), 4)


def test_a_description_says_what_torch_says():
    x = torch.arange(12.0).view(3, 4)
    facts = describe(x[:, 1:3].T, language="en").facts
    assert facts["shape"] == (2, 3)
    assert facts["stride()"] == (1, 4)
    assert facts["storage_offset()"] == 1
    assert facts["is_contiguous()"] is False
    assert facts["nbytes"] == "24 bytes"
    assert facts["untyped_storage()"] == "48 bytes, of which this tensor uses 24"


def test_an_expanded_tensor_uses_less_memory_than_its_elements_take():
    facts = describe(torch.zeros(3, 1).expand(3, 1000), language="en").facts
    assert facts["untyped_storage()"] == "12 bytes, of which this tensor uses 12"
    assert facts["nbytes"] == "12000 bytes"


def test_windows_that_overlap_use_no_more_memory_than_there_is():
    facts = describe(torch.arange(6).unfold(0, 3, 1), language="en").facts
    assert facts["nbytes"] == "96 bytes"
    assert facts["untyped_storage()"] == "48 bytes, of which this tensor uses 48"


def test_a_description_knows_what_autograd_knows():
    w = torch.ones(2, requires_grad=True)
    y = (w * 2).sum()
    assert describe(y).facts["grad_fn"] == "SumBackward0"
    y.backward()
    assert describe(w).facts["grad"] == (2,)
    with torch.no_grad():
        w.add_(1)
    assert describe(w).facts["_version"] == 1
    with torch.inference_mode():
        assert describe(w * 2).facts["_version"] is None


@pytest.mark.filterwarnings("ignore:Sparse CSR", "ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(2).to_sparse(),
        lambda: torch.eye(2).to_sparse_csr(),
        lambda: torch.empty(3, device="meta"),
        lambda: torch.empty(0),
        lambda: torch.tensor(1 + 2j),
        lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
    ],
    ids=["coo", "csr", "meta", "empty", "complex", "jagged"],
)
def test_every_kind_of_tensor_is_described(make):
    tensor = make()
    text = str(describe(tensor, "t"))
    assert text.startswith("t\n")
    assert str(tensor.dtype) in text


@pytest.mark.parametrize("transform", [torch.func.grad, torch.func.vmap])
def test_a_tensor_inside_a_function_transform_is_described(transform):
    seen = []
    transform(lambda x: (seen.append(describe(x).facts["shape"]), x.sum())[1])(torch.ones(3, 2))
    assert seen == [(3, 2) if transform is torch.func.grad else (2,)]


def test_a_notebook_shows_an_escaped_table():
    shown = describe(torch.ones(1), "<b>")._repr_html_()
    assert "<caption>&lt;b&gt;</caption>" in shown
    assert shown.count("<tr>") == len(describe(torch.ones(1)).facts)


def test_explanations_are_plain_data():
    explained = explain_view(torch.zeros(2, 3), 6)
    assert json.dumps([explained.new_shape, [block.axes for block in explained.blocks]])
