from __future__ import annotations

import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.errors import UnusableLogError, explain, read_log
from torchguide.errors.streaming import WHOLE

MESSAGE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)"
STEP = "2024-05-01 12:00:{:02d} - INFO - epoch {} loss 0.{}\n"


def lines(data):
    return read_log(io.BytesIO(data))


def steps(count):
    return "".join(STEP.format(n % 60, n, n) for n in range(count))


def test_a_short_log_is_kept_whole():
    assert lines(b"a\r\nb\nc") == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030"]
)
def test_the_encoding_is_recognised(encoding):
    text = f"我的报错：\n{MESSAGE}\n怎么办"
    found = lines(text.encode(encoding))
    assert [line for _, line in found] == text.split("\n")
    assert explain(found)[0].line == 2


@pytest.mark.parametrize("place", [0, 1, 20_000, 39_999, 40_000])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_an_error_anywhere_in_a_long_log_is_found_with_its_line(place, ending):
    whole = steps(40_000).splitlines()
    whole.insert(place, MESSAGE)
    data = (ending.join(whole) + ending).encode()
    assert len(data) > WHOLE
    match = explain(lines(data))[0]
    assert match.id == "matmul-shape"
    assert match.line == place + 1


def test_a_long_utf16_log_is_read():
    text = steps(15_000) + MESSAGE + "\n" + steps(15_000)
    assert explain(lines(text.encode("utf-16")))[0].line == 15_001


def test_the_last_of_a_repeated_error_decides():
    other = "IndexError: Target 7 is out of bounds.\n"
    text = MESSAGE + "\n" + steps(20_000) + other + steps(20_000) + MESSAGE + "\n" + steps(20_000)
    match = explain(lines(text.encode()))[0]
    assert (match.id, match.line) == ("matmul-shape", 40_003)


def test_a_message_over_several_lines_is_kept_across_chunks():
    pieces = (
        "RuntimeError:\nThe detected CUDA version (11.8) mismatches the version\nthat was used to\n"
    )
    for shift in range(0, 200, 20):
        text = (
            "x" * (WHOLE - 150 + shift) + "\n" + pieces + "compile PyTorch (12.1).\n" + steps(9000)
        )
        assert explain(lines(text.encode()))[0].id == "cuda-version-mismatch-build"


def test_a_log_of_different_lines_is_read_by_its_markers():
    letters = random.Random(0)  # noqa: S311 - noise, no secret
    noise = ["".join(letters.choices("ghijklmnopqrstuvwxyz ", k=60)) + "\n" for _ in range(60_000)]
    noise.insert(30_000, f"Traceback (most recent call last):\n{MESSAGE}\n")
    match = explain(lines("".join(noise).encode()))[0]
    assert (match.id, match.line) == ("matmul-shape", 30_002)


def test_progress_bars_without_newlines_are_parted():
    bar = "".join(f"\r{n}%|###| {n}/40000 [00:01<00:32, loss=0.{n}]" for n in range(40_000))
    match = explain(lines(f"start\n{bar}\r{MESSAGE}\nend\n".encode()))[0]
    assert match.id == "matmul-shape"
    assert match.line == 2


def test_what_is_kept_of_a_long_log_is_little():
    assert len(lines((steps(60_000) + MESSAGE).encode())) < 2_000


def test_a_line_without_end_is_bounded():
    found = lines(b"x" * (3 * WHOLE) + b"\n" + MESSAGE.encode())
    assert sum(len(line) for _, line in found) < WHOLE
    assert explain(found)[0].id == "matmul-shape"


@pytest.mark.parametrize("data", [b"", b" \n\t", b"\xef\xbb\xbf"])
def test_nothing_is_refused_as_empty(data):
    if data == b"\xef\xbb\xbf":
        assert explain(lines(data)) == []
        return
    with pytest.raises(UnusableLogError, match="empty"):
        lines(data)


def test_a_checkpoint_is_refused_as_binary():
    with pytest.raises(UnusableLogError, match="binary"):
        lines(b"PK\x03\x04" + bytes(1000) + b"\x80\x02}q\x00" * 10)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=2000))
def test_no_bytes_crash_the_reader(data):
    try:
        found = lines(data)
    except UnusableLogError:
        return
    for match in explain(found):
        assert match.title
