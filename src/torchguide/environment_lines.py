"""Bring pasted text into lines of one shape, whatever it was copied through."""

from __future__ import annotations

import re

__all__ = ["LABELS", "lines_of"]

# full-width forms, as Chinese input methods write them, to ASCII
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_WIDTH |= {0x3000: 0x20, 0xA0: 0x20, 0x3002: 0x2E, 0x3010: 0x5B, 0x3011: 0x5D}
_WIDTH |= dict.fromkeys((0x200B, 0x200C, 0x200D, 0xFEFF, 0xFE0F))  # type: ignore[arg-type] # None deletes

# what stands before a value in the reports; a report pasted as one line is cut before each
LABELS = (
    "PyTorch version",
    "Is debug build",
    "CUDA used to build PyTorch",
    "ROCM used to build PyTorch",
    "XPU used to build PyTorch",
    "GCC version",
    "Clang version",
    "CMake version",
    "Libc version",
    "Python version",
    "Python platform",
    "Is CUDA available",
    "Is XPU available",
    "CUDA runtime version",
    "CUDA_MODULE_LOADING set to",
    "GPU models and configuration",
    "Nvidia driver version",
    "cuDNN version",
    "HIP runtime version",
    "MIOpen runtime version",
    "Is XNNPACK available",
    "Versions of relevant libraries",
)
_CUT = re.compile(
    r"\s+(?=(?:" + "|".join(map(re.escape, LABELS)) + r"|OS)\b[^:\n]{0,12}:)"
    r"|\s+(?=\[(?:pip3?|conda)\]\s)"
    r"|(?<=[\w)])\s+(?=GPU \d+: )"
)
# reports of OpenMMLab and SGLang pasted as one line; such short words are only cut before where
# several stand in one line
_SHORT = (
    r"sys\.platform|Python|CUDA available|MUSA available|numpy_random_seed|CUDA_HOME|NVCC|GCC|MSVC"
    r"|CUDA Driver Version|PyTorch compiling details|PyTorch|TorchVision|OpenCV|MMCV|MMEngine"
    r"|GPU \d+(?:,\d+)*(?: Compute Capability)?|sglang|sgl_kernel|flashinfer\w*|triton"
    r"|transformers|torchao|numpy|aiohttp|vllm"
)
_CUT_SHORT = re.compile(rf"\s+(?=(?:{_SHORT}): )")
_HEADING = re.compile(
    r"\s{0,3}#{1,6}\s+(?:GPU|PyTorch|Torch|Python|NVIDIA|Driver|OS|Operating|显卡|驱动|系统|操作系统)"
    r"[\w ()/]{0,30}:?\s*$",
    re.IGNORECASE,
)
_PAIR = re.compile(r"\(['\"]([\w .]{2,30})['\"], (?:['\"](.*?)['\"]|(\w+))\)(?=,|\]|$)")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]* - *")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PREFIX = re.compile(
    r"^(?:\s*(?:"
    r"[>|*•·#-]+(?=\s)"  # quotes, bullets, headings, table cells
    r"|\[(?!pip3?\]|conda\]|[ xX]\])[^\]\n]{1,80}\](?=[\s:\[])"  # [task 2025-07-01] [train]
    r"|\((?:[\w.-]+ )?pid=\d+\)"
    r"|[\w.-]{1,40}-\d{1,3}\s+\|(?=\s)"  # docker compose
    r"|[\w.]+ - (?=(?:INFO|WARNING|ERROR|DEBUG) )"
    r"|\d{1,2}[.)、](?=\s)"  # a numbered list"
    r"|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d[\d.,:+Z]*(?:\s*[-|:])?"
    r"|\d\d:\d\d:\d\d[-.,]\d{3,6}|\d\d/\d\d \d\d:\d\d:\d\d -"
    r"|(?:INFO|WARNING|ERROR|DEBUG)(?=[\s:|])(?: -|[:|])?"
    r"))+\s*"
)


def lines_of(text: str) -> list[str]:
    """Split text into stripped lines: no prompts of logs, no marks of Markdown, ASCII colons."""
    text = _ANSI.sub("", text).translate(_WIDTH).replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("**", "").replace("`", "")
    lines: list[str] = []
    whole = text.split("\n")
    for number, raw in enumerate(whole):
        entries = _STAMP.sub("", raw[:20_000])
        if raw.lstrip().startswith(("{'", '{"')):  # a printed dict, one entry a line from here
            entries = re.sub(r",\s+(?=['\"])", ",\n", entries.lstrip("{ "))
        elif "OrderedDict(" in raw or raw.lstrip().startswith("[('"):  # mmengine's, printed
            pairs = ((key, quoted or bare) for key, quoted, bare in _PAIR.findall(entries))
            entries = "\n".join(f"{key}: {value}" for key, value in pairs).replace("\\n", "\n")
        if (
            raw.count(": ") > 5
            and "used to build" not in raw
            and len(_CUT_SHORT.findall(entries)) > 3
        ):
            entries = _CUT_SHORT.sub("\n", entries)
        elif _HEADING.match(raw):  # a form filled in: the answer stands below its heading
            answer = next((line for line in whole[number + 1 : number + 4] if line.strip()), "")
            entries = raw if answer.startswith("#") else f"{raw.rstrip(' :')}: {answer.strip()}"
        for part in _CUT.sub("\n", entries).split("\n"):
            table_row = part.lstrip().startswith("|") and part.count("|") > 1
            lines.append((part if table_row else _PREFIX.sub("", part)).strip())
    return lines
