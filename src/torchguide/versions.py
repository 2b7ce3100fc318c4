"""Compare version numbers of torch, CUDA, drivers and Python, as far as the facts need it."""

from __future__ import annotations

import functools
import re

__all__ = ["base", "is_release", "local_tag", "minor", "numbers"]

_NUMBER = re.compile(r"\d+")
_RELEASE = re.compile(r"\d+(?:\.\d+){1,3}(?:\.post\d+)?(?:\+\w[\w.]*)?$")


@functools.lru_cache(maxsize=4096)
def numbers(version: str) -> tuple[int, ...]:
    """Turn "2.14.1+cu126" into (2, 14, 1): the numbers before any tag or suffix."""
    head = re.match(r"\d+(?:\.\d+)*", version.strip())
    return tuple(int(n) for n in _NUMBER.findall(head.group())) if head else ()


def base(version: str) -> str:
    """Strip the local tag, the build of a nightly and a post release: "1.7.0+cu101" is "1.7.0"."""
    head = re.match(r"\d+(?:\.\d+)*", version.strip())
    return head.group() if head else ""


def minor(version: str) -> str:
    """Give the first two numbers: "2.14.1+cu126" is "2.14"."""
    return ".".join(str(n) for n in numbers(version)[:2])


def local_tag(version: str) -> str:
    """Give what stands behind the plus sign, or nothing."""
    return version.partition("+")[2]


def is_release(version: str) -> bool:
    """Tell an official release from a nightly, a source build or a vendor's build."""
    tag = local_tag(version)
    known = not tag or re.fullmatch(r"(cu\d+|cpu|rocm[\d.]+|xpu)(\.with\.pypi\.cudnn)?", tag)
    return bool(known and _RELEASE.fullmatch(version.replace(".with.pypi.cudnn", "")))
