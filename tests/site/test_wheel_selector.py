from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import wheel_answers
import wheel_offers
import wheel_selector
from doctree_markdown import Place, blocks
from torchguide import install
from torchguide.cli_install import SYSTEMS, choices_of
from torchguide.compat import Machine
from torchguide.facts import Toolkit, table
from torchguide.install import Choices, ImpossibleError
from torchguide.versions import numbers
from wheel_offers import FIELDS, command_line, driver_number, offered, options_of

PAGE = "# Choose\n\n```{wheel-selector}\n```\n"
CONF = """
extensions = ["myst_parser", "catalogs", "complete_translations", "wheel_selector"]
source_suffix = {".md": "markdown"}
guide_execution_cache = "../cache"
def setup(app):
    if "guide_execution_cache" not in app.config:
        app.add_config_value("guide_execution_cache", "", "")
"""


@pytest.fixture
def few(monkeypatch):
    """Offer two options of each field, so that the diagram is small."""
    monkeypatch.setattr(wheel_answers, "options_of", lambda chosen: options_of(chosen)[:2])


def walk(made, chosen):
    place = len(made.nodes) - 1
    for row, value in zip(made.options, chosen, strict=True):
        node = made.nodes[place]
        place = dict(zip((row[i] for i in node[::2]), node[1::2], strict=True))[value]
    command, _why, why_not = made.answers[place]
    return made.commands[command][0], [made.reasons[i][0] for i in made.sets[why_not]]


# -- What is offered ----------------------------------------------------------------------------


def test_every_combination_is_offered_once_and_names_its_fields():
    found = list(offered())
    assert len(found) == len(set(found)) > 10_000
    assert {len(each) for each in found} == {len(FIELDS)}


def test_every_field_always_offers_something():
    assert all(
        all(options_of(each[:n]) for n in range(len(FIELDS))) for each in list(offered())[::97]
    )


def inside(driver, low, high):
    return numbers(low or "0") <= numbers(driver) and (not high or numbers(driver) < numbers(high))


def command_for(os, capability, driver):
    platform, wsl = SYSTEMS[os]
    machine = Machine(platform, driver=driver, capabilities=(capability,), wsl=wsl)
    try:
        return install.recommend(Choices(machine)).command
    except ImpossibleError as error:
        return [reason.key for reason in error.reasons], error.nearest and error.nearest.command


@pytest.mark.parametrize("os", ["linux", "wsl", "windows"])
def test_all_drivers_of_a_range_have_the_same_answer(os):
    column = "linux" if os == "linux" else "windows"
    drivers = {getattr(row, column) for row in table(Toolkit)} - {""}
    different = []
    for capability in wheel_offers.capabilities(SYSTEMS[os][0]):
        for offer in options_of((os, capability)):
            low, _, high = offer.partition("-")
            answers = {
                str(command_for(os, capability, driver))
                for driver in {*drivers, driver_number(offer)} - {""}
                if offer and inside(driver, low, high)
            }
            if offer and len(answers) != 1:
                different.append((capability, offer, answers))
    assert different == []


@pytest.mark.parametrize(
    ("driver", "number"),
    [
        ("", ""),
        ("580-595", "580"),
        ("525.60.13-580", "525.60.13"),
        ("595-", "595"),
        ("-570", "565"),
    ],
)
def test_a_driver_stands_for_its_range(driver, number):
    assert driver_number(driver) == number


def test_choices_become_options_of_the_command_line():
    assert command_line(("linux", "amd", "", "pip", "3.12", "", "")) == {
        "os": "linux", "accelerator": "rocm", "manager": "pip", "python": "3.12",
    }  # fmt: skip
    chosen = ("windows", "8.9", "580-595", "uv", "3.12", "", "nju")
    assert command_line(chosen) == {
        "os": "windows", "gpu": "8.9", "driver": "580", "manager": "uv", "python": "3.12",
        "mirror": "nju",
    }  # fmt: skip


# -- The answers ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_the_diagram_leads_to_the_installers_answers(tmp_path):
    made = wheel_answers.diagram(tmp_path)
    for chosen in offered():
        if all(options_of(chosen[:n]).index(chosen[n]) < 2 for n in range(len(FIELDS))):
            why_not, answer = wheel_answers.ask(chosen)
            assert walk(made, chosen) == (answer.command, [reason.key for reason in why_not])


@pytest.mark.usefixtures("few")
def test_the_answers_are_kept_and_computed_again_when_the_package_changes(tmp_path, monkeypatch):
    first = wheel_answers.diagram(tmp_path)
    monkeypatch.setattr(wheel_answers, "ask", lambda _chosen: pytest.fail("computed again"))
    again = wheel_answers.diagram(tmp_path)
    assert json.dumps(again.nodes) == json.dumps(first.nodes)
    monkeypatch.setattr(install, "__file__", str(tmp_path / "install.py"))
    monkeypatch.setattr(wheel_answers, "ask", lambda _chosen: ((), None))
    assert wheel_answers.diagram(tmp_path).commands == []
    assert len(list(tmp_path.glob("wheel-answers-*"))) == 1


# -- The directive -------------------------------------------------------------------------------


@pytest.fixture
def built(make_site, po, tmp_path, few):
    files = {
        "index.md": PAGE,
        "other.md": "---\norphan: true\n---\n# Other\n",
        # nothing of the table: its words come from the installer and the site's own catalog
        "locales/zh_CN/LC_MESSAGES/index.po": po({"Choose": "选择"}),
        "locales/zh_CN/LC_MESSAGES/other.po": po({"Other": "其他"}),
    }

    def build(language):
        app = make_site(tmp_path, files, CONF, language)
        return app, BeautifulSoup((app.outdir / "index.html").read_text("utf-8"), "html.parser")

    return build


@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_a_page_has_a_hidden_form_a_table_and_the_answers(built, language):
    app, page = built(language)
    assert app.warning.getvalue() == ""
    form = page.select_one(".wheel-selector > form")
    assert form.has_attr("hidden")
    assert [each["name"] for each in form.select("select")] == list(FIELDS)
    for label in form.select("label"):
        assert form.select_one(f"select[id={label['for']}]")
    commands = [each.get_text() for each in page.select(".wheel-table tbody td code")]
    assert len(commands) == len(wheel_selector.USUAL)
    script = Path(app.outdir, "_static", "wheel_answers.js").read_text("utf-8")
    data = json.loads(script.removeprefix("globalThis.guideWheelAnswers = ").removesuffix(";\n"))
    assert data["nodes"]
    assert ("的" in json.dumps(data["reasons"], ensure_ascii=False)) is (language == "zh_CN")


def test_only_pages_with_the_selector_load_its_answers(built):
    app, page = built("en")
    assert "wheel_answers.js" in str(page)
    assert "wheel_answers.js" not in (app.outdir / "other.html").read_text("utf-8")


def test_the_table_says_what_the_installer_says(built):
    _app, page = built("en")
    first = page.select_one(".wheel-table tbody tr td code").get_text()
    os, gpu, driver, manager, _mirror = wheel_selector.USUAL[0]

    options = argparse.Namespace(
        os=os, gpu=[gpu], driver=driver, manager=manager, python="3.12", torch=None, mirror="none",
        accelerator="auto", glibc=None, macos=None,
    )  # fmt: skip
    assert first == install.recommend(choices_of(options)).command


def test_a_download_of_the_page_has_the_table(built):
    app, _page = built("en")
    doctree = app.env.get_doctree("index")
    selector = next(doctree.findall(wheel_selector.wheel_selector))
    unknown = []
    place = Place("", str, lambda _node: "", unknown.append)
    text = "\n".join(blocks(selector, place))
    assert unknown == []
    assert "| `python -m pip install torch" in text


def test_a_usual_machine_that_does_not_exist_fails_the_build(monkeypatch):
    row = ("linux", "GeForce GTX 1080", "595.45.04", "pip", "")
    with pytest.raises(wheel_selector.ExtensionError, match="no usual machine"):
        wheel_selector._row(row)


@pytest.mark.usefixtures("few")
def test_the_answers_are_there_before_a_page_is_written(tmp_path, make_site, monkeypatch):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("processes cannot be forked on this system; pages compute the answers")
    here = os.getpid()
    computed = []

    def diagram(cache):
        if os.getpid() == here:
            computed.append([path.name for path in cache.glob("wheel-answers-*.json")])
        return wheel_answers.diagram(cache)

    monkeypatch.setattr(wheel_selector, "diagram", diagram)
    make_site(tmp_path, {"index.md": PAGE}, CONF)
    assert computed  # each time this process wanted them, the forked one had kept them
    assert all(len(names) == 1 for names in computed)
