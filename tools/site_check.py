"""Check a built site: `python tools/site_check.py [SITE]`, build/site by default.

Prints each fault as `file:line: what`, a line for each check, and `N passed, N failed`;
ends with 1 when a check failed and with 2 when there is no site.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from site_checks import content, languages, links, markup
from site_checks.site import Failure, Page, Site

__all__ = ["check", "main"]

HERE = Path(__file__).resolve().parent
SHOWN = 3
PageCheck = Callable[[Page], Iterable[Failure]]
SiteCheck = Callable[[Site], Iterable[Failure]]


def page_checks(site: Site, allowed: languages.AllowedEnglish) -> dict[str, PageCheck]:
    """Return the checks of single pages by their names."""
    return {
        "valid HTML": markup.valid_html,
        "unique ids": markup.unique_ids,
        "alternative texts": markup.alternative_texts,
        "language and title": markup.languages_named,
        "weight": partial(markup.weights, site),
        "internal links and anchors": partial(links.internal_links, site),
        "addresses for search engines": partial(links.alternates, site),
        "no request to another host (pages)": links.foreign_requests,
        "no English in Chinese": lambda page: (
            languages.english_left(page, allowed) if page.language == "zh-cn" else ()
        ),
        "provenance": content.provenance,
        "downloads": partial(content.downloads, site),
    }


def site_checks(allowed: languages.AllowedEnglish) -> dict[str, SiteCheck]:
    """Return the checks of the site as a whole by their names."""
    return {
        "same pages in both languages": languages.same_pages,
        "same anchors in both languages": languages.same_anchors,
        "no request to another host (styles, scripts)": links.foreign_requests_of_file,
        "archives": content.archives,
        "allowed English is in use": lambda _site: allowed.unused(),
    }


def check(site: Site, allowed: languages.AllowedEnglish) -> dict[str, list[Failure]]:
    """Run all checks, and return the faults that each found."""
    found = {
        name: [failure for page in site.pages.values() for failure in run(page)]
        for name, run in page_checks(site, allowed).items()
    }
    for name, run in site_checks(allowed).items():
        found[name] = list(run(site))
    return found


def print_failures(failures: list[Failure]) -> None:
    """Print faults in order; what is the same on many pages, as in the navigation, three times."""
    times = Counter(failure.what for failure in failures)
    printed: Counter[str] = Counter()
    for failure in sorted(failures):
        printed[failure.what] += 1
        if printed[failure.what] <= SHOWN:
            more = times[failure.what] - SHOWN
            last = printed[failure.what] == SHOWN and more > 0
            print(f"{failure} (and {more} times more)" if last else failure)


def main(arguments: list[str] | None = None) -> int:
    """Check the site that the command line names."""
    parser = argparse.ArgumentParser(description="Check a built site.")
    parser.add_argument("site", nargs="?", type=Path, default=HERE.parent / "build" / "site")
    parser.add_argument(
        "--allowed-english",
        type=Path,
        default=HERE / "site_checks" / "english_allowed.csv",
        help="table of the English that Chinese pages may show (pattern, reason)",
    )
    options = parser.parse_args(arguments)
    try:
        allowed = languages.AllowedEnglish.read(options.allowed_english)
        site = Site.read(options.site)
    except (OSError, ValueError) as error:
        print(f"site_check: {error}", file=sys.stderr)
        return 2
    results = check(site, allowed)
    for failures in results.values():
        print_failures(failures)
    for name, failures in results.items():
        print(f"{'FAILED' if failures else 'passed'}  {name}")
    failed = sum(map(bool, results.values()))
    print(f"{len(site.pages)} pages: {len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
