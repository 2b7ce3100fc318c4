"""`.ci/run` installs from the system what is missing there, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a script for Linux")


@pytest.mark.parametrize(
    ("there", "installed"),
    [
        (("chromium", "fc-list"), None),
        (("chromium",), "fonts-noto-cjk fontconfig"),
        (("fc-list",), "chromium"),
        ((), "chromium fonts-noto-cjk fontconfig"),
    ],
)
def test_only_what_is_missing_is_installed(tmp_path, there, installed):
    programs = {
        "python3": "exit 9",  # the script ends here
        "id": "echo 1000",
        "sudo": 'exec "$@"',
        "apt-get": f'echo "$@" >> {tmp_path}/apt',
        **dict.fromkeys(there, "echo a font"),
    }
    for name, does in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("bash", "dirname", "env", "sh"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        [str(ROOT / ".ci" / "run")], env={**os.environ, "PATH": str(tmp_path)}, check=False
    )
    assert done.returncode == 9
    calls = (tmp_path / "apt").read_text().splitlines() if (tmp_path / "apt").exists() else []
    if installed is None:
        assert calls == []
    else:
        assert calls[0] == "update --quiet"
        assert calls[1].endswith(f"--no-install-recommends {installed}")
