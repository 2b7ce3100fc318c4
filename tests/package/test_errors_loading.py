from __future__ import annotations

import warnings

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, WeightedRandomSampler

from torchguide.errors import explain


def best(text, language="en"):
    return explain(text, language)[0]


def message(raise_it):
    with pytest.raises((RuntimeError, TypeError, ValueError)) as caught:
        raise_it()
    return f"{type(caught.value).__name__}: {caught.value}"


class Samples(Dataset):
    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        return self.values[index]


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(4))


def batches(values, **options):
    return list(DataLoader(Samples(values), **options))


OPTIONS = {
    "a sampler and shuffle": {"sampler": WeightedRandomSampler([1.0, 1.0], 2), "shuffle": True},
    "a batch sampler and a batch size": {"batch_sampler": [[0, 1]], "batch_size": 2},
    "persistent workers without workers": {"persistent_workers": True},
    "prefetching without workers": {"prefetch_factor": 2},
    "a start method without workers": {"multiprocessing_context": "spawn"},
    "an unknown start method": {"multiprocessing_context": "threads", "num_workers": 1},
    "a negative number of workers": {"num_workers": -1},
    "a negative timeout": {"timeout": -1},
    "an empty batch": {"batch_size": 0},
    "no batches and drop_last": {"batch_size": None, "drop_last": True},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_contradicting_options_of_a_loader_are_recognised(name):
    assert best(message(lambda: batches([0, 1], **OPTIONS[name]))).id == "dataloader-options"


def test_an_option_that_a_stream_of_samples_refuses_is_named():
    assert "shuffle" in best(message(lambda: DataLoader(Stream(), shuffle=True))).title


@pytest.mark.parametrize(
    ("value", "part"), [(None, "None"), ({1}, "set"), (object(), "object")], ids=str
)
def test_a_sample_of_an_unknown_type_is_named(value, part):
    match = best(message(lambda: batches([value, value], batch_size=2)))
    assert match.id == "collate-unsupported-type"
    assert part in match.title


def test_samples_of_different_shapes_keep_their_own_entry():
    samples = [torch.zeros(2), torch.zeros(3)]
    assert best(message(lambda: batches(samples, batch_size=2))).id == "collate-unequal-size"


def test_the_warnings_of_a_loader_are_explained():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DataLoader(Samples([0]), num_workers=999)
    match = best(f"UserWarning: {caught[0].message}")
    assert match.id == "dataloader-too-many-workers"
    assert "999" in match.title


WORKER = (
    "Traceback (most recent call last):\n"
    '  File "/env/torch/utils/data/_utils/signal_handling.py", line 73, in handler\n'
    "    _error_if_any_worker_fails()\n"
    "RuntimeError: DataLoader worker (pid 7) {reason}\n\n"
    "The above exception was the direct cause of the following exception:\n\n"
    "Traceback (most recent call last):\n"
    '  File "train.py", line 5, in <module>\n'
    "RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly"
)
DEATHS = {
    "is killed by signal: Killed. ": "memory was full",
    "is killed by signal: Segmentation fault. ": "Native code crashed",
    "is killed by signal: Aborted. ": "Native code crashed",
    "exited unexpectedly with exit code 3. Details are lost": "exit code 3",
}


@pytest.mark.parametrize("reason", DEATHS)
def test_the_way_a_worker_ended_is_told(reason):
    match = best(WORKER.format(reason=reason))
    assert match.id == "dataloader-worker-exited"
    assert DEATHS[reason] in match.title


@pytest.mark.parametrize(
    "end",
    [
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "FileNotFoundError: [Errno 2] No such file or directory",
        "EOFError",
    ],
)
def test_a_worker_that_dies_while_it_sends_a_tensor_is_recognised(end):
    text = (
        "Traceback (most recent call last):\n"
        '  File "/env/torch/multiprocessing/reductions.py", line 538, in rebuild_storage_fd\n'
        f"    fd = df.detach()\n{end}"
    )
    assert best(text).id == "dataloader-worker-exited"


def test_an_error_that_no_entry_knows_inside_a_worker_is_the_program_s_own():
    text = (
        "ValueError: Caught ValueError in DataLoader worker process 1.\n"
        "Original Traceback (most recent call last):\n"
        '  File "train.py", line 8, in __getitem__\n'
        "ValueError: not a leap year"
    )
    assert best(text).id == "neg-user-data"


def test_an_error_that_an_entry_knows_inside_a_worker_is_found():
    text = (
        "RuntimeError: Caught RuntimeError in DataLoader worker process 1.\n"
        "Original Traceback (most recent call last):\n"
        '  File "train.py", line 8, in __getitem__\n'
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"
    )
    assert best(text).id == "matmul-shape"


@pytest.mark.parametrize(
    "text",
    [
        (
            '  File "/env/torch/multiprocessing/reductions.py", line 223, in reduce_tensor\n'
            "RuntimeError: Cowardly refusing to serialize non-leaf tensor which requires_grad, since"
        ),
        (
            "in collate_tensor_fn\nRuntimeError: stack(): functions with out=... arguments don't "
            "support automatic differentiation, but one of the arguments requires grad."
        ),
    ],
)
def test_a_sample_with_a_graph_is_told_apart_from_what_cannot_be_pickled(text):
    match = best(text)
    assert match.id == "dataloader-pickle"
    assert "graph" in match.title


def test_a_loader_that_waited_too_long_is_not_a_dead_worker():
    match = best("RuntimeError: DataLoader timed out after 30 seconds")
    assert match.id == "dataloader-timeout"
    assert "30" in match.title


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "neg-pip-network",
            "error: Failed to fetch: `https://example.org/simple/torch/`\n  Caused by: Request failed",
        ),
        ("neg-pip-network", "ERROR: Wheel 'torch' located at /tmp/torch-2.13.0.whl is invalid."),
        (
            "neg-hub-network",
            "RuntimeError: It looks like there is no internet connection and the repo could not be found in the cache (/cache)",
        ),
    ],
)
def test_a_failed_download_is_not_an_error_of_torch(kind, text):
    assert best(text).id == kind


DROPPED = {
    "AttributeError: module 'numpy' has no attribute 'float'.\n`np.float` was a deprecated alias": "np.float is gone from NumPy since 1.24",
    "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.": "np.float_ is gone from NumPy since 2.0",
    "AttributeError: module 'numpy' has no attribute 'asscalar'": "no numpy.asscalar",
}


@pytest.mark.parametrize("text", DROPPED)
def test_a_name_that_numpy_has_dropped_is_told(text):
    match = best(text)
    assert match.id == "neg-not-pytorch-library"
    assert DROPPED[text] in match.title
