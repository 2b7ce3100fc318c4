from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import site_check
from site_checks.languages import AllowedEnglish
from site_checks.site import Site

BASE = "https://guide.example/"
WORDS = {
    "en": {
        "tag": "en",
        "title": "Tensors",
        "text": "A tensor is a row of numbers.",
        "alt": "A row of cells",
        "foot": "The outputs come from Python 3.11 and PyTorch 2.13.",
        "get": "Download",
        "comment": "# the first row",
    },
    "zh-cn": {
        "tag": "zh-CN",
        "title": "张量",
        "text": "张量就是一行数字。",
        "alt": "一行格子",
        "foot": "本页输出由 Python 3.11、PyTorch 2.13 得到。",
        "get": "下载",
        "comment": "# 第一行数字",
    },
}
PAGE = """<!doctype html>
<html lang="{tag}">
<head><title>{title}</title><link rel="canonical" href="{base}{folder}/{name}.html">
<link rel="alternate" hreflang="en" href="{base}en/{name}.html">
<link rel="alternate" hreflang="zh-CN" href="{base}zh-cn/{name}.html">
<link rel="alternate" hreflang="x-default" href="{base}">
<link rel="stylesheet" href="_static/site.css?v=1"></head>
<body>
<nav><a href="page.html#first" lang="{tag}">{title}</a></nav><p><a href="https://pytorch.org">torch.org</a></p>
<article role="main">
<section id="first"><h1>{title}<a href="#first">¶</a></h1>
<p>{text} <code>torch.arange</code> <math><mi>x</mi></math></p>
<div class="cell_input"><pre><span class="c1">{comment}</span></pre></div><div class="output traceback"><pre><span class="c1"># a library's words</span></pre></div>
<p><img src="_images/row.png" alt="{alt}"></p>
<p><a href="downloads/{name}.py" download>{get}</a> <a href="downloads/{name}.ipynb" download>{get}</a></p>
</section></article>
<p class="provenance">{foot}</p>
</body></html>
"""
ROOT = """<!doctype html>
<html lang="en"><head><title>Guide</title></head><body><h1>Guide</h1>
<a href="en/index.html">English</a> <a href="zh-cn/index.html">简体中文</a></body></html>
"""


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    for language, words in WORDS.items():
        for part in ("_static", "_images", "downloads"):
            (folder / language / part).mkdir(parents=True)
        base = folder / language
        (base / "_static" / "site.css").write_text("a {\n  background: url(dot.png);\n}\n")
        (base / "_static" / "dot.png").write_bytes(b"dot")
        (base / "_static" / "site.js").write_text("// https://example.org\nlet a = 1;\n")
        (base / "_static" / "math.woff").write_bytes(b"font")
        (base / "_images" / "row.png").write_bytes(b"row")
        with zipfile.ZipFile(base / "downloads" / "course.zip", "w") as archive:
            archive.writestr("page.py", "x = 1\n")
        for name in ("index", "page"):
            text = PAGE.format(**words, base=BASE, folder=language, name=name)
            (base / f"{name}.html").write_text(text, "utf-8")
            (base / "downloads" / f"{name}.py").write_text("x = 1\n")
            (base / "downloads" / f"{name}.ipynb").write_text("{}")
    (folder / "index.html").write_text(ROOT, "utf-8")
    return folder


@pytest.fixture
def allowed(tmp_path):
    path = tmp_path / "allowed.csv"
    path.write_text("pattern,reason\ntorch\\.org,the name of a host\n")
    return path


def faults(site, allowed):
    """The checks that fail, with their faults as printed, relative to the site."""
    found = site_check.check(Site.read(site), AllowedEnglish.read(allowed))
    return {
        name: [str(each).removeprefix(f"{site}/") for each in failures]
        for name, failures in found.items()
        if failures
    }


def test_a_good_site_has_no_fault(site, allowed):
    assert faults(site, allowed) == {}


# what is planted: file, old text, new text -> the check that fails, place and words
PLANTED = {
    "stray end tag": (
        "en/page.html", "<nav>", "<nav></b>", "valid HTML", "en/page.html:9: not valid HTML",
    ),
    "obsolete element": (
        "en/page.html", "<code>torch.arange</code>", "<tt>a</tt>", "valid HTML", ":12: <tt> is obs",
    ),
    "unknown attribute": (
        "en/page.html", "<nav>", "<nav tooltip='x'>", "valid HTML", "9: <nav> has the attribute",
    ),
    "two headings": (
        "en/page.html", "<nav>", "<h1>Two</h1><nav>", "valid HTML", ":11: 2 <h1>",
    ),
    "id used twice": (
        "en/page.html", "<nav>", '<nav id="first">', "unique ids", "11: the id 'first' was used in",
    ),
    "label of nothing": (
        "en/page.html", "<nav>", '<nav aria-labelledby="no">', "unique ids", "'no': no such id",
    ),
    "image without words": (
        "en/page.html", ' alt="A row of cells"', "", "alternative texts", ":14: the image row.png",
    ),
    "image with a file's name": (
        "en/page.html", 'alt="A row of cells"', 'alt="a/row.png"', "alternative texts", "file's name",
    ),
    "wrong language": (
        "zh-cn/page.html", 'lang="zh-CN"', 'lang="en"', "language and title", "2: <html lang='en'>",
    ),
    "no title": (
        "en/page.html", "<title>Tensors</title>", "", "language and title", "no <title>",
    ),
    "link to no page": (
        "en/page.html", "page.html#first", "gone.html", "internal links and anchors",
        "en/page.html:9: <a> to 'gone.html': no such file",
    ),
    "link to no anchor": (
        "en/page.html", "page.html#first", "page.html#gone", "internal links and anchors",
        "no element has the id 'gone'",
    ),
    "link from the host's root": (
        "en/page.html", "page.html#first", "/en/page.html", "internal links and anchors",
        "breaks in a sub-folder",
    ),
    "link out of the site": (
        "en/page.html", "page.html#first", "../../x.html", "internal links and anchors", "leads out",
    ),
    "dead link of the root page": (
        "index.html", "en/index.html", "en/start.html", "internal links and anchors",
        "index.html:3: <a> to 'en/start.html'",
    ),
    "image that is not there": (
        "en/page.html", "_images/row.png", "_images/no.png", "internal links and anchors", "<img> to",
    ),
    "alternate of no page": (
        "en/page.html", f'"zh-CN" href="{BASE}zh-cn/page', f'"zh-CN" href="{BASE}zh-cn/gone',
        "addresses for search engines", ":5: alternate",
    ),
    "canonical of another page": (
        "en/page.html", f'"canonical" href="{BASE}en/page', f'"canonical" href="{BASE}en/x',
        "addresses for search engines", ":3: canonical",
    ),
    "image of another host": (
        "en/page.html", "_images/row.png", "https://cdn.example/row.png",
        "no request to another host (pages)", ":14: <img> loads https://cdn.example/row.png",
    ),
    "style of another host": (
        "en/page.html", "_static/site.css?v=1", "//cdn.example/a.css",
        "no request to another host (pages)", "<link> loads //cdn",
    ),
    "script that fetches": (
        "en/page.html", "</body>", "<script>\nfetch('https://a.example/x')</script></body>",
        "no request to another host (pages)", ":19: loads https://a.example/x",
    ),
    "inline style of another host": (
        "en/page.html", "<nav>", '<nav style="background: url(https://a.example/x.png)">',
        "no request to another host (pages)", "<nav> loads https://a.example/x.png",
    ),
    "style sheet of another host": (
        "en/_static/site.css", "dot.png", "https://a.example/dot.png",
        "no request to another host (styles, scripts)", "en/_static/site.css:2: loads https://a.",
    ),
    "style sheet with a dead file": (
        "en/_static/site.css", "dot.png", "gone.png",
        "no request to another host (styles, scripts)", "site.css:2: url(gone.png): no such file",
    ),
    "script file that imports": (
        "en/_static/site.js", "let a = 1;", "import('https://a.example/x.js');",
        "no request to another host (styles, scripts)", "en/_static/site.js:2: loads https://a.",
    ),
    "English paragraph": (
        "zh-cn/page.html", "张量就是一行数字。", "A tensor is a row.", "no English in Chinese",
        "zh-cn/page.html:12: English: 'A tensor is a row.'",
    ),
    "English sentence in a Chinese paragraph": (
        "zh-cn/page.html", "张量就是一行数字。", "张量：a tensor is a row of numbers in memory。",
        "no English in Chinese", ":12: English within Chinese: 'a tensor is",
    ),
    "English alternative text": (
        "zh-cn/page.html", "一行格子", "A row of cells", "no English in Chinese", ":14: English",
    ),
    "English comment": (
        "zh-cn/page.html", "# 第一行数字", "# the first row", "no English in Chinese", ":13: English",
    ),
    "English title": (
        "zh-cn/page.html", "<title>张量", "<title>Tensors", "no English in Chinese", ":3: English",
    ),
    "no provenance": (
        "en/page.html", 'class="provenance"', 'class="other"', "provenance", "en/page.html:1: exec",
    ),
    "provenance without versions": (
        "en/page.html", "Python 3.11 and PyTorch 2.13", "my machine", "provenance", "does not name",
    ),
    "page without its script": (
        "en/page.html", "downloads/page.py", "downloads/index.py", "downloads", "download of page.py",
    ),
    "script that does not parse": (
        "en/downloads/page.py", "x = 1", "y = 1\nx = (", "downloads", "en/downloads/page.py:2: can't",
    ),
    "notebook that does not parse": (
        "en/downloads/page.ipynb", "{}", "{", "downloads", "page.ipynb:1: can't be read",
    ),
    "other anchor": (
        "zh-cn/page.html", '<section id="first">', '<section id="first"><p id="second"></p>',
        "same anchors in both languages", "zh-cn/page.html:11: the anchor is 'second' here, None",
    ),
}  # fmt: skip


@pytest.mark.parametrize("plant", PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_found_at_its_place(site, allowed, plant):
    file, old, new, check, says = plant
    path = site / file
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), "utf-8")
    found = faults(site, allowed)
    assert list(found) == [check]
    assert len(found[check]) == 1
    assert says in found[check][0]


# what asks another host, each in its own way
REQUESTS = [
    '<base href="https://a.example/">',
    '<link rel="Preconnect" href="https://a.example/">',
    '<link rel="preload" as="image" href="_images/row.png" imagesrcset="https://a.example/x 2x">',
    '<img alt="A row" src="_images/row.png" srcset="_images/row.png 1x, https://a.example/x 2x">',
    '<img alt="A row" src="https:\\\\a.example/x">',
    '<img alt="A row" src="ht\ntps://a.example/x">',
    '<iframe title="A page" srcdoc="&lt;img src=https://a.example/x&gt;"></iframe>',
    '<video poster="https://a.example/x"></video>',
    '<form action="https://a.example/x"></form>',
    '<button formaction="https://a.example/x">Go</button>',
    '<a href="page.html" ping="page.html https://a.example/x">Go</a>',
    '<svg><use xlink:href="https://a.example/x.svg#y"></use></svg>',
    '<svg><filter><feImage href="https://a.example/x"></feImage></filter></svg>',
    '<meta http-equiv="Refresh" content="1; URL=https://a.example/x">',
    "<p onclick=\"fetch('https://a.example/x')\">Go</p>",
    '<p style="background: URL(//a.example/x)">Go</p>',
    '<script>import "https://a.example/x.js"</script>',
    '<script>new WebSocket("wss://a.example/x")</script>',
    '<script>request.open("GET", `https://a.example/x`)</script>',
    '<script>script.setAttribute("src", "//a.example/x")</script>',
    '<style>p { background: image-set("https://a.example/x" 1x) }</style>',
    "<style>@import url(https://a.example/x);</style>",
]


@pytest.mark.parametrize("request_", REQUESTS)
def test_every_way_to_ask_another_host_is_found(site, allowed, request_):
    path = site / "en" / "page.html"
    path.write_text(path.read_text("utf-8").replace("</body>", f"{request_}\n</body>"), "utf-8")
    found = faults(site, allowed)["no request to another host (pages)"]
    assert len(found) == 1
    assert re.match(r"en/page\.html:\d+: (<\w+> )?loads \S*a\.example", found[0])


@pytest.mark.parametrize(
    "text",
    [
        '<a href="https://a.example/">Go</a>',
        '<blockquote cite="https://a.example/">So</blockquote>',
        '<p title="https://a.example/">Go</p>',
        '<svg xmlns="http://www.w3.org/2000/svg"></svg>',
        '<script>/* "https://a.example" */ // see "https://a.example"\n</script>',
        '<script>say("<a href=\\"https://a.example/\\">Go</a>")</script>',
        "<style>p { background: url(\"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'\") }</style>",
    ],
)
def test_what_asks_no_other_host_is_let_through(site, allowed, text):
    path = site / "en" / "page.html"
    path.write_text(path.read_text("utf-8").replace("</body>", f"{text}\n</body>"), "utf-8")
    assert "no request to another host (pages)" not in faults(site, allowed)


def test_a_page_of_one_language_only_is_found(site, allowed):
    (site / "zh-cn" / "page.html").unlink()
    found = faults(site, allowed)["same pages in both languages"]
    assert found == ["en/page.html:1: no page zh-cn/page.html"]


def test_a_folder_beside_the_languages_is_found(site, allowed):
    (site / "jupyter_execute").mkdir()
    assert "jupyter_execute:1" in faults(site, allowed)["same pages in both languages"][0]


def test_a_missing_and_a_broken_archive_are_found(site, allowed):
    (site / "en" / "downloads" / "course.zip").unlink()
    (site / "zh-cn" / "downloads" / "course.zip").write_bytes(b"PK no")
    found = faults(site, allowed)["archives"]
    assert found[0].startswith("en/downloads/course.zip:1: missing")
    assert found[1].startswith("zh-cn/downloads/course.zip:1: no archive")


def test_a_download_that_is_not_there_is_found(site, allowed):
    (site / "en" / "downloads" / "page.ipynb").unlink()
    assert "no file en/downloads/page.ipynb" in faults(site, allowed)["downloads"][0]


@pytest.mark.parametrize(
    ("file", "size", "says"),
    [
        ("en/_images/row.png", 1_500_000, "with all it loads"),
        ("en/_static/math.woff", 100_000, "its formulas cost"),
    ],
)
def test_a_heavy_page_is_found(site, allowed, file, size, says):
    (site / file).write_bytes(b"x" * size)
    found = faults(site, allowed)["weight"]
    assert [each for each in found if each.startswith("en/page.html:1: ") and says in each]


def test_allowed_english_that_is_gone_is_found(site, allowed):
    allowed.write_text(allowed.read_text() + "Windows,the name of a system\n")
    assert list(faults(site, allowed)) == ["allowed English is in use"]


def test_allowed_english_needs_a_reason(allowed):
    allowed.write_text("pattern,reason\nWindows,\n")
    with pytest.raises(ValueError, match=r"allowed\.csv:2: wanted a pattern and a reason"):
        AllowedEnglish.read(allowed)


def run(*arguments):
    program = Path(site_check.__file__)
    command = [sys.executable, str(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)


def test_the_program_prints_places_and_a_summary(site, allowed):
    good = run(site, "--allowed-english", allowed)
    assert good.returncode == 0
    assert good.stdout.endswith("5 pages: 16 passed, 0 failed\n")
    path = site / "en" / "page.html"
    path.write_text(path.read_text("utf-8").replace("page.html#first", "gone.html"), "utf-8")
    bad = run(site, "--allowed-english", allowed)
    assert bad.returncode == 1
    assert bad.stdout.startswith(f"{path}:9: <a> to 'gone.html': no such file\n")
    assert bad.stdout.endswith("5 pages: 15 passed, 1 failed\n")


def test_a_fault_on_every_page_is_printed_three_times(capsys):
    many = [site_check.Failure(Path(f"{n}.html"), 1, "bad") for n in range(9)]
    site_check.print_failures(many)
    assert capsys.readouterr().out.splitlines() == [
        "0.html:1: bad",
        "1.html:1: bad",
        "2.html:1: bad (and 6 times more)",
    ]


def test_a_folder_that_is_no_site_is_refused(tmp_path):
    answer = run(tmp_path)
    assert answer.returncode == 2
    assert "build the site first: nox -s docs" in answer.stderr


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ('globalThis.guideData = {"a": ["https://a.example/x"]};\n', 0),
        ('globalThis.guideData = {"a": 1}; fetch("https://a.example/x"); var b = {};\n', 1),
        ('globalThis.guideData = {"a": fetch("https://a.example/x")};\n', 1),
        ('globalThis.guideData = fetch("https://a.example/x");\n', 1),
    ],
)
def test_an_address_in_a_script_of_data_is_a_text(site, allowed, script, found):
    (site / "en" / "_static" / "data.js").write_text(script, "utf-8")
    check = "no request to another host (styles, scripts)"
    assert len(faults(site, allowed).get(check, [])) == found
