"""Take out of a text what names people and machines, before it is shown to others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["redact"]

_PRIVATE_FIELD = (
    r"(?:token|secret|credentials?|passw(?:or)?d|passphrase|(?:api|access|private)[_-]?key)"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_HEX = r"[0-9a-fA-F]{1,4}"
# what a number of four parts follows where it is a version: nvidia-cublas-cu12 12.1.3.1
_VERSION = re.compile(
    r"(?:==|\b(?:nvidia|cuda|cudnn|cublas|nccl|torch|driver|version|release|build)[\w.-]{0,40}"
    r"['\"]?[ :=(]{0,20}v?)$",
    re.IGNORECASE,
)
_KEPT_ADDRESSES = {"127.0.0.1", "0.0.0.0"}  # noqa: S104 -- names no machine, binds nothing
_PLACEHOLDER = r"<(?:user|host|address|e-mail|hidden|uuid|private)>"

# In this order: what holds an @ in an address of the web comes before names of people. Each
# repetition is bounded, so that no text takes long.
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [^-\n]{0,40}-----|\Z)",
            re.DOTALL,
        ),
        "<hidden>",
    ),
    (re.compile(r"(?<=://)[^\s/@<>]{1,200}@"), "<hidden>@"),
    (
        re.compile(
            r"\b(?:hf_|gh[opsru]_|github_pat_|glpat-|sk-|xox[abp]-|AKIA|AIza|pypi-)[\w-]{12,255}"
            r"|\beyJ[\w-]{6,2000}\.[\w-]{6,4000}(?:\.[\w-]{0,1000})?"
        ),
        "<hidden>",
    ),
    (
        # not a bare number: max_token: 2048
        re.compile(
            rf"(?i)(?<![a-z])([\w.-]{{0,40}}{_PRIVATE_FIELD}['\"]?[ ]{{0,3}}[:=][ ]{{0,3}}['\"]?)"
            r"(?!\d{1,10}\b)[^\s'\"<>,;=][^\s'\"<>,;]{3,2000}"
        ),
        r"\1<hidden>",
    ),
    (
        re.compile(
            r"(?i)\b((?:(?:authorization:[ ]{0,3})?bearer|authorization:[ ]{0,3}basic)[ ]{1,3})"
            r"[\w.~+/=-]{8,2000}"
        ),
        r"\1<hidden>",
    ),
    (
        re.compile(
            r"\b((?:MASTER_ADDR|HOSTNAME|COMPUTERNAME|NODE_NAME)[=:])(?!<host>)[^\s,;]{1,255}"
        ),
        r"\1<host>",
    ),
    (re.compile(r"\b((?:USER|USERNAME|LOGNAME)=)(?!<user>)[^\s,;]{1,255}"), r"\1<user>"),
    (re.compile(r"(?m)^(\s{0,20}host {0,12}: )(?!<host>)\S{1,255}"), r"\1<host>"),  # torchrun
    (re.compile(r"\b(Linux )[\w.-]{1,64}(?= \d+\.\d+)"), r"\1<host>"),  # uname -a
    (
        # with spaces where a separator follows
        re.compile(
            r"(?i)([a-z]:\\{1,2}Users\\{1,2})(?:[^\\/:*?\"<>|\r\n]{1,40}(?=\\)|[^\\/\s:'\"]{1,64})"
        ),
        r"\1<user>",
    ),
    (
        # /homes, /nfs/users and media are homes and disks named after people, too
        re.compile(
            r"(?<![\w./-])((?:/[\w.-]{1,40}){0,4}/(?:homes|users)/|(?:/run)?/media/)"
            r"(?!<user>)[^/\\\s:'\"]{1,64}(?=/)"
        ),
        r"\1<user>",
    ),
    (re.compile(r"(/home/|/Users/)[^/\\\s:'\"]{1,64}"), r"\1<user>"),
    (
        re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,6}\.[A-Za-z]{2,24}\b"),
        "<e-mail>",
    ),
    (re.compile(r"\b[\w.-]{1,64}@[A-Za-z][\w.-]{0,64}(?=[:\s~$#\]]|$)"), "<user>@<host>"),
    (
        re.compile(
            r"\b(?:GPU|MIG)-[0-9a-f]{8}[\w-]{0,64}"
            r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
        ),
        "<uuid>",
    ),
    (re.compile(r"(?<![\w:-])(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}(?![\w:-])"), "<address>"),
    (
        re.compile(
            rf"(?<![\w:.])(?:(?:{_HEX}:){{7}}{_HEX}"
            rf"|{_HEX}(?::{_HEX}){{0,6}}::(?:{_HEX}(?::{_HEX}){{0,6}})?)(?![\w:])"
        ),
        "<address>",
    ),
)
_IPV4 = re.compile(rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?![\w]|\.\d)")


def _address(match: re.Match[str]) -> str:
    before = match.string[max(0, match.start() - 80) : match.start()]
    kept = match[0] in _KEPT_ADDRESSES or _VERSION.search(before)
    return match[0] if kept else "<address>"


def redact(text: str, private: Iterable[str] = ()) -> str:
    """Replace names of people and machines, home folders, addresses, e-mail, passwords and keys.

    Pure: it knows nothing of this machine. `private` are further words to hide, such as the names
    of the account and of the computer; words of one or two Latin letters are left
    alone. What is replaced stands as `<user>`, `<host>`, `<address>`, `<e-mail>`, `<hidden>`, `<uuid>` or
    `<private>`, and a second call changes nothing. It takes out what has a known form, so read
    the result before you publish it.
    """
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    text = _IPV4.sub(_address, text)
    least = {True: 3, False: 2}  # a Chinese name may have two characters
    words = sorted({w for w in private if len(w) >= least[w.isascii()]}, key=len, reverse=True)
    if not words:
        return text
    # a name in ASCII ends where its letters end, one in Chinese is found anywhere
    parts = (
        rf"(?<![^\W\d_]){re.escape(word)}(?![^\W\d_])" if word.isascii() else re.escape(word)
        for word in words
    )
    hidden = re.compile(f"({_PLACEHOLDER})|{'|'.join(parts)}", re.IGNORECASE)
    return hidden.sub(lambda match: match[1] or "<private>", text)
