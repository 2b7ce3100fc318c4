"""Diagnose an environment: from a snapshot to a verdict and findings, without looking anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchguide import doctor_driver, doctor_machine, doctor_wheel
from torchguide.findings import cuda_build
from torchguide.versions import is_release

if TYPE_CHECKING:
    from torchguide.environment import Snapshot
    from torchguide.findings import Finding

__all__ = ["Diagnosis", "diagnose"]

_ORDER = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Diagnosis:
    """The verdict ("ok", "problem" or "unknown") and the findings, gravest first."""

    verdict: str
    findings: tuple[Finding, ...]
    snapshot: Snapshot


def diagnose(snapshot: Snapshot) -> Diagnosis:
    """Judge a snapshot: pure, and never without a verdict."""
    found: dict[str, Finding] = {}
    for rule in (*doctor_machine.RULES, *doctor_driver.RULES, *doctor_wheel.RULES):
        for finding in rule(snapshot):
            kept = found.get(finding.id)
            if kept is None or _ORDER[finding.severity] < _ORDER[kept.severity]:
                found[finding.id] = finding
    if not any(finding.severity != "info" for finding in found.values()):
        for finding in doctor_machine.unexplained(snapshot):
            found.setdefault(finding.id, finding)
    findings = tuple(sorted(found.values(), key=lambda finding: _ORDER[finding.severity]))
    return Diagnosis(_verdict(snapshot, findings), findings, snapshot)


def _verdict(snapshot: Snapshot, findings: tuple[Finding, ...]) -> str:
    if any(finding.severity != "info" for finding in findings):
        return "problem"
    return "ok" if _enough(snapshot) else "unknown"


def _enough(s: Snapshot) -> bool:
    """Tell whether what is known is enough to say that the environment fits."""
    if s.cuda_available:
        return True
    if s.torch is None:
        return False
    if s.system == "macos" or s.jetson or s.torch_cuda in ("cpu", "xpu"):
        return True
    checked = cuda_build(s) and (s.driver or s.gpus)
    paired = is_release(s.torch) and any(
        name in s.pip_packages or name in s.conda_packages for name in ("torchvision", "torchaudio")
    )
    return bool(checked or (paired and s.cuda_available is None))
