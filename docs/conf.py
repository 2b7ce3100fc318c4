# Settings of both languages of the site; the logic lives in _ext/, one purpose a module.
# https://www.sphinx-doc.org/en/master/usage/configuration.html

import os
import sys
from pathlib import Path

from sphinx.errors import ConfigError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = Path(os.environ.get("DOCS_BUILD_DIR", ROOT / "build"))
sys.path[:0] = [str(HERE / "_ext"), str(ROOT / "src")]

from language_links import SITE_URL  # noqa: E402  (the line above comes first)

# -- Language -------------------------------------------------------------------
# https://www.sphinx-doc.org/en/master/usage/advanced/intl.html
# An environment variable and not `-D language=`, so that other settings can depend on it.

language = os.environ.get("DOCS_LANGUAGE", "en")
ZH = language == "zh_CN"
locale_dirs = ["locales"]
gettext_compact = False  # one catalog a page, in the tree's shape
gettext_location = False  # line numbers would change every catalog at every edit
gettext_uuid = False
gettext_additional_targets = []  # a translated literal or math block becomes "::" on MyST pages
guide_source_language = "en"
guide_languages = {"en": ("en", "English"), "zh_CN": ("zh-cn", "简体中文")}
if language not in guide_languages:
    raise ConfigError(f"DOCS_LANGUAGE={language}: expected one of {', '.join(guide_languages)}")

# -- Project --------------------------------------------------------------------

project = "torchguide 中文指南" if ZH else "torchguide"
author = "The torchguide authors"
project_copyright = "The torchguide authors, CC BY 4.0"
guide_site_url = SITE_URL
nitpicky = True
numfig = True
extensions = [
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    # of our own, in _ext/
    "page_execution",
    "gallery_execution",
    "gallery_order",
    "gallery_pages",
    "provenance",
    "complete_translations",
    "translated_anchors",
    "code_comments",
    "heading_slugs",
    "quick_navigation",
    "quick_rendering",
    "search_words",
    "search_index",
    "typed_words",
    "language_links",
    "static_math",
    "math_font",
    "wheel_selector",
    "error_decoder",
    "error_entries",
    "error_links",
    "shape_tools",
    "glossary",
    "traceback_lexer",
    "downloads",
]
exclude_patterns = [
    "gallery/**.ipynb",  # downloads; as pages they would be executed a second time
    "**/sg_execution_times.rst",  # loads scripts from other hosts
    "sg_execution_times.rst",
    "_ext",
]

# -- HTML: furo -----------------------------------------------------------------
# https://pradyunsg.me/furo/customisation/

html_theme = "furo"
html_title = project
html_baseurl = f"{guide_site_url}{guide_languages[language][0]}/"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [(name, {"defer": "defer"}) for name in ("languages.js", "scrollers.js")]
html_favicon = "_static/favicon.svg"
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/languages.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_theme_options = {"sidebar_hide_name": False}
html_search_language = "zh" if ZH else "en"
templates_path = ["_templates"]
html_copy_source = False  # "view this page" would show English in both languages
html_show_sphinx = False
html_show_copyright = False  # the page's foot names the licences in both languages
html_use_index = False  # no page fills it

# -- Pages: MyST-NB -------------------------------------------------------------
# https://myst-nb.readthedocs.io/en/latest/configuration.html

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
guide_execution_cache = str(BUILD / "cache")
nb_execution_timeout = 120
nb_execution_raise_on_error = True
# sections whose pages link the errors that they show
guide_error_links = ["autograd/", "gpu/", "tensors/"]
nb_merge_streams = True  # else timing decides into how many boxes the output falls
nb_code_prompt_show = "展开代码" if ZH else "Show the code"
nb_code_prompt_hide = "收起代码" if ZH else "Hide the code"
# else the gettext builder takes the text/plain output and misses the alt text of images
nb_mime_priority_overrides = [("gettext", "image/png", 1), ("gettext", "image/svg+xml", 1)]

# -- Gallery: sphinx-gallery ----------------------------------------------------
# https://sphinx-gallery.github.io/stable/configuration.html

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\.py$",  # every script is executed
    "image_scrapers": ["figure_alt.scrape_figures"],  # figures need a description
    "ignore_pattern": r"[\\/]container[\\/]",  # files of an image, not scripts to read
    "nested_sections": True,
    "backreferences_dir": None,
    "download_all_examples": False,  # downloads.py offers archives in the reader's language
    "min_reported_time": float("inf"),  # a running time would change at every run
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,  # the page loads scripts from other hosts
}
