from __future__ import annotations

import warnings

import nbformat
import pytest
from docutils.frontend import get_default_settings
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.mdit_to_docutils import base
from myst_parser.parsers.docutils_ import Parser
from myst_parser.parsers.mdit import create_md_parser
from sphinx.search.en import SearchEnglish

from quick_rendering import MarkdownParsers, cached_stem, copied_settings


def plain(settings) -> dict[str, object]:
    """Return settings that can be compared: one is a file list without equality."""
    values = dict(vars(settings))
    values["record_dependencies"] = list(values["record_dependencies"].list)
    return values


def test_the_settings_are_docutils_own_and_not_shared():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # docutils announces another option parser
        expected = plain(get_default_settings(Parser))
        settings = copied_settings(Parser)
        assert plain(settings) == expected
        settings.warning_stream = "changed"
        settings.strip_classes = ["changed"]
        assert plain(copied_settings(Parser)) == expected


def test_myst_parser_takes_them_from_its_own_module():
    assert callable(base.get_default_settings)


TEXTS = (
    "**a** `b` $c$",
    "# T\n\n- x\n- y",
    "| a |\n|---|\n| b |",
    "[a](b.md) and *c*",
    "```\nx\n```",
)


def test_a_parser_given_out_again_reads_like_a_new_one():
    config = MdParserConfig(enable_extensions={"dollarmath"})
    parsers = MarkdownParsers()
    for text in (*TEXTS, *TEXTS):
        new, again = create_md_parser(config, RendererHTML), parsers(config, RendererHTML)
        assert [token.as_dict() for token in again.parse(text)] == [
            token.as_dict() for token in new.parse(text)
        ]
        assert again.options == new.options


def test_what_is_set_in_one_parse_is_not_seen_by_the_next():
    config = MdParserConfig()
    parsers = MarkdownParsers()
    parsers(config, RendererHTML).options["document"] = "mine"
    assert "document" not in parsers(config, RendererHTML).options
    first, second = parsers(config, RendererHTML), parsers(config, RendererHTML)
    assert first.renderer is not second.renderer


def test_another_configuration_has_another_parser():
    parsers = MarkdownParsers()
    math = MdParserConfig(enable_extensions={"dollarmath"})
    kinds = [
        {token.type for each in parser.parse("$c$") for token in each.children or ()}
        for parser in (parsers(math, RendererHTML), parsers(MdParserConfig(), RendererHTML))
    ]
    assert "math_inline" in kinds[0]
    assert "math_inline" not in kinds[1]


def test_stems_are_those_of_the_english_search():
    search = SearchEnglish({})
    words = ["gradients", "computing", "shapes", "gradients"]
    assert [cached_stem(search, word) for word in words] == [
        search.stemmer.stemWord(word) for word in words
    ]


def test_a_notebook_is_still_checked_as_a_whole():
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("x")])
    notebook.cells[0]["cell_type"] = "nonsense"
    with pytest.raises(nbformat.ValidationError):
        nbformat.validate(notebook)
