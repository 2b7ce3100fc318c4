from __future__ import annotations

import dataclasses
import platform
import sys

from execution_environment import digest_folder, find_environment, today


def test_a_day_is_that_of_source_date_epoch(monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(86400 * 365))
    assert today() == "1971-01-01"


def test_each_part_changes_the_digest(tmp_path):
    environment = find_environment(tmp_path)
    assert environment.python == platform.python_version()
    for part in dataclasses.fields(environment):
        value = ("other",) if part.name == "libraries" else "other"
        changed = dataclasses.replace(environment, **{part.name: value})
        assert changed.digest != environment.digest, part.name


def test_the_environment_is_found_without_importing_torch(tmp_path):
    before = "torch" in sys.modules
    assert find_environment(tmp_path).torch
    assert ("torch" in sys.modules) == before


def test_names_and_contents_change_the_digest_of_a_folder(tmp_path):
    (tmp_path / "a.py").write_text("1")
    digests = {digest_folder(tmp_path)}
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("1")
    assert digest_folder(tmp_path) in digests
    (tmp_path / "a.py").write_text("2")
    digests.add(digest_folder(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    digests.add(digest_folder(tmp_path))
    assert len(digests) == 3
