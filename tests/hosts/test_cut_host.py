"""The script of docs/gpu/elastic.md on two hosts, one of which loses its network."""

from __future__ import annotations

import importlib.util
import re
import time
from pathlib import Path

import pytest
import torch

DOCS = Path(__file__).parents[2] / "docs" / "gpu"
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CRASH = 'os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))'
SECONDS = 150


def cells_until_the_script(page):
    """Return the page's plain cells up to the one that writes the script."""
    cells = [cell for cell in CELL.findall(page) if not cell.startswith(":tags:")]
    last = next(i for i, cell in enumerate(cells) if 'folder / "train.py").write_text' in cell)
    return "\n".join(cells[: last + 1])


@pytest.fixture
def lesson(tmp_path):
    """Run the page's cells up to the script; give what they defined."""
    page = (DOCS / "elastic.md").read_text(encoding="utf8")
    file = tmp_path / "lesson.py"  # a file, because the page reads the source of its functions
    file.write_text(cells_until_the_script(page), encoding="utf8")
    spec = importlib.util.spec_from_file_location("lesson", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    module.temporary.cleanup()


def wait_for(condition, process):
    """Wait until something holds while a process runs; fail after a while."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert process.poll() is None, "the program has ended before"
        assert time.monotonic() < end, "nothing has come"
        time.sleep(0.1)


def assert_quoted(words, said):
    """Compare what the page on several hosts quotes with what was said."""
    assert words in said
    assert words in (DOCS / "several-hosts.md").read_text(encoding="utf8")


def test_a_host_is_cut_off_and_the_other_goes_on_from_the_checkpoint(hosts, lesson, tmp_path):
    # The same script, but rank 1 stands still at step 6 of its first life: there comes the cut.
    assert lesson.script.count(CRASH) == 1
    stand = '(print("rank 1 stands at step 6", flush=True), signal.pause())'
    (tmp_path / "train.py").write_text(lesson.script.replace(CRASH, stand), encoding="utf8")
    state = tmp_path / "state.pt"  # both hosts see this folder

    logs = [tmp_path / "stays.log", tmp_path / "cut.log"]
    stays, cut = (
        host.python(
            "-m", "torch.distributed.run", "--nnodes=1:2", "--nproc-per-node=1", "--max-restarts=3",
            "--rdzv-id=job1", "--rdzv-backend=c10d", f"--rdzv-endpoint={hosts[0].address}:29400",
            f"--rdzv-conf=is_host={int(host is hosts[0])},last_call_timeout=30,read_timeout=10",
            f"--local-addr={host.address}", str(tmp_path / "train.py"), str(state), "10",
            log=log, GLOO_SOCKET_IFNAME="eth0", TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",
            OMP_NUM_THREADS="1",
        )
        for host, log in zip(hosts, logs, strict=True)
    )  # fmt: skip
    wait_for(lambda: "stands at step 6" in logs[1].read_text() and state.exists(), cut)
    hosts[1].cut()

    codes = stays.wait(SECONDS), cut.wait(SECONDS)
    said, said_cut = (log.read_text() for log in logs)
    print(f"the host that stays:\n{said}\nthe host that was cut off:\n{said_cut}")
    assert codes == (0, 1)

    lives = [line for line in said.splitlines() if line.startswith("life")]
    assert lives == ["life 0, rank 0 of 2: from step 0", "life 1, rank 0 of 1: from step 4"]
    assert "life 1" not in said_cut  # the cut host starts nothing more
    end = torch.load(state)
    assert end["step"] == 12
    # The same samples in each step, whoever computes them: the result of the page's run in one
    # process that nobody interrupted.
    torch.testing.assert_close(end["model"]["weight"], lesson.through, rtol=0, atol=1e-5)

    assert_quoted("Timed out waiting 10000ms for recv operation to complete", said)
    assert_quoted("closing signal SIGTERM", said_cut)
    assert_quoted("RendezvousConnectionError: The connection to the C10d store", said_cut)


def test_a_host_that_finds_nobody_says_where_it_has_looked(hosts, tmp_path):
    log = tmp_path / "log"
    alone = hosts[1].python(
        "-m", "torch.distributed.run", "--nnodes=2", "--rdzv-backend=c10d",
        f"--rdzv-endpoint={hosts[0].address}:29400", "--rdzv-conf=is_host=0,read_timeout=2",
        "train.py", log=log,
    )  # fmt: skip
    assert alone.wait(SECONDS) == 1
    said = log.read_text().replace("after 2000ms", "after 60000ms").replace("10.0.0.1", "host1")
    assert_quoted(
        "DistNetworkError: The client socket has timed out after 60000ms "
        "while trying to connect to (host1, 29400).",
        said,
    )
    assert_quoted(
        "RendezvousConnectionError: The connection to the C10d store has failed. "
        "See inner exception for details.",
        said,
    )
