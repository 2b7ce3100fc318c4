from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_page_that_the_doctor_names_exists():
    with (ROOT / "src/torchguide/data/findings.csv").open(encoding="utf8", newline="") as file:
        pages = {row["page"] for row in csv.DictReader(file) if row["page"]}
    assert pages
    for page in pages:
        assert (ROOT / "docs" / f"{page}.md").is_file(), page


def test_every_section_that_a_check_names_exists():
    with (ROOT / "src/torchguide/data/checks.csv").open(encoding="utf8", newline="") as file:
        sections = [row["page"].split("#") for row in csv.DictReader(file)]
    assert sections
    for page, anchor in sections:
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf8")
        assert re.search(rf"^\({anchor}\)=$", text, re.MULTILINE), f"{page}#{anchor}"
