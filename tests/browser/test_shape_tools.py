"""The calculators: in Chromium they say what torch does and torchguide explains."""

from __future__ import annotations

import itertools
import json
import random

import pytest
import torch

from torchguide.tensors import explain_broadcast, view_of

PAGE = "tensors/calculators.html"
LANGUAGES = {"en": "en", "zh-cn": "zh"}
SIZES = (1, 1, 2, 3, 0)
EXPRESSIONS = (
    "arange(12)",
    "zeros(3, 4)",
    "ones((2, 2))",
    "torch.arange(12).view(3, 4).T",
    "arange(24).view(2, 3, 4)[:, 1:, ::2]",
    "arange(24).view(2, 3, 4)[1]",
    "arange(24).view(2, 3, 4)[..., -1]",
    "arange(24).view(2, 3, 4)[None, :, 0, 1:3]",
    "arange(24).view(2, 3, 4)[-1, 1:-1]",
    "arange(24).view(2, 3, 4).permute(2, 0, 1)",
    "arange(24).view(2, 3, 4).permute((0, 2, 1)).reshape(2, 12)",
    "arange(24).view(2, 3, 4).permute(0, 2, 1).flatten(1)",
    "arange(24).view(2, 3, 4).flatten(0, 1)",
    "arange(24).view(2, 3, 4).mT",
    "arange(24).view(2, 3, 4).transpose(0, -1)",
    "arange(3).view(3, 1).expand(3, 4)",
    "arange(3).expand(2, -1)",
    "arange(3).expand(0, 3)",
    "arange(3).unsqueeze(0).unsqueeze(-1)",
    "arange(3).view(1, 3, 1).squeeze()",
    "arange(3).view(1, 3, 1).squeeze(0)",
    "arange(3).view(1, 3, 1).squeeze(1)",
    "arange(6).view(2, 3).t().contiguous()",
    "arange(6).view(2, 3).contiguous()",
    "arange(10)[2:20:3]",
    "arange(10)[8:2]",
    "arange(10)[:-3][1::2]",
    "zeros(0, 3)",
    "zeros(0, 3).view(3, 0)",
    "arange(6).view(-1, 2)",
    "zeros(())",
    "arange(4).view(2, 2)[0, 1]",
    "arange(4).view(2, 2)[0, 1].view(1, 1)",
)
WRONG = (
    "",
    "arange(12",
    "arange(12).view(5, 2)",
    "arange(12).view(3, 4).T.view(12)",
    "arange(12).view(-1, -1)",
    "arange(12).nothing()",
    "arange(12)[12]",
    "arange(12)[0, 0]",
    "arange(12)[::-1]",
    "arange(12).T",
    "arange(12).transpose(0, 1)",
    "arange(12).permute(0, 0)",
    "arange(12).expand(3)",
    "arange(65)",
    "zeros(-1)",
    "rand(3)",
    "arange(12).view(3; 4)",
    "__import__('os')",
)


@pytest.fixture(params=LANGUAGES)
def page(request, page, address):
    page.goto(f"{address}/{request.param}/{PAGE}")
    page.locator(".shape-storage").wait_for()
    return page, LANGUAGES[request.param]


def texts(page, tool):
    return json.loads(page.get_attribute(f"[data-tool={tool}]", "data-texts"))


def test_broadcasting_says_what_explain_broadcast_says(page):
    page, language = page
    shapes = [shape for axes in range(4) for shape in itertools.product(SIZES[1:], repeat=axes)]
    chosen = random.Random(0)  # noqa: S311 - cases, the same in every run
    cases = [[chosen.choice(shapes) for _ in range(chosen.randint(1, 4))] for _ in range(3000)]
    found = page.evaluate(
        """([cases, texts]) => cases.map((shapes) => {
          const { broadcast, conclusion } = globalThis.guideShapes;
          const found = broadcast(shapes);
          return [found.shape, found.aligned, found.wrong, conclusion(found, texts)];
        })""",
        [cases, texts(page, "broadcast")],
    )
    for case, answer in zip(cases, found, strict=True):
        explained = explain_broadcast(*case, language=language)
        shape = None if explained.shape is None else list(explained.shape)
        assert answer == [
            shape, list(explained.aligned), list(explained.wrong_axes), explained.conclusion
        ]  # fmt: skip


def test_views_say_what_explain_view_says(page):
    page, language = page
    chosen = random.Random(1)  # noqa: S311 - cases, the same in every run
    cases = []
    for _ in range(3000):
        size = [chosen.choice((1, 2, 3, 4, 6, 0)) for _ in range(chosen.randint(0, 4))]
        stride, step = [0] * len(size), 1
        for axis in chosen.sample(range(len(size)), len(size)):
            stride[axis], step = chosen.choice((step, step, step, 7)), step * max(size[axis], 1)
        wanted, rest = [], torch.Size(size).numel()
        while rest > 1 and len(wanted) < 4:
            wanted.append(chosen.choice([d for d in range(1, rest + 1) if rest % d == 0]))
            rest //= wanted[-1]
        wanted.append(chosen.choice((rest, rest, rest, -1, -1, 5, -2)))
        chosen.shuffle(wanted)
        cases.append([size, stride, wanted])
    found = page.evaluate(
        """([cases, texts]) => cases.map((each) => {
          const view = globalThis.guideShapes.viewOf(...each);
          return [view.newStride, view.problem, globalThis.guideShapes.viewLines(view, texts)];
        })""",
        [cases, texts(page, "strides")],
    )
    for case, answer in zip(cases, found, strict=True):
        explained = view_of(*map(tuple, case), language)
        stride = None if explained.new_stride is None else list(explained.new_stride)
        assert answer == [stride, explained.problem, str(explained).split("\n")], case


def test_expressions_are_read_as_torch_reads_them(page):
    page, _ = page
    found = page.evaluate(
        """(all) => all.map((text) => {
          const found = globalThis.guideShapes.evaluate(text);
          const values = globalThis.guideShapes.placesOf(found).map(({ place }) => found.cells[place]);
          return [found.size, found.stride, found.offset, found.contiguous, values];
        })""",
        EXPRESSIONS,
    )
    for text, answer in zip(EXPRESSIONS, found, strict=True):
        names = {"torch": torch, "arange": torch.arange, "zeros": torch.zeros, "ones": torch.ones}
        tensor = eval(text, names)  # noqa: S307 - the expressions above
        assert answer == [
            list(tensor.shape), list(tensor.stride()), tensor.storage_offset(),
            tensor.is_contiguous(), tensor.flatten().tolist(),
        ], text  # fmt: skip


def test_what_is_wrong_is_said_and_nothing_breaks(page):
    page, _ = page
    field = page.locator("#stride-expression")
    for text in WRONG:
        field.fill(text)
        field.press("Enter")
        assert field.get_attribute("aria-invalid") == "true", text
        said = page.locator("[data-tool=strides] .shape-problem").all_inner_texts()
        assert said, text
        assert "{" not in "".join(said)
    field.fill("arange(4)")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize(
    "text", ["3, 1; 4", "(3, 1); (4,)", "[3,1];[4]", "3×1；4", "torch.Size([3, 1]); 4"]
)
def test_shapes_are_read_as_people_write_them(page, text):
    page, _ = page
    page.locator("#broadcast-shapes").fill(text)
    page.locator("#broadcast-shapes").press("Enter")
    last = page.locator("[data-tool=broadcast] tr").last
    assert last.locator("td").all_inner_texts() == ["3", "4"]


def test_a_reader_with_a_keyboard_sees_cells_and_steps(page):
    page, language = page
    page.locator("#stride-expression").focus()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("arange(6).view(2, 3).T")
    page.keyboard.press("Tab")
    page.keyboard.type("6")
    page.keyboard.press("Enter")
    cells = page.locator(".shape-storage td")
    assert cells.count() == 6
    assert cells.nth(1).inner_text().split() == ["1,0", "1", "1"]
    expected = str(view_of((3, 2), (1, 3), (6,), language)).split("\n")
    assert page.locator(".shape-steps li").all_inner_texts() == expected
