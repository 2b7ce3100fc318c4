from __future__ import annotations

import pytest

from site_stamp import Stamp


@pytest.fixture
def stamp(tmp_path):
    for name in ("docs/page.md", "src/torchguide/a.py", "build/site/page.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def make(request: str = "both") -> Stamp:
        return Stamp(tmp_path / "build" / "stamp", tmp_path, [tmp_path / "build" / "site"], request)

    make().write()
    assert make().fits()
    return make


def test_other_requests_variables_sources_and_outputs_do_not_fit(stamp, tmp_path, monkeypatch):
    assert not stamp("en").fits()
    with monkeypatch.context() as patch:
        patch.setenv("DOCS_SITE_URL", "https://example.org/")
        assert not stamp().fits()
    assert stamp().fits()
    page = tmp_path / "docs" / "page.md"
    page.write_text("changed")
    assert not stamp().fits()
    page.write_text("docs/page.md")
    assert stamp().fits()
    (tmp_path / "build" / "site" / "page.html").write_text("half")
    assert not stamp().fits()


def test_an_edit_during_the_build_is_seen_by_the_next(stamp, tmp_path):
    during = stamp()
    (tmp_path / "docs" / "page.md").write_text("edited meanwhile")
    during.write()
    assert not stamp().fits()


def test_a_broken_or_missing_stamp_does_not_fit(stamp, tmp_path):
    (tmp_path / "build" / "stamp").write_text("{")
    assert not stamp().fits()
    stamp().remove()
    assert not stamp().fits()
