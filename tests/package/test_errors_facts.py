from __future__ import annotations

import pytest

from torchguide.errors import explain
from torchguide.errors.facts import Facts


def best(text, language="en"):
    return explain(text, language)[0]


def say(text, language="en"):
    match = best(text, language)
    return f"{match.title} {match.cause} {match.fix}"


def matmul(shapes):
    return say(f"RuntimeError: mat1 and mat2 shapes cannot be multiplied ({shapes})")


def test_a_product_names_its_inner_sizes_and_the_transposed_operand():
    text = matmul("64x10 and 5x10")
    assert "10 and 5" in text
    assert "probably transposed" in text


def test_a_product_with_swapped_input_axes_is_told_apart():
    assert "axes are probably swapped" in matmul("10x64 and 10x5")


def test_a_product_with_a_larger_feature_map_is_told_apart():
    text = matmul("128x32768 and 512x512")
    assert "64 times as many" in text
    assert "32768" in text


def test_a_product_of_other_sizes_names_them_only():
    text = matmul("4x7 and 5x3")
    assert "7 and 5" in text
    assert "transposed" not in text


OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate {tried} (GPU 0; {total} total capacity; "
    "{allocated} already allocated; {free} free; {reserved} reserved in total by PyTorch)"
)
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total "
    "capacity of {total} of which {free} is free. Including non-PyTorch memory, this process has "
    "{own} memory in use. Of the allocated memory {allocated} is allocated by PyTorch, and {spare} "
    "is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try"
)
MEMORY = {
    "batch too big, old": (
        OLD.format(
            tried="2.00 GiB",
            total="23.69 GiB",
            allocated="21.10 GiB",
            free="1.20 GiB",
            reserved="21.60 GiB",
        ),
        "cuda-oom",
        "2.00 GiB wanted, 1.20 GiB free",
    ),
    "batch too big, new": (
        NEW.format(
            tried="2.00 GiB",
            total="23.69 GiB",
            allocated="21.10 GiB",
            free="1.20 GiB",
            own="22.10 GiB",
            spare="500.00 MiB",
        ),
        "cuda-oom",
        "2.00 GiB wanted, 1.20 GiB free",
    ),
    "larger than the card": (
        OLD.format(
            tried="93.13 GiB",
            total="23.69 GiB",
            allocated="1.10 GiB",
            free="21.20 GiB",
            reserved="1.60 GiB",
        ),
        "cuda-oom",
        "93.13 GiB is larger than the card",
    ),
    "fragmentation, old": (
        OLD.format(
            tried="512.00 MiB",
            total="23.69 GiB",
            allocated="12.10 GiB",
            free="310.00 MiB",
            reserved="22.40 GiB",
        ),
        "cuda-oom-fragmentation",
        "10.30 GiB reserved but unused",
    ),
    "fragmentation, new": (
        NEW.format(
            tried="512.00 MiB",
            total="23.69 GiB",
            allocated="12.10 GiB",
            free="310.00 MiB",
            own="22.40 GiB",
            spare="9.80 GiB",
        ),
        "cuda-oom-fragmentation",
        "9.80 GiB reserved but unused",
    ),
    "others hold more than this process": (
        OLD.format(
            tried="4.30 GiB",
            total="31.75 GiB",
            allocated="8.97 GiB",
            free="414.69 MiB",
            reserved="11.45 GiB",
        ),
        "cuda-oom",
        "about 19.90 GiB of it belong to others",
    ),
    "CUDA itself holds some": (
        OLD.format(
            tried="1.55 GiB",
            total="23.99 GiB",
            allocated="20.44 GiB",
            free="0 bytes",
            reserved="22.59 GiB",
        ),
        "cuda-oom",
        "is full: 1.55 GiB wanted, 0 bytes free",
    ),
    "main memory": (
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate "
            "memory: you tried to allocate 4294967296 bytes. Error code 12 (Cannot allocate memory)"
        ),
        "cpu-oom",
        "one tensor wants 4 GiB",
    ),
    "another process, old": (
        OLD.format(
            tried="20.00 MiB",
            total="10.76 GiB",
            allocated="1.20 GiB",
            free="11.44 MiB",
            reserved="1.30 GiB",
        ),
        "cuda-oom-other-process",
        "9.45 GiB",
    ),
    "another process, new": (
        NEW.format(
            tried="20.00 MiB",
            total="23.64 GiB",
            allocated="2.90 GiB",
            free="90.00 MiB",
            own="3.20 GiB",
            spare="20.00 MiB",
        ),
        "cuda-oom-other-process",
        "20.35 GiB",
    ),
}


@pytest.mark.parametrize("name", MEMORY)
def test_the_line_of_an_exhausted_memory_is_read(name):
    text, wanted, part = MEMORY[name]
    assert best(text).id == wanted
    assert part in say(text)


def warning(sm):
    return (
        f"NVIDIA GeForce with CUDA capability sm_{sm} is not compatible with the current PyTorch "
        "installation.\nThe current PyTorch install supports CUDA capabilities sm_70 sm_75 sm_80."
    )


def test_an_architecture_names_the_wheel_that_works():
    assert "cu128" in say(warning(120))
    assert "torch 2.14.1 with cu126" in say(warning(61))
    assert "torch 2.14.1 的 cu126 版" in say(warning(61), "zh")


def test_a_capability_that_is_written_as_a_number_is_read_too():
    text = (
        "Found GPU0 GeForce 820M which is of cuda capability 2.1.\n"
        "PyTorch no longer supports this GPU because it is too old."
    )
    assert "sm_21" in say(text)
    assert "no current wheel" in say(text)


def test_a_driver_names_its_cuda_version_and_a_wheel_for_it():
    text = "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."
    assert "CUDA 11.4" in say(text)
    assert "torch 2.7.1 with cu118" in say(text)
    assert "No current wheel" in say(text.replace("11040", "6050"))


def test_a_tensor_without_numbers_is_told_from_two_devices():
    message = "NotImplementedError: Cannot copy out of meta tensor; no data!"
    assert best(message).id == "device-mismatch"
    assert "no numbers" in best(message).title


def test_both_devices_are_named():
    text = (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two "
        "devices, cuda:0 and cpu!"
    )
    assert "cuda:0" in best(text).title
    assert "cpu" in best(text).title
    argument = text + " (when checking argument for argument mat1 in method wrapper_CUDA_addmm)"
    assert "mat1" in best(argument).cause


@pytest.mark.parametrize(
    ("message", "part"),
    [
        ("IndexError: Target 255 is out of bounds.", "ignore"),
        ("IndexError: Target -1 is out of bounds.", "negative"),
        ("IndexError: Target 10 is out of bounds.", "The label 10"),
        (
            (
                "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input"
                "[1, 224, 224, 3] to have 3 channels, but got 224 channels instead"
            ),
            "channels stand last",
        ),
        (
            (
                "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input"
                "[1, 4, 224, 224] to have 3 channels, but got 4 channels instead"
            ),
            "alpha channel",
        ),
        (
            "IndexError: index 10 is out of bounds for dimension 0 with size 10",
            "one past the end",
        ),
        (
            "RuntimeError: \"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'",
            "whole numbers",
        ),
        (
            (
                "[W socket.cpp:401] [c10d] The server socket has failed to bind to [::]:22 (errno: 98"
                " - Address already in use)."
            ),
            "Port 22 belongs to the system",
        ),
        (
            (
                "_pickle.UnpicklingError: Weights only load failed. WeightsUnpickler error: Unsupported"
                " global: GLOBAL getattr was not an allowed global by default."
            ),
            "do not allow",
        ),
    ],
)
def test_a_message_is_answered_by_what_it_says(message, part):
    assert part in say(message)


def test_a_cublas_failure_ranks_its_causes_and_says_what_tells_them_apart():
    match = best("RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublas`")
    assert match.confidence == "possible"
    assert (
        match.cause.index("1. ")
        < match.cause.index("index out of range")
        < match.cause.index("2. ")
    )
    assert "smaller batch" in match.cause


def test_facts_derive_sizes_in_their_unit():
    facts = Facts({"a": "1.50 GiB", "b": "512.00 MiB"}, {"a": "size", "b": "size"})
    facts.derive({"c": ["sub", "a", "b"], "d": ["div", "c", 2]}, {}, "en")
    assert facts.fill("{c} and {d}") == "1.00 GiB and 0.50 GiB"


def test_facts_leave_out_what_cannot_be_derived():
    facts = Facts({"a": "x", "b": None}, {"a": "text", "b": "int"})
    facts.derive({"c": ["sub", "a", 1], "d": ["add", "b", 1], "e": ["div", 1, 0]}, {}, "en")
    assert facts.shown() == {"a": "x", "e": 0}
    assert facts.fill("{c}") is None
    assert not facts.holds(["a", "<", 3])
    assert not facts.holds(["b", "==", 3])
    assert not facts.holds(["a", "==", {"fact": "b"}])
