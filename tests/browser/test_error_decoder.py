"""The decoder page: in Chromium it says what `torchguide explain` says, and keeps it to itself."""

from __future__ import annotations

import json
import random
import re
import runpy
from pathlib import Path

import pytest

from torchguide.errors import explain, load
from torchguide.errors.catalogue import CONFIDENCES

PAGE = "troubleshooting/decoder.html"
LANGUAGES = {"en": "en", "zh-cn": "zh"}
PACKAGE_TESTS = Path(__file__).parents[1] / "package"
READING = runpy.run_path(str(PACKAGE_TESTS / "test_errors_reading.py"))
REPORTS = [
    json.loads(line)["text"]
    for line in (PACKAGE_TESTS / "data" / "errors.jsonl").read_text("utf-8").splitlines()
]
TEXTS = [
    *REPORTS,
    *(test for entry in load().entries for test in entry.data["test"]),
    *READING["PASTES"].values(),
    *(text for text, _wanted in READING["DECIDING"].values()),
    "",
    " \n\t\r\n",
]
SHAPE = READING["SHAPE"]

# Whole numbers have no limit in either engine; JSON marks them, so that 2 and "2" differ.
EXPLAIN = """(texts) => {
  const explain = guideErrorEngine(guideErrors);
  const mark = (_key, value) => (typeof value === "bigint" ? { whole: String(value) } : value);
  return JSON.stringify(texts.map((text) => explain(text)), mark);
}"""


def open_page(page, address, folder="en"):
    page.goto(f"{address}/{folder}/{PAGE}")
    page.locator(".decoder-form").wait_for()
    return page


def as_python_says(match):
    """Write an answer of the browser's engine as `Match` has it."""
    causes = "".join(f"\n{number}. {text}" for number, text in enumerate(match["causes"], start=1))
    code = "\n\n" + "\n".join(f"    {line}" for line in match["code"]) if match["code"] else ""
    facts = {
        name: int(value["whole"]) if isinstance(value, dict) else value
        for name, value in match["facts"].items()
    }
    return {
        "id": match["id"],
        "confidence": CONFIDENCES[match["confidence"]],
        "line": match["line"],
        "title": match["title"],
        "cause": match["cause"] + causes,
        "fix": match["fix"] + code,
        "page": match["page"],
        "facts": facts,
    }


def expected(text, language):
    found = [match._asdict() for match in explain(text, language)]
    for match in found:  # seen from the decoder's page
        match["page"] = re.sub(r"troubleshooting/([\w-]+)#", r"\1.html#", match["page"])
    return found


def differences(page, texts, language):
    answers = json.loads(page.evaluate(EXPLAIN, texts))
    return [
        (text, here, there)
        for text, answer in zip(texts, answers, strict=True)
        if (here := [as_python_says(match) for match in answer["matches"]])
        != (there := expected(text, language))
    ]


# -- Two engines, one answer -----------------------------------------------------------------------


@pytest.mark.parametrize("folder", LANGUAGES)
def test_every_report_has_the_same_answers_in_python_and_in_the_browser(page, address, folder):
    open_page(page, address, folder)
    page.set_default_timeout(60_000)
    assert len(TEXTS) > 250
    assert differences(page, TEXTS, LANGUAGES[folder])[:3] == []


ODD = [
    "\r", "\r\n", "\x85", "\u2028", "\u3000", "\x1b[0;31m", "[1;31m", "\x1b]0;x\x07", "😀", "𝒳", "报错：",
    "（", "│ ", "╭──", "> ", "[rank0]: ", "2024-03-01 12:00:01,123 ERROR ", "\\n", "\\\\n", "\\'", '\\"',
    "\0", "\ufeff", "\u200b", "٣", "é", "“", "KeyError: ", "Exception ignored in: x\n", "None", "0",
    "99999999999999999999", "1.5", "-", "\t", "|", "#12 33.10 ", "exit_code", "\nKeyboardInterrupt\n",
]  # fmt: skip


def mutated(rng):
    """Damage a report as copying, terminals, loggers and people do, and worse."""
    text = rng.choice(REPORTS) + (f"\n{rng.choice(REPORTS)}" if rng.random() < 0.3 else "")
    for _ in range(rng.randint(1, 6)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.randint(0, 40))
        width, odd, lines = rng.randint(20, 90), rng.choice(ODD), text.split("\n")
        text = rng.choice([
            text[:start] + text[end:],
            text[:start] + odd + text[start:],
            text[:start] + text[start:end] * 2 + text[end:],
            "\n".join(rng.sample(lines, len(lines))),
            "\n".join(odd + line for line in lines),
            "\n".join(text[i : i + width] for i in range(0, len(text), width)),
            text.replace(rng.choice(" .':()"), rng.choice(["", "  ", "“", "："])),
            re.sub(r"\d", lambda digit: rng.choice([digit[0], "0", "7", "12"]), text),
        ])  # fmt: skip
    return text


@pytest.mark.parametrize("seed", range(4))
def test_damaged_reports_have_the_same_answers_too(page, address, seed):
    folder = list(LANGUAGES)[seed % 2]
    open_page(page, address, folder)
    page.set_default_timeout(60_000)
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    texts = [mutated(rng) for _ in range(200)]
    assert differences(page, texts, LANGUAGES[folder])[:3] == []
    answered = sum(bool(explain(text)) for text in texts)
    assert 100 < answered < 200  # both kinds are compared


def test_sizes_are_rounded_as_python_rounds_them(page, address):
    open_page(page, address)
    wanted = "CUDA out of memory. Tried to allocate {a}. GPU 0 has a total capacity of {b} of which {c} is free"
    sizes = ["128.00 MiB", "384.00 MiB", "640.00 MiB", "0.13 GiB", "0 bytes", "99999999999999 TiB"]
    texts = [wanted.format(a=a, b=b, c=c) for a in sizes for b in sizes for c in sizes]
    assert differences(page, texts, "en") == []


def test_every_link_of_an_answer_leads_to_its_section(page, address, site):
    open_page(page, address)
    pages = page.evaluate("guideErrors.entries.map((entry) => [entry.id, entry.page])")
    published = {entry.id for entry in load().entries if entry.page}
    assert {name for name, link in pages if link} == published
    for link in filter(None, (link for _name, link in pages)):
        name, _mark, anchor = link.partition("#")
        text = (site / "en" / "troubleshooting" / name).read_text("utf-8")
        assert f'id="{anchor}"' in text


# -- What a reader sees ----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_answer_appears_while_typing_pauses(page, address, folder):
    open_page(page, address, folder)
    page.locator(".decoder-text").fill(f"loading\n\nTraceback\n{SHAPE}")
    best = explain(SHAPE, LANGUAGES[folder])[0]
    answer = page.locator(".decoder-answer").first
    answer.wait_for()
    assert answer.locator("h3").text_content() == best.title
    text = answer.text_content()
    fix, _gap, code = best.fix.partition("\n\n    ")
    assert best.cause in text
    assert fix in text
    assert answer.locator(".decoder-code").text_content() == code
    assert SHAPE in answer.locator(".decoder-message").text_content()
    words = {key: each[LANGUAGES[folder]] for key, each in load().interface.items()}
    where = words["where"].replace("{id}", "matmul-shape").replace("{line}", "4")
    sure = words["confidence.certain"]
    assert answer.locator(".decoder-where").text_content() == f"{sure} {where}"
    assert best.title in page.locator(".decoder-status").text_content()


def test_further_answers_are_folded_and_counted(page, address):
    open_page(page, address)
    text = READING["FUTURE"] + SHAPE
    page.locator(".decoder-text").fill(text)
    page.locator(".decoder-answer").first.wait_for()
    found = explain(text)
    assert page.locator(".decoder-answer").count() == len(found) > 1
    assert page.locator(".decoder-status").text_content().startswith(f"{len(found)} answers")
    other = page.locator(".decoder-answer details").first
    assert found[1].title in other.locator("summary").text_content()
    assert not other.locator(".decoder-message").is_visible()
    other.locator("summary").click()
    assert other.locator(".decoder-message").is_visible()


@pytest.mark.parametrize("folder", LANGUAGES)
def test_where_nothing_matches_three_commands_are_named(page, address, folder):
    open_page(page, address, folder)
    page.locator(".decoder-text").fill("RuntimeError: my own words")
    page.locator(".decoder-nothing").wait_for()
    first, commands, then = load().interface["nothing"][LANGUAGES[folder]].split("\n\n")
    assert page.locator(".decoder-status").text_content() == first
    shown = page.locator(".decoder-nothing .decoder-code").text_content()
    assert shown == commands.replace("    ", "")
    assert shown.count("\n") == 2
    assert then in page.locator(".decoder-nothing").text_content()


def test_an_emptied_box_says_nothing(page, address):
    open_page(page, address)
    page.locator(".decoder-text").fill(SHAPE)
    page.locator(".decoder-answer").first.wait_for()
    page.locator(".decoder-clear").click()
    page.locator(".decoder-answer").first.wait_for(state="detached")
    assert page.locator(".decoder-status").text_content() == ""
    assert page.locator(".decoder-text").input_value() == ""
    assert page.evaluate("document.activeElement.id") == "decoder-text"


def test_the_examples_are_explained(page, address):
    open_page(page, address)
    examples = page.locator("[data-example]")
    assert examples.count() == 2
    for example in examples.all():
        example.click()
        text = page.locator(".decoder-text").input_value()
        title = explain(text)[0].title
        page.locator(".decoder-title", has_text=title).wait_for()


def test_the_newest_text_is_answered(page, address):
    open_page(page, address)
    page.set_default_timeout(30_000)
    box = page.locator(".decoder-text")
    box.fill("\n".join(REPORTS) * 5)
    page.wait_for_timeout(350)  # the search for it begins
    box.fill(SHAPE)
    page.locator(".decoder-title", has_text="matrix product").wait_for()
    page.wait_for_timeout(500)  # and does not come back
    assert page.locator(".decoder-title").text_content() == explain(SHAPE)[0].title


def test_the_code_is_copied(new_context, address):
    context = new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page(context.new_page(), address, "zh-cn")
    page.locator(".decoder-text").fill(SHAPE)
    page.locator(".decoder-copy").first.click()
    page.get_by_text("已复制").wait_for()
    code = page.locator(".decoder-code").first.text_content()
    assert page.evaluate("navigator.clipboard.readText()") == code


# -- Keyboard and screen reader --------------------------------------------------------------------


def test_the_box_is_used_by_keyboard_alone(page, address):
    open_page(page, address)
    page.locator("#decoder-text").focus()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.insert_text(READING["FUTURE"] + SHAPE)
    page.locator(".decoder-answer summary").first.wait_for()
    for _ in range(20):  # Tab leaves the box, and passes examples and code
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.localName") == "summary":
            break
    page.keyboard.press("Enter")
    assert page.locator(".decoder-answer details[open]").count() == 1
    page.keyboard.press("Shift+Tab")
    # back into the best answer: its link or its code
    assert page.evaluate(
        "document.querySelector('.decoder-answer').contains(document.activeElement)"
    )


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_box_has_a_label_and_the_answer_is_announced(page, address, folder):
    open_page(page, address, folder)
    box = page.locator(".decoder-text")
    assert box.evaluate("(each) => each.labels[0].innerText.length") > 4
    described = box.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").text_content().strip()
    status = page.locator(".decoder-status")
    assert (status.get_attribute("role"), status.get_attribute("aria-live")) == ("status", "polite")
    names = page.locator(".decoder-form button").all_text_contents()
    assert all(name.strip() for name in names)


# -- What is pasted stays text, and stays here -----------------------------------------------------

HOSTILE = (
    "<script>window.taken = 1</script><img src=x onerror='window.taken = 1'>\n"
    "ModuleNotFoundError: No module named '<img src=x onerror=taken=1>'\n"
    "RuntimeError: Attempting to deserialize object on CUDA device <b>0</b>\n"
    f"javascript:taken=1 </textarea></pre><svg onload=taken=1>{SHAPE}</p><iframe srcdoc=x>"
)


@pytest.mark.parametrize("folder", LANGUAGES)
def test_pasted_markup_is_shown_as_text(page, address, folder):
    open_page(page, address, folder)
    tags = "document.querySelectorAll('.error-decoder :is(img, script, svg, iframe, b)').length"
    page.locator(".decoder-text").fill(HOSTILE)
    page.locator(".decoder-answer").first.wait_for()
    page.wait_for_timeout(200)
    assert "<svg onload" in page.locator(".decoder-message").first.text_content()
    assert page.evaluate(tags) == 0
    assert page.evaluate("typeof window.taken") == "undefined"


def test_nothing_is_requested_stored_or_put_into_the_address(new_context, address):
    context = new_context()
    page = open_page(context.new_page(), address)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    before = page.url
    for text in (SHAPE, HOSTILE, "nothing"):
        page.locator(".decoder-text").fill(text)
        page.locator(".decoder-answers > li").first.wait_for()
        page.wait_for_timeout(400)
    assert [url for url in asked if not url.startswith("blob:")] == []
    assert page.url == before
    kept = page.evaluate(
        "async () => [localStorage.length, sessionStorage.length, document.cookie,"
        " (await indexedDB.databases()).length, (await caches.keys()).length, history.state]"
    )
    assert kept == [0, 0, "", 0, 0, None]
    assert context.cookies() == []
    page.reload()
    page.locator(".decoder-form").wait_for()
    assert page.locator(".decoder-text").input_value() == ""


def test_the_scripts_make_no_code_from_text_and_no_markup():
    static = Path(__file__).parents[2] / "docs" / "_static"
    for name in ("error_engine.js", "error_decoder.js"):
        text = (static / name).read_text("utf-8")
        assert (
            re.findall(r"\beval\b|\bFunction\(|innerHTML|outerHTML|insertAdjacent|write\(", text)
            == []
        )
        assert (
            re.findall(r"localStorage|sessionStorage|indexedDB|fetch\(|XMLHttp|sendBeacon", text)
            == []
        )


# -- Long texts, broken browsers -------------------------------------------------------------------

# Notes for how long at most the page did not answer.
WATCH = """() => {
  globalThis.longest = 0;
  let last = performance.now();
  setInterval(() => {
    globalThis.longest = Math.max(globalThis.longest, performance.now() - last);
    last = performance.now();
  }, 10);
}"""


@pytest.fixture
def paste(new_context, address):
    """Put a text into the clipboard and from there into the box, with the keyboard."""
    context = new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page(context.new_page(), address)
    page.set_default_timeout(60_000)

    def into_the_box(text):
        page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
        page.locator(".decoder-text").focus()
        page.evaluate(WATCH)
        page.keyboard.press("Control+V")
        page.locator(".decoder-answers > li").first.wait_for()
        return page

    return into_the_box


@pytest.mark.parametrize("kind", ["lines", "one line", "errors"])
def test_five_megabytes_do_not_freeze_the_page(paste, kind):
    line = {"lines": "epoch 1 step 17 loss 0.25 😀\n", "one line": "x" * 60 + " "}.get(kind)
    line = line or "\n".join(REPORTS) + "\n"
    text = (line * (5_000_000 // len(line))) + f"\n{SHAPE}"
    page = paste(text)
    assert page.evaluate("longest") < 1500  # ms, on a busy machine; the browser alone takes 30 s
    cut = page.locator(".decoder-cut").text_content()
    assert cut.startswith("The text is long: the box shows only its beginning and its end.")
    assert re.search(rf"Lines 1 to \d+ and \d+ to {text.count(chr(10)) + 1} were read", cut)
    answer = page.locator(".decoder-answer").first
    assert answer.locator("h3").text_content() == explain(SHAPE)[0].title
    assert f"line {text.count(chr(10)) + 1}" in answer.locator(".decoder-where").text_content()


def test_what_the_box_does_not_show_is_read_as_long_as_nobody_edits_it(paste):
    page = paste("a line\n" * 10_000 + SHAPE + "\n" + "a line\n" * 10_000)
    assert f"line {10_001}" in page.locator(".decoder-where").text_content()
    assert "were read" not in page.locator(".decoder-cut").text_content()  # all of it was
    assert SHAPE not in page.locator(".decoder-text").input_value()
    page.keyboard.type("x")
    page.locator(".decoder-nothing").wait_for()
    assert page.locator(".decoder-cut").text_content() == ""


def test_a_short_text_is_pasted_as_ever(paste):
    page = paste(SHAPE)
    assert page.locator(".decoder-text").input_value() == SHAPE
    page.keyboard.press("Control+Z")
    page.locator(".decoder-answer").first.wait_for(state="detached")


def test_a_search_without_end_is_given_up(page, address):
    page.add_init_script("globalThis.Worker = class { postMessage() {} terminate() {} };")
    page.clock.install()
    open_page(page, address)
    page.locator(".decoder-text").fill(SHAPE)
    page.clock.run_for(1_000)
    assert page.locator(".decoder-status").text_content() == ""
    page.clock.run_for(15_000)
    assert "took too long" in page.locator(".decoder-status").text_content()


def test_a_browser_that_cannot_search_says_so(page, address):
    page.add_init_script(
        "globalThis.Worker = class { postMessage() { this.onerror(); } terminate() {} };"
    )
    open_page(page, address, "zh-cn")
    page.locator(".decoder-text").fill(SHAPE)
    page.get_by_text("这个浏览器无法查找").wait_for()


@pytest.mark.parametrize("folder", LANGUAGES)
def test_it_works_from_a_file(page, site, folder):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / folder / PAGE).as_uri())
    page.locator(".decoder-text").fill(SHAPE)
    page.locator(".decoder-answer").first.wait_for()
    assert errors == []


@pytest.mark.parametrize("folder", LANGUAGES)
def test_without_javascript_there_is_a_table(new_context, address, folder):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/{folder}/{PAGE}")
    assert not page.locator(".decoder-form").is_visible()
    assert page.locator(".decoder-without").is_visible()
    rows = page.locator(".error-messages tbody tr")
    assert rows.count() == len(load().entries)
    assert rows.first.is_visible()
    text = page.locator("table.error-messages").inner_text()
    assert "mat1 and mat2 shapes cannot be multiplied (…x… and …x…" in text
