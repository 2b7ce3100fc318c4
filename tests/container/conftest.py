"""The workplace of examples/container, started as it is in the container, but without Docker.

An ordinary user runs it on loopback and ports of its own. Run by root, the tests make an
account for it and remove that again: the start script refuses root, and sshd lets in only
users that the system knows.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

import pytest

FILES = Path(__file__).resolve().parents[2] / "examples" / "container"
SBIN = f"{os.environ['PATH']}:/usr/sbin:/sbin"  # an ordinary user's PATH may lack both
SECONDS = 90  # JupyterLab starts in three; a busy machine takes its time


@dataclass(frozen=True)
class Account:
    """The user of the workplace, and a folder that nobody else may write, nor in one above it."""

    name: str
    home: Path

    def popen(self, command, **options):
        """Start a program as this user, in a process group of its own."""
        if os.geteuid() == 0:
            options |= {"user": self.name, "group": self.name, "extra_groups": []}
        return subprocess.Popen(
            command, text=True, stdin=subprocess.DEVNULL, start_new_session=True, **options
        )


@pytest.fixture(scope="session")
def account():
    """Give the user who runs the tests, or an account made for them if that is root."""
    if shutil.which("sshd", path=SBIN) is None:
        pytest.fail("there is no sshd; install Debian's package openssh-server")
    if os.geteuid() != 0:
        name, parent = pwd.getpwuid(os.geteuid()).pw_name, Path.home()
    else:  # sshd reads no key below a folder that others may write, as /tmp is
        name, parent = f"guide{os.getpid()}", Path("/run")
    home = Path(tempfile.mkdtemp(prefix="workplace-", dir=parent))
    try:
        if os.geteuid() == 0:
            add = [shutil.which("useradd", path=SBIN), "--no-create-home", "--shell", "/bin/bash"]
            subprocess.run([*add, "--home-dir", str(home), name], check=True)
            shutil.chown(home, name, name)
        account = Account(name, home)
        if account.popen([sys.executable, "-c", ""], cwd="/").wait() != 0:
            pytest.fail(f"{name} may not run {sys.executable}; use a Python outside root's home")
        yield account
    finally:
        shutil.rmtree(home)
        if os.geteuid() == 0:
            subprocess.run([shutil.which("userdel", path=SBIN), name], check=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def make_key(path):
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "reader", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@dataclass
class Workplace:
    """One workplace: its settings, its folders, and the start script when it runs."""

    account: Account
    folder: Path
    key: Path  # of the reader, whose public half the workplace gets
    settings: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    def __post_init__(self):
        self.settings = {
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "LISTEN_ADDRESS": "127.0.0.1",
            "JUPYTER_PORT": str(free_port()),
            "SSH_PORT": str(free_port()),
            "SSH_PUBLIC_KEY": self.key.with_suffix(".pub").read_text().strip(),
            "CUDA_VISIBLE_DEVICES": "0,1",
        } | self.settings

    @property
    def log(self):
        return (self.folder / "log").read_text()

    @property
    def token(self):
        return (self.folder / ".workplace" / "token").read_text()

    def script(self, name):
        """Start a script of the container with the workplace's environment."""
        with (self.folder / ("log" if name == "start.sh" else "log-other")).open("w") as log:
            return self.account.popen(
                ["bash", str(FILES / name)], env=self.settings, stdout=log, stderr=log, cwd="/"
            )

    def healthy(self):
        return self.script("healthy.sh").wait(SECONDS) == 0

    def start(self):
        """Start, and wait until the health check succeeds."""
        self.process = self.script("start.sh")
        end = time.monotonic() + SECONDS
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"the workplace did not start:\n{self.log}")
            time.sleep(0.3)
        return self

    def stop(self):
        """Stop as Docker does, with SIGTERM to the script; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def clean(self):
        """End what a test has left: the servers with their kernels, then the rest by force."""
        if self.process is not None:
            if self.process.poll() is None:
                self.stop()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    def ssh(self, *command, key=None, options=(), known="no", **more):
        """Run a command over SSH; return what came of it."""
        settings = {
            "Port": self.settings["SSH_PORT"],
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "BatchMode": "yes",
            "StrictHostKeyChecking": known,
            "UserKnownHostsFile": str(self.key.parent / "known_hosts"),
            "ConnectTimeout": "20",
        } | dict(options)
        flags = [part for item in settings.items() for part in ("-o", "=".join(item))]
        target = more.pop("user", self.account.name) + "@127.0.0.1"
        return subprocess.run(
            ["ssh", "-F", "none", "-i", str(key or self.key), *flags, target, *command],
            capture_output=True, text=True, check=False, timeout=SECONDS, **more,
        )  # fmt: skip

    def jupyter(self, path, token=None, method="GET", body=None):
        """Ask JupyterLab; return the status and the text of its answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.settings['JUPYTER_PORT']}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={} if token is None else {"Authorization": f"token {token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 -- http:// above
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


@pytest.fixture(scope="session")
def make(account, tmp_path_factory):
    """Make workplaces in fresh folders; end what is left of them."""
    made = []

    def new(**settings):
        folder = account.home / str(len(made))
        folder.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, account.name, account.name)
        key = make_key(tmp_path_factory.mktemp("reader") / "id_ed25519")
        made.append(Workplace(account, folder, key, settings))
        return made[-1]

    yield new
    for workplace in made:
        workplace.clean()


@pytest.fixture(scope="module")
def workplace(make):
    """Start one workplace for the tests that leave it as it is."""
    return make().start()
