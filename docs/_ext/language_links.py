"""Link each page to itself in the other language, and write the page that chooses a language."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["LANGUAGES", "SITE_URL", "LanguageLink", "language_links", "write_root_page"]

# Sphinx's name of the language -> folder of the site, the language's own name of itself
LANGUAGES = {"en": ("en", "English"), "zh_CN": ("zh-cn", "简体中文")}
TEMPLATES = Path(__file__).parent.parent / "_templates"
# the published address; the reserved name says that a local build has none
SITE_URL = os.environ.get("DOCS_SITE_URL", "https://torchguide.example/")


class LanguageLink(TypedDict):
    """A page in one of the languages, as the templates use it."""

    code: str  # Sphinx's name: zh_CN
    tag: str  # the web's name (BCP 47): zh-CN
    name: str  # 简体中文
    current: bool
    href: str  # relative to the page at hand
    abs: str  # with the site's published address


def language_links(
    uri: str, current: str, languages: Mapping[str, tuple[str, str]], site_url: str
) -> list[LanguageLink]:
    """Return the links of the page at `uri` (relative to its language's folder)."""
    up = "../" * (uri.count("/") + 1)
    return [
        {
            "code": code,
            "tag": code.replace("_", "-"),
            "name": name,
            "current": code == current,
            "href": f"{up}{folder}/{uri}",
            "abs": f"{site_url}{folder}/{uri}",
        }
        for code, (folder, name) in languages.items()
    ]


def write_root_page(site: Path, languages: Mapping[str, tuple[str, str]] = LANGUAGES) -> Path:
    """Write `index.html` above the languages' folders, and return its path.

    It opens the language chosen before, else the first of the browser's that the site has;
    its links work without JavaScript, in any folder of a server and from a file.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined
    )
    folders = {
        code.replace("_", "-"): {"folder": folder, "name": name}
        for code, (folder, name) in languages.items()
    }
    site.mkdir(parents=True, exist_ok=True)
    page = site / "index.html"
    text = environment.get_template("root.html").render(languages=folders)
    page.write_text(text.rstrip() + "\n", encoding="utf-8", newline="\n")
    return page


def add_links(
    app: Sphinx,
    pagename: str,
    _templatename: str,
    context: dict[str, Any],
    _doctree: nodes.document | None,
) -> None:
    """Hand the links to the templates; `alternates` only for pages that search engines keep."""
    uri = app.builder.get_target_uri(pagename)
    links = language_links(
        uri, app.config.language, app.config.guide_languages, app.config.guide_site_url
    )
    context["languages"] = links
    context["alternates"] = []
    if pagename in app.env.found_docs:
        home = pagename == app.config.root_doc
        default = app.config.guide_site_url if home else links[0]["abs"]
        context["alternates"] = [(each["tag"], each["abs"]) for each in links]
        context["alternates"].append(("x-default", default))


def check_settings(_app: Sphinx, config: Config) -> None:
    """Refuse settings that would give broken links."""
    if not config.guide_site_url.endswith("/"):
        raise ConfigError(
            f"guide_site_url = {config.guide_site_url!r}: give the site's address with a '/' at "
            "its end, such as https://example.org/guide/"
        )
    if config.language not in config.guide_languages:
        known = ", ".join(config.guide_languages)
        raise ConfigError(f"language = {config.language!r}: guide_languages has only {known}")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the settings and the links."""
    app.add_config_value("guide_languages", LANGUAGES, "html", dict)
    app.add_config_value("guide_site_url", "", "html", str)
    app.connect("config-inited", check_settings)
    app.connect("html-page-context", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
