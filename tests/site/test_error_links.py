from __future__ import annotations

import pytest

CONF = (
    'extensions = ["myst_parser", "error_links"]\nmyst_heading_anchors = 3\n'
    'source_suffix = {".md": "markdown"}\nmyst_enable_extensions = ["colon_fence"]\n'
    'guide_error_links = ["course/"]\n'
    # MyST-NB names a cell's tags as no directive can: tag_raises-exception
    "def rename(app, doctree):\n"
    "    from docutils import nodes\n"
    "    for node in doctree.findall(nodes.container):\n"
    '        node["classes"] = [name.replace("tag-", "tag_") for name in node["classes"]]\n'
    'def setup(app):\n    app.connect("doctree-read", rename, priority=400)\n'
)
HOME = "# Home\n\n```{toctree}\ncourse/page\ntroubleshooting/shape\ntroubleshooting/dtype\n```\n"
CHAPTERS = {
    "troubleshooting/shape.md": (
        "# Shapes\n\n(matmul-shape)=\n## Products\n\nWords.\n\n"
        "(size-of-tensor-a)=\n## Sums\n\nWords.\n\n## A special case\n\nWords.\n"
    ),
    "troubleshooting/dtype.md": "# Types\n\n(matmul-shape-2)=\n## Others\n\nWords.\n",
}
RAISED = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x10 and 5x10)"
LINK = "[Its entry](../troubleshooting/shape.md#matmul-shape)."
CELL = """
::::{{container}} cell {tag}
```{{code-block}} none
:class: output {kind}

{text}
```
::::
"""


def cell(text, kind="traceback", tag="raises-exception"):
    return CELL.format(text=text, kind=kind, tag=f"tag_{tag}")


@pytest.fixture
def faults(tmp_path, make_site):
    """Build a page and list what is said of its links."""

    def build(page, name="course/page", files=CHAPTERS):
        home = HOME.replace("course/page", name)
        text = f"# Page\n\n## Part\n\n{page}\n"
        app = make_site(tmp_path, {"index.md": home, f"{name}.md": text, **files}, CONF)
        lines = app.warning.getvalue().splitlines()
        return [line for line in lines if "explain" in line]

    return build


def test_a_message_with_a_link_to_its_entry_is_no_fault(faults):
    assert faults(cell(RAISED) + LINK) == []


@pytest.mark.parametrize("kind", ["traceback", "stream", "stderr"])
def test_a_message_without_a_link_names_page_line_and_entry(faults, kind):
    (fault,) = faults(cell(RAISED, kind))
    assert "course/page.md:" in fault
    assert "explained in troubleshooting/shape.md#matmul-shape" in fault


def test_a_link_in_another_section_is_too_far(faults):
    assert len(faults(cell(RAISED) + f"\n## Next\n\n{LINK}")) == 1
    assert faults(cell(RAISED) + f"\n### Below\n\n{LINK}") == []


def test_a_link_to_another_entry_is_none(faults):
    assert len(faults(cell(RAISED) + LINK.replace("matmul-shape", "size-of-tensor-a"))) == 1


def test_a_link_to_the_case_in_the_entry_s_chapter_counts(faults):
    assert faults(cell(RAISED) + LINK.replace("matmul-shape", "a-special-case")) == []


def test_a_link_to_another_chapter_does_not_count(faults):
    assert len(faults(cell(RAISED) + LINK.replace("shape.md#matmul-shape", "dtype.md#others"))) == 1
    assert len(faults(cell(RAISED) + LINK.replace("#matmul-shape", ""))) == 1


def test_each_of_several_printed_messages_needs_its_link(faults):
    other = (
        "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0"
    )
    (fault,) = faults(cell(f"3 numbers\n{RAISED}\n{other}", "stream") + LINK)
    assert "#size-of-tensor-a" in fault


def test_a_traceback_that_the_catalogue_does_not_know_is_a_fault(faults):
    unknown = cell("RuntimeError: the stars stand badly")
    (fault,) = faults(unknown)
    assert "the stars stand badly" in fault
    assert faults(unknown.replace("traceback", "stream")) == []


def test_a_message_of_the_page_s_own_needs_no_entry(faults):
    assert faults(cell("RuntimeError: the stars stand badly", tag="own-message")) == []


def test_only_the_named_pages_are_checked(faults):
    assert faults(cell(RAISED), name="other/page") == []


def test_an_input_is_no_message(faults):
    assert faults(cell(RAISED).replace("output", "input")) == []
