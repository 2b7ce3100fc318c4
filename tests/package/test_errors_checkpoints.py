from __future__ import annotations

import io
import os
import pickle
import pickletools
import traceback
import warnings
import zipfile

import pytest
import torch
from torch import nn

from torchguide.errors import explain, load


def best(text, language="en"):
    return explain(text, language)[0]


def raised(function):
    try:
        function()
    except (RuntimeError, ValueError, EOFError, pickle.UnpicklingError):
        return traceback.format_exc()
    raise AssertionError("nothing was raised")


def loading(data, **options):
    return raised(lambda: torch.load(io.BytesIO(data), **options))


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model.pt", "x")
    return file.getvalue()


STATE = nn.Linear(2, 3).state_dict()
FILES = {
    "half a file": (saved(STATE)[:200], "damaged"),
    "no bytes": (b"", "damaged"),
    "a web page": (b"<!DOCTYPE html><html></html>", "web page"),
    "a JSON text": (b'{"error": "not found"}', "JSON"),
    "zeros": (b"\0" * 100, "byte 0"),
    "a gzip archive": (b"\x1f\x8b\x08", "byte 31"),
    "a text": (b"\n\nhello", "byte 10"),
    "another zip archive": (zipped(), "zip archive"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_checkpoint_is_told(name):
    data, part = FILES[name]
    match = best(loading(data))
    assert match.id == "checkpoint-file-damaged"
    assert part in match.title


@pytest.mark.parametrize("name", ["a web page", "a JSON text", "zeros"])
def test_what_is_no_checkpoint_is_told_without_weights_only_too(name):
    assert best(loading(FILES[name][0], weights_only=False)).id == "checkpoint-file-damaged"


def test_the_bytes_that_begin_no_pickle_are_those_that_are_no_instruction():
    entry = load().entry("checkpoint-file-damaged")
    listed = [p.requires[0][2] for p in entry.patterns if p.requires and p.requires[0][0] == "byte"]
    instructions = {ord(opcode.code) for opcode in pickletools.opcodes}
    others = {ord(sign) for sign in "<{v"}  # they have an answer of their own
    assert [set(each) for each in listed] == [set(range(256)) - instructions - others]


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_a_plain_pickle_is_told():
    match = best(loading(pickle.dumps({"a": 1}, 4)))
    assert match.id == "torch-load-weights-only"
    assert "pickle" in match.title


class Evil:
    def __reduce__(self):
        return os.system, ("true",)


def test_a_file_that_would_run_a_command_is_called_by_its_name():
    match = best(loading(saved(Evil())))
    assert match.id == "torch-load-weights-only"
    assert "system: do not allow it" in match.title


def test_a_checkpoint_is_no_torchscript_program():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript itself
        match = best(raised(lambda: torch.jit.load(io.BytesIO(saved(STATE)))))
    assert "not a TorchScript program" in match.title


STATES = {
    "weights under a key": ({"epoch": 3, "model": STATE}, "state-dict-mismatch", "deeper"),
    "a renamed layer": ({"w": STATE["weight"]}, "state-dict-mismatch", "lacks weight"),
    "an array": ({**STATE, "bias": STATE["bias"].numpy()}, "state-dict-mismatch", "no tensor but"),
    "a text": ({**STATE, "bias": "none"}, "state-dict-mismatch", "no tensor but str"),
    "no numbers": (
        {key: value.to("meta") for key, value in STATE.items()},
        "state-dict-mismatch",
        "could not be copied",
    ),
    "another size": (nn.Linear(2, 4).state_dict(), "state-dict-size-mismatch", "[4"),
    "a wrapped model": (
        {f"module.{key}": value for key, value in STATE.items()},
        "state-dict-module-prefix",
        "prefix",
    ),
    "a compiled model": (
        {f"_orig_mod.{key}": value for key, value in STATE.items()},
        "state-dict-module-prefix",
        "prefix",
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_does_not_fit_is_told_apart(name):
    state, kind, part = STATES[name]
    match = best(raised(lambda: nn.Linear(2, 3).load_state_dict(state)))
    assert match.id == kind
    assert part in match.title


def test_the_state_of_an_optimizer_has_an_entry_of_its_own():
    def sgd(*groups):
        return torch.optim.SGD([{"params": group} for group in groups], lr=0.1)

    a, b = (torch.zeros(2, requires_grad=True) for _ in range(2))
    for other in (sgd([a], [b]), sgd([a, b])):
        text = raised(lambda other=other: other.load_state_dict(sgd([a]).state_dict()))
        assert best(text).id == "optimizer-state-mismatch"
