"""`torchguide doctor`: read an environment, or probe this one, and say what is wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchguide.doctor import diagnose
from torchguide.environment_text import UnusableTextError, parse
from torchguide.style import Style
from torchguide.texts import Texts

if TYPE_CHECKING:
    import argparse

    from torchguide.doctor import Diagnosis
    from torchguide.environment import Snapshot
    from torchguide.findings import Finding

__all__ = ["add_arguments", "run"]

_EXIT = {"ok": 0, "problem": 1, "unknown": 0}
_ENDING = "exit status: 0 no problem was found, 1 a problem was found, 2 the input cannot be used"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.epilog = _ENDING
    parser.add_argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="read a pasted report (collect_env, nvidia-smi, pip list, conda list, …); - is stdin",
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument(
        "--report", action="store_true", help="print Markdown for an issue, without names"
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="limit for loading torch"
    )


def run(options: argparse.Namespace) -> int:
    """Diagnose and print."""
    texts = Texts(options.lang)
    try:
        snapshot = _snapshot(options)
    except UnusableTextError as error:
        sys.stderr.write(f"torchguide doctor: {texts.say(f'error.{error}')}\n")
        return 2
    except OSError as error:
        why = error.strerror or str(error)
        message = texts.say("error.file", path=options.source, why=why)
        sys.stderr.write(f"torchguide doctor: {message}\n")
        return 2
    diagnosis = diagnose(snapshot)
    if options.json:
        sys.stdout.write(json.dumps(as_json(diagnosis, texts), ensure_ascii=False, indent=2) + "\n")
    elif options.report:
        from torchguide.cli_report import report  # noqa: PLC0415 -- only a report needs it

        sys.stdout.write(report(diagnosis, texts, verdict_line(diagnosis, texts)))
    else:
        sys.stdout.write(_human(diagnosis, texts, Style(sys.stdout)))
    return _EXIT[diagnosis.verdict]


def _snapshot(options: argparse.Namespace) -> Snapshot:
    if options.source is None:
        from torchguide.collect import collect  # noqa: PLC0415 -- not needed for pasted text

        return collect(timeout=options.timeout)
    piped = options.source == "-"
    return parse(_decoded(sys.stdin.buffer.read() if piped else Path(options.source).read_bytes()))


def _decoded(data: bytes) -> str:
    """Decode what a file or a pipe holds: PowerShell writes UTF-16, old Chinese consoles GBK."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("utf-8", errors="replace")


def verdict_line(diagnosis: Diagnosis, texts: Texts) -> str:
    """Say the verdict in one line."""
    if diagnosis.verdict == "problem":
        worst = diagnosis.findings[0]
        return texts.say("verdict.problem", title=texts.title(worst.id, **worst.values))
    if diagnosis.verdict == "ok":
        torch = diagnosis.snapshot.torch
        if torch and diagnosis.snapshot.cuda_available:
            return texts.say("verdict.ok.gpu", torch=torch)
        if torch and diagnosis.snapshot.torch_cuda == "cpu":
            return texts.say("verdict.ok.cpu", torch=torch)
    return texts.say(f"verdict.{diagnosis.verdict}")


def as_json(diagnosis: Diagnosis, texts: Texts) -> dict[str, Any]:
    """Give the diagnosis as the documented JSON."""
    return {
        "verdict": diagnosis.verdict,
        "summary": verdict_line(diagnosis, texts),
        "findings": [_finding(finding, texts) for finding in diagnosis.findings],
        "facts": diagnosis.snapshot.facts(),
        "language": texts.language,
        "environment": diagnosis.snapshot.as_dict(),
    }


def _finding(finding: Finding, texts: Texts) -> dict[str, Any]:
    return {
        "id": finding.id,
        "severity": finding.severity,
        "title": texts.title(finding.id, **finding.values),
        "advice": texts.advice(finding.id, **finding.values),
        "evidence": list(finding.evidence),
        "fix": list(finding.fix),
        "page": texts.page(finding.id),
    }


def _value(name: str, value: Any, texts: Texts) -> str:
    if isinstance(value, bool):
        return texts.say("ui.yes" if value else "ui.no")
    if name == "gpus":
        counted = {gpu: value.count(gpu) for gpu in value}
        shown = ", ".join(f"{n} × {gpu}" if n > 1 else gpu for gpu, n in counted.items())
        return shown or texts.say("ui.none")
    return str(value) if value is not None else texts.say("ui.unknown")


def _human(diagnosis: Diagnosis, texts: Texts, style: Style) -> str:
    colour = {"ok": "green", "problem": "red", "unknown": "yellow"}[diagnosis.verdict]
    lines = [style.paint(verdict_line(diagnosis, texts), colour, bold=True), ""]
    lines.append(style.paint(texts.say("ui.facts"), bold=True))
    for name, value in diagnosis.snapshot.facts().items():
        lines.append(f"  {texts.label(f'ui.fact.{name}', _value(name, value, texts))}")
    for finding in diagnosis.findings:
        colour = {"error": "red", "warning": "yellow", "info": "cyan"}[finding.severity]
        severity = texts.say(f"ui.severity.{finding.severity}")
        title = texts.title(finding.id, **finding.values)
        lines += ["", style.paint(f"[{severity}] {title}", colour, bold=True) + f"  ({finding.id})"]
        lines.append(f"  {texts.advice(finding.id, **finding.values)}")
        if finding.evidence:
            lines.append(f"  {texts.label('ui.evidence')}")
            lines += [f"    {entry}" for entry in finding.evidence]
        if finding.fix:
            lines.append(f"  {texts.label('ui.fix')}")
            lines += [f"    {style.paint(command, bold=True)}" for command in finding.fix]
        lines.append(f"  {texts.label('ui.page', texts.page(finding.id))}")
    return "\n".join(lines) + "\n"
