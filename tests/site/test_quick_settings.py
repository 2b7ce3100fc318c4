from __future__ import annotations

import warnings

from docutils.frontend import get_default_settings
from myst_parser.mdit_to_docutils import base
from myst_parser.parsers.docutils_ import Parser

from quick_settings import copied_settings


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
