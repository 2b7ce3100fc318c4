"""The files above the languages' folders that servers and search engines look for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent, register_namespace

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from language_links import LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["write_not_found_page", "write_sitemap"]

TEMPLATES = Path(__file__).parent.parent / "_templates"
SITEMAP = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML = "http://www.w3.org/1999/xhtml"
NOT_FOR_ENGINES = {"search.html"}


def write_not_found_page(site: Path, site_url: str) -> Path:
    """Write `404.html`, which GitHub Pages and others show for an address that is not there."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    page = site / "404.html"
    text = environment.get_template("404.html").render(site_url=site_url)
    page.write_text(text.rstrip() + "\n", encoding="utf-8", newline="\n")
    return page


def write_sitemap(
    site: Path, site_url: str, languages: Mapping[str, tuple[str, str]] = LANGUAGES
) -> Path:
    """Write `sitemap.xml`: each page with the same page in the other languages.

    Format: https://www.sitemaps.org/protocol.html, alternates as
    https://developers.google.com/search/docs/specialty/international/localized-versions says.
    """
    register_namespace("", SITEMAP)
    register_namespace("xhtml", XHTML)
    folders = {code.replace("_", "-"): folder for code, (folder, _name) in languages.items()}
    first = next(iter(folders.values()))
    names = sorted(
        name
        for path in (site / first).rglob("*.html")
        if "_static" not in path.parts
        and (name := path.relative_to(site / first).as_posix()) not in NOT_FOR_ENGINES
    )
    root = Element(f"{{{SITEMAP}}}urlset")
    for name in names:
        addresses = {tag: f"{site_url}{folder}/{quote(name)}" for tag, folder in folders.items()}
        for address in addresses.values():
            entry = SubElement(root, f"{{{SITEMAP}}}url")
            SubElement(entry, f"{{{SITEMAP}}}loc").text = address
            for tag, other in addresses.items():
                link = {"rel": "alternate", "hreflang": tag, "href": other}
                SubElement(entry, f"{{{XHTML}}}link", link)
    indent(root)
    path = site / "sitemap.xml"
    with path.open("wb") as file:
        ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
        file.write(b"\n")
    return path
