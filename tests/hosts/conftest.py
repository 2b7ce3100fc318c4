"""Two hosts on one machine: network namespaces of Linux, joined by a cable of their own.

Nothing outside them can be reached from them. Where a machine does not allow that, the tests are
skipped with its reason.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 5  # the kernel sends again so often; with its 15 it waits for a quarter of an hour


def ip(*arguments):
    """Run the program that sets up networks; a refusal is an exception with its words."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"`ip {' '.join(arguments)}`: {done.stderr.strip()}")
    return done.stdout


@dataclass
class Host:
    """A network namespace with one interface, and what was started in it."""

    name: str
    address: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def python(self, *arguments, log: Path, **env):
        """Start a Python program on this host; its output goes into a file."""
        command = ["ip", "netns", "exec", self.name, sys.executable, *arguments]
        with log.open("w", encoding="utf8") as file:
            process = subprocess.Popen(
                command, env={**os.environ, **env}, stdout=file, stderr=file, text=True
            )
        self.started.append(process)
        return process

    def be_patient(self, repeats):
        """Set how often the kernel sends again on this host before it gives a connection up."""
        code = f"open('/proc/sys/net/ipv4/tcp_retries2', 'w').write('{repeats}')"
        command = ["ip", "netns", "exec", self.name, sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(done.stderr.splitlines()[-1])

    def cut(self):
        """Take the cable out: nothing is refused, nothing arrives."""
        ip("-n", self.name, "link", "set", "eth0", "down")

    def clean(self):
        """End all that runs in this namespace, which is nobody else's, and remove it."""
        for process in self.started:
            process.terminate()
        for process in self.started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
        for pid in ip("netns", "pids", self.name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        for process in self.started:
            process.wait(10)
        ip("netns", "del", self.name)


@pytest.fixture
def hosts():
    """Give two hosts that reach each other and nothing else."""
    if sys.platform != "linux":
        pytest.skip("network namespaces are Linux's")
    if os.geteuid() != 0:
        pytest.skip("only root makes network namespaces")
    if shutil.which("ip") is None:
        pytest.skip("there is no `ip`; install Debian's package iproute2")
    made = []
    try:
        for number in (1, 2):
            host = Host(f"guide{os.getpid()}-{number}", f"10.0.0.{number}")
            ip("netns", "add", host.name)
            made.append(host)
        ends = [host.name for host in made]
        ip("-n", ends[0], "link", "add", "eth0", "type", "veth", "peer", "eth0", "netns", ends[1])
        for host in made:
            ip("-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", host.name, "link", "set", "lo", "up")
            ip("-n", host.name, "link", "set", "eth0", "up")
            host.be_patient(PATIENCE)
    except OSError as refusal:
        for host in made:
            host.clean()
        pytest.skip(f"this machine allows no network namespaces: {refusal}")
    yield made
    for host in made:
        host.clean()
