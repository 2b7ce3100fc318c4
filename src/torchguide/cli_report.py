"""The report of `torchguide doctor --report`: an environment in Markdown, for an issue or a forum."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from torchguide.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torchguide.doctor import Diagnosis
    from torchguide.environment import Snapshot
    from torchguide.texts import Texts

__all__ = ["report", "settings"]

# variables that decide how torch runs; no others are shown
_SETTINGS = re.compile(
    r"(?:CUDA|NVIDIA|TORCH|PYTORCH|TRITON|NCCL|GLOO|OMP|MKL|KMP|GOMP|OPENBLAS|HIP|HSA|ROCR)_\w+"
    r"|CUBLAS_WORKSPACE_CONFIG|LD_(?:LIBRARY_PATH|PRELOAD)|PYTHON(?:PATH|HOME|HASHSEED)"
    r"|RANK|WORLD_SIZE|LOCAL_RANK|MASTER_(?:ADDR|PORT)"
)
_COMMON = {"root", "user", "admin", "localhost", "torch", "python", "nvidia", "cuda", "/", "/root"}


def settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Choose the variables that decide how torch runs, in the order of their names."""
    return {name: environ[name] for name in sorted(environ) if _SETTINGS.fullmatch(name)}


def _private() -> Iterator[str]:
    """Name the account and the computer, where their names are not everybody's."""
    import getpass  # noqa: PLC0415 -- only a report needs them
    import platform  # noqa: PLC0415

    names = [platform.node(), platform.node().partition(".")[0], str(Path.home())]
    with contextlib.suppress(OSError, KeyError, ImportError):  # an account without a name
        names.append(getpass.getuser())
    return (name for name in names if name.lower() not in _COMMON)


def _environment(s: Snapshot) -> Iterator[tuple[str, object]]:
    """Give what is known, in the words of torch.utils.collect_env, so that others can read it."""
    yield "PyTorch version", s.torch
    yield "CUDA used to build PyTorch", "None" if s.torch_cuda == "cpu" else s.torch_cuda
    yield "torch does not load", s.torch_error
    yield "shadowed by", s.shadowed_by
    yield "OS", s.os
    yield "Libc version", f"glibc-{s.glibc}" if s.glibc else None
    yield "Machine", s.machine
    yield "WSL", s.wsl
    yield "Container", s.container
    yield "Python version", s.python
    yield "Is CUDA available", s.cuda_available
    yield "CUDA runtime version", s.toolkit
    for number, gpu in enumerate(s.gpus):
        yield f"GPU {number}", gpu.name
    yield "Nvidia driver version", s.driver
    yield "CUDA Version of nvidia-smi", s.driver_cuda
    yield "Package manager", s.manager
    yield "Shared memory", f"{s.shm_bytes >> 20} MiB" if s.shm_bytes else None


def _lines(diagnosis: Diagnosis, texts: Texts, verdict: str) -> Iterator[str]:
    snapshot = diagnosis.snapshot
    yield verdict
    yield ""
    for label, value in _environment(snapshot):
        if value is not None:
            yield f"{label}: {value}"
    for tool, packages in (("pip3", snapshot.pip_packages), ("conda", snapshot.conda_packages)):
        for name, package in sorted(packages.items()):
            build = f"{package.build} {package.channel}".strip()
            yield f"[{tool}] {name}=={package.version} {build}".rstrip()
    for finding in diagnosis.findings:
        yield ""
        yield f"{finding.severity} {finding.id}: {texts.title(finding.id, **finding.values)}"
        yield from (f"  {entry}" for entry in finding.evidence)
    chosen = settings(os.environ) if snapshot.source == "machine" else {}
    if chosen:
        yield ""
        yield from (f"{name}={value}" for name, value in chosen.items())


def report(diagnosis: Diagnosis, texts: Texts, verdict: str) -> str:
    """Give one Markdown block: verdict, environment, findings, settings; nothing personal."""
    body = redact("\n".join(_lines(diagnosis, texts, verdict)), _private())
    body = body.replace("```", "'''")  # nothing in it may end the block
    version = importlib.metadata.version("torchguide")
    title = texts.say("report.title", version=version)
    return f"### {title}\n\n<!-- {texts.say('report.note')} -->\n\n```text\n{body}\n```\n"
