"""Chinese search without a dictionary: every two neighbouring Han characters are a term.

Sphinx cuts the pages into words with jieba, where it is installed, but never the query; and
Sphinx 9.0 names a Chinese stemmer that does not exist (sphinx-doc/sphinx#14229). Here the page
and the query are cut by the same rule. Latin words are searched as in English.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["SearchBigrams"]

HAN = "\u3400-\u9fff"
_RUNS = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")


class SearchBigrams(SearchEnglish):
    """English search that also knows Han characters."""

    lang = "zh"
    language_name = "English"  # the stemmer's name in JavaScript
    js_splitter_code = rf"""
var splitQuery = (query) => (query.match(/[{HAN}]+|(?:(?![{HAN}])[\p{{L}}\p{{N}}_])+/gu) || [])
  .flatMap((run) => !/[{HAN}]/.test(run) || run.length === 1 ? [run]
    : Array.from({{ length: run.length - 1 }}, (_, i) => run.slice(i, i + 2)));
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 - the name that Sphinx calls
        """Return Latin words, pairs of Han characters, and each of these for short queries."""
        terms: list[str] = []
        for run in _RUNS.findall(input):
            if re.match(f"[{HAN}]", run):
                terms += [run[i : i + 2] for i in range(len(run) - 1)]
                terms += run
            else:
                terms.append(run)
        return terms


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register under the code that `html_search_language = "zh"` chooses."""
    app.add_search_language(SearchBigrams)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
