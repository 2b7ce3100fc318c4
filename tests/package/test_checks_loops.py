"""No check says anything about a correct loop, and a watched loop computes the same numbers."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 -- its usual name

from torchguide import checks

LOOPS = {}


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # the tensors are so small that threads only wait for each other
    yield
    torch.set_num_threads(before)


def loop(function):
    """Register a correct loop: it returns its parts and a function that runs it."""
    LOOPS[function.__name__] = function
    return function


def batches(count, *shape, classes=3):
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        x = torch.randn(*shape, generator=generator)
        yield x, torch.randint(classes, (shape[0],), generator=generator)


def mlp(*sizes, dropout=0.2):
    layers = []
    for before, after in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(before, after), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(*sizes[-2:]))


def train(model, optimizer, data, loss=F.cross_entropy):
    model.train()
    for x, y in data:
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()


def evaluate(model, data):
    model.eval()
    right = 0
    with torch.no_grad():
        for x, y in data:
            scores = model(x)
            F.cross_entropy(scores, y).item()
            right += (scores.softmax(1).argmax(1) == y).sum().item()
    return right


@loop
def mlp_with_dropout_that_trains_and_evaluates():
    model = mlp(6, 32, 32, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def run():
        for _ in range(3):
            train(model, optimizer, batches(5, 16, 6))
            evaluate(model, batches(2, 16, 6))

    return (model, optimizer), run


@loop
def cnn_with_batch_norm():
    model = nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3)),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)

    def run():
        train(model, optimizer, batches(12, 8, 3, 8, 8), nn.CrossEntropyLoss())
        evaluate(model, batches(2, 8, 3, 8, 8))

    return (model, optimizer), run


class Transformer(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.embedding = nn.Embedding(20, 16, padding_idx=0)
        self.place = nn.Parameter(torch.zeros(9, 16))
        layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(16, 20)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        x = self.embedding(tokens) + self.place[: tokens.shape[1]]
        return self.head(self.encoder(x, mask=mask))


@loop
def transformer_language_model_with_warm_up_and_clipping():
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, step / 5))

    def run():
        for _ in range(12):
            tokens = torch.randint(1, 20, (4, 10))
            scores = model(tokens[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            warm_up.step()

    return (model, optimizer), run


@loop
def deep_residual_network():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU())

        def forward(self, x):
            return x + self.inner(x)

    model = nn.Sequential(nn.Linear(6, 16), *(Block() for _ in range(40)), nn.Linear(16, 3))
    optimizer = torch.optim.Adam(model.parameters())
    return (model, optimizer), lambda: train(model, optimizer, batches(12, 16, 6))


def gan(no_grad):
    generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Dropout(0.1), nn.Linear(16, 1))
    make = torch.optim.Adam(generator.parameters(), lr=1e-3)
    judge = torch.optim.Adam(critic.parameters(), lr=1e-3)
    loss = nn.BCEWithLogitsLoss()

    def run():
        for real, _ in batches(12, 16, 2):
            judge.zero_grad()
            if no_grad:
                with torch.no_grad():
                    fake = generator(torch.randn(16, 4))
            else:
                fake = generator(torch.randn(16, 4)).detach()
            loss(critic(real), torch.ones(16, 1)).backward()
            loss(critic(fake), torch.zeros(16, 1)).backward()
            judge.step()
            make.zero_grad()
            # this backward also adds to the critic's gradients; judge.zero_grad() clears them
            loss(critic(generator(torch.randn(16, 4))), torch.ones(16, 1)).backward()
            make.step()

    return (generator, critic, make, judge), run


@loop
def gan_with_two_optimizers_and_detach():
    return gan(no_grad=False)


@loop
def gan_that_makes_fakes_without_a_graph():
    return gan(no_grad=True)


@loop
def gradient_accumulation():
    model = mlp(6, 32, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run():
        for number, (x, y) in enumerate(batches(24, 8, 6)):
            (F.cross_entropy(model(x), y) / 4).backward()
            if number % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()

    return (model, optimizer), run


@loop
def long_gradient_accumulation_without_a_step_yet():
    model = mlp(6, 32, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run():
        for x, y in batches(12, 8, 6):
            F.cross_entropy(model(x), y).backward()

    return (model, optimizer), run


class Fine(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.backbone(x))


@loop
def frozen_backbone_in_evaluation_mode():
    model = Fine()
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters())

    def run():
        model.train()
        model.backbone.eval()
        for x, y in batches(12, 16, 6):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def head_on_features_without_a_graph():
    model = Fine()
    optimizer = torch.optim.Adam(model.head.parameters())

    def run():
        for x, y in batches(12, 16, 6):
            with torch.no_grad():
                features = model.backbone(x)
            optimizer.zero_grad()
            F.cross_entropy(model.head(features), y).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def backbone_that_is_unfrozen_later():
    model = Fine()
    model.backbone.requires_grad_(False)
    optimizer = torch.optim.Adam(model.head.parameters())

    def run():
        train(model, optimizer, batches(4, 16, 6))
        model.backbone.requires_grad_(True)
        optimizer.add_param_group({"params": model.backbone.parameters(), "lr": 1e-4})
        train(model, optimizer, batches(4, 16, 6))

    return (model, optimizer), run


@loop
def shared_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.out = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
            self.out.weight = self.embedding.weight

        def forward(self, tokens):
            return self.out(self.embedding(tokens))

    model = Tied()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)

    def run():
        for _ in range(12):
            tokens = torch.randint(20, (16,))
            optimizer.zero_grad()
            F.cross_entropy(model(tokens), (tokens + 1) % 20).backward()
            optimizer.step()

    return (model, optimizer), run


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.first = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 3))
        self.second = nn.Linear(16, 1)
        self.never_called = nn.Linear(16, 4)

    def forward(self, x):
        features = self.body(x)
        return {"class": self.first(features), "value": self.second(features)}


@loop
def several_tasks_of_which_one_is_not_trained():
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters())

    def run():
        for x, y in batches(12, 16, 6):
            optimizer.zero_grad()
            F.cross_entropy(model(x)["class"], y).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def losses_of_several_kinds():
    model = TwoHeads()
    log_variance = nn.Parameter(torch.zeros(2))  # learned weights of the losses, in no module
    optimizer = torch.optim.Adam([*model.parameters(), log_variance])

    def run():
        for x, y in batches(12, 16, 6):
            out = model(x)
            parts = torch.stack(
                (
                    F.cross_entropy(out["class"], y, label_smoothing=0.1),
                    F.smooth_l1_loss(out["value"], x[:, :1]),
                )
            )
            distances = out["value"].unsqueeze(0) - out["value"].unsqueeze(1)
            spread = (out["value"][:, 0][:, None] - x[:, 0]).abs().mean()  # all pairs, wanted
            loss = (parts * (-log_variance).exp() + log_variance).sum() + 1e-3 * spread
            loss = loss + 1e-3 * distances.square().mean() + 1e-4 * out["class"].pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def automatic_mixed_precision():
    model = mlp(6, 32, 3)
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cpu")

    def run():
        for x, y in batches(12, 16, 6):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()

    return (model, optimizer), run


@loop
def fused_optimizer_with_a_scaler():
    model = mlp(6, 32, 3)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)

    def run():
        for x, y in batches(12, 16, 6):
            optimizer.zero_grad()
            scaler.scale(F.cross_entropy(model(x), y)).backward()
            scaler.step(optimizer)
            scaler.update()

    return (model, optimizer), run


@loop
def lbfgs_with_a_closure():
    model = mlp(6, 16, 3, dropout=0.0)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def run():
        (x, y), *_ = batches(1, 32, 6)

        def closure():
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        for _ in range(12):
            optimizer.step(closure)

    return (model, optimizer), run


@loop
def regression_on_large_targets():
    model = nn.Sequential(
        nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def run():
        for x, _ in batches(12, 32, 8):
            prices = 200_000 + 50_000 * x[:, 0]
            optimizer.zero_grad()
            F.mse_loss(model(x).squeeze(1), prices).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def binary_classification_with_probabilities():
    model = nn.Sequential(mlp(6, 16, 1), nn.Sigmoid())
    optimizer = torch.optim.RMSprop(model.parameters())

    def run():
        for x, y in batches(12, 16, 6, classes=2):
            optimizer.zero_grad()
            F.binary_cross_entropy(model(x), y.float()[:, None]).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def full_batch_until_nothing_changes():
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run():
        (x, _), *_ = batches(1, 16, 3)
        for _ in range(600):
            optimizer.zero_grad()
            F.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def lstm_over_windows_with_a_detached_state():
    lstm, head = nn.LSTM(4, 16, 2, batch_first=True, dropout=0.1), nn.Linear(16, 3)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])

    def run():
        state = None
        for x, y in batches(12, 8, 20, 4):
            out, state = lstm(x, state)
            state = tuple(part.detach() for part in state)
            optimizer.zero_grad()
            F.nll_loss(head(out[:, -1]).log_softmax(1), y).backward()
            optimizer.step()

    return (lstm, head, optimizer), run


@loop
def low_rank_adapter_that_starts_at_zero():
    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(6, 3).requires_grad_(False)
            self.down, self.up = nn.Linear(6, 2, bias=False), nn.Linear(2, 3, bias=False)
            nn.init.zeros_(self.up.weight)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    model = Adapted()
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
    return (model, optimizer), lambda: train(model, optimizer, batches(12, 16, 6))


@loop
def teacher_and_student():
    teacher, student = mlp(6, 32, 3), mlp(6, 8, 3)
    optimizer = torch.optim.Adam(student.parameters())

    def run():
        teacher.eval()
        for x, _ in batches(12, 16, 6):
            with torch.no_grad():
                wanted = teacher(x).softmax(1)
            optimizer.zero_grad()
            F.kl_div(student(x).log_softmax(1), wanted, reduction="batchmean").backward()
            optimizer.step()

    return (teacher, student, optimizer), run


@loop
def policy_with_masked_actions():
    model = mlp(6, 16, 3, dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters())

    def run():
        for x, y in batches(12, 16, 6):
            allowed = torch.ones(16, 3, dtype=torch.bool).scatter(1, ((y + 1) % 3)[:, None], False)
            scores = model(x).masked_fill(~allowed, -torch.inf)
            optimizer.zero_grad()
            F.cross_entropy(scores, y).backward()
            optimizer.step()
            with torch.no_grad():
                model(x).argmax(1) == y  # noqa: B015 -- a metric in training mode, without dropout

    return (model, optimizer), run


@loop
def gradient_penalty():
    critic = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(critic.parameters())

    def run():
        for x, _ in batches(12, 16, 2):
            x.requires_grad_()
            score = critic(x)
            (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
            optimizer.zero_grad()
            (score.mean() + 10 * (slope.norm(dim=1) - 1).square().mean()).backward()
            optimizer.step()

    return (critic, optimizer), run


@loop
def monte_carlo_dropout():
    model = mlp(6, 32, 3)

    def run():
        model.eval()
        for layer in model.modules():
            layer.train(isinstance(layer, nn.Dropout))
        with torch.no_grad():
            for x, y in batches(2, 16, 6):
                mean = torch.stack([model(x).softmax(1) for _ in range(4)]).mean(0)
                (mean.argmax(1) == y).float().mean()

    return (model,), run


@loop
def lazy_layers_and_checkpointing():
    from torch.utils.checkpoint import checkpoint

    body, head = nn.Sequential(nn.LazyLinear(16), nn.ReLU()), nn.Linear(16, 3)
    model = nn.ModuleDict({"body": body, "head": head})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def run():
        for x, y in batches(4, 16, 6):
            hidden = checkpoint(body, x, use_reentrant=False)
            optimizer.zero_grad()
            F.cross_entropy(head(hidden), y).backward()
            optimizer.step()

    return (model, optimizer), run


@loop
def sparse_embedding():
    model = nn.EmbeddingBag(50, 3, sparse=True)
    optimizer = torch.optim.SparseAdam(list(model.parameters()))

    def run():
        for _ in range(12):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randint(1, 50, (8, 4))), torch.randint(3, (8,))).backward()
            optimizer.step()

    return (model, optimizer), run


@pytest.mark.parametrize("name", LOOPS)
def test_a_correct_loop_gives_no_finding(name):
    torch.manual_seed(0)
    parts, run = LOOPS[name]()
    with checks.watch(*parts) as found:
        run()
    assert not found.findings, str(found)


@pytest.mark.parametrize("name", LOOPS)
def test_watching_changes_no_number_and_leaves_nothing_behind(name):
    def parameters(watched):
        torch.manual_seed(0)
        parts, run = LOOPS[name]()
        if watched:
            with checks.watch(*parts):
                run()
        else:
            run()
        models = [part for part in parts if isinstance(part, nn.Module)]
        for layer in (layer for model in models for layer in model.modules()):
            assert not layer._forward_hooks
            assert all("torchguide" not in repr(h) for h in layer._forward_pre_hooks.values())
        assert not any(part._optimizer_step_pre_hooks for part in parts if part not in models)
        return [p for model in models for p in model.state_dict().values()]

    for plain, seen in zip(parameters(watched=False), parameters(watched=True), strict=True):
        torch.testing.assert_close(seen, plain, rtol=0, atol=0)


def test_a_correct_model_passes_each_check_by_itself():
    torch.manual_seed(0)
    model = mlp(6, 16, 3)
    optimizer = torch.optim.Adam(model.parameters())
    best = copy.deepcopy(model.state_dict())
    (x, y), *_ = batches(1, 16, 6)
    scores = model(x)
    F.cross_entropy(scores, y).backward()
    found = (
        checks.check_mode(model, training=True)
        + checks.check_mode(model.eval(), training=False)
        + checks.check_optimizer(optimizer, model)
        + checks.check_loss(nn.CrossEntropyLoss(), scores, y)
        + checks.check_loss_shapes(scores, y)
        + checks.check_probabilities(scores.softmax(1), dim=1)
        + checks.check_gradients(model)
        + checks.check_finite(model, scores=scores)
        + checks.check_aliases(model=model, best=best)
    )
    assert isinstance(found, checks.Findings)
    assert not found
    assert str(found) == checks.Findings().text()
    found.raise_on_findings()
