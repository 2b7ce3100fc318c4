"""Mistakes of single tensor calls, raised or warned of by the installed torch."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
import torch
from torch import nn, zeros

from torchguide.errors import explain
from torchguide.versions import numbers

MEASURED = (2, 13)  # the oldest torch that was tried; older ones are known by the catalogue's tests

pytestmark = pytest.mark.skipif(
    numbers(torch.__version__)[:2] < MEASURED, reason="older torch has other wordings"
)


def long(*shape):
    return zeros(*shape, dtype=torch.long)


def meta(*shape):
    return zeros(*shape, device="meta")


def sparse(*positions):
    values = torch.ones(len(positions))
    return torch.sparse_coo_tensor([list(positions)], values, (3,), check_invariants=True)


def deterministic(mistake, *, warn_only=False):
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    try:
        return mistake()
    finally:
        torch.use_deterministic_algorithms(False)


def saved(data, **metadata):
    return pytest.importorskip("safetensors.torch").save(data, metadata or None)


def tied():
    first, last = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
    last.weight = first.weight
    return nn.Sequential(first, last).state_dict()


def put():
    return zeros(3).put_(torch.tensor([0, 0]), torch.ones(2))


# the kind, what the answer's title says, and the line that raises it or warns of it
MISTAKES = [
    ("index-type", "A float is no index", lambda: zeros(4)[4 / 2]),
    ("index-type", "one whole number", lambda: [1, 2][torch.tensor([0, 1])]),
    ("index-type", "one whole number", lambda: range(torch.tensor(2.5))),
    ("index-type", "run backwards", lambda: zeros(3)[::-1]),
    ("index-type", "A list is assigned", lambda: zeros(2, 2).__setitem__(0, [1, 2])),
    ("index-type", "A size is float", lambda: zeros(2, 4 / 2)),
    ("index-type", "A size is float", lambda: torch.full((4 / 2,), 0)),
    ("index-type", "A size is float", lambda: zeros(6).view(6 / 2, 2)),
    ("index-type", "A size is Tensor", lambda: zeros(torch.tensor([2, 3]))),
    ("index-type", "repeat gets something", lambda: zeros(6).repeat(6 / 2, 2)),
    ("index-type", "mask of the type uint8", lambda: zeros(2)[torch.ones(2).byte()]),
    ("index-type", "list of lists", lambda: zeros(3, 3)[[[0, 1], [1, 2]]]),
    ("axis-arguments", "There is no dimension 2", lambda: zeros(2, 3).sum(2)),
    (
        "axis-arguments",
        "permute gets 3 axes for a tensor of 2",
        lambda: zeros(2, 3).permute(2, 0, 1),
    ),
    ("axis-arguments", "named twice", lambda: zeros(2, 3).permute(0, 0)),
    ("axis-arguments", "named twice", lambda: zeros(2, 3).movedim((0, 0), (0, 1))),
    ("axis-arguments", "Axis 1 is named twice", lambda: zeros(2, 3).flip(1, -1)),
    ("axis-arguments", "movedim gets [0, 1] and [0]", lambda: zeros(2, 3).movedim((0, 1), (0,))),
    ("axis-arguments", "a number for each axis", lambda: zeros(2, 3).repeat(2)),
    ("axis-arguments", "into 0 parts", lambda: zeros(3).chunk(0)),
    ("axis-arguments", "into -1 parts", lambda: zeros(3).split(-1)),
    ("axis-arguments", "flatten begins after", lambda: zeros(2, 3).flatten(1, 0)),
    ("axis-arguments", "48 bytes of a storage of 24", lambda: zeros(6).as_strided((3, 4), (4, 1))),
    ("axis-arguments", ".H is for one matrix", lambda: zeros(2, 2, 2).H),
    ("axis-arguments", ".T of a tensor that is no matrix", lambda: zeros(2, 2, 2).T),
    ("axis-arguments", "has the letter k", lambda: torch.einsum("ij->ik", zeros(2, 2))),
    ("axis-arguments", "letter i stands twice", lambda: torch.einsum("ij->ii", zeros(2, 2))),
    ("axis-arguments", "fewer operands", lambda: torch.einsum("ij,jk->ik", zeros(2, 2))),
    ("axis-arguments", "character 1", lambda: torch.einsum("i1->i", zeros(2, 2))),
    ("axis-arguments", "without axes", lambda: torch.cat([zeros(()), zeros(())])),
    ("axis-arguments", "out= had the shape [2]", lambda: torch.add(zeros(3), 1, out=zeros(2))),
    ("axis-arguments", "A size is -1", lambda: torch.randperm(-1)),
    ("axis-arguments", "arange cannot", lambda: torch.arange(3, 0)),
    ("overlapping-memory", "one place in memory", lambda: zeros(3).expand(2, 3).add_(1)),
    ("overlapping-memory", "share memory", lambda: (x := zeros(3))[1:].add_(x[:-1])),
    (
        "overlapping-memory",
        "masked_fill_ writes",
        lambda: zeros(3).expand(2, 3).masked_fill_(zeros(2, 3) > 1, 0),
    ),
    (
        "overlapping-memory",
        "index_put_ writes",
        lambda: zeros(3).expand(2, 3).__setitem__(torch.tensor([0]), 1.0),
    ),
    ("empty-tensor", "max of an empty tensor", lambda: zeros(0).max()),
    ("empty-tensor", "argmin of an empty tensor", lambda: zeros(0).argmin()),
    ("empty-tensor", "dimension 1 has size 0", lambda: zeros(2, 0).median(1)),
    ("empty-tensor", "list of tensors is empty", lambda: torch.stack([])),
    ("empty-tensor", "list of tensors is empty", lambda: torch.cat([])),
    ("empty-tensor", "std of a single number", lambda: zeros(1).std()),
    ("result-pair", "max returns a pair", lambda: zeros(2, 2).max(1).mean()),
    ("result-pair", "sort returns a pair", lambda: zeros(2, 2).sort() - 1),
    ("result-pair", "min returns a pair", lambda: 1 - zeros(2, 2).min(1)),
    ("result-pair", "topk returns a pair", lambda: torch.relu(zeros(3).topk(2))),
    ("tensor-attribute", "astype is NumPy's", lambda: zeros(2).astype(float)),
    ("tensor-attribute", "has no totals", lambda: zeros(2).totals()),
    ("tensor-attribute", "has no totals", lambda: nn.Linear(1, 1).weight.totals),
    ("tensor-attribute", "called like a function", lambda: zeros(2)(0)),
    ("tensor-attribute", "A shape is used", lambda: zeros(2).shape(0)),
    ("tensor-attribute", "product @ of a tensor and int", lambda: zeros(2) @ 3),
    ("tensor-attribute", "meets None", lambda: zeros(2) + None),
    ("tensor-attribute", "meets a list", lambda: zeros(2) - [1, 2]),
    ("tensor-attribute", "meets a list", lambda: operator.add([1, 2], zeros(2))),
    ("tensor-attribute", "added to a text", lambda: "loss " + zeros(2)),
    ("tensor-attribute", "relu wants a tensor and gets list", lambda: torch.relu([1.0])),
    ("tensor-attribute", "cat wants a list", lambda: torch.cat(zeros(2), zeros(2))),
    ("tensor-attribute", "no names any more", lambda: zeros(2, names=("N",))),
    ("tensor-attribute", "no names any more", lambda: zeros(2).rename("N")),
    ("tensor-attribute", "randint does not take", lambda: torch.randint(0, 5, 3)),
    ("tensor-attribute", "formatted like one", lambda: f"{zeros(2):.2f}"),
    ("compare-tensors", "Float and Double", lambda: torch.allclose(zeros(2), zeros(2).double())),
    (
        "compare-tensors",
        "The dtype differs: float32 and float64",
        lambda: torch.testing.assert_close(zeros(2), zeros(2).double()),
    ),
    (
        "compare-tensors",
        "The shapes differ: [2] and [3, 1]",
        lambda: torch.testing.assert_close(zeros(2), zeros(3, 1)),
    ),
    (
        "compare-tensors",
        "1 of 2 elements differ, at most by 1.0",
        lambda: torch.testing.assert_close(zeros(2), torch.tensor([0.0, 1.0])),
    ),
    ("compare-tensors", "attribute device", lambda: torch.testing.assert_close(zeros(2), meta(2))),
    ("numpy-exchange", "read backwards", lambda: torch.from_numpy(np.ones(3)[::-1])),
    ("numpy-exchange", "other order", lambda: torch.from_numpy(np.ones(3, ">f4"))),
    ("numpy-exchange", "NumPy's mean", lambda: np.mean(zeros(3))),
    ("numpy-exchange", "NumPy's std", lambda: np.std(zeros(3))),
    ("numpy-exchange", "NumPy's max", lambda: np.max(zeros(3))),
    ("numpy-exchange", "may not be written", lambda: torch.from_numpy(np.frombuffer(b"ab", "u1"))),
    ("numpy-exchange", "number by number", lambda: torch.tensor([np.ones(2)] * 2)),
    ("layout-not-implemented", "aten::max does not exist", lambda: sparse(0, 1).max()),
    ("layout-not-implemented", "The values of a sparse", lambda: sparse(1, 1).values()),
    ("layout-not-implemented", "Position 7", lambda: sparse(0, 7)),
    ("layout-not-implemented", "NumPy has no sparse", lambda: sparse(0, 1).numpy()),
    ("layout-not-implemented", "old layout", lambda: torch.nested.nested_tensor([zeros(2)])),
    ("not-deterministic", "put_ has no", lambda: deterministic(put)),
    ("not-deterministic", "put_ has no", lambda: deterministic(put, warn_only=True)),
    ("integer-range", "divided by zero", lambda: long(3) // 0),
    ("integer-range", "divided by zero", lambda: long(3) % long(3)),
    ("integer-range", "too large", lambda: torch.tensor(2**64)),
    ("integer-range", "too large", lambda: long(3) + 2**64),
    ("safetensors-refuses", "are one tensor", lambda: saved(tied())),
    ("safetensors-refuses", "t is not contiguous", lambda: saved({"t": zeros(2, 3).T})),
    ("safetensors-refuses", "epoch is no tensor but int", lambda: saved({"epoch": 3})),
    ("safetensors-refuses", "gets list", lambda: saved([3])),
    ("safetensors-refuses", "holds int", lambda: saved({"t": zeros(2)}, epoch=3)),
    ("device-mismatch", "meta has no numbers", lambda: meta(2).numpy()),
    ("device-mismatch", "meta has no numbers", lambda: meta(2).nonzero()),
    (
        "device-mismatch",
        "meta has no numbers",
        lambda: nn.Linear(1, 1, device="meta").load_state_dict(nn.Linear(1, 1).state_dict()),
    ),
    ("dtype-mismatch", "scatter writes", lambda: zeros(3).scatter_(0, long(3), long(3))),
    ("dtype-mismatch", "whole number (Long)", lambda: torch.take_along_dim(zeros(3), zeros(3), 0)),
    ("dtype-mismatch", "default type", lambda: torch.set_default_dtype(torch.int64)),
    ("dtype-mismatch", "not str", lambda: torch.tensor([1, "a"])),
    ("dtype-mismatch", "no common type", lambda: long(2) + zeros(2, dtype=torch.uint16)),
    ("expected-4d-input", "of dimensions", lambda: torch.take_along_dim(zeros(2, 2), long(2), 1)),
    ("size-of-tensor-a", "2 and 3", lambda: zeros(3).index_add_(0, long(2), zeros(3))),
    (
        "embedding-index-out-of-range",
        "one past the end of dimension 0, whose size is 3",
        lambda: zeros(3)[3],
    ),
    (
        "embedding-index-out-of-range",
        "Index -1 is outside dimension 1, whose size is 2",
        lambda: zeros(2, 2).gather(1, long(2, 1) - 1),
    ),
    (
        "numpy-requires-grad",
        "records gradients",
        lambda: np.from_dlpack(torch.ones(2, requires_grad=True)),
    ),
]


def said(mistake):
    """Give the last line of what Python would print."""
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            mistake()
    except Exception as error:  # noqa: BLE001  # which one is the question
        return f"{type(error).__name__}: {error}"
    finally:
        torch.set_warn_always(False)
    return f"{caught[0].category.__name__}: {caught[0].message}"


@pytest.mark.parametrize(
    ("kind", "words", "mistake"),
    [pytest.param(*each, id=f"{number} {each[0]}") for number, each in enumerate(MISTAKES)],
)
def test_a_mistake_gets_the_answer_of_its_kind(kind, words, mistake):
    text = said(mistake)
    answers = explain(text)
    assert [answer.id for answer in answers][:1] == [kind], text
    assert words in answers[0].title, text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("TypeError: forward() got an unexpected keyword argument 'axis'", "neg-not-pytorch"),
        ("TypeError: load() got an unexpected keyword argument 'names'", "neg-not-pytorch"),
        ("AttributeError: 'Trainer' object has no attribute 'totals'", None),
        ("TypeError: 'Trainer' object is not callable", None),
        ("TypeError: unsupported operand type(s) for +: 'int' and 'str'", None),
        ('TypeError: can only concatenate str (not "int") to str', None),
        ("ZeroDivisionError: division by zero", "neg-user-data"),
        ("AssertionError: the values differ", None),
        ("RuntimeError: Checksum did not match expected", None),
        ('TypeError: can only concatenate tuple (not "int") to tuple', None),
        ("TypeError: slice indices must be integers or None or have an __index__ method", None),
        ("AttributeError: 'Tensor' object has no attribute 'numpy'", "neg-tensorflow"),
        ("AttributeError: 'EagerTensor' object has no attribute 'backward'", "neg-tensorflow"),
        (
            (
                "UserWarning: The given NumPy array is not writeable, and PyTorch does not support"
                " non-writeable tensors.\nKilled"
            ),
            "neg-unknown-crash",
        ),
        ("TypeError: run() takes 1 positional argument but 2 were given", None),
    ],
)
def test_what_python_says_of_other_objects_is_no_error_of_a_tensor(text, wanted):
    answers = explain(text)
    assert (answers[0].id if answers else None) == wanted
