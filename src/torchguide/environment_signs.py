"""Recognise the messages that say by themselves what is wrong."""

from __future__ import annotations

import re

from torchguide.environment import Sign

__all__ = ["signs_in"]

# id, a piece of text that is looked for first (most patterns are never compiled), then the
# pattern, whose groups become the sign's values
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    ("nvml-mismatch", "version mismatch", r"[Dd]river/library version mismatch"),
    (
        "nvml-mismatch",
        "unsupported display",
        r"unsupported display driver ?/ ?cuda driver combination",
    ),
    ("no-driver", "Found no NVIDIA", r"Found no NVIDIA driver on your system"),
    ("no-driver", "communicate with", r"couldn'?t communicate with the NVIDIA driver"),
    ("no-driver", "driver not loaded", r"nvml error: driver not loaded"),
    ("no-driver", "nvidia-smi", r"nvidia-smi['\"]?:? (?:command )?not found"),
    (
        "no-driver",
        "nvidia-smi",
        r"['\"]?nvidia-smi['\"]? (?:is not recognized|不是内部或外部命令)",
    ),
    (
        "driver-old",
        "on your system",
        r"driver on your system is too old(?: \(found version (\d+)\))?",
    ),
    (
        "driver-old",
        "insufficient",
        r"CUDA driver version is insufficient for CUDA runtime version",
    ),
    ("driver-old", "forward comp", r"forward compatibility was attempted on non[- ]supported HW"),
    ("driver-old", "unsatisfied", r"unsatisfied condition: cuda ?>= ?(\d+\.\d+)"),
    ("driver-old", "was built for NVIDIA", r"This container was built for NVIDIA Driver Release"),
    ("no-kernel", "no kernel image", r"no kernel image is available"),
    ("arch-warning", "capability sm_", r"(\S.{0,80}?) with CUDA capability sm_(\d+) is not comp"),
    (
        "arch-list",
        "CUDA capabilities",
        r"supports CUDA capabilities ((?:(?:sm|compute)_\d+[af]?[ ,.]*)+)",
    ),
    (
        "arch-found",
        "Found GPU",
        r"Found GPU\d* (.{1,80}?) which is of (?:cuda|compute) capability (?:\(CC\) )?(\d+\.\d+)",
    ),
    (
        "arch-range",
        "capability supported",
        r"capability supported by this version of PyTorch is\W*(\d+\.\d+)\W+(\d+\.\d+)",
    ),
    ("arch-old", "does not include", r"does not include kernels for this GPU"),
    ("arch-old", "no longer supports", r"no longer supports this GPU because it is too old"),
    ("not-compiled", "not compiled", r"Torch not compiled with CUDA enabled"),
    ("not-compiled", "not linked", r"PyTorch is not linked with support for cuda"),
    ("wants-gpu", "Invalid CUDA", r"Invalid CUDA 'device"),
    ("wants-gpu", "deserialize", r"deserialize object on a CUDA device"),
    ("wants-gpu", "not able to use GPU", r"Torch is not able to use GPU"),
    ("complaint", " ", r"(?i)\bmy gpu\b|\bGPU (?:is|was) not (?:being )?(?:detected|used|recogni)"),
    ("complaint", " ", r"(?i)\b(?:instead of|not (?:using|detecting)) (?:my |the )?gpu\b"),
    ("complaint", "GPU", r"GPU ?(?:不可用|用不了|没有?被?使用)|(?:检测|识别|找|用)不[到了] ?GPU"),
    (
        "complaint",
        "显卡",
        r"(?:检测|识别|找|用)不[到了](?:我的)?显卡|显卡(?:用不了|没有?被?使用|不可用)",
    ),
    ("no-gpus", "No CUDA GPUs", r"No CUDA GPUs are available"),
    ("no-gpus", "no CUDA-capable", r"no CUDA-capable device is detected"),
    ("bad-ordinal", "invalid device", r"invalid device ordinal"),
    ("numpy2", "NumPy 1.x", r"compiled using NumPy 1\.x cannot be run in"),
    ("numpy2", "as it may crash", r"NumPy 2\.\S+ as it may crash"),
    ("numpy2", "initialize NumPy", r"Failed to initialize NumPy: _ARRAY_API not found"),
    ("numpy2", "Numpy is not", r"Numpy is not available"),
    ("libcuda", "libcuda.so", r"libcuda\.so(?:\.1)?['\"]?:? (?:cannot|not found|could not)"),
    ("libcuda", "find libcuda", r"Could not find libcuda"),
    ("libcuda", "-lcuda", r"cannot find -lcuda\b"),
    ("wsl-blocked", "GPU access blocked", r"GPU access blocked by the operating system"),
    (
        "container",
        "select device driver",
        r"could not select device driver .{0,40}capabilities: \[\[gpu",
    ),
    ("container", "NVIDIA Driver was not", r"The NVIDIA Driver was not detected"),
    (
        "container",
        "nvidia-container-cli",
        r"nvidia-container-cli: (?!requirement error|.*(?:version mismatch|driver not loaded))",
    ),
    ("container-lost", "initialize NVML", r"Failed to initialize NVML: Unknown Error"),
    ("container", "runtime", r"unknown or invalid runtime name: nvidia"),
    ("container", "runtime", r"[Uu]nknown runtime specified nvidia"),
    ("nvml-init", "initialize NVML", r"Can'?t initialize NVML"),
    ("torchvision-ops", "operator torchvision", r"operator torchvision::\w+ does not exist"),
    ("torchvision-ops", "operator torchvision", r"No such operator torchvision::"),
    ("torchvision-ops", "custom C++ ops", r"Couldn'?t load custom C\+\+ ops"),
    (
        "torchvision-ops",
        "module 'torchvision'",
        r"module 'torchvision' has no attribute 'extension'",
    ),
    (
        "torchvision-ops",
        "undefined symbol",
        r"torchvision\S*\.(?:so|pyd|dll)\S*: undefined symbol",
    ),
    ("torchaudio-ops", "undefined symbol", r"torchaudio\S*\.(?:so|pyd)\S*: undefined symbol"),
    ("docker-run", "docker run", r"\bdocker run\b(?!.*(?:--gpus|nvidia|--device|--privileged))"),
    ("mixed-cuda", "compiled with diff", r"compiled with different CUDA (?:major )?versions"),
    (
        "mixed-cuda",
        "Could not run",
        r"Could not run 'torchvision::\w+' with arguments from the 'CUDA' backend",
    ),
    (
        "cuda-init",
        "cudaGetDeviceCount",
        r"cudaGetDeviceCount\(\).*Error (?!80[34]|10[01]\b)\d+",
    ),
    ("mixed-cuda", "libtorch_", r"libtorch_(?:hip|cuda\w*)\.so: cannot open shared object"),
    ("cuda-init", "initialization failed", r"CUDA driver initialization failed"),
    ("cuda-init", "are busy", r"CUDA-capable devices are busy or unavailable"),
    ("cuda-init", "unknown error", r"CUDA unknown error"),
    ("cuda-init", "not yet initialized", r"[Ss]ystem not yet initialized"),
    (
        "toolkit-mismatch",
        "CUDA version",
        r"detected CUDA version .{0,20}mismatches the version that was used",
    ),
    (
        "toolkit-mismatch",
        "CUDA version",
        r"Installed CUDA version \S+ does not match the version torch was comp",
    ),
    ("torch-missing", "No module named", r"No module named '?torch'?\s*$"),
    ("torch-broken", "undefined symbol", r"torch/lib/\S+: undefined symbol"),
    ("torch-broken", "undefined symbol", r"libtorch(?:_\w+)?\.so: undefined symbol"),
    ("torch-broken", "[WinError 12", r"\[WinError 12[67]\].*torch.lib"),
    ("paging-file", "WinError 1455", r"\[WinError 1455\]"),
    ("paging-file", "paging file", r"The paging file is too small"),
    ("paging-file", "页面文件太小", r"页面文件太小"),
    ("torch-broken", "Error loading", r"Error loading \S*torch\\lib\\"),
    ("torch-shadowed", "module 'torch'", r"module 'torch' has no attribute '\w+'"),
    ("glibc", "GLIBC_", r"version [`']GLIBC_(\d+\.\d+)'? not found"),
    (
        "pip-none",
        "the requirement torch",
        (
            r"the requirement (torch(?:vision|audio)?)([=<>~!][^\s(]*)?(?: \(from -r [^)]*\)?\)\))?"
            r" ?\(from versions:? ?([^)]*)(?:\)|$)"
        ),
    ),
    (
        "pip-none",
        "No matching dist",
        (
            r"No matching distribution found for (torch(?:vision|audio)?)(?: ?([=<>~]\S+))?()"
            r"(?: \(from .*)?\s*$"
        ),
    ),
    ("index", "Looking in indexes", r"download\.pytorch\.org/whl/(cu\d+)"),
    (
        "wheel-tag",
        "not a supported wheel",
        r"torch-\S+-cp(\d)(\d+)-\S*\.whl is not a supported wheel on this platform",
    ),
    ("wheel-tag", "Python ABI", r"\btorch(?:vision|audio)?[=<>~!]*\S* has no wheels with a match"),
    (
        "wheel-tag",
        "Python ABI tags",
        r"\btorch \(v[^)]*\) (?:only has wheels )?with the following Python",
    ),
    (
        "wheel-tag",
        "source distribution",
        r"Distribution torch(?:vision|audio)?==.*t have a source distribution or wheel for the cur",
    ),
    ("wheel-tag", "candidates for torch", r"Unable to find installation candidates for torch\b"),
    (
        "python-range",
        "different Python",
        r"Package '?torch'? requires a different Python: (\S+) not in '?(\S+?)'?$",
    ),
    ("dynamo-python", "Dynamo is not", r"Dynamo is not supported on Python (3\.\d+)"),
    (
        "conflict",
        " torch",
        r"^(?:ERROR: )?(\S+) (\d\S*) (?:requires|has requirement) torch([=<>!~]\S+?),? but",
    ),
)


def signs_in(lines: list[str]) -> tuple[Sign, ...]:
    """Find the known messages, each with its line number."""
    found: list[Sign] = []
    for number, whole in enumerate(lines, 1):
        line = whole[:2_000]
        # a message is often broken before the end of its sentence
        ahead = f"{line} {lines[number][:2_000]}" if number < len(lines) else line
        for name, needle, pattern in _PATTERNS:
            if needle not in line:
                continue
            match = re.search(pattern, line) or re.search(pattern, ahead)
            if match and match.start() < len(line):
                values = tuple(value or "" for value in match.groups())
                found.append(Sign(name, line[:200], number, values))
    return tuple(found)
