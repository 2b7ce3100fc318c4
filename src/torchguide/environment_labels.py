"""Read labelled values, `Key: value` in all its forms, and keep what every reader finds."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from torchguide.environment import Device, Package

__all__ = [
    "NOTHING",
    "VERSION",
    "VERSION_RE",
    "Found",
    "read_labelled",
    "set_cuda",
    "set_text",
    "set_torch",
    "set_version",
    "set_yes_no",
]

VERSION = r"\d+\.\d+(?:\.\d+)*(?:(?:a|b|rc|\.?post|\.?dev|\.nv|\.)\d+)*(?:\+[\w.]+)?"
VERSION_RE = re.compile(rf"v?({VERSION})")
NOTHING = re.compile(
    r"(?:N/?A|None|No CUDA|Could not collect|not found|unknown|<?not set>?)\b", re.IGNORECASE
)
_MAKER = re.compile(
    r"NVIDIA|GeForce|\b[RG]TX|Tesla|Quadro|TITAN|Radeon|Instinct|AMD|Intel|\bArc\b"
    r"|\b(?:[AHLBVPTM]\d{1,3}|RTX|MX\d{3})\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(r"['\"]?(True|Yes|False|No)\b", re.IGNORECASE)


@dataclass
class Found:
    """What the readers have found; the first find of a field stays."""

    fields: dict[str, str] = field(default_factory=dict)
    where: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    gpus: dict[str, dict[str, Device]] = field(default_factory=dict)  # reader -> index -> device
    pip: dict[str, Package] = field(default_factory=dict)
    conda: dict[str, Package] = field(default_factory=dict)
    launcher: dict[str, str] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)  # kinds of report seen
    _rank: dict[str, int] = field(default_factory=dict)

    def put(self, name: str, value: str, line: int, text: str, *, rank: int = 0) -> None:
        """Keep a value, unless one of the same or a lower rank is there."""
        if name not in self.fields or rank < self._rank[name]:
            self.fields[name] = value
            self._rank[name] = rank
            self.where[name] = f"{line}: {text[:120]}"

    def rank_of(self, name: str) -> int:
        """Give the rank of a kept value: 0 is a label's, more is looser text."""
        return self._rank.get(name, 0)

    def gpu(self, reader: str, index: str, device: Device) -> None:
        """Keep a GPU; the same index again is the same device."""
        self.gpus.setdefault(reader, {}).setdefault(index, device)


_Handler = Callable[[Found, str, int, str], None]


def set_version(name: str, rank: int = 0) -> _Handler:
    """Make a handler that keeps a version."""

    def handle(found: Found, value: str, line: int, text: str) -> None:
        match = VERSION_RE.match(value.strip("'\" "))
        if match:
            found.put(name, match.group(1), line, text, rank=rank)
        elif NOTHING.match(value):
            found.absent.add(name)

    return handle


def set_yes_no(name: str) -> _Handler:
    """Make a handler that keeps yes or no."""

    def handle(found: Found, value: str, line: int, text: str) -> None:
        match = _YES_NO.match(value)
        if match:
            yes = match.group(1).lower() in ("true", "yes")
            found.put(name, "yes" if yes else "no", line, text)

    return handle


def set_text(name: str, rank: int = 0) -> _Handler:
    """Make a handler that keeps a text."""

    def handle(found: Found, value: str, line: int, text: str) -> None:
        if value and not NOTHING.match(value):
            found.put(name, value.strip(" '\","), line, text, rank=rank)

    return handle


def set_torch(found: Found, value: str, line: int, text: str) -> None:
    """Keep a version of torch, and what stands in brackets behind it."""
    match = VERSION_RE.match(value.strip("'\" "))
    if not match:
        if re.match(r"['\"]?(N/?A|not installed)", value, re.IGNORECASE):
            found.absent.add("torch")
        return
    found.put("torch", match.group(1), line, text)
    rest = value[match.end() :]
    usable = re.match(r"['\"]?\s*\((True|False|CUDA|GPU|CPU|NA)\b", rest)
    if usable and usable.group(1) != "NA":
        yes = usable.group(1) in ("True", "CUDA", "GPU")
        found.put("cuda_available", "yes" if yes else "no", line, text)
    pair = re.search(rf"torchvision\W+({VERSION})", rest)
    if pair:
        found.pip.setdefault("torchvision", Package(pair.group(1)))


def set_cuda(found: Found, value: str, line: int, text: str) -> None:
    """Keep what torch was built for."""
    match = re.match(r"['\"]?(\d+\.\d+)", value)
    if match:
        found.put("torch_cuda", match.group(1), line, text)
    elif value.startswith("None"):
        found.put("torch_cuda", "cpu", line, text)
        found.absent |= {"driver", "gpus"}  # collect_env prints None where it found nothing at all
    elif value.startswith("Could not"):
        found.put("torch_cuda", "cpu", line, text)
        found.put("cuda_traces", "yes", line, text)  # a GPU, a driver or a toolkit was found


def _rocm(found: Found, value: str, line: int, text: str) -> None:
    if re.match(r"\d+\.\d+", value):
        found.put("torch_cuda", "rocm", line, text, rank=-1)


def _xpu(found: Found, value: str, line: int, text: str) -> None:
    if re.match(r"\d{6,}", value):
        found.put("torch_cuda", "xpu", line, text, rank=-1)


def _driver(found: Found, value: str, line: int, text: str) -> None:
    match = re.match(r"['\"]?(\d{3}\.\d+(?:\.\d+)?)", value)
    if match:
        found.put("driver", match.group(1), line, text)
    elif NOTHING.match(value):
        found.absent.add("driver")
        if value.startswith("No CUDA"):
            found.absent |= {"gpus", "toolkit"}


def _toolkit(found: Found, value: str, line: int, text: str) -> None:
    match = re.match(r"V?(\d+\.\d+)", value)
    if match:
        found.put("toolkit", match.group(1), line, text)
    elif value.startswith("No CUDA"):
        found.absent |= {"driver", "gpus", "toolkit"}
    elif NOTHING.match(value):
        found.absent.add("toolkit")


def _models(found: Found, value: str, line: int, text: str) -> None:
    if NOTHING.match(value):
        found.absent.add("gpus")
    elif value and not re.match(r"GPU \d+", value):
        found.gpu("models", "0", Device(value))
    found.put("models", "seen", line, text)


def _gpu_type(found: Found, value: str, line: int, text: str) -> None:
    del line, text
    name = re.split(r",\s*\d+\s*MiB|\s+\(\d+ ?[MG]i?B\)", value)[0].strip()
    if name and not NOTHING.match(name) and not re.match(r"NA\b|-|\d", name):
        found.gpu("type", str(len(found.gpus.get("type", {}))), Device(name))


def _gpu_named(found: Found, value: str, line: int, text: str) -> None:
    """Keep a GPU named as people write it: "RTX 3090 * 2", "2 x A100", "RTX 5090 (SM_120)"."""
    del line, text
    count = re.search(
        r"(?:[x*×]\s*(\d{1,2})|\((\d{1,2})\))$|^(\d{1,2})\s*(?:[x*×]|块|张|卡)", value
    )
    name = re.sub(r"\s*\([^)]*\)|\s*[x*×]\s*\d{1,2}$|^\d{1,2}\s*(?:[x*×]|块|张|卡)\s*", "", value)
    name = re.split(r",\s*\d+\s*MiB|[,;，]|\s{2,}|\s\d+ ?GB", name)[0].strip()
    if re.fullmatch(r"[1-5]0[5-9]0(?: ?(?:Ti|SUPER|D))*", name, re.IGNORECASE):
        name = f"{'GTX' if name.startswith('1') else 'RTX'} {name}"  # "显卡: 3090"
    if not (_MAKER.search(name) and re.search(r"[A-Z]", name)) or "type" in found.gpus:
        return
    number = next((int(digits) for digits in count.groups() if digits), 1) if count else 1
    for index in range(max(1, min(number, 64))):
        found.gpu("named", f"{name}{index}", Device(name))


def _gpu_number(found: Found, value: str, line: int, text: str) -> None:
    del line, text
    devices = found.gpus.get("type", {})
    if re.fullmatch(r"\d{1,3}", value) and devices:
        first = next(iter(devices.values()))
        for index in range(min(int(value), 64)):
            found.gpu("type", str(index), first)


def _built_in(found: Found, value: str, line: int, text: str) -> None:
    """Keep what xFormers says of CUDA: "available" or "not available"."""
    if value in ("available", "not available"):
        found.put("cuda_available", "yes" if value == "available" else "no", line, text)


def _arch_list(found: Found, value: str, line: int, text: str) -> None:
    codes = re.findall(r"(?:sm|compute)_\d+[af]?", value)
    if codes:
        found.put("arch_list", " ".join(codes), line, text)


def _launcher(name: str) -> _Handler:
    def handle(found: Found, value: str, line: int, text: str) -> None:
        del line, text
        found.launcher.setdefault(name, value.strip("'\" "))

    return handle


# labels that say themselves what they are, found anywhere in a line
_ANYWHERE: tuple[tuple[str, _Handler], ...] = (
    (r"(?:py)?torch[_ .]version(?: ?\([^)]*\))?|(?:py)?torch(?: )?版本", set_torch),
    (r"CUDA used to build PyTorch|cuda_compiled_version|torch cuda(?: version)?", set_cuda),
    (r"ROCM used to build PyTorch|hip_compiled_version|torch hip version", _rocm),
    (r"XPU used to build PyTorch", _xpu),
    (
        r"Is CUDA available|is_cuda_available|CUDA available(?: in PyTorch)?",
        set_yes_no("cuda_available"),
    ),
    (r"CUDA runtime version|cuda_runtime_version|nvcc version", _toolkit),
    (r"GPU models and configuration|nvidia_gpu_models", _models),
    (r"(?:nvidia|cuda) ?driver(?: version)?|nvidia_driver_version|KMD Version", _driver),
    (r"NVML library version", _driver),
    (r"Python platform|python_platform", set_text("platform")),
    (r"Libc version|libc_version", set_text("libc")),
    (r"CUDA UMD Version", set_version("driver_cuda")),
)
# short labels, only at the beginning of a line
_AT_START: tuple[tuple[str, _Handler], ...] = (
    (r"python(?:[_ ]version)?|python(?: )?版本", set_version("python")),
    (r"pytorch|torch", set_torch),
    (r"OS|operating system|(?:操作)?系统(?:版本)?", set_text("os")),
    (r"platform", set_text("platform", 1)),
    (r"sys\.platform", set_text("sys_platform")),
    (r"(?:gpu )?driver(?: version)?|(?:nvidia ?)?(?:显卡)?驱动(?:程序)?(?:版本)?号?", _driver),
    (r"GPU available", set_yes_no("cuda_available")),
    (r"GPU type|Accelerator", _gpu_type),
    (r"(?:CUDA )?GPU(?:s| ?型号| ?model| ?name| device name)?|显卡(?:型号)?", _gpu_named),
    (r"gpu\.name", _gpu_named),
    (r"pytorch\.cuda", _built_in),
    (r"TORCH_CUDA_ARCH_LIST|arch(?:itecture)? list", _arch_list),
    (r"GPU (?:number|count)", _gpu_number),
    (r"gpu_ids", _launcher("gpu_ids")),
    (r"use_cpu", _launcher("use_cpu")),
    (r"NVCC", set_text("nvcc")),
    (r"torchvision(?: version)?", set_version("torchvision")),
    (r"torchaudio(?: version)?", set_version("torchaudio")),
    (r"numpy(?: version)?", set_version("numpy")),
)
# printed with a line break after the label
_MAY_STAND_BELOW = {handler for label, handler in _ANYWHERE if "available" in label}
_SEPARATOR = r"['\"]?\s*(?:\(e\.g\.,?[^)]*\)\s*)?(?::|=(?!=)|\.{3,}|\t|\s{2,})\s*"


@functools.cache
def _pattern(label: str, before: str) -> re.Pattern[str]:
    return re.compile(rf"{before}(?:{label}){_SEPARATOR}(?P<value>.*)", re.IGNORECASE)


@functools.cache
def _needles(label: str) -> tuple[str, ...]:
    """Give the plain beginnings of a label's forms: cheaper to look for than the pattern."""
    forms = re.sub(r"\(\?:[^)]*\)\??|\[[^\]]*\]|\([^)]*\)", "\0", label).split("|")
    pieces = [re.split(r"[\0?*+\\]", form.replace("\\.", ".").lower()) for form in forms]
    return tuple(max(parts, key=len) for parts in pieces)


def read_labelled(found: Found, lines: list[str]) -> None:
    """Read every labelled value."""
    for number, line in enumerate(lines, 1):
        if not any(separator in line for separator in (":", "  ", "\t", "=", "...")):
            continue
        lowered = line.lower()
        for table, before in ((_ANYWHERE, r"(?<![\w.-])['\"]?"), (_AT_START, r"^['\"]?-?\s*")):
            for label, handler in table:
                if not any(needle in lowered for needle in _needles(label)):
                    continue
                match = _pattern(label, before).search(line)
                if match:
                    value = match["value"].strip()
                    if not value and handler in _MAY_STAND_BELOW and number < len(lines):
                        value = lines[number]
                    handler(found, value, number, line)
