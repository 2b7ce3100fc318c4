"""Read single fields out of the lines of a report: one small reader for each kind of line."""

from __future__ import annotations

import re

from torchguide.environment import Device, Package
from torchguide.environment_labels import (
    NOTHING,
    VERSION,
    VERSION_RE,
    Found,
    read_labelled,
    set_cuda,
    set_text,
    set_torch,
    set_version,
    set_yes_no,
)

__all__ = ["read"]

_GPU_LINE = re.compile(
    r"['\"]?GPU (\d{1,2}(?:,\d{1,2})*)(?: Name)?['\"]?\s*(?::|\s{2,})\s*['\"]?(?P<name>[^'\"]+?)['\"]?,?$"
)
_SMI_ROW = re.compile(
    r"\|\s{1,3}(\d{1,2}|N/A)\s{1,3}(\S.*?)\s+(?:On|Off|N/A|TCC|WDDM|MCDM)\s*\|\s*(?:[0-9A-F]{4,8}:|N/A)"
)
_CUDA_DEVICE = re.compile(r"\bCUDA:(\d{1,2}) \(([^,()]+(?:\([^)]*\)[^,()]*)?),")
_COMFY = re.compile(r"^(?:Name|Device): cuda:(\d{1,2}) (.+?)(?: : \w+)?$")
_FASTAI = re.compile(r"^gpu(\d{1,2})\s*: \d+MB \| (.+)$")
_XPU = re.compile(r"_XpuDeviceProperties\(name='([^']+)'")
# one GPU named in the lines that programs print when they start: kohya, Unsloth, SD.Next
_STARTING = re.compile(
    r"^Torch detected GPU: (.+?)(?: VRAM|$)|\|\s+(?:GPU: )?(\S[^|]{1,80}?)\. (?:Num GPUs|Max memory)"
    r"|\bdevice=(.{1,80}?) n=\d+ arch="
)
_CSV = re.compile(r"^((?:NVIDIA|Tesla|GeForce|Quadro)[^,]+), (\d{3}\.\d+[.\d]*)")


def _device(name: str) -> Device:
    name = re.sub(r"\s*\(UUID: [^)]*\)?", "", name).strip(" ,")
    told = re.search(r"\(arch=(\d+\.\d+)\)|compute capability (\d+\.\d+)", name)
    if told:
        return Device(name[: told.start()].strip(" ("), told.group(1) or told.group(2))
    return Device(name)


def _named_by_programs(found: Found, line: str, number: int) -> None:
    for index, name in _CUDA_DEVICE.findall(line):
        found.gpu("ultralytics", index, _device(name))
    for name in _XPU.findall(line):
        found.gpu("xpu", str(len(found.gpus.get("xpu", {}))), Device(name))
    for reader, pattern in (("comfy", _COMFY), ("fastai", _FASTAI)):
        named = pattern.match(line)
        if named:
            found.gpu(reader, named.group(1), _device(named.group(2)))
    product = re.match(r"Product Name\s+: (.+)", line)  # nvidia-smi -q
    if product:
        found.gpu("smi", f"q{len(found.gpus.get('smi', {}))}", _device(product.group(1)))
    starting = _STARTING.search(line)
    if starting:
        name = next(filter(None, starting.groups()))
        found.gpu("session", str(len(found.gpus.get("session", {}))), _device(name))
    if starting or "Setting ds_accelerator to cuda" in line:
        found.put("cuda_available", "yes", number, line, rank=1)


def _devices(found: Found, lines: list[str]) -> None:
    for number, line in enumerate(lines, 1):
        _named_by_programs(found, line, number)
        match = _GPU_LINE.match(line) or re.match(
            r"(?:GPU models and configuration|nvidia_gpu_models)\s*:\s*GPU (\d{1,2}(?:,\d{1,2})*): (?P<name>.+)$",
            line,
        )
        if match and not NOTHING.match(match["name"]):
            for index in match.group(1).split(","):
                found.gpu("lines", index, _device(match["name"]))
        row = _SMI_ROW.match(line)
        if row:
            found.gpu("smi", row.group(1), _device(row.group(2)))
        csv = _CSV.match(line)
        if csv:
            found.gpu("csv", str(len(found.gpus.get("csv", {}))), _device(csv.group(1)))
            found.put("driver", csv.group(2), number, line)


def _smi(found: Found, lines: list[str]) -> None:
    for number, line in enumerate(lines, 1):
        if "NVIDIA-SMI" in line:
            found.shown.append("nvidia-smi")
            tool = re.search(r"NVIDIA-SMI (?:version\s*: )?(\d{3}\.\d+[.\d]*)", line)
            if tool:
                found.put("smi_tool", tool.group(1), number, line)
        driver = re.search(r"(?:Driver|KMD) Version\s*: ?(\d{3}\.\d+[.\d]*)", line)
        if driver:
            found.put("driver", driver.group(1), number, line)
        cuda = re.search(r"CUDA (?:UMD )?Version\s*: ?(\d+\.\d+|ERR!|N/A)", line)
        if cuda and ("SMI" in line or line.startswith(("CUDA Version", "|"))):
            found.put("driver_cuda", cuda.group(1), number, line)
        module = re.search(
            r"NVRM version: .*?Kernel Module(?: for \w+)?\s+(\d{3}\.\d+[.\d]*)", line
        )
        if module:
            found.put("driver", module.group(1), number, line)


_NAMES = (
    "torch|pytorch|torchvision|torchaudio|numpy|cudatoolkit|cpuonly|pytorch-mutex|pytorch-cuda"
    "|pytorch-gpu|pytorch-cpu"
)
_TAGGED = re.compile(
    rf"\[(pip3?|conda)\]\s+({_NAMES})(?:==|\s+\(?)(\S+?)\)?(?:\s+(\S+))?(?:\s+(\S+))?\s*$"
)
_ROW = re.compile(
    rf"({_NAMES})\s+(?:[✅✓✔]\s*)?(\d[\w.+-]*)(?:[<>=!~][^\s;]*)?(?:;.*)?"
    r"(?:\s+(\S+))?(?:\s+\[\w+\])?(?:\s+(\S+))?\s*$"
)
# conda's plan of an installation: `pytorch-1.11.0 |cpu_py37h14e09b7_1`, `::pytorch-1.11.0-cpu_0`
_PLANNED = re.compile(rf"(?:^|::)({_NAMES})-(\d[\w.+]*)(?:\s*\|\s*|-)(\w[\w.]*)")
_PINNED = re.compile(rf"({_NAMES})==?([\w.+!-]+?)(?:=([\w.]+))?\s*$")
_BUILD = re.compile(r"(?:py\d|h[0-9a-f]{6}|cuda|cpu|pypi|gpu|\d+$|<pip>|dev_)")


def _planned(found: Found, line: str) -> bool:
    planned = _PLANNED.search(line)
    if not planned or not _BUILD.match(planned.group(3)):
        return False
    found.shown.append("conda list")
    found.conda.setdefault(planned.group(1), Package(planned.group(2), planned.group(3)))
    return True


def _tagged(found: Found, line: str) -> bool:
    tagged = _TAGGED.match(line)
    if not tagged:
        return False
    tool, name, version, build, channel = tagged.groups()
    if tool == "conda":
        found.conda.setdefault(name, Package(version, build or "", channel or ""))
    else:
        found.pip.setdefault(name, Package(version))
    return True


def _packages(found: Found, lines: list[str]) -> None:
    shown = ""
    for number, raw in enumerate(lines, 1):
        line = raw.replace(" | ", "   ").strip("| ") if "|" in raw else raw
        if line.startswith("Name: "):  # pip show
            shown = line[6:].strip()
        elif line.startswith("Version: ") and re.fullmatch(_NAMES, shown):
            found.shown.append("pip list")
            found.pip.setdefault(shown, Package(line[9:].strip()))
        if _planned(found, raw) or _tagged(found, line):
            continue
        row = _ROW.match(line) or _PINNED.match(line)
        if not row:
            continue
        name, version, build = row.group(1), row.group(2), row.group(3) or ""
        channel = (row.group(4) or "") if row.re is _ROW else ""
        if not version[0].isdigit() and name != "pytorch-mutex":
            continue
        if build and _BUILD.match(build):
            found.shown.append("conda list")
            found.conda.setdefault(name, Package(version, build, channel))
        else:
            found.shown.append("pip list")
            found.pip.setdefault(name, Package(version))
        if name == "torch" or (name == "pytorch" and not build):
            found.put("torch", version, number, line, rank=2)


_EXPRESSIONS: tuple[tuple[str, str], ...] = (
    (r"torch\.__version__", "torch"),
    (r"torchvision\.__version__", "torchvision"),
    (r"torch\.version\.cuda", "torch_cuda"),
    (r"torch\.cuda\.is_available(?:\(\))?", "cuda_available"),
    (r"torch\.cuda\.device_count(?:\(\))?", "device_count"),
    (r"torch\.cuda\.get_device_name\([^)]*\)", "gpu"),
    (r"torch\.cuda\.get_device_capability\([^)]*\)", "capability"),
    (r"torch\.cuda\.get_arch_list(?:\(\))?", "arch_list"),
)
_EXPRESSION = re.compile("|".join(f"(?P<{name}>{pattern})" for pattern, name in _EXPRESSIONS))
_PROMPT = re.compile(r"^(?:>>>|\.\.\.|In ?\[\d*\]:|\$|PS |[A-Z]:\\)")
_SAYS = r"returned|returns?|gives|outputs?|prints?|is|->|=>|返回|输出|结果|显示|[:=#为是了]+"
# what stands between an expression and its answer, in the same line and below
_SAID = re.compile(
    rf"^[)'\"\]]*(?:\s*(?:always|still|仍然|一直|都|{_SAYS}))*\s*['\"“]?", re.IGNORECASE
)
_SHOWN = re.compile(rf"^(?:Out ?\[\d*\]:|>>>|(?:{_SAYS})(?=[\s:]|[TF]))?\s*:?\s*", re.IGNORECASE)


def _answer(found: Found, name: str, value: str, line: int, text: str) -> None:
    value = value.strip(" '\")(")
    if name == "torch":
        set_torch(found, value, line, text)
    elif name == "torchvision" and VERSION_RE.match(value):
        found.pip.setdefault("torchvision", Package(value))
    elif name == "torch_cuda":
        if value.startswith("None"):
            found.put("torch_cuda", "cpu", line, text)
        else:
            set_cuda(found, value if value[:1].isdigit() else "", line, text)
    elif name == "cuda_available":
        set_yes_no("cuda_available")(found, value, line, text)
    elif name == "device_count" and value.isdigit():
        found.put("device_count", value, line, text)
    elif name == "gpu" and re.match(r"[A-Z]", value) and not value.startswith("Traceback"):
        found.gpu("session", str(len(found.gpus.get("session", {}))), _device(value))
    elif name == "arch_list" and "sm_" in value:
        found.put("arch_list", " ".join(re.findall(r"sm_\d+[af]?|compute_\d+", value)), line, text)


# what an answer looks like: warnings may stand between an expression and its answer
_FORMS = {
    "torch": re.compile(rf"['\"]?{VERSION}"),
    "torchvision": re.compile(rf"['\"]?{VERSION}"),
    "torch_cuda": re.compile(r"['\"]?\d+\.\d+|None"),
    "cuda_available": re.compile(r"(?:[Tt]rue|[Ff]alse|TRUE|FALSE)\b"),
    "device_count": re.compile(r"\d+$"),
    "gpu": re.compile(r"['\"]?(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|AMD|Orin|[A-Z]\w+ )(?!.*: )"),
    "capability": re.compile(r"\(\d+, \d+\)"),
    "arch_list": re.compile(r"\["),
}


def _session(found: Found, lines: list[str]) -> None:
    """Read expressions and the answers below them, as an interpreter shows them."""
    for number, line in enumerate(lines, 1):
        asked = list(_EXPRESSION.finditer(line))
        if not asked:
            continue
        names = [match.lastgroup or "" for match in asked]
        rest = _SAID.sub("", line[asked[-1].end() :], count=1).strip()
        if len(names) == 1 and _FORMS[names[0]].match(rest):
            _answer(found, names[0], rest, number, line)
            continue
        below = [_SHOWN.sub("", text) for text in lines[number : number + len(names) + 4] if text]
        until = next((i for i, text in enumerate(below) if _PROMPT.match(text)), len(below))
        below = below[:until]
        if below and len(names) > 1 and len(below[0].split()) == len(names):
            below = below[0].split()
        for name in names:
            fitting = next((i for i, text in enumerate(below) if _FORMS[name].match(text)), None)
            if fitting is not None:
                _answer(found, name, below[fitting], number + 1, below[fitting])
                below = below[fitting + 1 :]


_BANNER = re.compile(rf"\btorch(?:-({VERSION})|[ -]({VERSION}) (?=CUDA:\d|CPU))")


_RUNNING: tuple[tuple[str, str, int], ...] = (
    # field, pattern, rank: install commands and paths only count where nothing better is found
    ("python", r"\b[Pp]ython[- ](\d\.\d+\.\d+)\b", 1),
    ("python", r"[/\\]python-?(\d\.\d+)[/\\]", 3),
    (
        "visible_devices",
        r"""(?<!NVIDIA_)\bCUDA_VISIBLE_DEVICES['"\]]*\s*[:=]\s*['"]?([^\s'",;]*(?:,\s?\d+)*)""",
        0,
    ),
    ("python", r"\b[Pp]ython ?(3\.\d{1,2})\b(?![.+])", 4),
    ("torch_cuda", r"\b(?:cudatoolkit|pytorch-cuda)=+(\d+\.\d+)", 3),
    ("torch_cuda", r"PyTorch has CUDA [Vv]ersion[ =](\d+\.\d+)", 0),
    ("torch_cuda", r"^- Build settings:.*\bCUDA_VERSION=(\d+\.\d+)", 1),
    ("torch_cuda", r"^Device: (xpu)", 0),
    ("torch_cuda", r"^Torch backend: nVidia CUDA (\d+\.\d+)", 0),
    (
        "torch",
        r"(?i)\b(?:py)?torch(?: ?version| ?版本)? ?(?:is|为|是) ?v?(\d+\.\d+\.\d+(?:\S*\w)?)",
        2,
    ),
    (
        "torch",
        r"(?i)^(?:py)?torch v?(\d+\.\d+\.\d+[\w.+]*)(?=\s|,|$)(?! with CUDA| requires| has req| is )",
        2,
    ),
    ("torch", r"\b(?:Pytorch|Torch): (\d[\w.+]*\w)\. CUDA\b", 0),  # Unsloth
    ("torch", r"^Torch: torch==(\d[\w.+]*\w)", 0),  # SD.Next
    ("torch_cuda", r"\bcapability=\(\d+, \d\) cuda=(\d+\.\d+)", 0),
    ("driver", r"^driver=(\d{3}\.\d+[.\d]*)", 1),
    ("python", r"^Python: version=(\d\.\d+\.\d+)", 0),
    ("torch", r"PyTorch \S+ with CUDA \S+ \(you have (\d[\w.+]*)\)", 1),  # xFormers
    ("python", r"\bCPython (3\.\d+)\b", 1),
    ("python", r"^Python version is (\d\.\d+\.\d+)", 0),
    ("driver", r"(?i)\bdriver:? v?(\d{3}\.\d{2,3}(?:\.\d\d)?)(?![\d.])", 2),
    ("cpu_build", r"^(?:- )?Build settings:.*\bUSE_CUDA=(0|OFF)\b", 0),
    ("torch", r"Your installed torch==(\d[\w.+]*\w)", 1),
    ("asked", r"\b((?:cudatoolkit|pytorch-cuda)=+\d+\.\d|download\.pytorch\.org/whl/cu\d+)", 0),
    ("wsl", r"(?<!\[ \] )\bWSL ?([12])\b", 1),
    ("wsl", r"\[[xX]\] (WSL ?[12])\b", 0),
    ("torch_cuda", r"^(?:- )?CUDA Runtime (\d+\.\d+)", 0),
    ("torch_cuda", r"^CUDA {2,}(\d+\.\d+)$", 0),
    ("toolkit", r"Cuda compilation tools, release (\d+\.\d+)", 0),
    ("windows", r"(\bMSC v\.\d+|\bWindows-\d+|Microsoft Windows|^[A-Z]:\\|^PS [A-Z]:)", 0),
    ("windows", r"(WDDM|Driver-Model)", 1),
    ("linux", r"(Persistence-M)", 1),
    ("bits", r"\b(32)[- ]bit (?:\(Intel\)|runtime)", 0),
)
_RUNNING_RE = tuple((name, re.compile(pattern), rank) for name, pattern, rank in _RUNNING)


def _running(found: Found, lines: list[str]) -> None:
    """Read what stands in running text: banners, paths, prompts, variables."""
    for number, line in enumerate(lines, 1):
        for name, pattern, rank in _RUNNING_RE:
            match = pattern.search(line)
            if match:
                found.put(name, match.group(1), number, line, rank=rank)
        inside = re.search(r"[/\\][Pp]ython(3)(\d{1,2})[/\\]", line)  # C:\Python310\lib
        if inside:
            found.put("python", ".".join(inside.groups()), number, line, rank=3)
        banner = _BANNER.search(line)
        if banner and ".whl" not in line:
            found.put("torch", banner.group(1) or banner.group(2), number, line, rank=1)
            if re.match(r" ?CPU\b", line[banner.end() :]):
                found.put("cuda_available", "no", number, line, rank=1)
        if "which supports hardware CC" in line:
            _hardware(found, line, number)
        if re.match(r"(?:- )?NVCC architecture flags", line):
            codes = re.findall(r"code=((?:sm|compute)_\d+[af]?)", line)
            found.put("arch_list", " ".join(dict.fromkeys(codes)), number, line)


def _hardware(found: Found, line: str, number: int) -> None:
    """Add one architecture of the list that torch prints from 2.10 on, a line each."""
    code = re.search(r"(\d+)\.(\d+) which supports hardware CC", line)
    if code:
        seen = found.fields.get("arch_list", "").split()
        added = dict.fromkeys((*seen, f"sm_{code.group(1)}{code.group(2)}"))
        found.fields["arch_list"] = " ".join(added)
        found.where.setdefault("arch_list", f"{number}: {line[:120]}")


def _lightning(found: Found, lines: list[str]) -> None:
    """Read the nested report of PyTorch Lightning: `* CUDA:`, `- GPU:`, `- version:`."""
    section = ""
    for number, line in enumerate(lines, 1):
        bare = line.lstrip("*- ")
        if re.fullmatch(r"(?i:CUDA|Packages|Lightning|System|GPU|Dependencies):", bare):
            section = bare.rstrip(":").upper()
        elif re.match(r"GPU: ?None", bare):
            found.absent.add("gpus")
        elif section in ("CUDA", "GPU") and re.match(r"available:", bare):
            set_yes_no("cuda_available")(found, bare.partition(":")[2].strip(), number, line)
            section = "CUDA"
        elif section in ("CUDA", "GPU") and re.match(r"version:", bare):
            value = bare.partition(":")[2].strip()
            if value.startswith("None"):
                found.put("torch_cuda", "cpu", number, line)
            else:
                set_cuda(found, value, number, line)
        elif section == "GPU" and re.match(r"(NVIDIA|Tesla|GeForce|Quadro|TITAN|A\d+)", bare):
            found.gpu("lightning", str(len(found.gpus.get("lightning", {}))), _device(bare))
        elif section == "SYSTEM" and re.match(r"OS:|python:", bare):
            key, _, value = bare.partition(":")
            (set_text("os") if key == "OS" else set_version("python"))(
                found, value.strip(), number, line
            )


def read(lines: list[str]) -> Found:
    """Let every reader read the lines."""
    found = Found()
    for reader in (read_labelled, _smi, _devices, _packages, _session, _lightning, _running):
        reader(found, lines)
    return found
