"""Run gallery scripts as a reader does: each alone, in a fresh process, within a budget.

    python tools/run_examples.py                        all of them
    python tools/run_examples.py tensors                the scripts of a section
    python tools/run_examples.py transpose_strides      one script, by its name
    python tools/run_examples.py --seconds 20 --gigabytes 4

Other programs must not fail a script: time in which it was ready and got no processor is
not counted (Linux tells how much that was), and one that took too long is run once more.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 10.0  # on two cores; the reader is waiting
GIGABYTES = 2.0  # of 10^9 bytes, the peak of resident memory; small laptops have 8
LAST_LINES = 15  # of a failed script's output


@dataclass(frozen=True)
class Outcome:
    """What one run of a script took, and how it ended.

    Attributes:
        seconds: Time from start to end, or to being stopped, without waiting for a processor.
        gigabytes: Peak of resident memory; None where the system does not tell.
        status: Exit status; None if the script was stopped at the end of its time.
        output: What it printed, errors included.
    """

    seconds: float
    gigabytes: float | None
    status: int | None
    output: str


def find_scripts(examples: Path) -> dict[str, Path]:
    """Map the name ``section/script.py`` of each script to its path."""
    return {path.relative_to(examples).as_posix(): path for path in sorted(examples.glob("*/*.py"))}


def choose_scripts(scripts: dict[str, Path], wanted: list[str]) -> dict[str, Path]:
    """Keep the scripts whose section, name or path is wanted; all if nothing is.

    Raises:
        ValueError: If a word fits no script; the message lists what would.
    """
    names = {name: {name, name.partition("/")[0], Path(name).stem} for name in scripts}
    valid = set[str]().union(*names.values())
    if unknown := [word for word in wanted if word not in valid]:
        listed = "\n  ".join(sorted(valid))
        raise ValueError(f"no section or script is called {', '.join(unknown)}; valid:\n  {listed}")
    return {name: path for name, path in scripts.items() if not wanted or names[name] & set(wanted)}


def run(script: Path, seconds: float) -> Outcome:
    """Run a script in an empty folder and measure it; stop it when its time is over."""
    environment = {**os.environ, "MPLBACKEND": "agg"}
    path = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, str(script)],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that its children can be stopped with it
        )
        try:
            status, gigabytes, taken = _wait(process, seconds)
        finally:
            _stop(process)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Outcome(taken, gigabytes, status, text)


def _wait(
    process: subprocess.Popen[bytes], seconds: float
) -> tuple[int | None, float | None, float]:
    """Wait until a process ends or its time is over; return status, peak memory and time."""
    start = time.perf_counter()
    if sys.platform == "win32":  # no wait4 there, and no measure of memory
        status = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = process.wait(seconds)
        return status, None, time.perf_counter() - start
    taken, waiting = 0.0, Waiting(process.pid)
    while taken < seconds:
        waited = waiting.look()
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        taken = time.perf_counter() - start - waited
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            unit = 1 if sys.platform == "darwin" else 1024  # bytes on macOS, else KiB
            return process.returncode, usage.ru_maxrss * unit / 1e9, taken
        time.sleep(0.02)
    return None, None, taken


class Waiting:
    """How long a process and those that it starts are ready to run and get no processor."""

    def __init__(self, pid: int) -> None:
        """Watch a process."""
        self.pid = pid
        self.parents: dict[int, int] = {}
        self.seconds: dict[int, float] = {}  # of each process, as last seen; ended ones stay

    def look(self) -> float:
        """Return the seconds of the process with the chain of processes that waited longest.

        Processes beside each other wait at the same time: of those only the longest counts.
        """
        family = [self.pid]
        for pid in family:
            self.seconds[pid] = max(self.seconds.get(pid, 0.0), _waited(pid))
            for child in _children(pid):
                self.parents[child] = pid
                family.append(child)
        longest: dict[int, float] = {}
        for pid in reversed(self.seconds):  # children were seen after their parents
            total = self.seconds[pid] + longest.get(pid, 0.0)
            parent = self.parents.get(pid)
            if parent is None:
                return total
            longest[parent] = max(longest.get(parent, 0.0), total)
        return 0.0


def _waited(pid: int) -> float:
    """Return the seconds in which a process was ready to run and got no processor."""
    try:  # nanoseconds: running, waiting for a processor, and a count; of the main thread
        return int(Path(f"/proc/{pid}/schedstat").read_text("ascii").split()[1]) / 1e9
    except (OSError, IndexError):  # another system, or a kernel that does not count
        return 0.0


def _children(pid: int) -> list[int]:
    """Return the processes that the main thread of a process started."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []


def _descendants(pid: int) -> list[int]:
    """Return the living processes that a process started, and those that they started."""
    family = [pid]
    for each in family:
        family += _children(each)
    return family[1:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a process, if it still runs, and the children that it left."""
    if sys.platform == "win32":
        process.kill()
    else:
        started = _descendants(process.pid)  # torchrun gives its workers groups of their own
        for stop, pid in ((os.killpg, process.pid), *((os.kill, pid) for pid in started)):
            with contextlib.suppress(ProcessLookupError):
                stop(pid, signal.SIGKILL)
    process.wait()


def judge(outcome: Outcome, seconds: float, gigabytes: float) -> str:
    """Say what is wrong with a run, or nothing."""
    if outcome.status is None:
        return f"took longer than its budget of {seconds:g} s and was stopped"
    if outcome.status != 0:
        last = "\n".join(outcome.output.splitlines()[-LAST_LINES:])
        return f"ended with status {outcome.status}\n{last}"
    if outcome.gigabytes is not None and outcome.gigabytes > gigabytes:
        return (
            f"used {outcome.gigabytes:.2f} GB of memory, more than its budget of {gigabytes:g} GB"
        )
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen scripts, print a line for each and the sum; return the exit status."""
    description, _, _ = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("scripts", nargs="*", help="sections or scripts; all if none is given")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="default: %(default)g")
    parser.add_argument("--gigabytes", type=float, default=GIGABYTES, help="default: %(default)g")
    parser.add_argument("--examples", type=Path, default=ROOT / "examples", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        chosen = choose_scripts(find_scripts(options.examples), options.scripts)
    except ValueError as error:
        parser.error(str(error))
    if not chosen:
        parser.error(f"there is no script in {options.examples}")
    failed = 0
    for name, script in chosen.items():
        outcome = run(script, options.seconds)
        if outcome.status is None:
            outcome = run(script, options.seconds)
        wrong = judge(outcome, options.seconds, options.gigabytes)
        memory = "" if outcome.gigabytes is None else f"  {outcome.gigabytes:.2f} GB"
        print(f"{'FAIL' if wrong else 'ok':4}  {name}  {outcome.seconds:.1f} s{memory}", flush=True)
        if wrong:
            failed += 1
            print(f"      {name} {wrong}", file=sys.stderr, flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
