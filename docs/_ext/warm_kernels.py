"""Jupyter kernels that start without importing torch again.

A kernel provisioner, jupyter_client's extension point for how kernels start.  On Linux a kernel
is forked from one helper process (`fork_server`) that has the slow imports behind it.  On other
systems, for another kernel than this Python's, and when anything is wrong with the helper,
kernels start in the ordinary way.  Either way they are ended as soon as their page is done.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["MODULES", "WarmProvisioner", "warm_kernels"]

MODULES = ("torch", "matplotlib.pyplot", "matplotlib.backends.backend_agg")
PATIENCE = 120.0  # seconds until a helper that does not answer is given up: a cold disk is slow
NAME = "torchguide-warm"


class ForkedProcess:
    """The part of subprocess.Popen that LocalProvisioner uses, for another process's child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        """Watch a process that runs now."""
        self.pid = pid
        self.returncode: int | None = None
        self._descriptor = os.pidfd_open(pid)

    def poll(self, timeout: float | None = 0) -> int | None:
        """Return 0 once it has ended, else None after at most `timeout` seconds."""
        if self.returncode is None and select.select([self._descriptor], [], [], timeout)[0]:
            os.close(self._descriptor)
            self.returncode = 0  # only its parent could know better
        return self.returncode

    def wait(self) -> int | None:
        """Wait until it has ended."""
        return self.poll(timeout=None)

    def send_signal(self, signum: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._descriptor, signum)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)


class WarmProvisioner(LocalProvisioner):
    """Fork a kernel from the helper where possible; end any kernel quickly."""

    process: Any = None  # a Popen or a ForkedProcess
    helper: socket.socket | None = None
    environ: dict[str, str] = {}  # noqa: RUF012  # set for one build by `warm_kernels`
    cold_starts = 0
    groups: set[int] = set()  # noqa: RUF012  # process groups of the kernels that run

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """Add this build's variables to the kernel's environment."""
        prepared: dict[str, Any] = await super().pre_launch(**kwargs)
        prepared["env"] = {**prepared.get("env", os.environ), **self.environ}
        prepared["env"].pop("MPLBACKEND", None)  # pages draw inline, whatever Sphinx's process does
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the kernel and return how to reach it."""
        if self.helper is not None and cmd[:3] == [sys.executable, "-m", "ipykernel_launcher"]:
            try:
                self.process = await self._fork(cmd[3:], **kwargs)
            except (OSError, asyncio.TimeoutError) as error:
                self.log.warning("no forked kernel (%r), starting an ordinary one", error)
            else:
                self.pid = self.pgid = self.process.pid
                self.cwd = kwargs.get("cwd") or Path.cwd()
                self.groups.add(self.pgid)
                return self.connection_info
        type(self).cold_starts += 1
        info = await super().launch_kernel(cmd, **kwargs)
        if self.pgid:
            self.groups.add(self.pgid)
        return info

    async def _fork(self, argv: list[str], **kwargs: Any) -> ForkedProcess:
        assert self.helper is not None  # noqa: S101  # asked by launch_kernel
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        request = {"argv": argv, "env": kwargs["env"], "cwd": str(kwargs.get("cwd") or Path.cwd())}
        with ours, theirs:
            socket.send_fds(self.helper, [json.dumps(request).encode()], [theirs.fileno()])
            theirs.close()  # so that we hear of it when the other end goes
            loop = asyncio.get_running_loop()
            pid = await asyncio.wait_for(loop.sock_recv(ours, 32), PATIENCE)
        if not pid:
            raise OSError("the helper ended")
        return ForkedProcess(int(pid))

    async def shutdown_requested(self, restart: bool = False) -> None:
        """Wait for the end here: jupyter_client would look ten times a second, for seconds.

        An ordinary kernel is killed: it would spend 0.6 s on taking torch apart.
        """
        del restart
        if not isinstance(self.process, ForkedProcess):
            await self.kill()
            if self.process is not None:
                await asyncio.to_thread(self.process.wait)
        elif await asyncio.to_thread(self.process.poll, 1) is None:
            await self.kill()
            await asyncio.to_thread(self.process.poll, 1)

    async def cleanup(self, restart: bool = False) -> None:
        """End the workers that a page left behind; they are in their kernel's process group."""
        if self.pgid in self.groups:
            end_group(self.pgid)
            self.groups.discard(self.pgid)
        await super().cleanup(restart=restart)


def end_group(group: int) -> None:
    """End a kernel and whatever it started, if something of it is left."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


@contextmanager
def warm_kernels(
    *, environ: dict[str, str], fork: bool = True, modules: Sequence[str] = MODULES
) -> Iterator[int | None]:
    """Start all kernels of this process with WarmProvisioner, forked where that is possible.

    Args:
        environ: variables for the helper and every kernel.  OMP_NUM_THREADS belongs here: it is
            read when torch is loaded.
        fork: False for ordinary kernels everywhere.
        modules: what the helper imports.

    Yields:
        The helper's process id; None where there is no helper.
    """
    factory = KernelProvisionerFactory.instance()
    before = factory.default_provisioner_name, WarmProvisioner.helper, WarmProvisioner.environ
    factory.provisioners[NAME] = EntryPoint(NAME, f"{__name__}:WarmProvisioner", factory.GROUP_NAME)
    factory.default_provisioner_name = NAME
    helper: socket.socket | None = None
    server: subprocess.Popen[bytes] | None = None
    if fork and sys.platform == "linux":
        with suppress(OSError):
            helper, server = _start_helper(environ, modules)
    WarmProvisioner.helper, WarmProvisioner.environ = helper, environ
    try:
        yield server.pid if server is not None else None
    finally:
        factory.default_provisioner_name = before[0]
        WarmProvisioner.helper, WarmProvisioner.environ = before[1:]
        if helper is not None and server is not None:
            helper.close()  # the server ends, and whatever kernel is left
            server.wait()
        for group in tuple(WarmProvisioner.groups):  # left by Ctrl-C
            end_group(group)


def _start_helper(
    environ: dict[str, str], modules: Sequence[str]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    program = Path(__file__).with_name("fork_server.py")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        server = subprocess.Popen(
            [sys.executable, str(program), str(theirs.fileno()), *modules],
            pass_fds=[theirs.fileno()],
            env={**os.environ, **environ},
            stdout=subprocess.DEVNULL,  # pages capture what their commands print
        )
    return ours, server
