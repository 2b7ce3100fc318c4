"""The words of pages and queries, cut by one rule in both languages.

Sphinx cuts Chinese pages with jieba, where it is installed, but never the query; and Sphinx 9.0
names a Chinese stemmer that does not exist (sphinx-doc/sphinx#14229). Here every two neighbouring
Han characters are a term, on the page and in the query, without a dictionary. Latin words are
stemmed as in English; a name such as `is_available` is found whole and by its parts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["ChineseWords", "EnglishWords"]

HAN = "\u3400-\u9fff"
_RUNS = re.compile(rf"[{HAN}]+|[^\W{HAN}]+")
_HAN = re.compile(f"[{HAN}]")
# how questions are asked, and not what about; their pairs with what stands beside would be noise
QUESTIONS = "怎么样|怎么办|怎么|怎样|如何|为什么|为何|是什么|什么|哪个|哪些|多少|意思|是否"
_QUESTIONS = re.compile(QUESTIONS)


class EnglishWords(SearchEnglish):
    """Terms of English and Chinese text, and the same rule for the query, in JavaScript."""

    stopwords = SearchEnglish.stopwords | {"vs"}

    js_splitter_code = rf"""
var splitQuery = (query) => (query.replace(/{QUESTIONS}/g, " ").match(/[{HAN}]+|(?:(?![{HAN}])[\p{{L}}\p{{N}}_])+/gu) || [])
  .flatMap((run) => !/[{HAN}]/.test(run)
    ? [run, ...(run.includes("_") ? run.split("_").filter(Boolean) : [])]
    : run.length === 1 ? [run]
    : Array.from({{ length: run.length - 1 }}, (_, i) => run.slice(i, i + 2)));
"""

    def split(self, input: str) -> list[str]:  # noqa: A002 - the name that Sphinx calls
        """Return Latin words, the parts of names, and pairs of Han characters."""
        terms: list[str] = []
        for run in _RUNS.findall(_QUESTIONS.sub(" ", input)):
            if not _HAN.match(run):
                terms.append(run)
                if "_" in run:
                    terms += filter(None, run.split("_"))
            elif len(run) == 1:
                terms.append(run)
            else:
                terms += [run[i : i + 2] for i in range(len(run) - 1)]
        return terms


class ChineseWords(EnglishWords):
    """The same under the code that `html_search_language = "zh"` chooses."""

    lang = "zh"
    language_name = "English"  # the stemmer's name in JavaScript


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register for both languages."""
    app.add_search_language(EnglishWords)
    app.add_search_language(ChineseWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
