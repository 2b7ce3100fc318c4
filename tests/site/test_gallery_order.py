from __future__ import annotations

import re

import pytest
from sphinx.errors import ExtensionError

from gallery_order import ORDER_FILE, ScriptOrder, read_scripts, read_sections

CONF = """
extensions = ["sphinx_gallery.gen_gallery", "gallery_order"]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"], "gallery_dirs": ["gallery"], "nested_sections": True,
    "plot_gallery": False, "min_reported_time": float("inf"), "write_computation_times": False,
    "download_all_examples": False,
}
"""
HEADER = "{0}\n" + 30 * "=" + "\n"


def script(title):
    return f'"""\n{title}\n{"=" * len(title)}\n\nText.\n"""\nprint("{title}")\n'


def gallery(**changed):
    """Return the files of a gallery of two sections, whose alphabetical order is the wrong one."""
    files = {
        "index.rst": "Home\n====\n\n.. toctree::\n\n   gallery/index\n",
        "../examples/GALLERY_HEADER.rst": HEADER.format("Gallery"),
        "../examples/gallery_order.txt": "zebra\nant\n",
    }
    for section in ("ant", "zebra"):
        files |= {
            f"../examples/{section}/GALLERY_HEADER.rst": HEADER.format(section),
            f"../examples/{section}/gallery_order.txt": "second_one.py\nfirst_one.py\n",
            f"../examples/{section}/first_one.py": script(f"First {section}"),
            f"../examples/{section}/second_one.py": script(f"Second {section}"),
        }
    return files | {f"../examples/{path}": text for path, text in changed.items()}


def test_sections_and_scripts_stand_in_the_order_of_the_files(tmp_path, make_site):
    app = make_site(tmp_path, gallery(), CONF)
    page = (app.outdir / "gallery" / "index.html").read_text("utf-8")
    titles = re.findall(r'sphx-glr-thumbnail-title">(.*?)</div>', page)
    assert titles == ["Second zebra", "First zebra", "Second ant", "First ant"]


def test_a_folder_with_a_readme_is_no_section(tmp_path, make_site):
    files = gallery(**{"container/README.md": "# A container\n", "container/start.sh": "exit\n"})
    app = make_site(tmp_path, files, CONF.replace("[", '["myst_parser", ', 1))
    assert (app.outdir / "gallery" / "ant" / "index.html").is_file()
    assert not (app.outdir / "gallery" / "container").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"ant/forgotten_one.py": script("Forgotten")},
            r"forgotten_one\.py is not listed in .*ant",
        ),
        (
            {"ant/gallery_order.txt": "second_one.py\ngone_one.py\nfirst_one.py\n"},
            r"gallery_order\.txt:2: there is no script gone_one\.py in .*ant",
        ),
        (
            {"ant/gallery_order.txt": "first_one.py\nsecond_one.py\nfirst_one.py\n"},
            r"gallery_order\.txt:3: first_one\.py is on line 1 already",
        ),
        ({"gallery_order.txt": "zebra\n"}, r"ant is not listed in .*gallery_order\.txt"),
        ({"gallery_order.txt": "zebra\nant\nbee\n"}, r":3: there is no section bee"),
        ({"bee/GALLERY_HEADER.rst": HEADER}, r"bee is not listed in .*gallery_order\.txt"),
    ],
)
def test_a_build_ends_where_files_and_order_differ(tmp_path, make_site, changed, message):
    with pytest.raises(ExtensionError, match=message):
        make_site(tmp_path, gallery(**changed), CONF)


def test_a_missing_order_says_what_to_write(tmp_path):
    (tmp_path / "first_one.py").touch()
    with pytest.raises(ExtensionError, match=r"gallery_order\.txt is missing; write each script"):
        read_scripts(tmp_path)
    with pytest.raises(ExtensionError, match=r"gallery_order\.txt is missing; write each section"):
        read_sections(tmp_path)


def test_the_key_sorts_names_and_paths_and_can_be_made_without_a_folder(tmp_path):
    for name in ("a_one.py", "b_one.py"):
        (tmp_path / name).touch()
    (tmp_path / ORDER_FILE).write_text("b_one.py\n\na_one.py\n", "utf-8")
    key = ScriptOrder(str(tmp_path))
    assert [key("b_one.py"), key(str(tmp_path / "a_one.py"))] == [0, 1]
    ScriptOrder("")
