"""Recognise the messages that say by themselves what is wrong."""

from __future__ import annotations

import re

from torchguide.environment import Sign

__all__ = ["signs_in"]

# id, then a pattern; groups become the sign's values
_PATTERNS: tuple[tuple[str, str], ...] = (
    ("nvml-mismatch", r"Driver/library version mismatch"),
    ("nvml-mismatch", r"unsupported display driver ?/ ?cuda driver combination"),
    ("no-driver", r"Found no NVIDIA driver on your system"),
    ("no-driver", r"couldn'?t communicate with the NVIDIA driver"),
    ("no-driver", r"nvidia-smi['\"]?:? (?:command )?not found"),
    ("no-driver", r"['\"]?nvidia-smi['\"]? (?:is not recognized|不是内部或外部命令)"),
    ("driver-old", r"driver on your system is too old(?: \(found version (\d+)\))?"),
    ("driver-old", r"CUDA driver version is insufficient for CUDA runtime version"),
    ("driver-old", r"forward compatibility was attempted on non[- ]supported HW"),
    ("driver-old", r"unsatisfied condition: cuda ?>= ?(\d+\.\d+)"),
    ("no-kernel", r"no kernel image is available"),
    ("arch-warning", r"(\S.{0,80}?) with CUDA capability sm_(\d+) is not compatible"),
    ("arch-list", r"supports CUDA capabilities ((?:(?:sm|compute)_\d+[af]?[ ,.]*)+)"),
    ("arch-found", r"Found GPU\d* (.*?) which is of (?:cuda|compute) capability (\d+\.\d+)"),
    ("arch-range", r"capability supported by this version of PyTorch is\W*(\d+\.\d+)\W+(\d+\.\d+)"),
    ("arch-old", r"no longer supports this GPU because it is too old"),
    ("not-compiled", r"Torch not compiled with CUDA enabled"),
    ("not-compiled", r"PyTorch is not linked with support for cuda"),
    ("wants-gpu", r"Invalid CUDA 'device"),
    ("wants-gpu", r"deserialize object on a CUDA device"),
    ("wants-gpu", r"Torch is not able to use GPU"),
    ("no-gpus", r"No CUDA GPUs are available"),
    ("no-gpus", r"no CUDA-capable device is detected"),
    ("bad-ordinal", r"invalid device ordinal"),
    ("numpy2", r"compiled using NumPy 1\.x cannot be run in"),
    ("numpy2", r"Numpy is not available"),
    ("libcuda", r"libcuda\.so(?:\.1)?['\"]?:? (?:cannot|not found|could not)"),
    ("libcuda", r"Could not find libcuda|cannot find -lcuda\b"),
    ("wsl-blocked", r"GPU access blocked by the operating system"),
    ("container", r"could not select device driver .{0,40}capabilities: \[\[gpu"),
    ("container", r"The NVIDIA Driver was not detected"),
    ("container", r"nvidia-container-cli: (?!requirement error)"),
    ("container", r"Failed to initialize NVML: Unknown Error"),
    ("container", r"unknown or invalid runtime name: nvidia|[Uu]nknown runtime specified nvidia"),
    ("nvml-init", r"Can'?t initialize NVML"),
    ("torchvision-ops", r"operator torchvision::\w+ does not exist"),
    ("torchvision-ops", r"Couldn'?t load custom C\+\+ ops"),
    ("torchvision-ops", r"module 'torchvision' has no attribute 'extension'"),
    ("torchvision-ops", r"torchvision\S*\.(?:so|pyd|dll)\S*: undefined symbol"),
    ("torchaudio-ops", r"(?:torchaudio\S*|_torchaudio\S*)\.(?:so|pyd)\S*: undefined symbol"),
    ("mixed-cuda", r"compiled with different CUDA (?:major )?versions"),
    ("mixed-cuda", r"Could not run 'torchvision::\w+' with arguments from the 'CUDA' backend"),
    ("cuda-init", r"cudaGetDeviceCount\(\).*Error (?!80[34]|10[01]\b)\d+"),
    ("cuda-init", r"CUDA-capable devices are busy or unavailable"),
    ("toolkit-mismatch", r"detected CUDA version .{0,20}mismatches the version that was used"),
    ("toolkit-mismatch", r"Installed CUDA version \S+ does not match the version torch was comp"),
    ("cuda-init", r"CUDA unknown error|[Ss]ystem not yet initialized|cudaErrorUnknown"),
    ("torch-missing", r"No module named '?torch'?\s*$"),
    ("torch-broken", r"torch/lib/\S+: undefined symbol|libtorch\w*\.so: undefined symbol"),
    ("torch-broken", r"\[WinError 12[67]\].*torch.lib"),
    ("torch-broken", r"Error loading \S*torch\\lib\\"),
    ("torch-shadowed", r"module 'torch' has no attribute '\w+'"),
    ("glibc", r"version [`']GLIBC_(\d+\.\d+)'? not found"),
    ("pip-none", r"satisfies the requirement torch(\S*?) \(from versions: ?([^)]*)\)"),
    ("pip-none", r"No matching distribution found for torch(?:[=<>~ ]+(\S+))?\s*$"),
    ("wheel-tag", r"torch-\S+-cp(\d)(\d+)-\S*\.whl is not a supported wheel on this platform"),
    ("python-range", r"Package '?torch'? requires a different Python: (\S+) not in '?(\S+?)'?$"),
    ("dynamo-python", r"Dynamo is not supported on Python (3\.\d+)"),
    (
        "conflict",
        r"^(?:ERROR: )?(\S+) (\d\S*) (?:requires|has requirement) torch([=<>!~]\S+?),? but",
    ),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)
_HINT = re.compile(
    r"driver|cuda|nvidia|nvml|capabilit|torch|numpy|gpu|device|glibc|requirement|Dynamo|WinError",
    re.IGNORECASE,
)


def signs_in(lines: list[str]) -> tuple[Sign, ...]:
    """Find the known messages, each with its line number."""
    found: list[Sign] = []
    for number, whole in enumerate(lines, 1):
        line = whole[:2_000]
        if not _HINT.search(line):
            continue
        # a message is often broken before the end of its sentence
        ahead = f"{line} {lines[number]}" if number < len(lines) else line
        for name, pattern in _COMPILED:
            match = pattern.search(line) or (
                pattern.search(ahead) if name.startswith(("numpy", "arch", "driver")) else None
            )
            if match and match.start() < max(len(line), 1):
                values = tuple(value or "" for value in match.groups())
                found.append(Sign(name, line[:200], number, values))
    return tuple(found)
