"""Measure that the doctor answers fast: against `torch.utils.collect_env`, in the same run.

    python benchmarks/doctor.py [--rounds N]

Prints ratios of wall times and ends with status 1 where a limit is passed. Programs take turns,
and the best of the rounds counts, so that a busy machine slows all of them alike.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_PROBE = 0.5  # of collect_env's time
LIMIT_TEXT = 0.3  # seconds

REPORT = """PyTorch version: 2.1.2+cu121
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.3 LTS (x86_64)
Python version: 3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA A100-SXM4-40GB
Nvidia driver version: 450.80.02
[pip3] torch==2.1.2+cu121
[pip3] torchvision==0.16.2+cu121
"""


def wall(command: list[str]) -> float:
    """Run a program, which may find problems, and give its wall time in seconds."""
    source = str(Path(__file__).parents[1] / "src")
    environ = os.environ | {"PYTHONPATH": source}
    started = time.perf_counter()
    done = subprocess.run(command, env=environ, capture_output=True, check=False)
    elapsed = time.perf_counter() - started
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr.decode()[-300:]}")
    return elapsed


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description="Measure the doctor's speed.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.txt"
        report.write_text(REPORT, encoding="utf-8")
        doctor = [sys.executable, "-m", "torchguide", "doctor"]
        programs = {
            "python": [sys.executable, "-c", "pass"],
            "collect_env": [sys.executable, "-m", "torch.utils.collect_env"],
            "doctor": doctor,
            "doctor --from": [*doctor, "--from", str(report)],
        }
        best = dict.fromkeys(programs, float("inf"))
        for _ in range(rounds):
            for name, command in programs.items():
                best[name] = min(best[name], wall(command))
    for name, seconds in best.items():
        ratio = seconds / best["collect_env"]
        print(f"{name:14} {seconds:6.3f} s  {ratio:5.2f} of collect_env")
    probe = best["doctor"] / best["collect_env"]
    text = best["doctor --from"]
    print(f"doctor / collect_env: {probe:.2f} (limit {LIMIT_PROBE})")
    print(f"doctor --from: {text * 1000:.0f} ms (limit {LIMIT_TEXT * 1000:.0f} ms)")
    return int(probe > LIMIT_PROBE or text > LIMIT_TEXT)


if __name__ == "__main__":
    sys.exit(main())
