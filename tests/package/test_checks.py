"""Each check finds each typical form of its bug, and says so in both languages."""

from __future__ import annotations

import csv
import dataclasses
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F  # noqa: N812 -- its usual name

from torchguide import checks
from torchguide.checks.results import finding
from torchguide.facts import read_text

ROOT = Path(__file__).parents[2]
ROWS = list(csv.DictReader(read_text("checks.csv").splitlines()))


@pytest.fixture(autouse=True)
def _seeded():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are so small that threads only wait for each other
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


def ids(found):
    return [item.id for item in (found.findings if isinstance(found, checks.Watch) else found)]


def network(out=3, *more):
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, out), *more)


def sgd(model, lr=0.1):
    return torch.optim.SGD(model.parameters(), lr=lr)


X = torch.randn(32, 4, generator=torch.Generator().manual_seed(0))
CLASSES = X[:, :3].argmax(1)
VALUES = X.sum(1)


def run(model, optimizer, loss=F.cross_entropy, target=CLASSES, *, steps=4, watch=()):
    with checks.watch(*(watch or (model, optimizer))) as found:
        for _ in range(steps):
            optimizer.zero_grad()
            loss(model(X), target).backward()
            optimizer.step()
    return found


# Losses.


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(
    "loss",
    [
        F.mse_loss,
        F.l1_loss,
        nn.SmoothL1Loss(),
        nn.HuberLoss(),
        lambda p, y: ((p - y) ** 2).mean(),
        lambda p, y: (y - p).pow(2).sum(),
        lambda p, y: torch.mean(torch.abs(torch.sub(p, y))),
        lambda p, y: (p - y).square().mean().sqrt(),
        lambda p, y: ((p - y) * (p - y)).mean(),
    ],
)
@pytest.mark.parametrize("turned", [False, True], ids=["column-row", "row-column"])
def test_broadcasting_is_found_in_losses_of_torch_and_of_ones_own(loss, turned):
    if turned:
        model = nn.Sequential(network(1), nn.Flatten(0))
        found = run(model, sgd(model, 1e-4), loss, VALUES[:, None])
    else:
        model = network(1)
        found = run(model, sgd(model, 1e-4), loss, VALUES)
    assert ids(found) == ["loss-broadcast"]
    values = found.findings[0].values
    assert {values["prediction"], values["target"]} == {"(32, 1)", "(32,)"}
    assert values["result"] == "(32, 32)"


@pytest.mark.parametrize(
    ("prediction", "target", "wrong"),
    [
        ((8, 1), (8,), True),
        ((8,), (8, 1), True),
        ((8, 1, 5), (8, 5), True),
        ((8, 1), (8, 1), False),
        ((8, 3), (8,), False),  # scores and class indices
        ((8, 3), (3,), False),
        ((8,), (), False),
        ((1, 1), (1,), False),
        ((8, 2), (5,), False),  # torch refuses it
    ],
)
def test_shapes_are_wrong_only_if_both_sides_are_stretched(prediction, target, wrong):
    found = checks.check_loss_shapes(torch.zeros(prediction), torch.zeros(target))
    assert ids(found) == ["loss-broadcast"] * wrong


@given(st.lists(st.integers(0, 4), max_size=4), st.lists(st.integers(0, 4), max_size=4))
def test_shapes_are_judged_as_torch_broadcasts_them(left, right):
    one, two = torch.zeros(left), torch.zeros(right)
    try:
        larger = torch.broadcast_shapes(left, right).numel() > max(one.numel(), two.numel())
    except RuntimeError:
        larger = False
    assert bool(checks.check_loss_shapes(one, two)) is larger


@pytest.mark.parametrize(
    ("last", "loss", "target", "expected"),
    [
        (nn.Softmax(1), F.cross_entropy, CLASSES, ["softmax-before-loss"]),
        (nn.Softmax(1), nn.CrossEntropyLoss(), CLASSES, ["softmax-before-loss"]),
        (nn.Sigmoid(), F.cross_entropy, CLASSES, ["softmax-before-loss"]),
        (nn.Softmax(0), F.cross_entropy, CLASSES, ["softmax-before-loss", "softmax-dimension"]),
        (nn.LogSoftmax(0), F.nll_loss, CLASSES, ["softmax-dimension"]),
        (nn.LogSoftmax(1), F.nll_loss, CLASSES, []),
        (nn.LogSoftmax(1), F.cross_entropy, CLASSES, []),  # a second log_softmax changes nothing
        (nn.Softmax(1), nn.NLLLoss(), CLASSES, ["log-probabilities"]),
        (nn.Identity(), F.nll_loss, CLASSES, ["log-probabilities"]),
        (
            nn.Softmax(1),
            nn.KLDivLoss(reduction="batchmean"),
            F.one_hot(CLASSES).float(),
            ["log-probabilities"],
        ),
        (nn.Sigmoid(), nn.BCEWithLogitsLoss(), F.one_hot(CLASSES).float(), ["softmax-before-loss"]),
    ],
)
def test_scores_of_the_wrong_kind_are_found(last, loss, target, expected):
    assert ids(checks.check_loss(loss, network(3, last)(X), target)) == expected
    model = network(3, last)
    assert ids(run(model, sgd(model, 1e-4), loss, target)) == expected


def test_an_activation_is_seen_behind_a_change_of_shape():
    scores = torch.sigmoid(network(1)(X)).squeeze(1).to(torch.float64)
    assert ids(checks.check_loss(nn.BCEWithLogitsLoss(), scores, scores.detach())) == [
        "softmax-before-loss"
    ]
    scaled = 5 * torch.sigmoid(network(1)(X))  # scores within bounds, on purpose
    assert not checks.check_loss(nn.BCEWithLogitsLoss(), scaled, scaled.detach())


def test_softmax_is_seen_without_a_graph_and_in_half_precision():
    scores = torch.randn(64, 10).softmax(1).to(torch.bfloat16)
    assert ids(checks.check_loss(F.cross_entropy, scores, torch.zeros(64))) == [
        "softmax-before-loss"
    ]


def test_cross_entropy_of_one_class_is_found():
    model = network(1)
    assert "one-class" in ids(run(model, sgd(model), target=torch.zeros(32, dtype=torch.long)))


def test_probabilities_over_the_wrong_dimension_are_found():
    scores = torch.randn(8, 5)
    assert ids(checks.check_probabilities(scores.softmax(0), dim=1)) == ["softmax-dimension"]
    assert ids(checks.check_probabilities(scores.softmax(0), dim=-1)) == ["softmax-dimension"]
    assert not checks.check_probabilities(scores.softmax(-1), dim=1)
    assert not checks.check_probabilities(scores, dim=1)
    with pytest.raises(IndexError):
        checks.check_probabilities(scores, dim=2)


# The order of the loop.


@pytest.mark.parametrize("clear_at_start", [False, True])
def test_a_forgotten_zero_grad_is_found(clear_at_start):
    model = network()
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        if clear_at_start:  # once before the loop instead of once per step
            optimizer.zero_grad()
        for _ in range(4):
            F.cross_entropy(model(X), CLASSES).backward()
            optimizer.step()
    assert ids(found) == ["zero-grad-missing"]
    assert found.findings[0].step == 2


def test_zero_grad_of_another_optimizer_does_not_help():
    model, other = network(), network()
    optimizer, wrong = sgd(model), sgd(other)
    with checks.watch(model, optimizer) as found:
        for _ in range(3):
            wrong.zero_grad()
            F.cross_entropy(model(X), CLASSES).backward()
            optimizer.step()
    assert ids(found) == ["zero-grad-missing"]


def test_zero_grad_missing_in_a_closure_is_found():
    model = network()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=2)

    def closure():
        loss = F.cross_entropy(model(X), CLASSES)
        loss.backward()
        return loss

    with checks.watch(model, optimizer) as found:
        for _ in range(3):
            optimizer.step(closure)
    assert ids(found) == ["zero-grad-missing"]


def test_clearing_between_backward_and_step_is_found():
    model = network()
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(4):
            F.cross_entropy(model(X), CLASSES).backward()
            optimizer.zero_grad()
            optimizer.step()
    assert ids(found) == ["gradient-cleared"]


def test_a_forgotten_step_is_found():
    model = network()
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(8):
            optimizer.zero_grad()
            F.cross_entropy(model(X), CLASSES).backward()
    assert ids(found) == ["step-missing"]


def test_a_forgotten_backward_is_found():
    model = network()
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(4):
            optimizer.zero_grad()
            F.cross_entropy(model(X), CLASSES)
            optimizer.step()
    assert ids(found) == ["gradient-missing", "parameters-unchanged"]


@pytest.mark.parametrize("make", [lambda m: sgd(m, 0.0), lambda m: sgd(m.bfloat16(), 1e-6)])
def test_steps_that_change_nothing_are_found(make):
    model = network()
    optimizer = make(model)
    loss = lambda out, y: F.cross_entropy(out.float(), y)  # noqa: E731 -- one line
    x = X.to(next(model.parameters()).dtype)
    with checks.watch(model, optimizer) as found:
        for _ in range(12):
            optimizer.zero_grad()
            loss(model(x), CLASSES).backward()
            optimizer.step()
    assert "parameters-unchanged" in ids(found)


def test_a_loss_that_never_changes_is_found():
    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.shift = network(), nn.Parameter(torch.zeros(()))

        def forward(self, x):
            return self.body(x).clamp(min=1e3, max=1e3) + self.shift  # no class prefers the shift

    model = Dead()
    assert "loss-constant" in ids(run(model, sgd(model), steps=12))


# Mode.


def test_training_in_evaluation_mode_is_found():
    model = network(3, nn.Dropout(0.1))
    model.eval()
    found = run(model, sgd(model))
    assert ids(found) == ["eval-mode"]
    assert "3 (Dropout)" in found.findings[0].message


def test_training_that_goes_on_after_evaluation_is_found():
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(model(X), CLASSES).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                F.cross_entropy(model(X), CLASSES)
    assert ids(found) == ["eval-mode"]
    assert found.findings[0].step == 2


@pytest.mark.parametrize("no_grad", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize(
    "metric",
    [
        lambda out: F.cross_entropy(out, CLASSES),
        lambda out: (out.argmax(1) == CLASSES).sum(),
        lambda out: out.softmax(dim=1).max(dim=1).indices.eq(CLASSES).float().mean(),
    ],
)
def test_evaluation_in_training_mode_is_found(no_grad, metric):
    model = network(3, nn.Dropout(0.1))
    with checks.watch(model) as found, no_grad():
        metric(model(X))
    assert ids(found) == ["train-mode"]


@pytest.mark.parametrize(
    ("layer", "counts"),
    [
        (nn.Dropout(0.5), True),
        (nn.Dropout(0.0), False),
        (nn.AlphaDropout(0.5), True),
        (nn.BatchNorm1d(3), True),
        (nn.BatchNorm1d(3, track_running_stats=False), False),
        (nn.LayerNorm(3), False),
        (nn.LSTM(3, 3, 2, dropout=0.1), True),
        (nn.MultiheadAttention(4, 2, dropout=0.1), True),
        (nn.TransformerEncoderLayer(4, 2), True),
    ],
)
def test_the_mode_counts_for_layers_that_depend_on_it(layer, counts):
    model = nn.ModuleList([layer])
    assert ids(checks.check_mode(model, training=False)) == ["train-mode"] * counts
    assert ids(checks.check_mode(model.eval(), training=True)) == ["eval-mode"] * counts
    assert not checks.check_mode(model, training=False)


# Optimizer.


def test_parameters_that_no_optimizer_holds_are_found():
    model = network()
    optimizer = torch.optim.SGD(model[2].parameters(), lr=0.1)
    assert ids(checks.check_optimizer(model, optimizer)) == ["optimizer-missing"]
    found = run(model, optimizer)
    assert ids(found) == ["optimizer-missing"]
    assert found.findings[0].where == "0.weight, 0.bias"
    model[0].requires_grad_(False)
    assert not checks.check_optimizer(model, optimizer)


def test_a_layer_that_was_added_after_the_optimizer_was_made_is_found():
    model = network()
    optimizer = sgd(model)
    model.append(nn.Linear(3, 3))
    assert ids(checks.check_optimizer(optimizer, model)) == ["optimizer-missing"]
    assert ids(run(model, optimizer)) == ["optimizer-missing"]


class PlainList(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4), nn.Linear(4, 4)]  # instead of nn.ModuleList
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


def test_layers_in_a_plain_list_are_found():
    model = PlainList()
    optimizer = sgd(model)
    assert ids(checks.check_optimizer(optimizer, model)) == ["optimizer-missing"]
    found = run(model, optimizer)
    assert ids(found) == ["optimizer-missing"]
    assert found.findings[0].where.startswith("layers[0].weight")


def test_a_head_that_was_replaced_after_the_optimizer_was_made_is_found():
    model = network()
    optimizer = sgd(model)
    model[2] = nn.Linear(16, 3)
    assert ids(checks.check_optimizer(model, optimizer)) == ["optimizer-stale"]
    found = run(model, optimizer)
    assert ids(found) == ["optimizer-stale"]
    assert found.findings[0].values["foreign"] == "2"


def test_a_model_that_was_rebuilt_is_found():
    optimizer = sgd(network())
    model = network()
    assert ids(checks.check_optimizer(model, optimizer)) == ["optimizer-stale"]
    assert ids(run(model, optimizer, steps=12)) == ["optimizer-stale"]


def test_a_learned_weight_of_a_loss_may_be_in_the_optimizer():
    model, weight = network(), nn.Parameter(torch.zeros(()))
    optimizer = torch.optim.SGD([*model.parameters(), weight], lr=0.1)
    assert not checks.check_optimizer(model, optimizer)
    found = run(model, optimizer, lambda p, y: F.cross_entropy(p, y) * weight.exp())
    assert not found.findings


def test_only_models_and_optimizers_are_accepted():
    with pytest.raises(TypeError, match="dict is neither"):
        checks.watch({})
    with pytest.raises(TypeError, match=r"at least one nn\.Module"):
        checks.watch(sgd(network()))
    with pytest.raises(TypeError, match="at least one Optimizer"):
        checks.check_optimizer(network())


# Gradients.


class Cut(nn.Module):
    """A model whose body is cut off the graph in one of the usual ways."""

    def __init__(self, cut):
        super().__init__()
        self.body, self.head, self.cut = nn.Linear(4, 8), nn.Linear(8, 3), cut

    def forward(self, x):
        return self.head(self.cut(self.body(x)))


def without_graph(features):
    with torch.no_grad():
        return features * 2


@pytest.mark.parametrize(
    "cut", [torch.Tensor.detach, lambda f: f.data, torch.round, torch.sign, without_graph]
)
def test_a_cut_graph_is_found(cut):
    model = Cut(cut)
    found = run(model, sgd(model))
    cut_off = not cut(torch.ones(1, requires_grad=True) * 1).requires_grad
    assert ids(found) == ["gradient-missing"] * cut_off  # round and sign have the gradient 0
    F.cross_entropy(model(X), CLASSES).backward()
    optional = [item.where for item in checks.check_gradients(model)]
    assert optional == ["body.weight, body.bias"] * cut_off


def test_a_backbone_under_no_grad_that_should_learn_is_found():
    model = network()
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(4):
            with torch.no_grad():
                hidden = model[:2](X)
            optimizer.zero_grad()
            F.cross_entropy(model[2](hidden), CLASSES).backward()
            optimizer.step()
    assert ids(found) == ["gradient-missing"]


def test_gradients_are_missing_before_backward():
    found = checks.check_gradients(network())
    assert ids(found) == ["gradient-missing"]
    assert found[0].values["count"] == "4"


def sigmoid_network(depth=12):
    return nn.Sequential(
        nn.Linear(4, 16), *(nn.Sequential(nn.Linear(16, 16), nn.Sigmoid()) for _ in range(depth)),
        nn.Linear(16, 3),
    )  # fmt: skip


def test_vanishing_gradients_are_found():
    model = sigmoid_network()
    found = run(model, sgd(model), steps=5)
    assert ids(found) == ["gradient-vanishing"]
    assert found.findings[0].where.startswith("0.weight")
    optional = checks.check_gradients(model)
    assert ids(optional) == ["gradient-vanishing"]
    assert not checks.check_gradients(model, least=1e-30)


def test_exploding_gradients_are_found():
    model = nn.Sequential(*(nn.Linear(4, 4, bias=False) for _ in range(30)))
    for layer in model:
        nn.init.normal_(layer.weight, std=2.0)
    found = run(model, sgd(model, 0.0), F.mse_loss, torch.zeros(32, 4), steps=1)
    assert "gradient-exploding" in ids(found)
    assert "gradient-exploding" in ids(checks.check_gradients(model))
    assert "gradient-exploding" not in ids(checks.check_gradients(model, most=math.inf))


def test_gradients_that_explode_through_time_are_found():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.step, self.head = nn.Linear(4, 4), nn.Linear(4, 3)
            nn.init.orthogonal_(self.step.weight, gain=1.5)
            nn.init.zeros_(self.step.bias)

        def forward(self, x):
            state = 1e-9 * x
            for _ in range(60):
                state = self.step(state)
            return self.head(state)

    model = Recurrent()
    found = run(model, sgd(model, 0.0), steps=1)
    assert ids(found) == ["gradient-exploding"]
    assert found.findings[0].where == "step.bias"


def test_gradient_norms_are_those_of_torch():
    model = network()
    assert checks.gradient_norms(model) == {}
    F.cross_entropy(model(X), CLASSES).backward()
    norms = checks.gradient_norms(model)
    assert list(norms) == [name for name, _ in model.named_parameters()]
    for name, parameter in model.named_parameters():
        assert norms[name] == pytest.approx(parameter.grad.norm().item())


# NaN and infinite numbers.


class Log(nn.Module):
    def forward(self, x):
        return x.log()


def overflowing():
    layer = nn.Linear(4, 3)
    nn.init.constant_(layer.weight, 3e38)
    return layer


@pytest.mark.parametrize(
    ("model", "x", "where", "kind"),
    [
        (network(), X.clone().index_fill(0, torch.tensor([3]), math.nan), "input", "NaN"),
        (nn.Sequential(nn.Linear(4, 3), Log()), X, "1(…)", "NaN"),
        (nn.Sequential(nn.Tanh(), overflowing(), nn.ReLU()), 9 * X.abs(), "1(…)", "Inf"),
    ],
)
def test_nan_is_named_where_it_came_first(model, x, where, kind):
    optimizer = sgd(model)
    with checks.watch(model, optimizer) as found:
        for _ in range(3):
            optimizer.zero_grad()
            F.mse_loss(model(x), VALUES[:, None].expand(32, 3)).backward()
            optimizer.step()
    first, *others = found.findings
    assert (first.id, first.where, first.values["kind"]) == ("not-finite", where, kind)
    assert "not-finite" not in [item.id for item in others]


def test_nan_in_the_target_is_the_losss():
    model = network(1)
    target = VALUES[:, None].clone()
    target[0] = math.nan
    found = run(model, sgd(model), F.mse_loss, target)
    assert next((f.id, f.where) for f in found.findings) == ("not-finite", "loss")


def test_nan_in_the_gradient_of_a_finite_loss_is_found():
    model = network(1)
    found = run(
        model, sgd(model), lambda p, _: (p - p.detach()).square().sum(1).sqrt().sum(), VALUES
    )
    assert found.findings[0].id == "not-finite"
    assert found.findings[0].where.startswith("0.weight.grad")


def test_numbers_in_models_lists_and_arrays_are_checked():
    model = network()
    assert not checks.check_finite(model, X, [X, {"y": CLASSES}], scale=np.ones(3))
    with torch.no_grad():
        model[2].bias[0] = math.inf
    found = checks.check_finite(model, [X, X / 0], scale=np.array([1, np.nan]))
    assert [(f.where, f.values["kind"]) for f in found] == [
        ("2.bias", "Inf"),
        ("x1[1]", "Inf"),
        ("scale", "NaN"),
    ]


# Memory in common.


def test_a_state_dict_that_was_not_copied_is_found():
    model = network()
    best = model.state_dict()
    (item,) = checks.check_aliases(model=model, best=best)
    assert (item.id, item.values["second"]) == ("aliased", "best['0.weight']")
    assert not checks.check_aliases(model, {name: t.clone() for name, t in best.items()})


def test_a_buffer_that_was_collected_again_and_again_is_found():
    buffer, outputs = torch.zeros(3), []
    for number in range(3):
        buffer.fill_(number)
        outputs.append(buffer)
    assert ids(checks.check_aliases(outputs)) == ["aliased", "aliased"]
    assert not checks.check_aliases([output.clone() for output in outputs])


def test_an_array_and_its_tensor_share_memory():
    array = np.zeros(4)
    assert checks.check_aliases(array, torch.from_numpy(array))
    assert not checks.check_aliases(array, torch.tensor(array))


@given(st.data())
def test_aliases_are_exactly_the_views_through_which_a_write_shows(data):
    def view(base):
        start, step = data.draw(st.integers(0, 5)), data.draw(st.integers(1, 3))
        along = data.draw(st.sampled_from(["rows", "columns"]))
        return base[start::step] if along == "rows" else base[:, start::step]

    base = torch.zeros(6, 6)
    one, two = view(base), view(base)
    one.fill_(1)
    assert bool(checks.check_aliases(one, two)) is bool(two.any())


def test_what_has_no_memory_shares_none():
    nothing = torch.empty(2, device="meta"), torch.empty(0), torch.eye(2).to_sparse()
    for tensor in nothing:
        assert not checks.check_aliases(tensor, tensor)


# What the checks return.


def test_a_finding_is_plain_data_in_either_language(monkeypatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    item = finding("loss-broadcast", "mse_loss", prediction=(2, 1), target=(2,), result=(2, 2))
    assert item.message.startswith("预测 (2, 1) 和目标 (2,)")
    assert str(item) == item.text("zh")
    english = item.in_language("en")
    assert dataclasses.asdict(english)["message"].startswith("Prediction (2, 1) and target (2,)")
    assert english.in_language("zh") == item
    assert item.page == "troubleshooting/silent-bugs#loss-broadcast"


def test_a_finding_says_where_it_was_seen_on_a_line_of_its_own():
    item = dataclasses.replace(finding("zero-grad-missing", "0.weight"), step=2)
    assert item.text("en").split("\n")[1] == "  Where: step 2, 0.weight"
    assert item.text("zh").split("\n")[1] == "  位置：第 2 步、0.weight"
    assert "Where" not in finding("gradient-cleared").text("en")


def test_findings_raise_when_asked_to():
    warning, error = finding("optimizer-missing", "w", count=1), finding("gradient-cleared")
    with pytest.raises(checks.CheckError, match="in no optimizer") as caught:
        checks.Findings((warning,)).raise_on_findings()
    assert caught.value.findings == (warning,)
    checks.Findings((warning,)).raise_on_findings("error")
    with pytest.raises(checks.CheckError):
        checks.Findings((warning, error)).raise_on_findings("error")
    with pytest.raises(ValueError, match="least is 'info'"):
        checks.Findings().raise_on_findings("info")


def test_a_watch_prints_and_raises_like_its_findings():
    model = network(3, nn.Softmax(1))
    found = run(model, sgd(model, 1e-4))
    assert str(found) == str(found.findings)
    assert found.text("zh").startswith("问题：传给 cross_entropy 的是 softmax")
    with pytest.raises(checks.CheckError, match="cross_entropy"):
        found.raise_on_findings()


def test_a_compiled_model_is_watched_from_outside():
    model = network(1)
    compiled = torch.compile(model, backend="eager")
    optimizer = sgd(model, 1e-4)
    with checks.watch(model, optimizer) as found:
        for _ in range(3):
            optimizer.zero_grad()
            F.l1_loss(compiled(X).squeeze(1), VALUES).backward()
            optimizer.step()
    assert not found.findings


def test_an_error_in_the_loop_passes_and_leaves_no_hook():
    model = network()
    optimizer = sgd(model)
    found = checks.watch(model, optimizer)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"), found:
        model(torch.ones(2, 5))
    assert not found.findings
    assert not any(layer._forward_hooks for layer in model.modules())


def test_importing_the_checks_does_not_import_torch():
    code = "import sys, torchguide.checks as c; print('torch' in sys.modules, len(dir(c)) > 10)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )  # fmt: skip
    assert done.stdout.split() == ["False", "True"]


def test_an_unknown_check_is_answered_with_the_known_ones():
    with pytest.raises(AttributeError, match=r"no attribute 'check'; it has .*'check_loss'"):
        checks.check  # noqa: B018 -- reading it is the test


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_finding_has_both_languages_and_a_page(row):
    import re

    places = [set(re.findall(r"\{(\w+)\}", row[f"title_{lang}"])) for lang in ("en", "zh")]
    assert places[0] == places[1]
    assert row["severity"] in ("error", "warning")
    assert row["page"].endswith(f"#{row['id']}")
    for part in ("title", "advice"):
        chinese = row[f"{part}_zh"]
        assert row[f"{part}_en"]
        assert re.search(r"[\u4e00-\u9fff]", chinese)
        assert not re.search(r"[\u4e00-\u9fff][,;:?!]", chinese)
        assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", chinese)


def test_every_finding_that_a_check_makes_is_in_the_table_and_the_other_way_round():
    import re

    folder = Path(checks.__file__).parent
    source = "".join(path.read_text(encoding="utf8") for path in sorted(folder.glob("*.py")))
    for row in ROWS:
        assert f'"{row["id"]}"' in source
    for made in re.findall(r'finding\(\s*"([a-z-]+)"', source):
        assert made in {row["id"] for row in ROWS}


def test_places_are_joined_as_the_language_does():
    finding = checks.Finding("loss-broadcast", "error", "", "cross_entropy", "", "", step=1)
    assert "step 1, cross_entropy" in finding.text("en")
    assert "第 1 步、cross_entropy" in finding.text("zh")
