"""Every page in both languages: it loads cleanly, fits a phone, and can be read in the dark."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

SCHEMES = ("light", "dark")

# WCAG 2.2, 1.4.3: 4.5, or 3 for large text. Returns what is below, once for each pair of colours.
FAINT_TEXT = """() => {
  const parse = (color) => {
    const numbers = color.match(/[\\d.]+/g).map(Number);
    const scale = color.startsWith("color(") ? 255 : 1;
    return [numbers[0] * scale, numbers[1] * scale, numbers[2] * scale, numbers[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  // the colour behind an element and the opacity that it inherits, each element once
  const known = new Map([[null, [[255, 255, 255], 1]]]);
  const around = (element) => {
    if (!known.has(element)) {
      const [under, opacity] = around(element.parentElement);
      const style = getComputedStyle(element);
      known.set(element, [over(parse(style.backgroundColor), under), opacity * style.opacity]);
    }
    return known.get(element);
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => {
      const s = c / 255;
      return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (element.closest("script, style, noscript, svg") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const [under, opacity] = around(element);
    const color = parse(style.color);
    const [a, b] = [over([...color.slice(0, 3), color[3] * opacity], under), under].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5))
      found.set(`${style.color} on ${under.map(Math.round)} in ${element.className || element.tagName}`,
        `${ratio.toFixed(2)}: ${text.slice(0, 40)}`);
  }
  return [...found].map(([where, what]) => `${what} (${where})`);
}"""

# What sticks out to the right of the window, outside of boxes that scroll.
STICKS_OUT = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("article *")]
    .filter((e) => e.getBoundingClientRect().right > width + 1)
    .filter((e) => !e.parentElement.closest("pre, .table-wrapper, .math-scroll, .output"))
    .map((e) => `<${e.localName} class="${e.className}"> ${e.textContent.trim().slice(0, 40)}`)
    .slice(0, 3);
}"""


@dataclass
class Visit:
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    wide: int = 0
    sticks_out: list[str] = field(default_factory=list)
    faint: dict[str, list[str]] = field(default_factory=dict)
    broken_images: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def visits(chromium, address, site, phone_size):
    """One visit of each page on a phone, in the light and then in the dark."""
    names = sorted(path.relative_to(site).as_posix() for path in site.glob("*/**/*.html"))
    found = {name: Visit() for name in names if "/_static/" not in name}
    context = chromium.new_context(viewport=phone_size, reduced_motion="reduce")
    page = context.new_page()
    at = [Visit()]
    page.on("pageerror", lambda error: at[0].errors.append(str(error)))
    page.on(
        "console",
        lambda said: at[0].errors.append(said.text) if said.type in {"error", "warning"} else None,
    )
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((address, "data:", "blob:"))
            else at[0].foreign.append(request.url)
        ),
    )
    for name, visit in found.items():
        at[0] = visit
        page.emulate_media(color_scheme="light")
        page.goto(f"{address}/{name}", wait_until="load")
        visit.wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        visit.sticks_out = page.evaluate(STICKS_OUT)
        visit.broken_images = page.evaluate(
            "[...document.images].filter(i => i.loading !== 'lazy' && !i.naturalWidth)"
            ".map(i => i.src)"
        )
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            visit.faint[scheme] = page.evaluate(FAINT_TEXT)
    context.close()
    return found


def test_there_are_pages_in_both_languages(visits):
    english = [name for name in visits if name.startswith("en/")]
    chinese = [name for name in visits if name.startswith("zh-cn/")]
    assert len(english) == len(chinese) > 5


def test_no_page_has_a_console_error(visits):
    assert {name: visit.errors for name, visit in visits.items() if visit.errors} == {}


def test_no_page_asks_another_host(visits):
    assert {name: visit.foreign for name, visit in visits.items() if visit.foreign} == {}


def test_every_image_loads(visits):
    assert {n: visit.broken_images for n, visit in visits.items() if visit.broken_images} == {}


def test_no_page_scrolls_sideways_on_a_phone(visits):
    assert {n: (v.wide, v.sticks_out) for n, v in visits.items() if v.wide > 0} == {}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_text_has_contrast(visits, scheme):
    assert {n: visit.faint[scheme] for n, visit in visits.items() if visit.faint[scheme]} == {}


def test_faint_text_would_be_found(page):
    page.set_content("<p style='color: #888; background: #fff'>faint</p><p>plain</p>")
    assert [each[:11] for each in page.evaluate(FAINT_TEXT)] == ["3.54: faint"]


def test_what_sticks_out_would_be_found(phone):
    phone.set_content("<article><p style='width: 500px'>wide</p></article>")
    assert phone.evaluate(STICKS_OUT) == ['<p class=""> wide']
