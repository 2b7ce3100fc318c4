"""Links within the site lead somewhere, and nothing is asked of another host."""

from __future__ import annotations

import json
import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from site_checks.site import Failure, attribute, line_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from justhtml import Element

    from site_checks.site import Page, Site

__all__ = ["alternates", "foreign_requests", "foreign_requests_of_file", "internal_links"]

ADDRESSES = ("href", "src", "action", "data", "poster", "srcset")
HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
CSS_URL = re.compile(
    r"""url\(\s*(?P<q>["']?)(?!["']?data:)(?P<url>[^)"']+)(?P=q)\s*\)""", re.IGNORECASE
)
COMMENT = re.compile(r"/\*.*?\*/|(?<![^\s;{}])//[^\n]*", re.DOTALL)
# An address that begins a string, or stands after a bracket or in an attribute.  Behind \" it is a
# link in the text of a message; www.w3.org is the name of a namespace.
ADDRESS_IN_CODE = re.compile(
    r"""(?:(?<!\\)["'`]|[(=])\s*(?P<url>(?:(?:https?|wss?):)?//(?!www\.w3\.org/)\w[^\s"'`)<>]*)""",
    re.IGNORECASE,
)
# A script that only sets a variable to data, which docs/_ext writes; an address in it is a text.
DATA = re.compile(r"globalThis\.\w+ = (?P<json>\{.*\});\s*", re.DOTALL)
LINK_THAT_LOADS = frozenset(
    [
        "apple-touch-icon",
        "dns-prefetch",
        "icon",
        "manifest",
        "modulepreload",
        "preconnect",
        "prefetch",
        "preload",
        "stylesheet",
    ]
)
# a browser follows these only when the reader does; whatever else names a host is a request
FOLLOWED = frozenset(
    [("a", "href"), ("area", "href")] + [(n, "cite") for n in ("blockquote", "q", "del", "ins")]
)
# texts, and what machines read
NO_ADDRESS = frozenset(
    ["alt", "content", "itemid", "itemtype", "label", "placeholder", "property", "title", "value"]
)


def addresses(element: Element) -> Iterator[str]:
    """Yield the addresses that an element names."""
    for name in ADDRESSES:
        value = element.attrs.get(name)
        if value is None or (name == "data" and element.name != "object"):
            continue
        if name == "srcset":
            yield from (part.split()[0] for part in value.split(",") if part.strip())
        else:
            yield value.strip()


def internal_links(site: Site, page: Page) -> Iterator[Failure]:
    """Each link within the site finds its file, and its anchor in it."""
    for each in page.all:
        if each.name == "link" and each.attrs.get("rel") in {"canonical", "alternate"}:
            continue  # addresses of the published site: see `alternates`
        for address in addresses(each):
            if HOST.match(address) or re.match(r"(?:mailto|data|javascript|tel):", address):
                continue
            problem = _problem(site, page, address)
            if problem:
                yield page.fail(each, f"<{each.name}> to {address!r}: {problem}")


def _problem(site: Site, page: Page, address: str) -> str | None:
    """Say what is wrong with a relative address, or None."""
    parts = urlsplit(address)
    if parts.path.startswith("/"):
        return "begins at the host's root, so it breaks in a sub-folder"
    name = page.name
    if parts.path:
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path)))
        if name.startswith(".."):
            return "leads out of the site"
        if not (site.folder / name).is_file():
            return "no such file"
    anchor = unquote(parts.fragment)
    if not anchor or anchor == "top" or name not in site.pages:
        return None
    return None if anchor in site.pages[name].ids else f"no element has the id {anchor!r}"


def alternates(site: Site, page: Page) -> Iterator[Failure]:
    """The addresses given to search engines belong to pages of this site."""
    links = [each for each in page.all if each.name == "link"]
    canonical = [each for each in links if each.attrs.get("rel") == "canonical"]
    others = [each for each in links if each.attrs.get("rel") == "alternate"]
    if page.language is None or not canonical:
        return
    address = attribute(canonical[0], "href")
    if not address.endswith(page.name):
        yield page.fail(canonical[0], f"canonical {address!r} does not end with {page.name!r}")
        return
    base = address.removesuffix(page.name)
    for each in others:
        target = attribute(each, "href")
        name = target.removeprefix(base) or "index.html"
        if not target.startswith(base) or name not in site.pages:
            yield page.fail(each, f"alternate {target!r} is no page of this site")
    if others:
        tags = sorted(attribute(each, "hreflang") for each in others)
        if tags != ["en", "x-default", "zh-CN"]:
            yield page.fail(others[0], f"alternates for {tags}; wanted en, zh-CN and x-default")


def _requests(element: Element) -> Iterator[str]:
    """Yield what an element's attributes would load, on this site or elsewhere."""
    rels = set(attribute(element, "rel").lower().split())
    for name, value in element.attrs.items():
        followed = (element.name, name) in FOLLOWED or name in NO_ADDRESS
        machines = element.name == "link" and name == "href" and not rels & LINK_THAT_LOADS
        if not value or followed or machines or name.startswith(("data-", "aria-", "xmlns")):
            continue
        if name.endswith("srcset"):
            yield from (part.split()[0] for part in value.split(",") if part.strip())
        elif name in {"style", "srcdoc"} or name.startswith("on"):
            yield from (what for _line, what in _addresses_of_code(value))
        elif name == "ping":
            yield from value.split()
        else:
            yield value
    if element.name == "meta" and attribute(element, "http-equiv").lower() == "refresh":
        yield from re.findall(r"url=\s*(\S+)", attribute(element, "content"), re.IGNORECASE)


def foreign_requests(page: Page) -> Iterator[Failure]:
    """A page asks nothing of another host; links that a reader may follow are no requests."""
    for each in page.all:
        for address in _requests(each):
            # as browsers read it
            read = re.sub(r"[\t\n\r]", "", address).strip().replace("\\", "/")
            if HOST.match(read):
                yield page.fail(each, f"<{each.name}> loads {read} from another host")
    for block in re.finditer(r"<(script|style)\b[^>]*>(?P<code>.*?)</\1>", page.text, re.DOTALL):
        above = page.text.count("\n", 0, block.start("code"))
        for line, address in _addresses_of_code(block["code"]):
            yield page.fail(above + line, f"loads {address} from another host")


def foreign_requests_of_file(site: Site) -> Iterator[Failure]:
    """Style sheets find their files on the site, and scripts ask nothing of another host."""
    for path in site.files(".css", ".js"):
        text = path.read_text("utf-8")
        if path.suffix == ".js" and _is_data(text):
            continue
        for line, address in _addresses_of_code(text):
            yield Failure(path, line, f"loads {address} from another host")
        if path.suffix == ".js":
            continue
        for match in CSS_URL.finditer(text):
            url = match["url"].strip().partition("?")[0].partition("#")[0]
            if url and not HOST.match(url) and not (path.parent / unquote(url)).is_file():
                yield Failure(path, line_in(text, match), f"url({url}): no such file")


def _is_data(script: str) -> bool:
    found = DATA.fullmatch(script)
    try:
        return found is not None and isinstance(json.loads(found["json"]), dict)
    except json.JSONDecodeError:
        return False


def _addresses_of_code(code: str) -> Iterator[tuple[int, str]]:
    """Yield line and address of other hosts in a style or a script, comments aside."""
    without = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), code)
    for match in ADDRESS_IN_CODE.finditer(without):
        yield without.count("\n", 0, match.start("url")) + 1, match["url"]
