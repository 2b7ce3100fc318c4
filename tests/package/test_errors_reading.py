from __future__ import annotations

import json
import time

import pytest

from torchguide.errors import explain

SHAPE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)"


def ids(text, **options):
    return [m.id for m in explain(text, **options)]


def best(text):
    return explain(text)[0]


PASTES = {
    "plain": f'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n{SHAPE}',
    "only the message": "mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)",
    "ipython": (
        "---------------------------------------------------------------------------\n"
        "RuntimeError                              Traceback (most recent call last)\n"
        "Cell In[3], line 1\n----> 1 model(x)\n\nFile ~/env/torch/nn/modules/linear.py:125, in "
        f"Linear.forward(self, input)\n    124 def forward(self, input):\n--> 125     return\n\n{SHAPE}"
    ),
    "rich box": (
        "╭─────────────── Traceback (most recent call last) ───────────────╮\n"
        "│ /home/user/train.py:12 in <module>                              │\n"
        "│ ❱ 12 model(x)                                                   │\n"
        "╰─────────────────────────────────────────────────────────────────╯\n"
        "RuntimeError: mat1 and mat2 shapes cannot be \nmultiplied (64x10 and 5x10)"
    ),
    "message inside the box": (
        "╭──────────────────────────────────────╮\n"
        "│ RuntimeError: mat1 and mat2 shapes   │\n"
        "│ cannot be multiplied (64x10 and      │\n"
        "│ 5x10)                                │\n"
        "╰──────────────────────────────────────╯"
    ),
    "log prefixes": (
        "2024-03-01 12:00:01,123 ERROR Traceback (most recent call last):\n"
        "2024-03-01 12:00:01,123 ERROR RuntimeError: mat1 and mat2 shapes cannot\n"
        "2024-03-01 12:00:01,124 ERROR be multiplied (64x10 and 5x10)"
    ),
    "torchrun ranks": f"[rank0]: Traceback (most recent call last):\n[rank0]: {SHAPE}",
    "docker compose": (
        "trainer-1  | RuntimeError: mat1 and mat2 shapes cannot be\n"
        "trainer-1  | multiplied (64x10 and 5x10)"
    ),
    "docker build": f"#12 33.10 Traceback (most recent call last):\n#12 33.10 {SHAPE}",
    "colours": f"\x1b[0;31mRuntimeError\x1b[0m: {SHAPE.partition(': ')[2]}",
    "colours that lost their escape": SHAPE.replace("shapes", "[1;31mshapes[0m"),
    "windows": 'Traceback:\r\n  File "C:\\a\\b.py", line 3\r\n' + SHAPE + "\r\n",
    "one line with escapes": f'Traceback (most recent call last):\\n  File "a.py"\\n    x\\n{SHAPE}\\n',
    "json": json.dumps({"error": f"Traceback:\n File\n  x\n{SHAPE}\n"}),
    "cut at a fixed width": SHAPE[:33] + "\n" + SHAPE[33:66] + "\n" + SHAPE[66:],
    "chinese around": f"我在训练时报错：{SHAPE}，请问怎么解决？",
    "full width": SHAPE.replace("(", "（").replace(")", "）").replace(":", "："),
    "quoted mail": f"> Traceback (most recent call last):\n> {SHAPE}",
    "progress bar before it": f"  3%|▎  | 3/100 [00:01<00:32]\r  4%|▍ | 4/100\r{SHAPE}",
    "truncated above": "  in forward\n    return F.linear(input)\n" + SHAPE,
    "old wording": "RuntimeError: size mismatch, m1: [64 x 10], m2: [5 x 10] at /pytorch/aten/src/TH",
}


@pytest.mark.parametrize("name", PASTES)
def test_every_way_of_pasting_is_read(name):
    match = best(PASTES[name])
    assert match.id == "matmul-shape"
    assert match.facts["b"] == 10
    assert "transposed" in match.cause


def test_the_line_is_that_of_the_message():
    text = f"loading\n\nTraceback (most recent call last):\n  File\r\n{SHAPE}\nbye"
    assert best(text).line == 5


TF_WARNING = (
    "2021-01-01 10:00:00.000000: W tensorflow/stream_executor/platform/default/dso_loader.cc:64] "
    "Could not load dynamic library 'libcudart.so.11.0'; dlerror: libcudart.so.11.0: cannot open "
    "shared object file: No such file or directory\n"
)
FUTURE = (
    "train.py:3: FutureWarning: `torch.cuda.amp.GradScaler(args...)` is deprecated. Please use "
    "`torch.amp.GradScaler('cuda', args...)` instead.\n"
)
ASSERTION = (
    "../aten/src/ATen/native/cuda/Indexing.cu:1141: indexSelectLargeIndex: block: [0,0,0], thread: "
    "[0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
)

DECIDING = {
    "a tensorflow warning before it": (TF_WARNING + SHAPE, "matmul-shape"),
    "a future warning before it": (FUTURE + SHAPE, "matmul-shape"),
    "a future warning alone": (FUTURE, "amp-deprecated-warning"),
    "a tensorflow warning alone": (TF_WARNING, "neg-tensorflow"),
    "a future warning before an error of the program": (
        FUTURE + "Traceback (most recent call last):\nKeyError: 'label'",
        "neg-user-data",
    ),
    "the last of a chain": (
        (
            "Traceback (most recent call last):\nKeyError: 'a'\n\nDuring handling of the above "
            f"exception, another exception occurred:\n\nTraceback (most recent call last):\n{SHAPE}"
        ),
        "matmul-shape",
    ),
    "the last of a chain of two torch errors": (
        (
            f"{SHAPE}\n\nDuring handling of the above exception, another exception occurred:\n\n"
            "Traceback (most recent call last):\nIndexError: Target 7 is out of bounds."
        ),
        "target-out-of-bounds",
    ),
    "the last of a chain that is written in one line": (
        json.dumps(
            f"Traceback (most recent call last):\n  File a\n{SHAPE}\n\nDuring handling of the above "
            "exception, another exception occurred:\n\nTraceback\nKeyError: 'label'"
        ),
        "neg-user-data",
    ),
    "a wrapper that the catalogue does not know": (
        (
            "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central "
            "directory\n\nDuring handling of the above exception, another exception occurred:\n\n"
            "OSError: Unable to load weights from pytorch checkpoint file for 'model.bin'."
        ),
        "checkpoint-file-damaged",
    ),
    "the first cuda error of a cascade": (
        ASSERTION + "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling "
        "`cublasCreate(handle)`\nterminate called after throwing an instance of 'c10::Error'\n"
        "  what():  CUDA error: device-side assert triggered",
        "device-side-assert-index",
    ),
    "an assertion printed after the traceback": (
        "RuntimeError: CUDA error: device-side assert triggered\n" + ASSERTION,
        "device-side-assert-index",
    ),
    "memory access before cublas": (
        (
            "RuntimeError: CUDA error: an illegal memory access was encountered\n"
            "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm`"
        ),
        "illegal-memory-access",
    ),
    "out of memory on one rank, timeouts on the others": (
        (
            "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
            "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation "
            "timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=1800000)\n"
            "torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0."
        ),
        "cuda-oom",
    ),
    "the worker's own error inside the DataLoader's": (
        (
            'Traceback (most recent call last):\n  File "train.py"\nRuntimeError: Caught RuntimeError '
            "in DataLoader worker process 0.\nOriginal Traceback (most recent call last):\n  File "
            '"/torch/utils/data/_utils/worker.py"\nRuntimeError: stack expects each tensor to be equal '
            "size, but got [3, 8, 8] at entry 0 and [1, 8, 8] at entry 1"
        ),
        "collate-unequal-size",
    ),
    "the program's error inside the DataLoader's": (
        (
            "KeyError: Caught KeyError in DataLoader worker process 3.\nOriginal Traceback (most recent "
            "call last):\n  File \"data.py\", line 9\nKeyError: 'label'"
        ),
        "neg-user-data",
    ),
    "torchrun's wrapper after it": (
        (
            f"Traceback (most recent call last):\n{SHAPE}\n"
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0\n"
            "Traceback (most recent call last):\n  File torchrun\n"
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
            "============================================================\ntrain.py FAILED\n"
            "Failures:\n  <NO_OTHER_FAILURES>\nRoot Cause (first observed failure):\n[0]:\n"
            "  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 99)\n  error_file: <N/A>\n"
            "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        ),
        "matmul-shape",
    ),
    "spawn's wrapper before it": (
        (
            "torch.multiprocessing.spawn.ProcessRaisedException: \n\n-- Process 1 terminated with the "
            'following error:\nTraceback (most recent call last):\n  File "a.py"\nRuntimeError: CUDA '
            "error: invalid device ordinal"
        ),
        "invalid-device-ordinal",
    ),
    "a dead worker after a full shared memory": (
        (
            "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient "
            "shared memory (shm).\nRuntimeError: DataLoader worker (pid(s) 12) exited unexpectedly"
        ),
        "dataloader-shm",
    ),
    "an interrupt after it": (f"{SHAPE}\n^CTraceback:\nKeyboardInterrupt", "matmul-shape"),
    "an exception that Python ignored after it": (
        (
            f"{SHAPE}\nException ignored in: <function _MultiProcessingDataLoaderIter.__del__>\n"
            "Traceback (most recent call last):\n  File x\nAttributeError: 'NoneType' object has no "
            "attribute 'python_exit_status'"
        ),
        "matmul-shape",
    ),
    "dynamo's wrapper": (
        (
            "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nRuntimeError: Cannot "
            "find a working triton installation. More information on installing Triton can be found"
        ),
        "compile-triton-missing",
    ),
}


@pytest.mark.parametrize("name", DECIDING)
def test_the_deciding_line_is_found(name):
    text, wanted = DECIDING[name]
    assert ids(text)[0] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "everything is fine",
        "RuntimeError: the model has no attribute called head",
        "ValueError: Unrecognized model in ./x. Should have a `model_type` key",
        "the size of tensor a is right",
        FUTURE + "Traceback (most recent call last):\ngradio.exceptions.Error: 'no queue'",
    ],
)
def test_what_is_not_in_the_catalogue_is_not_answered(text):
    assert ids(text) == []


def test_an_answer_before_an_unknown_end_is_less_sure():
    assert best(SHAPE).confidence == "certain"
    assert best(f"{SHAPE}\n\nmylib.core.StepError: step 3 failed").confidence == "likely"


@pytest.mark.parametrize("end", ["!", ":x", ".", " "])
def test_a_long_word_of_exception_names_is_read_at_once(end):
    begin = time.process_time()
    explain(" " + "Error" * 20_000 + end)
    assert time.process_time() - begin < 2  # it was minutes with unbounded names
