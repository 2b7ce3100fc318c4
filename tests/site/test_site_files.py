from __future__ import annotations

from xml.etree.ElementTree import parse

import pytest
from justhtml import JustHTML

from site_files import SITEMAP, XHTML, write_not_found_page, write_sitemap

URL = "https://guide.example/torch/"


@pytest.fixture
def site(tmp_path):
    for folder in ("en", "zh-cn"):
        for name in ("index", "search", "tensors/views", "_static/part"):
            path = tmp_path / folder / f"{name}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("<p>", "utf-8")
    return tmp_path


def test_the_sitemap_has_each_page_in_each_language_with_its_alternates(site):
    root = parse(write_sitemap(site, URL)).getroot()  # noqa: S314  (it was written just now)
    pages = {
        entry.findtext(f"{{{SITEMAP}}}loc"): {
            (link.get("hreflang"), link.get("href")) for link in entry.iter(f"{{{XHTML}}}link")
        }
        for entry in root
    }
    views = {("en", f"{URL}en/tensors/views.html"), ("zh-CN", f"{URL}zh-cn/tensors/views.html")}
    assert pages[f"{URL}en/tensors/views.html"] == pages[f"{URL}zh-cn/tensors/views.html"] == views
    assert len(pages) == 4  # neither the search nor parts of pages


def test_the_page_for_what_is_not_there_leads_on_from_any_address(tmp_path):
    page = JustHTML(
        write_not_found_page(tmp_path, URL).read_text("utf-8"), sanitize=False, collect_errors=True
    )
    assert page.errors == []
    links = [each.attrs["href"] for each in page.query("a")]
    assert links == [
        f"{URL}{name}.html" for name in ("en/search", "en/index", "zh-cn/search", "zh-cn/index")
    ]
