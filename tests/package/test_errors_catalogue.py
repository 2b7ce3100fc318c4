from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from torchguide.errors import CatalogueError, explain, load, read_log
from torchguide.errors.catalogue import FOLDER, INTERFACE
from torchguide.errors.check import check
from torchguide.facts import Pair, Wheel, table

DATA = Path(__file__).parent / "data"
DOCS = Path(__file__).parents[2] / "docs"
KINDS = {
    row["id"]: row["family"]
    for row in csv.DictReader((DATA / "kinds.csv").read_text(encoding="utf-8").splitlines())
}
REPORTS = [
    json.loads(line) for line in (DATA / "errors.jsonl").read_text(encoding="utf-8").splitlines()
]
# kinds that the text alone cannot tell apart
SAME = (
    {"driver-too-old", "driver-insufficient"},
    {"device-side-assert-label", "device-side-assert-index"},
    {"matmul-shape", "matmul-shape-model-mix"},
    {"cuda-unavailable-other", "cuda-unavailable-cpu-wheel"},
)
FILE_FIELDS = {"entries", "family", "page", "published", "tables"}


def ids(text):
    return [match.id for match in explain(read_log(io.BytesIO(text.encode())))]


def test_the_catalogue_has_no_fault():
    assert check() == []


def test_every_known_kind_has_its_entry_in_its_family():
    assert KINDS.items() <= {entry.id: entry.family for entry in load().entries}.items()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_holds_one_family_and_knows_whether_its_page_is_written(path):
    if path.name == INTERFACE:
        return
    data = json.loads(path.read_text(encoding="utf-8"))
    assert set(data) <= FILE_FIELDS
    assert data["family"] == path.stem
    assert data["page"] == f"troubleshooting/{path.stem}"
    assert data["published"] == (DOCS / f"{data['page']}.md").is_file()


def test_anchors_are_unique_on_their_page():
    pages = [(entry.family, entry.data["anchor"]) for entry in load().entries]
    assert len(pages) == len(set(pages))


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["id"])
def test_a_real_report_gets_its_answer(report):
    answers = ids(report["text"])
    wanted = report["kind"]
    if wanted.startswith("neg-"):
        assert not answers or answers[0].startswith("neg-")
    else:
        equal = next((group for group in SAME if wanted in group), {wanted})
        assert answers[0] in equal


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_answer_holds_an_unfilled_fact(language):
    for entry in load().entries:
        for text in entry.data["test"]:
            match = explain(text, language)[0]
            shown = f"{match.title} {match.cause} {match.fix.partition('    ')[0]}"
            assert not re.search(r"\{[a-z_0-9]+\}", shown), entry.id


def test_chinese_texts_are_chinese_and_english_texts_are_not():
    han = re.compile(r"[\u4e00-\u9fff]")
    for entry in load().entries:
        for name in ("title", "cause", "fix"):
            assert han.search(entry.data[name]["zh"]), (entry.id, name)
            assert not han.search(entry.data[name]["en"]), (entry.id, name)


def test_code_is_the_same_in_both_languages_and_so_has_no_words_in_its_comments():
    for entry in load().entries:
        for answer in (entry.data, *entry.data.get("cases", ())):
            for line in answer.get("code", ()):
                assert not re.search(r"#.*[a-z]{3}", line), (entry.id, line)


def test_the_wheels_named_for_a_gpu_and_a_driver_are_those_of_the_facts():
    wheels = {(wheel.variant, wheel.last) for wheel in table(Wheel)}
    newest = max((wheel.last for wheel in table(Wheel)), key=lambda v: [*map(int, v.split("."))])
    for name in ("wheel_for_architecture", "wheel_for_driver"):
        for key, texts in load().tables[name].items():
            for version, variant in re.findall(r"torch (\S+) with (cu\d+)", texts["en"]):
                if (name, key) in {
                    ("wheel_for_architecture", "100"),
                    ("wheel_for_architecture", "120"),
                }:
                    assert any(w.variant == variant and w.first <= version for w in table(Wheel))
                else:
                    assert (variant, version) in wheels, (name, key)
                assert f"torch {version}" in texts["zh"]
                assert variant in texts["zh"]
    assert newest in load().tables["wheel_for_driver"]["13"]["en"]


def test_every_release_of_the_facts_is_known_to_exist():
    conditions = load().entry("neg-nonexistent-version").data["requires"]
    known = set(conditions[0][2])
    for pair in table(Pair):
        assert pair.torch in known
        assert pair.torch.removesuffix(".0") in known


BROKEN = {
    "no JSON": ("{", r"shape\.json:1: no JSON"),
    "no page": (
        '{"family": "shape", "entries": {"a": {}}}',
        r"shape\.json: a: patterns is missing",
    ),
    "no entries": ('{"family": "shape"}', r"shape\.json: entries is missing"),
    "a list": ("[]", r"shape\.json: another form than expected"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named(tmp_path, name):
    text, message = BROKEN[name]
    (tmp_path / "shape.json").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError, match=message):
        load(tmp_path)


def good_entry():
    return {
        "anchor": "a",
        "patterns": [{"match": "sizes {x:int} differ", "torch": "any"}],
        "title": {"en": "t", "zh": "题"},
        "cause": {"en": "c", "zh": "因"},
        "fix": {"en": "f", "zh": "法"},
        "test": ["sizes 3 differ"],
    }


def problems(tmp_path, change):
    entry = good_entry()
    change(entry)
    file = {"family": "shape", "page": "p", "published": False, "entries": {"a": entry}}
    (tmp_path / "shape.json").write_text(json.dumps(file), encoding="utf-8")
    return check(load(tmp_path))


FAULTS = {
    "nothing": (lambda _: None, None),
    "a missing title": (lambda e: e.pop("title"), "no title"),
    "a missing language": (lambda e: e["fix"].pop("zh"), "the text in 'zh' is missing"),
    "no pattern": (lambda e: e["patterns"].clear(), "no pattern"),
    "no test": (lambda e: e.pop("test"), "no test"),
    "a test that another answers": (lambda e: e["test"].append("other"), "explained by nothing"),
    "a field without type": (
        lambda e: e["patterns"][0].update(match="sizes {x} differ"),
        "{x} is no field",
    ),
    "an unknown type": (
        lambda e: e["patterns"][0].update(match="sizes {x:integer} differ"),
        "{x:integer} is no field",
    ),
    "an unknown fact": (lambda e: e["title"].update(en="{y}", zh="{y}"), "names the fact 'y'"),
    "facts in one language only": (lambda e: e["title"].update(en="{x}"), "different facts"),
    "an unknown key": (lambda e: e.update(titel={}), "unknown key 'titel'"),
    "a wrong confidence": (lambda e: e["patterns"][0].update(confidence="sure"), "'sure'"),
    "a wrong version": (lambda e: e["patterns"][0].update(torch=">=1.8"), "'>=1.8'"),
    "a wrong comparison": (
        lambda e: e.update(cases=[{"when": [["x", "=", 3]]}]),
        "'=' compares nothing",
    ),
    "an unknown table": (lambda e: e.update(derive={"y": ["lookup", "t", "x"]}), "no table 't'"),
    "an anchor with spaces": (lambda e: e.update(anchor="a b"), "the anchor 'a b'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_an_entry_is_named(tmp_path, name):
    change, message = FAULTS[name]
    found = problems(tmp_path, change)
    if message is None:
        assert found == []
    else:
        assert any(message in problem for problem in found)
        assert all(problem.startswith("shape.json: a: ") for problem in found)
