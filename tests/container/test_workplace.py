from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

SECONDS = 90


def test_the_key_logs_in_and_finds_the_containers_python(workplace):
    program = "import os, sys; print(sys.executable, os.environ['CUDA_VISIBLE_DEVICES'])"
    shown = workplace.ssh("python", "-c", f'"{program}"')
    assert shown.returncode == 0, shown.stderr + workplace.log
    assert shown.stdout == f"{Path(sys.executable).parent / 'python'} 0,1\n"


def test_another_key_is_refused(workplace, tmp_path):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    shown = workplace.ssh("true", key=other)
    assert shown.returncode == 255
    assert "Permission denied (publickey)." in shown.stderr


def test_the_server_asks_nobody_for_a_password(workplace, tmp_path):
    asked = tmp_path / "asked"
    helper = tmp_path / "askpass"
    helper.write_text(f"#!/bin/sh\ntouch '{asked}'\necho secret\n")
    helper.chmod(0o755)
    shown = workplace.ssh(
        "true",
        options={
            "BatchMode": "no",
            "PubkeyAuthentication": "no",
            "PreferredAuthentications": "password,keyboard-interactive",
        },
        env=os.environ | {"SSH_ASKPASS": str(helper), "SSH_ASKPASS_REQUIRE": "force"},
    )
    assert shown.returncode == 255
    assert "Permission denied (publickey)." in shown.stderr  # the only way that it offers
    assert not asked.exists()


def test_root_is_refused_even_with_the_key(workplace):
    assert workplace.ssh("true", user="root").returncode == 255


def test_files_can_be_copied_over_ssh(workplace, tmp_path):
    (tmp_path / "here.txt").write_text("42\n")
    shown = subprocess.run(
        [
            "sftp", "-F", "none", "-b", "-", "-i", str(workplace.key),
            "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
            "-o", f"UserKnownHostsFile={tmp_path / 'known'}",
            "-P", workplace.settings["SSH_PORT"], f"{workplace.account.name}@127.0.0.1",
        ],
        input=f"put {tmp_path / 'here.txt'} {workplace.folder}/work/there.txt\n",
        capture_output=True, text=True, check=False, timeout=SECONDS,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert (workplace.folder / "work" / "there.txt").read_text() == "42\n"


def test_a_job_started_with_nohup_outlives_the_connection(workplace):
    shown = workplace.ssh("nohup sleep 300 > /dev/null 2>&1 & echo $!")
    job = int(shown.stdout)
    try:
        time.sleep(0.5)
        assert Path(f"/proc/{job}/comm").read_text() == "sleep\n"
    finally:
        os.kill(job, signal.SIGKILL)


def test_jupyterlab_needs_the_token(workplace):
    assert workplace.jupyter("/api/contents")[0] == 403
    assert workplace.jupyter("/api/contents", token="0" * 48)[0] == 403
    assert workplace.jupyter("/api/terminals", method="POST", body={})[0] == 403
    assert "Password or token" in workplace.jupyter("/lab")[1]
    assert workplace.jupyter("/api/contents", token=workplace.token)[0] == 200


def test_jupyterlab_starts_a_kernel_for_who_has_the_token(workplace):
    status, answer = workplace.jupyter("/api/kernels", workplace.token, "POST", body={})
    assert status == 201, answer


def test_the_token_is_long_secret_and_nowhere_in_the_log_or_the_command_lines(workplace):
    state = workplace.folder / ".workplace"
    assert len(workplace.token) == 48
    assert {stat.S_IMODE((state / name).stat().st_mode) for name in ("token", "host_key")} == {
        0o600
    }
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert workplace.token not in workplace.log
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "jupyterlab" in shown.stdout
    assert workplace.token not in shown.stdout


def test_both_servers_listen_on_the_given_address_only(workplace):
    ports = {int(workplace.settings[name]) for name in ("JUPYTER_PORT", "SSH_PORT")}
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, status, *_ = line.split()
            address, _, port = local.partition(":")
            if status == "0A" and int(port, 16) in ports:  # 0A: listens
                found.setdefault(int(port, 16), set()).add(address)
    assert found == {port: {"0100007F"} for port in ports}  # 127.0.0.1


def test_a_restart_keeps_files_token_and_the_servers_key(make):
    first = make().start()
    body = {"type": "file", "format": "text", "content": "kept"}
    token = first.token
    assert first.jupyter("/api/contents/note.txt", token, "PUT", body)[0] == 201
    assert first.ssh("true", known="accept-new").returncode == 0
    assert first.stop() == 143  # 128 + SIGTERM
    assert not first.healthy()
    assert os_group_is_empty(first.process.pid)
    first.start()
    assert first.token == token
    assert '"content": "kept"' in first.jupyter("/api/contents/note.txt", token)[1]
    shown = first.ssh("cat", f"{first.folder}/work/note.txt", known="yes")
    assert shown.stdout == "kept", shown.stderr


def os_group_is_empty(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, 0)
        return False
    return True


def test_without_a_key_there_is_no_ssh_server(make):
    place = make(SSH_PUBLIC_KEY="").start()
    assert "no SSH: SSH_PUBLIC_KEY is empty" in place.log
    assert "Connection refused" in place.ssh("true").stderr


def test_a_token_of_ones_own_is_used_and_kept_out_of_the_notebooks(make):
    token = "ones-own-" * 4
    place = make(JUPYTER_TOKEN=token).start()
    assert place.jupyter("/api/contents", token)[0] == 200
    server = next(
        Path(f"/proc/{pid}/environ").read_bytes()
        for pid in descendants(place.process.pid)
        if b"jupyterlab" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    assert token.encode() not in server


def descendants(pid):
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in children for each in (child, *descendants(child))]


def test_when_one_server_ends_the_script_ends_and_says_so(make):
    place = make().start()
    sshd = next(
        int(pid)
        for pid in descendants(place.process.pid)
        if b"sshd" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    os.kill(sshd, signal.SIGKILL)
    assert place.process.wait(SECONDS) == 137
    assert "one of the servers has ended with status 137; stopping" in place.log
    assert not place.healthy()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"JUPYTER_TOKEN": "1234"}, "JUPYTER_TOKEN has 4 characters, not 32 or more"),
        ({"SSH_PUBLIC_KEY": "ssh-ed25519 no-key"}, "SSH_PUBLIC_KEY is no public key"),
        ({"SSH_PUBLIC_KEY": "-----BEGIN OPENSSH PRIVATE KEY-----"}, "holds a private key"),
        ({"WORK_DIR": "/proc"}, "may not write in /proc; give the mounted folder"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_way_on(make, settings, message):
    place = make(**settings)
    assert place.script("start.sh").wait(SECONDS) == 1
    assert message in place.log


def test_root_is_refused():
    if os.geteuid() != 0:
        pytest.skip("these tests run as an ordinary user")
    script = Path(__file__).resolve().parents[2] / "examples/container/start.sh"
    shown = subprocess.run(["bash", str(script)], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stderr) == (
        1,
        "start: do not run this as root; an ordinary user is enough\n",
    )
