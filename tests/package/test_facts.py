"""The tables of facts agree with each other, and a broken one says where it is broken."""

from __future__ import annotations

import re

import pytest

from torchguide import facts, facts_check
from torchguide.facts import TABLES, FactsError, Mirror, Pair, Wheel, parse, read_text, table
from torchguide.texts import Texts


def test_tables_agree():
    assert facts_check.problems() == []


def test_check_counts_what_it_checked(capsys):
    assert facts_check.main() == 0
    assert re.match(r"\d{3,} facts in \d+ tables agree\n", capsys.readouterr().out)


def test_check_reports_what_is_wrong(monkeypatch, capsys):
    wheels = table(Wheel)
    monkeypatch.setitem(facts._READ, Wheel, wheels)
    monkeypatch.setitem(facts._READ, Pair, tuple(reversed(table(Pair))))
    assert facts_check.main() == 1
    assert "torch_pairs.csv" in capsys.readouterr().err


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.FILE)
def test_rows_name_their_source_and_what_is_not_verified(kind):
    for row in table(kind):
        assert row.source
        assert row.verified or row.status_note


def test_facts_are_read_only_and_show_their_key():
    row = table(Mirror)[0]
    assert repr(row) == "Mirror(mirror='none', carries='wheels')"
    with pytest.raises(AttributeError, match=r"read-only: facts stand in mirrors\.csv"):
        row.url = "elsewhere"


def _mirrors(*rows: str) -> str:
    header = "mirror,carries,url,use,source,status,status_note"
    return "\n".join([header, *rows]) + "\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"mirrors\.csv:1: the table is empty"),
        ("mirror,url\n", r"mirrors\.csv:1: columns .*missing .*carries"),
        (_mirrors("nju,wheels,https://x,index-url,s"), r"mirrors\.csv:2: 5 cells; expected 7"),
        (
            _mirrors("nju,wheels,ftp://x,index-url,s,verified,"),
            r"mirrors\.csv:2: url is 'ftp://x'; expected the form",
        ),
        (_mirrors("nju,wheels,https://x,index-url,,verified,"), r"mirrors\.csv:2: no source"),
        (_mirrors("nju,wheels,https://x,index-url,s,maybe,"), r"mirrors\.csv:2: status is 'maybe'"),
        (
            _mirrors("nju,wheels,https://x,index-url,s,unverified,"),
            r"mirrors\.csv:2: unverified, but status_note",
        ),
        (
            _mirrors(
                "nju,wheels,https://x,index-url,s,verified,",
                "nju,wheels,https://y,index-url,s,verified,",
            ),
            r"mirrors\.csv:3: nju/wheels stands already in line 2",
        ),
    ],
)
def test_broken_table_is_named_with_file_and_line(text, message):
    with pytest.raises(FactsError, match=message):
        parse(Mirror, text)


def test_texts_have_the_same_placeholders_in_both_languages():
    english, chinese = Texts("en"), Texts("zh")
    for key, row in english._messages.items():
        assert _placeholders(row["en"]) == _placeholders(row["zh"]), key
    for key, row in english._findings.items():
        for part in ("title", "advice"):
            assert _placeholders(row[f"{part}_en"]) == _placeholders(row[f"{part}_zh"]), key
    assert chinese.say("ui.yes") == "是"


def _placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)(?:![rs])?\}", text))


def test_chinese_texts_are_chinese_and_use_full_width_marks():
    texts = Texts("zh")
    spoken = [row["zh"] for row in texts._messages.values()]
    spoken += [
        row[f"{part}_zh"] for row in texts._findings.values() for part in ("title", "advice")
    ]
    for text in spoken:
        assert not re.search(r"[\u4e00-\u9fff][,;:?!]", text), text
        assert not re.search(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]", text), text


def test_every_finding_that_a_rule_makes_has_texts():
    texts = Texts("en")
    source = "".join(
        read_source(name) for name in ("doctor_driver", "doctor_machine", "doctor_wheel")
    )
    made = set(re.findall(r'Finding\(\s*"([a-z0-9-]+)"', source))
    assert len(made) > 25
    assert made <= set(texts._findings)


def read_source(module: str) -> str:
    import importlib
    import inspect

    return inspect.getsource(importlib.import_module(f"torchguide.{module}"))


def test_sources_name_no_machine_and_no_registry_host():
    for kind in TABLES:
        assert not re.search(r"/work/|/tmp/|pypi\.org|pythonhosted", read_text(kind.FILE)), kind


def test_a_label_ends_with_the_colon_of_its_language() -> None:
    assert Texts("en").label("ui.page", "setup/verify") == "Read more: setup/verify"
    assert Texts("zh").label("ui.page", "setup/verify") == "详见：setup/verify"
    assert Texts("en").label("install.why") == "Why:"
