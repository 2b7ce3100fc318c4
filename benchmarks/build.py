"""Measure what a build of the site costs, against the plain way in the same run.

    python benchmarks/build.py                   everything; about ten minutes on two cores
    python benchmarks/build.py second edit       some parts: second, unchanged, edit, cold, growth

Works on a copy of the tree in a temporary folder.  Prints ratios, which carry over between
machines, each with its limit; ends with 1 if a limit is broken.  Times are medians.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("docs", "examples", "src", "tools")
FILES = (
    "pyproject.toml",
    "README.md",
    "README.zh-CN.md",
    "LICENSE",
    "CHANGELOG.md",
    "docs/LICENSE",
    "tests/package/data/errors.jsonl",
)
PARTS = ("second", "unchanged", "edit", "cold", "growth")
FRONT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
PAGE = """# Page {number} of a course

What this page shows, and what you need for it.

```{{code-cell}} python
import torch

torch.manual_seed({number})
x = torch.rand(200, 20)
y = x @ torch.arange(20.0) + 0.1 * torch.randn(200)
print(x.shape, y.shape)
```

A paragraph on the model and the loss that it is fitted with.

```{{code-cell}} python
model = torch.nn.Linear(20, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
losses = []
for _ in range(200):
    loss = torch.nn.functional.mse_loss(model(x).squeeze(1), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{{losses[0]:.1f}} -> {{losses[-1]:.3f}}")
```

And how the loss goes down.

```{{code-cell}} python
:mystnb: {{"image": {{"alt": "A falling curve."}}}}
import matplotlib.pyplot as plt

plt.semilogy(losses);
```
"""


@dataclass
class Build:
    """One run of tools/build_site.py."""

    seconds: float
    cpu: float
    peak_mb: float
    pages: list[str]
    examples: list[str]


class Tree:
    """A copy of the repository."""

    def __init__(self, folder: Path) -> None:
        """Copy what a build needs."""
        self.folder = folder
        ignore = shutil.ignore_patterns("__pycache__", "*.mo")
        for name in FOLDERS:
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        for name in FILES:
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, folder / name)
        self.clean()

    def clean(self) -> None:
        """Delete everything that builds have made."""
        for name in ("build", "docs/gallery"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        for path in self.folder.rglob("*.mo"):
            path.unlink()

    def build(self, *arguments: str) -> Build:
        """Build and measure."""
        environ = {k: v for k, v in os.environ.items() if not k.startswith("DOCS_")}
        start = time.perf_counter()
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(
                [sys.executable, "tools/build_site.py", *arguments],
                cwd=self.folder, env=environ, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
            watch = Watch(process.pid)
            code = process.wait()
            seconds = time.perf_counter() - start
            watch.stop()
            log.seek(0)
            text = log.read()
        if code:
            print(text)
            raise SystemExit(f"build_site.py {' '.join(arguments)} failed")
        print(
            f"      built in {seconds:.1f} s: {' '.join(arguments) or 'both languages'}", flush=True
        )
        listed = re.findall(r"executed \d+ examples: (.*)", text)
        plain = re.findall(r"(\S+): Executed notebook in", text)  # myst-nb's own words
        return Build(
            seconds,
            sum(watch.cpu.values()),
            watch.peak,
            re.findall(r"executed (\S+) in \d", text) + plain,
            [name for line in listed for name in line.split(", ")],
        )

    def cold(self, *arguments: str) -> Build:
        """Build from nothing."""
        self.clean()
        return self.build(*arguments)


class Watch(threading.Thread):
    """Watch a process and its descendants: processor time, and memory with shared pages once."""

    def __init__(self, pid: int) -> None:
        """Start to watch."""
        super().__init__(daemon=True)
        self.root = psutil.Process(pid)
        self.peak = 0.0  # MB
        self.cpu: dict[int, float] = {}  # seconds, of each process as last seen
        self.ended = threading.Event()
        self.start()

    def run(self) -> None:
        """Look four times a second."""
        while not self.ended.wait(0.25):
            try:
                family = [self.root, *self.root.children(recursive=True)]
            except psutil.Error:
                return
            self.peak = max(self.peak, sum(map(_megabytes, family)))
            for process in family:
                with contextlib.suppress(psutil.Error, OSError):
                    times = process.cpu_times()
                    self.cpu[process.pid] = times.user + times.system

    def stop(self) -> None:
        """Stop watching."""
        self.ended.set()
        self.join()


def _megabytes(process: psutil.Process) -> float:
    try:
        about = process.memory_full_info()
    except (psutil.Error, OSError):
        return 0.0
    return float(getattr(about, "pss", about.rss)) / 1e6


class Report:
    """Lines with a limit, and whether all of them hold."""

    def __init__(self) -> None:
        """Start with nothing broken."""
        self.broken = 0

    def limit(self, what: str, value: float, most: float) -> None:
        """Print a value that must not exceed a limit."""
        passed = value <= most
        self.broken += not passed
        print(
            f"{'pass' if passed else 'FAIL'}  {what}: {value:.2f} (at most {most:.2f})", flush=True
        )

    def same(self, what: str, value: object, expected: object) -> None:
        """Print a value that must be another."""
        passed = value == expected
        self.broken += not passed
        print(f"{'pass' if passed else 'FAIL'}  {what}: {value}", flush=True)


def median(builds: list[Build]) -> float:
    """Return the median time."""
    return statistics.median(build.seconds for build in builds)


def second(tree: Tree, report: Report, repeat: int) -> None:
    """See what the second language adds to a cold build of the first."""
    first, other, both = [], [], []
    for _ in range(repeat):
        first.append(tree.cold("en"))
        other.append(tree.build("zh_CN"))
        both.append(tree.cold())
    one, two = median(first), median(both)
    print(
        f"      English {one:.1f} s, both {two:.1f} s; "
        f"Chinese alone, after English, {median(other) / one:.2f} of it"
    )
    report.limit("what the second language adds / the first", (two - one) / one, 0.2)
    executed = [name for build in other for name in build.pages + build.examples]
    report.same("executed for the second language", executed, [])


def unchanged(tree: Tree, report: Report, repeat: int) -> None:
    """Compare a build without changes with a cold one."""
    cold = tree.cold()
    again = [tree.build() for _ in range(repeat)]
    look = [tree.build("--look") for _ in range(repeat)]
    print(f"      cold {cold.seconds:.1f} s, unchanged {median(again):.2f} s")
    report.limit("unchanged / cold", median(again) / cold.seconds, 0.1)
    print(f"      when Sphinx itself looks for changes: {median(look) / cold.seconds:.2f}")


def edit(tree: Tree, report: Report, _repeat: int) -> None:
    """Edit one page's code, one page's prose and one script; see what is executed."""
    tree.build()
    page = tree.folder / "docs" / "tensors" / "views.md"
    text = page.read_text("utf-8")
    page.write_text(
        text.replace("{code-cell} python\n", "{code-cell} python\nedited = 1\n", 1), "utf-8"
    )
    built = tree.build("en")
    report.same(
        "executed after an edit of a page's code", built.pages + built.examples, ["tensors/views"]
    )
    page.write_text(text + "\nOne more sentence.\n", "utf-8")
    built = tree.build("en")
    report.same("executed after an edit of a page's prose", built.pages + built.examples, [])
    page.write_text(text, "utf-8")
    script = min((tree.folder / "examples").glob("*/*.py"))
    code = script.read_text("utf-8")
    script.write_text(code.replace("# %%\n", "# %%\n#\n", 1), "utf-8")
    built = tree.build("en")
    report.same("executed after an edit of a script", built.pages + built.examples, [script.stem])
    script.write_text(code, "utf-8")


def cold(tree: Tree, report: Report, repeat: int) -> None:
    """Compare a cold build of both languages with two plain ways, run in turn."""
    to_serial, to_shared, cpu = [], [], []
    for _ in range(repeat):
        ours = tree.cold()
        shared = tree.cold("--plain", "--jobs", "2")
        each = [tree.cold(code, "--plain", "--jobs", "1") for code in ("en", "zh_CN")]
        serial = sum(build.seconds for build in each)
        to_serial.append(ours.seconds / serial)
        to_shared.append(ours.seconds / shared.seconds)
        cpu.append(ours.cpu / shared.cpu)
        print(
            f"      {len(ours.pages) + len(ours.examples)} pages and examples: "
            f"ours {ours.seconds:.1f} s, {ours.peak_mb:.0f} MB; "
            f"plain, -j 2, shared {shared.seconds:.1f} s, {shared.peak_mb:.0f} MB; "
            f"plain, serial, each language for itself {serial:.1f} s",
            flush=True,
        )
    report.limit("cold / plain, serial, each for itself", statistics.median(to_serial), 0.25)
    report.limit("cold / plain, -j 2, shared", statistics.median(to_shared), 0.5)
    print(f"      the same in processor time: {statistics.median(cpu):.2f}")


def growth(tree: Tree, report: Report, _repeat: int) -> None:
    """Build 10, 40 and 160 generated pages."""
    docs = tree.folder / "docs"
    for path in [*docs.rglob("*.md"), *(tree.folder / "examples").rglob("*.py")]:
        path.unlink()
    for folder in ["locales", *(p.parent.name for p in (tree.folder / "examples").glob("*/*"))]:
        shutil.rmtree(docs / folder, ignore_errors=True)
    shutil.rmtree(tree.folder / "examples")
    (tree.folder / "examples").mkdir()
    (tree.folder / "examples" / "GALLERY_HEADER.rst").write_text("Gallery\n=======\n")
    (tree.folder / "examples" / "gallery_order.txt").write_text("")
    built = {}
    for count in (10, 40, 160):
        names = [f"p{number:03}" for number in range(count)]
        for number, name in enumerate(names):
            (docs / f"{name}.md").write_text(FRONT + PAGE.format(number=number), "utf-8")
        toctree = "\n".join([*names, "gallery/index"])
        (docs / "index.md").write_text(f"# Course\n\n```{{toctree}}\n{toctree}\n```\n", "utf-8")
        build = built[count] = tree.cold("en")
        print(f"      {count:3} pages: {build.seconds:6.1f} s, {build.peak_mb:6.0f} MB", flush=True)
        report.same("executed", len(build.pages), count)
    early = (built[40].seconds - built[10].seconds) / 30
    late = (built[160].seconds - built[40].seconds) / 120
    report.limit("a page more, at 160 / at 40", late / early, 1.5)
    report.limit("peak memory, 160 pages / 10 pages", built[160].peak_mb / built[10].peak_mb, 1.5)


def main() -> int:
    """Run the parts asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--repeat", type=int, default=3, help="runs of a median (3)")
    arguments = parser.parse_args()
    unknown = set(arguments.parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; valid: {', '.join(PARTS)}")
    report = Report()
    for part in arguments.parts or PARTS:
        print(part, flush=True)
        with tempfile.TemporaryDirectory(prefix="build-") as folder:
            globals()[part](Tree(Path(folder)), report, arguments.repeat)
    print("all limits hold" if not report.broken else f"{report.broken} limits broken")
    return min(report.broken, 1)


if __name__ == "__main__":
    sys.exit(main())
