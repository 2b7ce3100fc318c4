"""Downloads of a miniature site in both languages."""

from __future__ import annotations

import ast
import json
import re
import zipfile
from io import BytesIO
from pathlib import Path

import nbformat
import pytest
from babel.messages.extract import extract_python
from jinja2.ext import babel_extract
from sphinx.errors import ExtensionError

from course_archives import archive, sections
from downloads import Downloads

ROOT = Path(__file__).parents[2]
BASE = "https://example.org/en/"
CONF = """
extensions = ["myst_nb", "sphinx_gallery.gen_gallery", "catalogs", "code_comments", "downloads"]
html_baseurl = "https://example.org/" + language.lower().replace("_", "-") + "/"
html_theme = "basic"
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"
numfig = True
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"], "gallery_dirs": ["gallery"], "backreferences_dir": None,
    "filename_pattern": "never", "download_all_examples": False, "min_reported_time": 1e9,
    "write_computation_times": False, "show_signature": False, "nested_sections": True,
}
def keep(app, pagename, templatename, context, doctree):
    app.offered = getattr(app, "offered", {}) | {pagename: context["downloads"]}
def setup(app):
    app.connect("html-page-context", keep, priority=900)
"""
HEAD = """---
file_format: mystnb
kernelspec:
  name: python3
  display_name: Python 3
---
"""
PAGE = (
    HEAD
    + """
# Views

Some text.

```{code-cell} python
# make numbers
import torchguide
x = [1, 2]
```

```{code-cell} python
:tags: [raises-exception]
text = '''two
lines'''
x[2]
```

```{code-cell} python
:tags: [hide-cell, measured]
print("end", text)
```
"""
)
SCRIPT = '''"""
Fit a line
==========

See :ref:`second`.
"""

from __future__ import annotations

# make numbers
x = [1, 2]

# %%
# Second part
# -----------
# More text.

print(x)
'''
FILES = {
    "../pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "torchguide"
version = "0.1.0"
[tool.hatch.build.targets.wheel]
packages = ["src/torchguide"]
""",
    "../src/torchguide/__init__.py": "",
    "../examples/GALLERY_HEADER.rst": "Gallery\n=======\n",
    "../examples/lines/GALLERY_HEADER.rst": "Lines\n=====\n",
    "../examples/lines/fit_line.py": SCRIPT,
    "index.md": "# Home\n\n```{toctree}\ntensors/index\ntensors/views\ngallery/index\n```\n",
    "tensors/index.md": "# Tensors\n\n(second)=\n## Second\n\nText.\n",
    "tensors/views.md": PAGE,
}
CHECK = "Check the environment: what this file needs, and how to get what is missing."
CATALOGS = {
    "index": {"Home": "首页"},
    "tensors/index": {"Tensors": "张量", "Second": "第二", "Text.": "文字。"},
    "tensors/views": {"Views": "视图", "Some text.": "一些文字。", "make numbers": "造一些数"},
    "gallery/index": {"Gallery": "示例", "Lines": "直线"},
    "gallery/lines/index": {"Lines": "直线"},
    "gallery/lines/fit_line": {
        "Fit a line": "拟合一条直线",
        "See :ref:`second`.": "见 :ref:`second`。",
        "make numbers": "造一些数",
        "Second part": "第二部分",
        "More text.": "更多文字。",
    },
    "sphinx": {CHECK: "检查环境：这个文件需要什么，缺的怎么装。", "Run a script:": "运行脚本："},
}


@pytest.fixture
def site(make_site, po, tmp_path):
    """Build the site in a language, with changed files or messages."""

    def build(language="en", files=None, conf="", **messages):
        catalogs = {
            f"locales/zh_CN/LC_MESSAGES/{name}.po": po(
                texts | messages.get(name.split("/")[-1], {})
            )
            for name, texts in CATALOGS.items()
        }
        return make_site(tmp_path, FILES | catalogs | (files or {}), CONF + conf, language)

    return build


def downloads(app):
    folder = Path(app.outdir, "downloads")
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


def without_check(script):
    body = ast.parse(script).body
    kept = [n for n in body[1:] if getattr(n, "name", "") != "check_environment"]
    return [ast.dump(node) for node in kept]


def test_every_page_with_code_and_every_section_is_offered(site):
    app = site()
    wheel = "wheels/torchguide-0.1.0-py2.py3-none-any.whl"
    assert set(downloads(app)) == {
        "tensors/views.py", "tensors/views.ipynb", "tensors.zip", "course.zip", "gallery.zip", wheel,
        "gallery/lines/fit_line.py", "gallery/lines/fit_line.ipynb", "gallery/lines.zip",
    }  # fmt: skip
    assert app.offered["tensors/views"] == [
        {"kind": "py", "href": "../downloads/tensors/views.py"},
        {"kind": "ipynb", "href": "../downloads/tensors/views.ipynb"},
    ]
    assert app.offered["tensors/index"] == [{"kind": "zip", "href": "../downloads/tensors.zip"}]
    assert app.offered["gallery/lines/index"] == [
        {"kind": "zip", "href": "../../downloads/gallery/lines.zip"}
    ]
    assert app.offered["index"] == [{"kind": "zip", "href": "downloads/course.zip"}]
    assert app.offered["search"] == []


def test_an_archive_holds_the_files_the_wheel_and_how_to_run_them(site):
    app = site()
    with zipfile.ZipFile(app.outdir / "downloads" / "course.zip") as course:
        assert course.namelist() == [
            "course/README.md",
            "course/gallery/lines/fit_line.ipynb",
            "course/gallery/lines/fit_line.py",
            "course/tensors/views.ipynb",
            "course/tensors/views.py",
            "course/torchguide-0.1.0-py2.py3-none-any.whl",
        ]
        readme = course.read("course/README.md").decode()
    assert "pip install torchguide-0.1.0-py2.py3-none-any.whl" in readme
    assert "python gallery/lines/fit_line.py" in readme
    assert f"{BASE}index.html" in readme


def test_two_builds_give_the_same_bytes(site, make_site, tmp_path):
    first = downloads(site())
    other = make_site(tmp_path / "other", FILES, CONF)
    assert downloads(other) == first


def test_notebooks_are_valid_and_keep_their_tags(site):
    files = downloads(site())
    for name in ("tensors/views.ipynb", "gallery/lines/fit_line.ipynb"):
        nbformat.validate(nbformat.reads(files[name].decode(), as_version=4))
    cells = json.loads(files["tensors/views.ipynb"])["cells"]
    assert [cell["metadata"].get("tags") for cell in cells] == [
        ["hide-input"], None, None, ["raises-exception"], ["hide-cell", "measured"],
    ]  # fmt: skip
    assert cells[4]["metadata"]["jupyter"] == {"source_hidden": True, "outputs_hidden": True}
    assert [cell["id"] for cell in cells] == [f"cell-{n:03}" for n in range(5)]


def test_each_download_opens_with_the_check(site):
    files = downloads(site())
    assert files["tensors/views.py"].decode().startswith(f"# %%\n# {CHECK}")
    assert f"{BASE}downloads/wheels/torchguide-0.1.0" in files["tensors/views.py"].decode()
    for name in ("tensors/views.ipynb", "gallery/lines/fit_line.ipynb"):
        assert "".join(json.loads(files[name])["cells"][0]["source"]).startswith(f"# {CHECK}")


def test_a_cell_that_raises_lets_the_script_run_to_its_end(site, capsys):
    script = downloads(site())["tensors/views.py"].decode()
    exec(compile(script, "views.py", "exec"), {"__name__": "__main__"})  # noqa: S102  # the download
    printed = capsys.readouterr()
    assert printed.err.endswith("IndexError: list index out of range\n")
    assert printed.out.endswith("end two\nlines\n")


def test_downloads_are_in_the_language_and_the_same_program(site):
    english, chinese = downloads(site()), downloads(site("zh_CN"))
    for name in ("tensors/views.py", "gallery/lines/fit_line.py"):
        text = chinese[name].decode()
        assert CATALOGS["sphinx"][CHECK] in text
        assert "造一些数" in text
        ours = re.sub('https://[^"]*', "", text)
        theirs = re.sub('https://[^"]*', "", english[name].decode())
        assert without_check(ours) == without_check(theirs)
    cells = json.loads(chinese["gallery/lines/fit_line.ipynb"])["cells"]
    prose = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    link = "https://example.org/zh-cn/tensors/index.html#second"
    assert prose == f"# 拟合一条直线\n\n见 [第二]({link})。\n## 第二部分\n\n更多文字。"
    assert "运行脚本：" in chinese_readme(chinese)


def chinese_readme(files):
    with zipfile.ZipFile(BytesIO(files["tensors.zip"])) as section:
        return section.read("tensors/README.md").decode()


def test_a_translation_that_changes_the_program_fails(site):
    with pytest.raises(ExtensionError, match=r"fit_line"):
        site("zh_CN", fit_line={"Fit a line": 'a"""\nimport os\n"""'})


def test_a_message_that_could_not_be_applied_is_a_warning(site):
    script = SCRIPT.replace("# More text.", "# ===== =====\n# a     last cell\n# ===== =====")
    files = {"../examples/lines/fit_line.py": script}
    app = site("zh_CN", files, fit_line={"a": "甲", "last cell": "末格", "More text.": "无"})
    assert re.search(r"fit_line\.py:17: WARNING: not applied .*last cell", app.warning.getvalue())


def test_magics_fail_with_page_and_line(site):
    files = {"tensors/views.md": PAGE.replace("x = [1, 2]", "%matplotlib inline")}
    with pytest.raises(ExtensionError, match=r"views\.md:1\d: .*plain Python"):
        site(files=files)


def outdated(app):
    again = Downloads()
    again.prepare(app)
    return again.outdated(app, app.env)


def test_pages_without_changes_are_not_written_again(site):
    assert outdated(site()) == []


def test_a_page_whose_file_is_lost_is_written_again(site):
    app = site()
    Path(app.outdir, "downloads/tensors/views.py").unlink()
    assert outdated(app) == ["tensors/views"]


def test_another_package_version_is_written_into_every_page(site):
    app = site()
    pyproject = app.srcdir.parent / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace("0.1.0", "0.2.0"))
    assert outdated(app) == ["gallery/lines/fit_line", "tensors/views"]


def test_what_is_no_longer_offered_is_removed(site):
    app = site()
    Path(app.outdir, "downloads/tensors/old.py").write_text("left over")
    assert "tensors/old.py" not in downloads(site())


def test_another_address_is_written_into_pages_that_did_not_change(site):
    site()
    app = site(conf='\nhtml_baseurl = "https://example.org/elsewhere/"\n')
    assert b"https://example.org/elsewhere/downloads/wheels/" in downloads(app)["tensors/views.py"]


def test_an_address_that_is_no_folder_fails(site):
    with pytest.raises(ExtensionError, match="html_baseurl"):
        site(conf='\nhtml_baseurl = "https://example.org"\n')


def test_archives_have_fixed_dates_and_order():
    made = archive({"b.py": b"2", "a.py": b"1"}, "top")
    assert made == archive({"a.py": b"1", "b.py": b"2"}, "top")


def test_sections_are_the_folders_at_every_depth():
    assert sections(["a/x", "g/b/y"]) == {
        "": ["a/x", "g/b/y"], "a": ["a/x"], "g": ["g/b/y"], "g/b": ["g/b/y"],
    }  # fmt: skip


def test_the_templates_name_every_message_of_the_downloads():
    def messages(extract, path, options):
        with path.open("rb") as file:
            return {found[2] for found in extract(file, ["_"], [], options)}

    used = set()
    for module in ("check_cell", "course_archives"):
        used |= messages(extract_python, ROOT / f"docs/_ext/{module}.py", {})
    template = ROOT / "docs/_templates/_download_strings.html"
    assert messages(babel_extract, template, {}) == used
