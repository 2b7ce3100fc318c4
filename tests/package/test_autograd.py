from __future__ import annotations

import pytest
import torch

from torchguide.autograd import walk_graph


def graph(result, names=None):
    nodes = list(walk_graph(result, names))
    return nodes, {node.name: node for node in nodes}


def test_the_graph_goes_from_the_result_to_the_leaves():
    w = torch.ones(3, 2, requires_grad=True)
    b = torch.zeros(2, requires_grad=True)
    nodes, named = graph(torch.relu(torch.ones(4, 3) @ w + b).mean(), {"w": w, "b": b})
    assert nodes[0].kind == "result"
    assert [node.name for node in nodes][:3] == ["MeanBackward0", "ReluBackward0", "AddBackward0"]
    assert {node.name for node in nodes if node.kind == "leaf"} == {"w", "b"}
    assert named["w"].tensor is w
    assert named["MmBackward0"].inputs == (named["w"].number,)
    assert named["MmBackward0"].saved == {"self": (4, 3)}


def test_a_node_comes_once_and_after_all_that_use_it():
    x = torch.tensor(2.0, requires_grad=True)
    shared = x.exp()
    nodes, _ = graph((shared * shared + shared.sin()).cos())
    assert [node.number for node in nodes] == list(range(len(nodes)))
    for node in nodes:
        assert all(each > node.number for each in node.inputs)
    assert sum(node.name == "ExpBackward0" for node in nodes) == 1
    product = next(node for node in nodes if node.name == "MulBackward0")
    assert len(product.inputs) == 2
    assert len(set(product.inputs)) == 1


def test_tensors_freed_by_backward_are_none():
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    assert graph(y)[1]["PowBackward0"].saved == {"self": ()}
    y.backward()
    assert graph(y)[1]["PowBackward0"].saved == {"self": None}


def test_a_deep_graph_needs_no_deep_stack():
    y = torch.ones((), requires_grad=True)
    for _ in range(5000):
        y = y + 1
    assert len(graph(y)[0]) == 5001


def test_a_custom_function_has_its_own_name():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return 2 * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * grad + 0 * x

    nodes, _ = graph(Twice.apply(torch.ones(2, requires_grad=True)))
    assert nodes[0].name == "TwiceBackward"


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"of type list; expected a torch\.Tensor"):
        list(walk_graph([torch.ones(1, requires_grad=True)]))


def test_a_tensor_without_a_graph_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="does not require gradients"):
        list(walk_graph(torch.ones(1)))
    with pytest.raises(ValueError, match="is a leaf itself"):
        list(walk_graph(torch.ones(1, requires_grad=True)))
    with torch.no_grad():
        detached = torch.ones(1, requires_grad=True) * 2
    with pytest.raises(ValueError, match="does not require gradients"):
        list(walk_graph(detached))
