"""The form of every gallery script; docs/contributing says why it is so."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import SystemMessage
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from gallery_order import read_scripts, read_sections

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/*.py"))

# What gettext, the notebooks and the translated downloads carry over without loss.
ALLOWED = (
    nodes.document, nodes.section, nodes.title, nodes.paragraph, nodes.bullet_list,
    nodes.list_item, nodes.literal, nodes.emphasis, nodes.strong, nodes.reference, nodes.target,
    nodes.math, nodes.math_block, nodes.note, nodes.Text,
)  # fmt: skip
NETWORK = {"aiohttp", "ftplib", "http", "httpx", "requests", "socket", "urllib", "urllib3"}
FETCHING = ("torch.hub", "_from_url", "download=True", "from_pretrained")
RANDOM = re.compile(r"\b(rand|randn|randint|randperm|rand_like|randn_like|bernoulli|normal)\(")
VISIBLE = ("print(", "plt.show()")


def parse(rst):
    """Parse a text block as docutils does, without leave to read files or pass HTML through."""
    settings = {"halt_level": 2, "report_level": 5, "file_insertion_enabled": False}
    return publish_doctree(rst, settings_overrides={**settings, "raw_enabled": False})


def sentences(document):
    """Count the sentences of the running text; a colon before a formula ends one, too."""
    text = [
        p.astext() for p in document.findall(nodes.paragraph) if p.parent.tagname != "list_item"
    ]
    return sum(len(re.findall(r"[.!?](?=\s|$)|:$", paragraph)) for paragraph in text)


def check_text(rst, underline, least, most):
    """Yield what is wrong with a text block: its heading, its length, its markup."""
    heading, rule = [*rst.strip().splitlines(), "", ""][:2]
    if rule != underline * len(heading):
        yield f"the heading {heading!r} has no line of {underline!r} of its length under it"
    try:
        document = parse(rst)
    except SystemMessage as error:
        yield f"under {heading!r}: {error}"
        return
    for node in document.findall():
        if not isinstance(node, ALLOWED):
            yield f"under {heading!r}: {node.tagname} does not survive the way into a notebook"
        if isinstance(node, nodes.math_block) and re.search(
            r"\\(text|mathrm|operator)", node.astext()
        ):
            yield f"under {heading!r}: words in display math are not translated"
    if not least <= sentences(document) <= most:
        yield f"under {heading!r}: {sentences(document)} sentences, not {least} to {most}"


def check_cells(cells):
    """Yield what is wrong with the cells, each a text block and its code."""
    *working, (last, last_code) = cells
    for text, code in working:
        heading = text.strip().partition("\n")[0]
        yield from check_text(text, "-", 1, 3)
        lines = [line for line in code.splitlines() if line.strip()]
        if not 0 < len(lines) <= 15:
            yield f"under {heading!r}: {len(lines)} lines of code, not 1 to 15"
        if not any(call in code for call in VISIBLE):
            yield f"under {heading!r}: nothing to see; print or show a result"
    yield from check_text(last, "-", 0, 0)
    points = len(list(parse(last).findall(nodes.list_item)))
    if last_code or not 2 <= points <= 4 or not last.strip().startswith("What you can do now"):
        yield "the last cell is not a list of 2 to 4 points under 'What you can do now'"


def check_code(source):
    """Yield what a script does that it must not do, or the other way round."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in getattr(node, "names", []) if isinstance(alias, ast.alias)]
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            if name.partition(".")[0] in NETWORK:
                yield f"line {node.lineno}: it imports {name}, but works without the network"
    yield from (
        f"it calls {call}, but works without the network" for call in FETCHING if call in source
    )
    if RANDOM.search(source) and "manual_seed(" not in source:
        yield "its random numbers have no fixed seed"
    if "device" not in source:
        yield "it does not say which device it ran on"
    if "subplots(" in source and source.count("num=") < source.count("subplots("):
        yield "a figure has no name; describe what it shows in plt.subplots(num=...)"


def problems(script):
    """List all that is wrong with the form of a script."""
    source = script.read_text(encoding="utf-8")
    found = []
    if not re.fullmatch(r"(?!plot_)[a-z]+(_[a-z0-9]+)+\.py", script.name):
        found.append("its name is not like verb_noun.py")
    if not 60 <= (lines := len(source.splitlines())) <= 140:
        found.append(f"{lines} lines, not 60 to 140")
    if wrong := re.findall(r"^(?:#%%|####+|# +%%%).*$", source, flags=re.MULTILINE):
        found.append(f"{wrong[0]!r} is no cell marker of ours; write '# %%'")
    _, (docstring, *blocks) = split_code_and_text_blocks(script)
    found += check_text(docstring.content, "=", 2, 5)
    kinds = [block.type for block in blocks]
    if kinds != [["text", "code"][place % 2] for place in range(len(kinds))] or not kinds:
        return [*found, f"its cells are not texts with code in turn: {kinds}"]
    contents = [block.content for block in blocks]
    cells = [
        (text, "".join(contents[2 * n + 1 : 2 * n + 2])) for n, text in enumerate(contents[::2])
    ]
    return [*found, *check_cells(cells), *check_code(source)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(EXAMPLES).as_posix())
def test_the_script_has_the_form_of_all_scripts(script):
    assert problems(script) == []


def test_the_gallery_lists_every_section_and_every_script():
    listed = [
        (name, script)
        for name in read_sections(EXAMPLES)
        for script in read_scripts(EXAMPLES / name)
    ]
    assert sorted(listed) == [(path.parent.name, path.name) for path in SCRIPTS]


GOOD = (EXAMPLES / "training" / "fit_linear_regression.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("plot_line.py", "", "", "its name is not like verb_noun.py"),
        ("regression.py", "", "", "its name is not like verb_noun.py"),
        ("fit_line.py", GOOD, '"""\nA\n=\n\nB. C.\n"""\n', "6 lines, not 60 to 140"),
        ("fit_line.py", "scratch\n====", "scratch\n===", "the heading 'Fit a line with linear reg"),
        (
            "fit_line.py",
            "Nothing is hidden",
            "A. B! C? Nothing is hidden",
            "6 sentences, not 2 to 5",
        ),
        ("fit_line.py", "# The seed", "# One. Two. The seed", "4 sentences, not 1 to 3"),
        (
            "fit_line.py",
            "# Draw the fit\n# ---",
            "# Draw the fit\n# --",
            "the heading 'Draw the fit'",
        ),
        (
            "fit_line.py",
            "# The seed",
            "#\n# .. image:: a.png\n#\n# The seed",
            "image does not survive",
        ),
        ("fit_line.py", r"L(w, b) =", r"\text{loss} =", "words in display math"),
        ("fit_line.py", "# The seed", "# :ref:`seed` The seed", "Unknown interpreted text role"),
        (
            "fit_line.py",
            "losses = []",
            "losses = []\n" * 7,
            "under 'Walk downhill': 16 lines of code",
        ),
        ("fit_line.py", "plt.show()", "plt.draw()", "under 'Draw the fit': nothing to see"),
        ("fit_line.py", "# - ", "# * - ", "the last cell is not a list of 2 to 4 points"),
        (
            "fit_line.py",
            "# What you can do now",
            "# What can you do now",
            "the last cell is not a list",
        ),
        ("fit_line.py", "import torch\n", "import urllib.request\n", "it imports urllib.request"),
        ("fit_line.py", "import torch\n", "from http import client\n", "it imports http"),
        ("fit_line.py", "import torch\n", "torch.hub.load()\n", "it calls torch.hub"),
        ("fit_line.py", ".manual_seed(0)", "", "its random numbers have no fixed seed"),
        ("fit_line.py", "device", "place", "it does not say which device"),
        ("fit_line.py", ", num=name", "", "a figure has no name"),
        ("fit_line.py", "# %%\n# Make", "#%%\n# Make", "'#%%' is no cell marker of ours"),
        ("fit_line.py", "import torch\n", "\n# %%\n# Stray\n", "its cells are not texts with code"),
    ],
)
def test_a_script_in_another_form_is_found(tmp_path, name, old, new, message):
    script = tmp_path / name
    script.write_text(GOOD.replace(old, new) if old else GOOD, encoding="utf-8")
    assert any(message in problem for problem in problems(script)), problems(script)
