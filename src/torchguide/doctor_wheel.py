"""Rules on the wheels: does this build fit the GPU, and do its companions fit this build."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchguide import compat
from torchguide.doctor_driver import built_for
from torchguide.environment import cuda_of_tag
from torchguide.facts import Wheel, table
from torchguide.findings import Finding, cuda_build, pair_fix, quoted, reinstall, seen
from torchguide.versions import base, is_release, local_tag, minor, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchguide.environment import Package, Snapshot

__all__ = ["RULES"]

ABI_STABLE = {"torchvision": (2, 14), "torchaudio": (2, 11)}  # from this torch on, newer ones fit
ABI_FIRST = {"torchvision": (0, 29), "torchaudio": (2, 11)}


def cpu_only(s: Snapshot) -> Iterator[Finding]:
    """Find a CPU build where a GPU is present or asked for."""
    compiled = s.has_sign("not-compiled")
    if s.system == "macos":
        if compiled:
            yield Finding("mac-no-cuda", "error", (quoted(compiled),), ())
        return
    if compiled and s.torch_cuda in (None, "cpu"):
        yield Finding("cpu-only-wheel", "error", (quoted(compiled),), reinstall(s))
        return
    if s.torch_cuda != "cpu" or s.cuda_available:
        return
    evidence = [seen(s, "torch"), seen(s, "torch_cuda")]
    if s.nvidia_gpus or s.driver:
        evidence += [seen(s, "driver")] if s.driver else []
        evidence += [f"gpus = {gpu.name}" for gpu in s.nvidia_gpus[:1]]
    elif s.jetson:
        evidence.append(f"kernel {s.kernel}: Jetson")
    elif not (wish := _wish(s)):
        return
    else:
        evidence.append(wish)
    yield Finding("cpu-only-wheel", "error", tuple(evidence), reinstall(s))


def _wish(s: Snapshot) -> str | None:
    """Find a hint, other than the GPU itself, that a GPU was meant to be used."""
    sign = s.has_sign("wants-gpu", "no-gpus", "no-kernel", "complaint")
    sign = sign or (s.has_sign("asked") if s.cuda_available is False else None)
    if sign:
        return quoted(sign)
    if s.source in ("conda list", "pip list") and s.cuda_available is None:
        return s.source
    traces = s.has_sign("cuda-traces")
    chosen = s.torch and local_tag(s.torch).startswith("cpu")
    if traces and s.source != "machine" and (s.system == "windows" or not chosen):
        return f"{seen(s, 'toolkit')}; CUDA traces found, yet no CUDA build"
    return None


def _variant(cuda: str) -> str:
    return "cu" + minor(cuda).replace(".", "")


def codes_of(s: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Give the architectures of the installed build, its PTX, and who says so."""
    if s.architectures:
        codes = tuple(c for c in s.architectures if c.startswith("sm"))
        return codes, tuple(c for c in s.architectures if c.startswith("compute")), "text"
    if not s.torch or not is_release(s.torch) or s.jetson:
        return (), (), ""
    cuda = s.torch_cuda if cuda_build(s) else None
    if s.cuda_available is False:  # where CUDA works, the build need not be PyPI's
        cuda = built_for(s)[0]
    if not cuda:
        return (), (), ""
    for platform in (s.platform or "linux_x86_64", "linux_x86_64", "windows"):
        if platform == "linux_aarch64" or s.platform != "linux_aarch64":
            wheel = compat.wheel_of(s.torch, _variant(cuda), platform)
            if wheel:
                codes = tuple(filter(None, wheel.architectures.split(";")))
                return codes, tuple(filter(None, wheel.ptx.split(";"))), "torch_wheels.csv"
    return (), (), ""


def architecture(s: Snapshot) -> Iterator[Finding]:
    """Find GPUs that the build carries no code for."""
    codes, ptx, origin = codes_of(s)
    said = list(_said(s, codes, ptx))
    if said:
        yield from said
        return
    missing = [
        gpu
        for gpu in s.gpus
        if gpu.known_capability
        and compat.code_runs(gpu.known_capability, codes, ptx, s.torch_cuda or "") is False
    ]
    if missing:
        all_of_them = len(missing) == len(s.gpus)
        gpu = missing[0]
        evidence = (
            f"gpus = {gpu.name}: compute capability {gpu.known_capability}  [gpus.csv]",
            f"torch {s.torch} CUDA {s.torch_cuda}: {' '.join(codes)}  [{origin}]",
        )
        values = {"gpu": gpu.name, "capability": gpu.known_capability or "?"}
        severity = "error" if all_of_them else "warning"
        yield Finding("arch-not-supported", severity, evidence, reinstall(s), values)
        return
    kernel = s.has_sign("no-kernel")
    if not kernel:
        return
    known = [gpu.known_capability for gpu in s.gpus if gpu.known_capability]
    runs = known and all(compat.code_runs(c, codes, ptx, s.torch_cuda or "") for c in known)
    if runs:
        yield Finding("extension-arch", "error", (quoted(kernel),), (), {"gpu": s.gpus[0].name})
    else:
        values = {
            "gpu": s.gpus[0].name if s.gpus else "GPU",
            "capability": known[0] if known else "?",
        }
        yield Finding("arch-not-supported", "error", (quoted(kernel),), reinstall(s), values)


def _said(s: Snapshot, codes: tuple[str, ...], ptx: tuple[str, ...]) -> Iterator[Finding]:
    """Judge torch's own warnings, which also come where code of the same major runs."""
    warning, found = s.has_sign("arch-warning"), s.has_sign("arch-found")
    limits, old = s.has_sign("arch-range"), s.has_sign("arch-old")
    if warning:
        digits = warning.values[1]
        name, capability = warning.values[0], f"{digits[:-1]}.{digits[-1]}"
    elif found:
        name, capability = found.values
    elif old:
        yield Finding("arch-not-supported", "error", (quoted(old),), reinstall(s), _gpu("GPU", "?"))
        return
    else:
        return
    sign = warning or found
    evidence = tuple(quoted(each) for each in (sign, limits, old) if each)
    runs = compat.code_runs(capability, codes, ptx, s.torch_cuda or "")
    if runs is None and limits:
        low, high = (numbers(value) for value in limits.values)
        device = numbers(capability)
        runs = low <= device <= high or (device > high and device[:1] == high[:1])
    if runs and (not old or "no longer" not in old.text):
        yield Finding("arch-harmless", "info", evidence, (), _gpu(name, capability))
    else:
        yield Finding("arch-not-supported", "error", evidence, reinstall(s), _gpu(name, capability))


def _gpu(name: str, capability: str) -> dict[str, str]:
    return {"gpu": name.strip(), "capability": capability}


def _companion(s: Snapshot, name: str) -> Package | None:
    """Find the torchvision or torchaudio beside the torch that is imported."""
    package = s.pip_packages.get(name)
    if package:
        return package
    conda = s.conda_packages.get("pytorch") or s.conda_packages.get("torch")
    same = conda and s.torch and base(conda.version) == base(s.torch)
    return s.conda_packages.get(name) if same else None


def fits(torch: str, name: str, version: str) -> bool | None:
    """Tell whether a torchvision or torchaudio fits a torch, or None if not known."""
    pair = compat.pair_of(torch)
    wanted = getattr(pair, name) if pair else ""
    if not wanted or not numbers(version) or numbers(version) < (0, 3):
        return None  # torchvision 0.2 was plain Python
    ours, theirs = numbers(version)[:2], numbers(wanted)[:2]
    if numbers(torch)[:2] >= ABI_STABLE[name]:
        return ours >= ABI_FIRST[name]
    return ours == theirs


def companions(s: Snapshot) -> Iterator[Finding]:
    """Find a torchvision or torchaudio made for another torch."""
    for name in ("torchvision", "torchaudio"):
        sign = next(
            (
                each
                for each in s.signs
                if each.id == f"{name}-ops" or (each.id == "conflict" and each.values[0] == name)
            ),
            None,
        )
        package = _companion(s, name)
        wrong = False
        if package and s.torch and is_release(s.torch):
            wrong = fits(s.torch, name, package.version) is False
        if not sign and not wrong:
            continue
        pair = compat.pair_of(s.torch or "")
        evidence = [quoted(sign)] if sign else []
        if package:
            evidence.append(f"torch {s.torch}, {name} {package.version}  [torch_pairs.csv]")
        wanted = getattr(pair, name) if pair else "?"
        values = {"torch": s.torch or "?", "version": wanted}
        yield Finding(f"{name}-mismatch", "error", tuple(evidence), pair_fix(s, name), values)


def mixed(s: Snapshot) -> Iterator[Finding]:
    """Find builds for different CUDA versions, or for the CPU and CUDA, in one environment."""
    sign = s.has_sign("mixed-cuda")
    evidence = [quoted(sign)] if sign else []
    for name in ("torchvision", "torchaudio"):
        package = _companion(s, name)
        if package and _differs(s, name, package):
            shown = f"{package.version} {package.build}".strip()
            evidence.append(f"torch {s.torch} (CUDA {s.torch_cuda}), {name} {shown}")
    evidence += _twice(s)
    if evidence:
        yield Finding("mixed-builds", "error", tuple(evidence), reinstall(s))


def _differs(s: Snapshot, name: str, package: Package) -> bool:
    ours, theirs = s.torch_cuda, cuda_of_tag(package.version)
    if not theirs and re.search(r"(?:^|_)cpu(?:_|$)", package.build):
        theirs = "cpu"
    if not ours or ours in ("rocm", "xpu"):
        return False
    if theirs:
        tagged = s.torch is not None and bool(local_tag(s.torch))
        same_major = theirs.split(".")[0] == ours.split(".")[0]
        return theirs != ours if tagged else not same_major
    # PyPI has only CPU builds for Windows: no tag beside a CUDA torch is one of those
    return bool(
        s.system == "windows"
        and s.torch
        and local_tag(s.torch).startswith("cu")
        and name in s.pip_packages
        and is_release(package.version)
        and not package.channel
        and (1, 10) <= numbers(s.torch)[:2] < ABI_STABLE[name]
    )


def _twice(s: Snapshot) -> list[str]:
    """Find torch installed by conda and again by pip in one environment."""
    ours, second = s.conda_packages.get("pytorch"), s.conda_packages.get("torch")
    if not ours or not second or "pypi" in ours.channel:
        return []
    if base(ours.version) == base(second.version):
        return []
    return [f"conda: pytorch {ours.version} {ours.build}; pip: torch {second.version}"]


def numpy2(s: Snapshot) -> Iterator[Finding]:
    """Find a torch made for NumPy 1 beside NumPy 2."""
    sign = s.has_sign("numpy2")
    # the Windows wheels of 2.3 were made with NumPy 1 as well (pytorch/pytorch#128860)
    since = (2, 4) if sign and s.system == "windows" else (2, 3)
    old = not s.torch or numbers(s.torch)[:2] < since
    package = s.pip_packages.get("numpy") or s.conda_packages.get("numpy")
    new = package is not None and numbers(package.version)[:1] >= (2,)
    if old and (sign or (new and s.torch)):
        evidence = [quoted(sign)] if sign else []
        if package:
            evidence.append(f"torch {s.torch}, numpy {package.version}")
        install = {"conda": "conda install", "uv": "uv pip install"}.get(
            s.manager or "", "python -m pip install"
        )
        yield Finding("numpy2-old-torch", "error", tuple(evidence), (f'{install} "numpy<2"',))


def _listed(versions: str) -> list[tuple[int, ...]]:
    return [numbers(v) for v in versions.split(",") if numbers(v)]


def python(s: Snapshot) -> Iterator[Finding]:
    """Find a Python that the wanted torch has no wheel for."""
    for sign in s.signs:
        if sign.id == "bits32" or sign.id in ("wheel-tag", "python-range"):
            yield Finding("python-unsupported", "error", (quoted(sign),), _python_fix(s, ""))
            return
        if sign.id == "dynamo-python":
            yield Finding("python-unsupported", "warning", (quoted(sign),), _python_fix(s, ""))
            return
        if sign.id == "pip-none":
            yield _not_found(s, sign.values, quoted(sign))
            return


def _not_found(s: Snapshot, values: tuple[str, ...], evidence: str) -> Finding:
    """Tell a Python without wheels from an index without this version."""
    package, wanted, versions = values[0], base(values[1].lstrip("=<>~! ")), values[2]
    offered = _listed(versions)
    if numbers(wanted) in offered or (package == "torch" and _not_on_index(s, wanted, versions)):
        return Finding("wrong-index", "error", (evidence,), ("torchguide install",))
    inside = offered and min(offered) < numbers(wanted) < max(offered)
    if package == "torch" and wanted and inside and compat.pair_of(wanted) is None:
        return Finding("no-such-version", "error", (evidence,), ("torchguide install",))
    return Finding("python-unsupported", "error", (evidence,), _python_fix(s, wanted))


def _not_on_index(s: Snapshot, wanted: str, versions: str) -> bool:
    """Tell whether the index that was asked, as its versions' tags or pip name it, lacks a version."""
    index = s.has_sign("index")
    tags = set(re.findall(r"\+(cu\d+)", versions)) | ({index.values[0]} if index else set())
    if len(tags) != 1:
        return False
    made = [wheel for wheel in table(Wheel) if wheel.variant in tags]
    return not made or bool(
        wanted and not any(compat.wheel_of(wanted, w.variant, w.platform) for w in made)
    )


def _python_fix(s: Snapshot, wanted: str) -> tuple[str, ...]:
    release = compat.release_of(wanted) if wanted else None
    version = release.python_max_other if release else "3.12"
    if s.manager == "conda":
        return (f"conda create -n torch python={version}",)
    return (f"uv venv --python {version}", "torchguide install --python " + version)


RULES = (cpu_only, architecture, companions, mixed, numpy2, python)
