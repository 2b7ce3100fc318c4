"""Measure `torchguide explain`: its start, and how fast it reads a long log.

    python benchmarks/explain.py [--megabytes 200]

The start is compared with that of an empty Python program with the same standard modules, in the
same run. Exits with 1 where a goal is missed: a start within 1.5 times that program plus 100 ms,
and 50 MB/s in less than 100 MB of memory.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MESSAGE = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)\n"
# what training prints: steps, progress bars, warnings that repeat, file names
LINES = (
    "2024-05-{i:02d} 12:00:{i:02d},123 - trainer - INFO - epoch {n} step {i} loss 0.{n} lr 1e-4\n",
    " {i}%|████      | {n}/20000 [00:0{i}<01:22, 12.3it/s, loss=0.{n}]\n",
    "Loading image {n} from /data/images/class_{i}/img_{n}.png\n",
    "/env/torch/optim/lr_scheduler.py:{i}: UserWarning: Detected call of `step()`. Step {n}\n",
)
MAX_MEMORY = 100.0  # MB
MIN_SPEED = 50.0  # MB/s
RUNS = 15


def environment() -> dict[str, str]:
    """Give the environment in which the package of this tree is found."""
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def starts(commands: list[list[str]]) -> list[float]:
    """Give each command's shortest time, in seconds; the message is the standard input.

    They take turns, so that a busy machine slows all of them alike.
    """
    best = [float("inf")] * len(commands)
    for _ in range(RUNS):
        for number, command in enumerate(commands):
            begin = time.perf_counter()
            subprocess.run(
                command, input=MESSAGE.encode(), env=environment(), capture_output=True, check=True
            )
            best[number] = min(best[number], time.perf_counter() - begin)
    return best


def write_log(path: Path, megabytes: int) -> None:
    """Write a log of some size with one error in its middle."""
    block = "".join(line.format(i=n % 60, n=n) for n in range(4000) for line in LINES).encode()
    with path.open("wb") as file:
        while file.tell() < megabytes * 500_000:
            file.write(block)
        file.write(MESSAGE.encode())
        while file.tell() < megabytes * 1_000_000:
            file.write(block)


def reading(path: Path) -> tuple[float, float, bool]:
    """Give the seconds and the MB of memory that reading takes, and whether the error was found."""
    code = (
        "import sys\nfrom torchguide.cli import main\nmain(sys.argv[1:])\n"
        "try:\n    import resource\nexcept ImportError:\n    peak = 0\n"
        "else:\n    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "sys.stderr.write(str(peak))\n"
    )
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, "explain", "--json", str(path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - begin
    unit = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
    return seconds, float(done.stderr or 0) / unit, '"id": "matmul-shape"' in done.stdout


def main() -> int:
    """Measure and compare with the goals."""
    parser = argparse.ArgumentParser(description="Measure torchguide explain.")
    parser.add_argument("--megabytes", type=int, default=200, help="size of the log; default: 200")
    megabytes: int = parser.parse_args().megabytes
    empty, ours = starts(
        [
            [sys.executable, "-c", "import json, re, argparse"],
            [sys.executable, "-m", "torchguide", "explain", "--json", "-"],
        ]
    )
    goal = 1.5 * empty + 0.1
    print(f"start: {ours * 1e3:.0f} ms; goal {goal * 1e3:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.log"
        write_log(path, megabytes)
        seconds, memory, found = reading(path)
    speed = megabytes / seconds
    print(f"reading: {speed:.0f} MB/s; goal {MIN_SPEED:.0f} MB/s")
    print(f"memory: {memory:.0f} MB; goal below {MAX_MEMORY:.0f} MB")
    print(f"the error in the middle: {'found' if found else 'not found'}")
    return int(ours > goal or speed < MIN_SPEED or memory >= MAX_MEMORY or not found)


if __name__ == "__main__":
    sys.exit(main())
