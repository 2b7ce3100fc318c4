"""Every message here is raised by the installed torch, so that a new wording is noticed."""

from __future__ import annotations

import pytest
import torch
from torch import nn, zeros
from torch.nn import functional

from torchguide.errors import explain
from torchguide.versions import numbers

MEASURED = (2, 13)  # the oldest torch that was tried; older ones are known by the catalogue's tests

pytestmark = pytest.mark.skipif(
    numbers(torch.__version__)[:2] < MEASURED, reason="older torch has other wordings"
)


def long(*shape):
    return zeros(*shape, dtype=torch.long)


def double(*shape):
    return zeros(*shape, dtype=torch.float64)


def half(*shape):
    return zeros(*shape, dtype=torch.float16)


def batch(samples):
    return next(iter(torch.utils.data.DataLoader(samples, batch_size=len(samples))))


MISTAKES = {
    "matmul-shape": [
        lambda: nn.Linear(10, 5)(zeros(4, 7)),
        lambda: zeros(4, 7) @ zeros(8),
        lambda: zeros(7) @ zeros(8),
        lambda: zeros(2, 4, 7) @ zeros(2, 8, 3),
        lambda: torch.bmm(zeros(2, 4, 7), zeros(3, 7, 3)),
        lambda: torch.mm(zeros(2, 4, 7), zeros(7, 3)),
        lambda: torch.dot(zeros(4, 7), zeros(7)),
        lambda: torch.einsum("ij,jk->ik", zeros(3, 4), zeros(5, 6)),
        lambda: torch.tensordot(zeros(3, 4), zeros(5, 6), dims=1),
        lambda: nn.Bilinear(3, 4, 5)(zeros(2, 3), zeros(2, 3)),
        lambda: nn.MultiheadAttention(8, 2)(zeros(5, 2, 6), zeros(5, 2, 6), zeros(5, 2, 6)),
        lambda: nn.LSTM(8, 3)(zeros(5, 2, 6)),
        lambda: nn.LSTMCell(8, 3)(zeros(2, 6)),
    ],
    "size-of-tensor-a": [
        lambda: zeros(4, 3) + zeros(4),
        lambda: zeros(2, 24).add_(zeros(5, 2, 24)),
        lambda: zeros(3).expand(4),
        lambda: torch.cat([zeros(2, 24), zeros(2, 23)], 0),
        lambda: torch.cat([zeros(2, 24), zeros(24)], 0),
        lambda: zeros(4, 3).__setitem__(0, zeros(4)),
        lambda: zeros(4, 3).__setitem__(torch.tensor([0, 1]), zeros(3, 3)),
        lambda: zeros(4, 3)[zeros(3, dtype=torch.bool)],
        lambda: zeros(4, 3)[torch.tensor([0, 1]), torch.tensor([0, 1, 2])],
        lambda: torch.gather(zeros(4, 3), 1, long(5, 2)),
        lambda: nn.GRU(8, 3)(zeros(5, 2, 8), zeros(1, 3, 3)),
    ],
    "conv-channels": [
        lambda: nn.Conv2d(3, 8, 3)(zeros(2, 1, 8, 8)),
        lambda: nn.ConvTranspose2d(3, 8, 3)(zeros(2, 4, 8, 8)),
        lambda: nn.BatchNorm2d(3)(zeros(2, 4, 8, 8)),
        lambda: nn.GroupNorm(2, 4)(zeros(2, 6, 8, 8)),
        lambda: nn.GroupNorm(2, 3),
        lambda: nn.LayerNorm(5)(zeros(4, 3)),
        lambda: nn.PReLU(3)(zeros(2, 4, 8, 8)),
    ],
    "expected-4d-input": [
        lambda: nn.Conv2d(3, 8, 3)(zeros(8, 8)),
        lambda: nn.BatchNorm2d(3)(zeros(2, 3)),
        lambda: nn.MaxPool2d(2)(zeros(8, 8)),
        lambda: nn.GRU(8, 3)(zeros(5)),
        lambda: nn.LSTM(8, 3)(zeros(5, 8), (zeros(1, 1, 3), zeros(1, 1, 3))),
        lambda: zeros(3, 4)[0, 0, 0],
        lambda: torch.tensor(3.0)[0],
        lambda: zeros(3, 4, 5).t(),
        lambda: torch.gather(zeros(4, 3), 1, long(4)),
        lambda: torch.einsum("ijk,jk->ik", zeros(3, 4), zeros(5, 6)),
    ],
    "input-too-small": [
        lambda: nn.Conv2d(3, 8, 3)(zeros(2, 3, 2, 2)),
        lambda: nn.MaxPool2d(3)(zeros(2, 3, 2, 2)),
        lambda: nn.ReflectionPad2d(20)(zeros(1, 3, 8, 8)),
    ],
    "view-not-contiguous": [lambda: zeros(3, 4).T.view(-1)],
    "view-shape-invalid": [
        lambda: zeros(3, 4).view(5, 3),
        lambda: zeros(3, 4).reshape(-1, -1),
        lambda: zeros(3, 4).unflatten(1, (3, 2)),
        lambda: zeros(3, 4).split([1, 1], 0),
    ],
    "collate-unequal-size": [
        lambda: batch([zeros(3, 8, 8), zeros(1, 8, 8)]),
        lambda: batch([[1, 2], [1]]),
        lambda: batch([zeros(2), 3]),
        lambda: torch.tensor([[1, 2], [3]]),
    ],
    "collate-unsupported-type": [lambda: batch([None, zeros(2)])],
    "batchnorm-one-value": [lambda: nn.BatchNorm1d(3)(zeros(1, 3))],
    "target-input-size": [
        lambda: functional.binary_cross_entropy_with_logits(zeros(4, 1), zeros(4)),
        lambda: functional.cross_entropy(zeros(4, 3), long(4, 1)),
        lambda: functional.cross_entropy(zeros(4, 3), long(5)),
        lambda: functional.cross_entropy(zeros(4, 3), long(4, 3)),
        lambda: functional.cross_entropy(zeros(4, 7, 3), long(4, 7)),
        lambda: functional.cross_entropy(zeros(3), long(4)),
        lambda: functional.cross_entropy(zeros(4, 3), long(4), weight=torch.ones(4)),
    ],
    "target-out-of-bounds": [
        lambda: functional.cross_entropy(zeros(1, 3), torch.tensor([3])),
        lambda: functional.one_hot(torch.tensor([3]), 3),
        lambda: functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([2.0])),
    ],
    "embedding-index-out-of-range": [
        lambda: nn.Embedding(10, 3)(torch.tensor([10])),
        lambda: zeros(10)[torch.tensor([10])],
        lambda: zeros(4, 3).topk(5),
        lambda: zeros(4, 3).narrow(0, 3, 3),
        lambda: zeros(4, 3).select(0, 5),
    ],
    "dtype-mismatch": [
        lambda: nn.Linear(3, 2)(double(4, 3)),
        lambda: nn.Conv2d(3, 2, 3)(double(1, 3, 8, 8)),
        lambda: nn.LSTM(3, 3)(double(5, 2, 3)),
        lambda: nn.LayerNorm(3)(double(1, 3)),
        lambda: nn.Embedding(10, 3)(zeros(3)),
        lambda: zeros(3, 3) @ double(3),
        lambda: functional.cross_entropy(zeros(4, 3), zeros(4)),
        lambda: functional.binary_cross_entropy(zeros(4), double(4)),
        lambda: functional.binary_cross_entropy_with_logits(zeros(4), long(4)),
        lambda: long(3).div_(2),
        lambda: torch.arange(3).mean(),
        lambda: torch.arange(3).std(),
        lambda: torch.arange(3).norm(),
        lambda: torch.tensor([1, 2], requires_grad=True),
        lambda: zeros(3)[zeros(2)],
        lambda: zeros(3, 3).index_select(0, zeros(2)),
        lambda: zeros(3).masked_fill(zeros(3), 1),
        lambda: zeros(3).masked_select(zeros(3)),
        lambda: 1 - zeros(3, dtype=torch.bool),
        lambda: ~zeros(3),
        lambda: zeros(3) & zeros(3),
        lambda: functional.one_hot(zeros(3), 3),
        lambda: torch.tensor(["a", "b"]),
        lambda: torch.tensor([None, 1]),
        lambda: torch.tensor(300, dtype=torch.uint8),
        lambda: torch.linalg.solve(torch.eye(3), double(3)),
    ],
    "half-not-implemented-cpu": [
        lambda: torch.linalg.cholesky(half(3, 3)),
        lambda: torch.linalg.inv(half(3, 3)),
        lambda: torch.fft.fft(half(7)),
    ],
}


@pytest.mark.parametrize(
    ("kind", "mistake"),
    [
        pytest.param(kind, mistake, id=f"{kind} {number}")
        for kind, mistakes in MISTAKES.items()
        for number, mistake in enumerate(mistakes)
    ],
)
def test_a_mistake_gets_the_answer_of_its_kind(kind, mistake):
    with pytest.raises(Exception, match=r".") as raised:
        mistake()
    answers = explain(f"{type(raised.value).__name__}: {raised.value}")
    assert [answer.id for answer in answers][:1] == [kind], str(raised.value)


SPECIFIC = [
    (lambda: torch.cat([zeros(2, 24), zeros(2, 23)], 0), "along dimension 0"),
    (lambda: torch.cat([zeros(2, 24), zeros(24)], 0), "2 dimensions meet 1"),
    (lambda: zeros(4, 3).__setitem__(0, zeros(4)), "4 numbers do not fill 3 places"),
    (lambda: nn.Conv1d(3, 8, 3)(zeros(2, 10, 3)), "(N, L, C)"),
    (lambda: nn.Conv2d(3, 8, 3)(zeros(2, 10, 9, 3)), "(N, H, W, C)"),
    (lambda: nn.Conv2d(3, 8, 3)(zeros(8, 8)), "3 or 4 dimensions are expected, the input has 2"),
    (lambda: zeros(3, 4).sum(2), "There is no dimension 2"),
    (lambda: long(3).div_(2), "The result is Float, the place for it Long"),
    (lambda: functional.cross_entropy(zeros(4, 3), long(4, 3)), "type Long"),
    (lambda: zeros(16, 3, 8, 8) - zeros(3), "one for each channel"),
]


@pytest.mark.parametrize(("mistake", "words"), SPECIFIC, ids=[words for _, words in SPECIFIC])
def test_an_answer_takes_up_what_the_message_says(mistake, words):
    with pytest.raises(Exception, match=r".") as raised:
        mistake()
    answer = explain(f"{type(raised.value).__name__}: {raised.value}")[0]
    assert words in f"{answer.title} {answer.cause}"
