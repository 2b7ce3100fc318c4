"""Every page against the rules of WCAG 2.2, levels A and AA, that axe-core can decide."""

from __future__ import annotations

from importlib.resources import files

import pytest

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Contrast takes axe-core as long as all else; test_pages.py looks at all text, light and dark.
RUN = """rules => axe.run(document, {
  runOnly: rules, resultTypes: ["violations"], rules: {"color-contrast": {enabled: false}},
}).then(found => found.violations.flatMap(
  rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 120)}`)))"""
PHONE_EACH = 10  # one page in ten is looked at on a phone, too: the same templates make them all


def violations(page):
    page.evaluate(AXE)
    return page.evaluate(RUN, RULES)


def visit(page, address, names):
    found = {}
    for name in names:
        page.goto(f"{address}/{name}", wait_until="load")
        if broken := violations(page):
            found[name] = broken
    return found


@pytest.fixture(scope="module")
def names(site):
    found = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    return [name for name in found if "/_static/" not in name and name != "index.html"]


def test_no_page_breaks_a_rule(page, address, names):
    assert len(names) > 100
    assert visit(page, address, names) == {}


def test_no_page_breaks_a_rule_on_a_phone(phone, address, names):
    assert visit(phone, address, names[::PHONE_EACH]) == {}


def test_the_root_page_breaks_no_rule(page, address, site):
    text = (site / "index.html").read_text("utf-8").replace("location.replace(", "String(")
    page.route("**/index.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    page.goto(f"{address}/index.html")
    assert violations(page) == []


def test_a_broken_rule_would_be_found(page):
    page.set_content("<html lang=en><title>t</title><main><h1>T</h1><img src='data:,'></main>")
    assert any(each.startswith("image-alt: ") for each in violations(page))


def test_what_scrolls_sideways_is_reached_by_tab(phone, address):
    phone.goto(f"{address}/en/tensors/views.html", wait_until="load")
    wide = phone.locator("article pre[tabindex='0']")
    assert wide.count() > 0
    wide.first.focus()
    phone.keyboard.press("ArrowRight")
    phone.wait_for_function(
        "document.activeElement.localName === 'pre' && document.activeElement.scrollLeft > 0"
    )
