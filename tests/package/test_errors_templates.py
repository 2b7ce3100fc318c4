from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.errors import explain, load
from torchguide.errors.templates import (
    TemplateError,
    fields,
    javascript_pattern,
    python_pattern,
    readable,
    words,
)

ENTRIES = load().entries
PATTERNS = sorted({pattern.match for entry in ENTRIES for pattern in entry.patterns})


def matches(template, text):
    found = re.search(python_pattern(template), text, re.ASCII)
    return found.groupdict() if found else None


def test_fields_capture_and_literals_are_literal():
    assert matches("shapes ({a:int}x{b:int}).", "shapes (3x4).") == {"a": "3", "b": "4"}
    assert matches("shapes (1).", "shapes 1x") is None


def test_spaces_may_be_missing_and_quotation_marks_differ():
    assert (
        matches("not implemented for 'Half'", "not implemented for`Half`".replace("`", "'")) == {}
    )
    assert python_pattern('"a"') == python_pattern("`a`") == python_pattern("“a”")


def test_a_text_takes_as_little_as_it_can_but_a_word_at_the_end():
    assert matches("{a:text} b", "1 b 2 b") == {"a": "1"}
    assert matches("failed {a:text}", "failed at last") == {"a": "at"}


def test_a_field_is_repeated():
    assert matches("{k:word} and {=k}", "a and a") == {"k": "a"}
    assert matches("{k:word} and {=k}!", "a and b!") is None


def test_choices_and_options_are_literal():
    assert matches("{a.|b}c{?(}d", "a.cd") == {}
    assert matches("{a.|b}c{?(}d", "bc(d") == {}
    assert matches("{a.|b}c{?(}d", "axcd") is None


def test_doubled_braces_are_braces():
    assert matches("{{{x:int}}}", "{4}") == {"x": "4"}


@pytest.mark.parametrize(
    "template", ["{x", "x}", "{x:nonsense}", "{=x}", "{x:int}{x:int}", "{}", "{X:int}"]
)
def test_a_wrong_template_is_refused(template):
    with pytest.raises(TemplateError):
        python_pattern(template)


def test_the_words_are_the_longest_outside_of_fields():
    assert words("mat1 and {a:int}x multiplied {?maybe} {one|two}") == ["multiplied", "mat1", "and"]


def test_the_two_spellings_differ_in_named_groups_only():
    for template in PATTERNS:
        ours = python_pattern(template)
        javascript = re.sub(r"\(\?P<(\w+)>", r"(?<\1>", ours)
        javascript = re.sub(r"\(\?P=(\w+)\)", r"\\k<\1>", javascript)
        assert javascript_pattern(template) == javascript
        # the rest is in both languages: no flags, conditions, comments, anchors of Python's own
        assert not re.search(r"\(\?[#(aiLmsux<!]|\\[AZz]|[*+?}]\+", ours.replace("(?P<", "("))


def hostile(template):
    """Beginnings of messages that match, again and again, so that each ends too late."""
    literals = re.sub(r"\{[^{}]*\}", "\0", template.replace("{{", "{").replace("}}", "}"))
    parts = literals.split("\0")
    fillings = ["1", "1 ", "a", "a.", "'", "x:", " ", "1.1.", "]", "KB", "\\"]
    for filling in fillings:
        for count in range(1, len(parts) + 1):
            yield filling.join(parts[:count])
            yield filling * 3


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_no_pattern_is_slow_on_repetitions_of_its_own_text(entry):
    size = 4000
    for pattern in entry.patterns:
        for piece in set(hostile(pattern.match)) - {""}:
            text = (piece * (size // len(piece) + 1))[:size] + "\n"
            begin = time.process_time()
            for _ in zip(range(50), pattern.regex.finditer(text), strict=False):
                pass
            # the time of a quadratic pattern on so short a text is seconds
            assert time.process_time() - begin < 0.5, (pattern.match, piece)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_mixture_of_message_parts_is_slow_or_crashes(data):
    parts = data.draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=4))
    filling = data.draw(st.text("0123456789abx.,:'[](){} -\\", min_size=1, max_size=8))
    text = "".join(re.sub(r"\{[^{}]*\}", lambda _: filling, part) for part in parts)
    text = (text * 200)[:20_000]
    begin = time.process_time()
    explain([(1, text)])
    assert time.process_time() - begin < 10


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=400), st.sampled_from(PATTERNS))
def test_no_text_crashes_the_explainer(text, template):
    for match in explain([(1, text), (2, f"RuntimeError: {template}"), (3, text)]):
        assert match.line in (1, 2, 3)
        assert match.title


def test_fields_tell_their_types():
    assert fields("{a:int} of {b:size}") == {"a": "int", "b": "size"}


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("({a:int}x{b:int} and {=a})", "(…x… and …)"),
        ("a {*}{b:text} {**} end {c:word}", "a … end …"),
        ("{is|has} used{?.} {or greater |}{{x}}", "is used. or greater {x}"),
    ],
)
def test_a_readable_message_has_dots_for_what_varies(template, text):
    assert readable(template) == text


def test_every_readable_message_is_matched_where_it_names_no_facts():
    plain = [template for template in PATTERNS if "…" not in readable(template)]
    assert len(plain) > len(PATTERNS) / 3
    for template in plain:
        assert matches(template, readable(template).replace('"', "'").replace("`", "'")) is not None


def test_a_wrong_template_is_not_readable():
    with pytest.raises(TemplateError):
        readable("{x")
