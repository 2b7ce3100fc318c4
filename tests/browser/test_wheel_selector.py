"""The selector of wheels: in Chromium it says what `torchguide install` says."""

from __future__ import annotations

import argparse
import functools
import json
import re
import shlex
import subprocess
import sys

import pytest

from torchguide import install
from torchguide.cli_install import add_arguments, choices_of
from torchguide.compat import find_gpu
from torchguide.texts import Texts

PAGE = "setup/choose.html"
LANGUAGES = {"en": "en", "zh-cn": "zh"}

# Sets every combination that the form offers, as a reader does, and notes what it shows. Cards of
# one compute capability are one combination: the first of them stands for the others.
EVERY = """() => {
  const form = document.querySelector(".wheel-form");
  const selects = [...form.querySelectorAll("select")];
  const show = (name) => {
    const found = form.querySelector(`.wheel-${name}`);
    return found.hidden ? null : found.textContent;
  };
  const seen = [];
  const visit = (field) => {
    if (field === selects.length) {
      seen.push([show("question"), show("command"), show("unverified") !== null,
        show("impossible") !== null, show("nearest") !== null, show("check")]);
      return;
    }
    const keys = new Set();
    for (const option of [...selects[field].options]) {
      if (option.disabled || keys.has(option.dataset.key)) continue;
      keys.add(option.dataset.key);
      option.selected = true;
      // the last field's event is enough where nothing depends on this one yet
      selects[field].dispatchEvent(new Event("change", { bubbles: true }));
      visit(field + 1);
    }
  };
  history.replaceState = () => {};  // the browser limits how often an address may change
  visit(0);
  return JSON.stringify(seen);
}"""


@functools.cache
def parser():
    made = argparse.ArgumentParser()
    add_arguments(made)
    return made


def ask(question):
    """Return (command, unverified, impossible, nearest, check) of a command line."""
    words = shlex.split(question)
    assert words[:4] == ["python", "-m", "torchguide", "install"]
    choices = choices_of(parser().parse_args(words[4:]))
    impossible, answer = False, None
    try:
        answer = install.recommend(choices)
    except install.ImpossibleError as error:
        impossible, answer = True, error.nearest
    if answer is None:
        return (None, False, impossible, False, "")
    return (answer.command, not answer.verified, impossible, impossible, answer.check)


def open_page(page, address, folder, query=""):
    page.goto(f"{address}/{folder}/{PAGE}{query}")
    page.locator(".wheel-form").wait_for()
    return page


def command(page):
    return page.locator(".wheel-command").text_content()


def test_every_combination_shows_the_installers_answer(new_context, address):
    page = new_context().new_page()
    page.set_default_timeout(120_000)
    open_page(page, address, "en")
    seen = json.loads(page.evaluate(EVERY))
    assert len(seen) > 10_000
    assert len({question for question, *_ in seen}) > 0.9 * len(seen)
    wrong = [each for each in seen if tuple(each[1:]) != ask(each[0])]
    assert wrong[:3] == []


def test_both_languages_look_up_the_same_answers(page, address):
    found = []
    for folder in LANGUAGES:
        open_page(page, address, folder)
        found.append(
            page.evaluate(
                "(() => { const {reasons, ...rest} = guideWheelAnswers; return JSON.stringify("
                "[rest, [...document.querySelectorAll('.wheel-form option')]"
                ".map(o => [o.value, o.dataset.key, o.dataset.words])]) })()"
            )
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("folder", LANGUAGES)
def test_the_words_of_an_answer_are_the_command_lines(page, address, folder):
    texts = Texts(LANGUAGES[folder])
    open_page(page, address, folder, "?os=linux&gpu=GeForce+GTX+1080&driver=590-")
    words = shlex.split(page.locator(".wheel-question").text_content())
    try:
        install.recommend(choices_of(parser().parse_args(words[4:])))
        pytest.fail("driver 590 should not serve a GTX 1080")
    except install.ImpossibleError as error:
        expected = [texts.say(reason.key, **reason.values) for reason in error.reasons]
        why = [texts.say(reason.key, **reason.values) for reason in error.nearest.reasons]
    shown = page.locator(".wheel-why-not li").all_text_contents()
    assert [a.startswith(b) for a, b in zip(shown, expected, strict=True)] == [True]
    shown = page.locator(".wheel-why li").all_text_contents()
    assert all(a.startswith(b) for a, b in zip(shown, why, strict=True))


def test_the_program_itself_gives_the_same(page, address):
    for query in ("?os=windows&gpu=GeForce+RTX+5090", "?os=linux&gpu=amd&manager=uv", "?os=macos"):
        open_page(page, address, "en", query)
        words = shlex.split(page.locator(".wheel-question").text_content())[1:]
        run = subprocess.run(
            [sys.executable, *words, "--json"], capture_output=True, text=True, check=True
        )
        assert json.loads(run.stdout)["command"] == command(page)


def test_every_named_card_leads_to_its_own_answer(page, address):
    open_page(page, address, "en")
    cards = page.evaluate(
        "[...document.querySelectorAll('#wheel-gpu optgroup option')]"
        ".map(o => [o.value, o.dataset.key, o.dataset.words])"
    )
    assert len(cards) > 150
    assert [
        card
        for card, key, words in cards
        if find_gpu(card).capability != key or shlex.split(words) != ["--gpu", card]
    ] == []


def test_a_link_opens_the_same_choice_in_both_languages(page, address):
    query = "?os=windows&gpu=GeForce+GTX+1080&driver=528.33-590&manager=uv&python=3.11"
    open_page(page, address, "en", query)
    english = command(page)
    assert page.locator("#wheel-os").input_value() == "windows"
    assert page.locator("#wheel-driver").input_value() == "528.33-590"
    assert english.startswith("uv pip install")
    page.locator(".sidebar-sticky .languages a[hreflang=zh-CN]").click()
    page.wait_for_url(re.compile("/zh-cn/"))
    assert command(page) == english


def test_a_choice_is_written_into_the_address(page, address):
    open_page(page, address, "en")
    page.locator("#wheel-manager").select_option("docker")
    assert "manager=docker" in page.url
    assert "python=" not in page.url  # an image has its own
    before = command(page)
    page.reload()
    page.locator(".wheel-form").wait_for()
    assert command(page) == before


def test_a_wrong_link_opens_the_form_all_the_same(page, address):
    open_page(page, address, "en", "?os=amiga&gpu=Voodoo&python=2.7")
    assert page.locator("#wheel-os").input_value() == "linux"
    page.locator("#wheel-os").select_option("macos")
    assert page.locator("#wheel-gpu").input_value() == "apple"  # what a Mac has comes first
    assert "pip install" in command(page)


def test_the_form_is_used_by_keyboard_alone(page, address):
    open_page(page, address, "en")
    before = command(page)
    page.locator("#wheel-os").focus()
    page.keyboard.press("W")  # Windows
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "wheel-gpu"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert command(page) != before


def test_every_control_has_a_label_and_the_answer_is_announced(page, address):
    for folder in LANGUAGES:
        open_page(page, address, folder)
        labels = page.evaluate(
            "[...document.querySelectorAll('.wheel-form select')].map(s => s.labels[0].innerText)"
        )
        assert len(labels) == len(set(labels)) == 7
        live = page.locator(".wheel-answer")
        assert (live.get_attribute("role"), live.get_attribute("aria-live")) == ("status", "polite")
        assert live.locator(".wheel-command").count() == 1


def test_the_command_is_copied(new_context, address):
    context = new_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_page(context.new_page(), address, "zh-cn")
    page.locator(".wheel-copy").click()
    page.get_by_text("已复制").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == command(page)


def test_a_refused_clipboard_leaves_the_command_selected(page, address):
    open_page(page, address, "en")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error()); }")
    page.locator(".wheel-copy").click()
    page.wait_for_function("getSelection().toString() !== ''")
    assert page.evaluate("getSelection().toString()").strip() == command(page)


@pytest.mark.parametrize("folder", LANGUAGES)
def test_it_works_from_a_file(page, site, folder):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((site / folder / PAGE).as_uri())
    page.locator("#wheel-os").select_option("windows")
    assert "--index-url" in command(page)
    assert errors == []


def test_nothing_is_requested_while_choosing(page, address):
    open_page(page, address, "en")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#wheel-os").select_option("macos")
    page.locator("#wheel-manager").select_option("uv")
    # a browser may ask for the icon of the tab again when the address changes
    assert [url for url in asked if not url.endswith("favicon.svg")] == []


@pytest.mark.parametrize("folder", LANGUAGES)
def test_without_javascript_there_is_a_table(new_context, address, folder):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/{folder}/{PAGE}")
    assert not page.locator(".wheel-form").is_visible()
    rows = page.locator(".wheel-table tbody tr")
    assert rows.count() > 10
    assert rows.first.is_visible()
    assert all("install" in row or "docker run" in row for row in rows.all_text_contents())
