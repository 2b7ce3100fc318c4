"""The process from which kernels are forked, with the slow imports behind it (Linux).

A program, started by `warm_kernels` with a socket and the modules to import.  It imports and
runs nothing else: no tensor, no figure, no thread, because OpenMP and CUDA do not survive a
fork.  For each request it forks, and the child becomes an ordinary ipykernel.  When all clients
are gone it ends, and its children with it.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import multiprocessing.process
import os
import signal
import socket
import sys
import warnings
from typing import Any

KERNEL = (  # what each kernel imports anyway, much of it only when it starts or first fails
    "ipykernel_launcher",
    "ipykernel.kernelapp",
    "ipykernel.zmqshell",
    "ipykernel.debugger",
    "psutil",
    "sqlite3",
    "tornado.platform.asyncio",
    "stack_data",
    "IPython.core.completerlib",
    "IPython.core.pylabtools",
    "IPython.extensions.storemagic",
    "pygments.formatters.terminal256",
)
INLINE = "module://matplotlib_inline.backend_inline"  # as ipykernel sets it for pages
PR_SET_PDEATHSIG = 1  # linux/prctl.h


def serve(channel: socket.socket, modules: list[str]) -> dict[str, Any]:
    """Fork for every request until all clients are gone; return in each child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends our clients, and so us
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels that end leave no zombies
    variables = preload(modules)
    gc.freeze()  # children neither scan nor copy what they share with us
    while True:
        data, descriptors, _, _ = socket.recv_fds(channel, 1 << 20, 1)
        if not data:
            os._exit(0)
        with warnings.catch_warnings():
            # 3.12+ warns of threads; OpenBLAS has one, and its own fork handler
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid == 0:
            channel.close()
            return {**json.loads(data), "reply": descriptors[0], "variables": variables}
        os.close(descriptors[0])


def preload(modules: list[str]) -> dict[str, str]:
    """Import modules and return the environment variables that they set.

    One that fails will say so in the page that needs it.
    """
    environ = os.environ.copy()
    os.environ["MPLBACKEND"] = INLINE
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning of ipykernel's debugger
    for name in (*KERNEL, *modules):
        with contextlib.suppress(ImportError, OSError):
            importlib.import_module(name)
    ours = {"MPLBACKEND", "PYDEVD_DISABLE_FILE_VALIDATION", *environ}
    variables = {name: value for name, value in os.environ.items() if name not in ours}
    os.environ.clear()
    os.environ.update(environ)
    return variables


def settle(request: dict[str, Any]) -> None:
    """Give this child what a new process has: session, folder, environment, random state."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # the server ended in between
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()  # its own process group, as jupyter_client gives kernels
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update({**request["variables"], **request["env"]})
    os.environ["JPY_PARENT_PID"] = str(parent)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    launcher = sys.modules["ipykernel_launcher"].__file__
    sys.argv = [str(launcher), *request["argv"]]
    # where spawned workers look for modules
    multiprocessing.process.ORIGINAL_DIR = request["cwd"]  # type: ignore[attr-defined]  # not in typeshed
    # `random` reseeds itself after a fork, these do not
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def become_kernel(request: dict[str, Any]) -> None:
    """Run ipykernel until the page is done; say when its ports are open."""
    settle(request)
    from ipykernel.kernelapp import IPKernelApp  # noqa: PLC0415  # imported before the fork

    app = IPKernelApp.instance()
    # end when the server does; JPY_PARENT_PID was read when the class was made
    app.initialize(  # type: ignore[no-untyped-call]  # ipykernel has no types here
        [*sys.argv[1:], f"--IPKernelApp.parent_handle={os.getppid()}"]
    )
    os.write(request["reply"], str(os.getpid()).encode())
    os.close(request["reply"])
    app.start()  # type: ignore[no-untyped-call]  # nor here
    app.control_thread.join(5)  # it may still flush to a thread that exit handlers stop
    atexit._run_exitfuncs()  # noqa: SLF001  # what a page registered must run
    os._exit(0)  # taking torch's modules apart one by one takes longer than most pages


if __name__ == "__main__":
    del sys.path[0]  # this folder; ipykernel puts "" (the page's folder) in its place
    become_kernel(serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:]))
