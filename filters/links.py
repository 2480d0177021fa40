"""Links and addresses inside text, in every written form, because whatever shows the text may follow them.

Guarantees: linear time; Markdown (inline, reference, autolink, image), HTML attributes, CSS ``url()``, bare URLs and
mail addresses are found; ``auto_fetch`` says that a client loads the target without anybody clicking.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.normalise import visible
from checkvalve.filters.outbound.forms import forms
from checkvalve.filters.outbound.view import view_of
from checkvalve.filters.values import EMAIL, URL, url_host
from checkvalve.filters.vocabulary import FILE_ENDINGS

_SCHEME: Final = re.compile(
    r"\b(?:https?|ftp|wss?|file|javascript|vbscript|blob)\s*:\s*[^\s<>\"'`{}|^]{1,2048}"
    # "the data: see below" is prose; a data address has a type, a parameter or its comma right there
    r"|\bdata\s*:\s*(?:[a-z]+/[a-z0-9.+-]+\s*)?[;,][^\s<>\"'`{}|^]{1,2048}"
    r"|\b(?:mailto|tel|sms|facetime|skype|whatsapp|tg|bitcoin|ethereum|lightning|intent|market|vscode|ms-[a-z]{2,20})"
    r":[^\s<>\"'`{}|^]{3,2048}",
    re.IGNORECASE,
)
_WWW_INSIDE: Final = re.compile(r"(?<=_)www\.[^\s<>\"'`{}|^]{1,2048}", re.IGNORECASE)
"""What clients make a link of after an underscore, too."""
_LITERAL_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@\[[0-9A-Fa-f:.]{3,45}\]")
_BARE_HOST: Final = re.compile(
    r"(?<![\w@./:-])(?:[^\W_](?:[\w-]{0,61}[^\W_])?[.\u3002\uff0e\uff61]){1,8}[^\W\d_]{2,24}(?![\w@-])(?:[/?#][^\s<>\"'`{}|^)]{0,2048})?"
    r"|(?<![\w@./:-])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?:[/?#][^\s<>\"'`{}|^)]{0,2048})"
)
_IMAGE_INLINE: Final = re.compile(r"!\[(?:[^\[\]]|\[[^\[\]]{0,300}\]){0,1000}\]\(\s*<?([^\s)>]{1,2048})")
_IMAGE_REFERENCE: Final = re.compile(r"!\[([^\]]{0,1000})\](?:\[([^\]]{0,1000})\])?")
_DEFINITION: Final = re.compile(r"^[ ]{0,3}\[([^\]]{1,1000})\]:\s*<?([^\s>]{1,2048})", re.MULTILINE)
_LOADING: Final = re.compile(r"!\[|<[A-Za-z/]|url\(|@import|image-set", re.IGNORECASE)
"""Signs of which a text that loads something has at least one."""
_ATTRIBUTES: Final = r"src|srcset|background|poster|data|action|formaction|xlink:href"
_FETCHING: Final = re.compile(
    rf"""(?:\b(?:{_ATTRIBUTES})\s*=\s*["']?|<(?:image|link|use|base)\b[^>]{{0,300}}?\bhref\s*=\s*["']?"""
    r"""|url\(\s*["']?|@import\s+["']?)\s*([^"'>)]{1,2048})""",
    re.IGNORECASE,
)
_ATTRIBUTE_NAMES: Final = ("src", "srcset", "background", "poster", "data", "action", "xlink:href")
_SCHEME_NAMES: Final = (
    *("http", "https", "ftp", "ws", "wss", "file", "data", "javascript", "vbscript", "blob", "mailto", "tel", "sms"),
    *("facetime", "skype", "whatsapp", "tg", "bitcoin", "ethereum", "lightning", "intent", "market", "vscode"),
)
_FETCHING_SIGN: Final = re.compile(r"[=(<@]")
_COLON: Final = re.compile(r":")
_LONGEST: Final = 24
"""Characters before a sign that its word can have: "ms-" and twenty letters."""
_DOTS: Final = (".", "\u3002", "\uff0e", "\uff61")
_TRAILING: Final = ".,;:!?)]}'\"»”’*_"


@dataclass(frozen=True, slots=True)
class Link:
    """One link or address: its target as written, its kind (``url`` or ``email``), its canonical host."""

    target: str
    kind: str
    host: str | None
    auto_fetch: bool = False


def links(text: str) -> Iterator[Link]:
    """Yield every link and address of ``text``, each target once, those that fetch by themselves first."""
    plain = html.unescape(visible(text)) if not text.isascii() or "&" in text else text
    seen: set[str] = set()
    parts = [part for part in plain.split() if "." in part or "/" in part or "@" in part or "\u3002" in part]
    for target, fetched in _targets(plain, parts):
        cleaned = target.rstrip(_TRAILING)
        if cleaned and cleaned not in seen:
            seen.add(cleaned)
            yield Link(cleaned, "url", url_host(cleaned), fetched)
    mailed = "\n".join(part for part in parts if "@" in part)
    for match in (*EMAIL.finditer(mailed), *_LITERAL_EMAIL.finditer(mailed)):
        address = match[0]
        if address not in seen:
            seen.add(address)
            yield Link(address, "email", address.rpartition("@")[2].lower())


def _targets(text: str, parts: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield every target with whether it loads by itself; ``parts`` are the stretches that can hold a bare one."""
    if "![" in text:
        yield from ((target, True) for target in _pictures(text))
    for match in _at_signs(_FETCHING, text, _FETCHING_SIGN, _may_fetch):
        if target := _as_fetched(match[1]):
            yield target, True
    if _LOADING.search(text):
        yield from ((target, True) for target in _loaded(text))
    addressed = "\n".join(part for part in parts if "//" in part or "www." in part.lower())
    for match in (*URL.finditer(addressed), *_WWW_INSIDE.finditer(addressed)):
        yield match[0], False
    for match in _at_signs(_SCHEME, text, _COLON, _may_be_scheme):
        yield _as_fetched(match[0]) or match[0], False
    for match in _BARE_HOST.finditer("\n".join(part for part in parts if any(dot in part[:-1] for dot in _DOTS))):
        host, slash, _ = match[0].partition("/")
        # "notes.md" is a file; "k4711.example.md" has a label too many to be one
        if slash or "?" in host or host.count(".") > 1 or host.rpartition(".")[2].lower() not in FILE_ENDINGS:
            yield match[0], False


def _loaded(text: str) -> Iterator[str]:
    """Yield what the outbound filter knows as a resource: it reads brackets in brackets, tags and style sheets.

    A definition serves every image of its text. A tag that loads from elsewhere in the text takes all its links along.
    """
    elsewhere = False
    for form in forms(view_of(text)):
        if form.target and (form.resource or (form.definition and "![" in text)):
            yield _as_fetched(form.target) or form.target
        elif form.resource:
            inside = URL.findall(text[slice(*form.to)])
            yield from inside
            elsewhere = elsewhere or not inside
    if elsewhere:
        yield from URL.findall(text)


def _pictures(text: str) -> Iterator[str]:
    defined = {match[1].casefold(): match[2] for match in _DEFINITION.finditer(text)}
    for match in _IMAGE_INLINE.finditer(text):
        yield match[1]
    for match in _IMAGE_REFERENCE.finditer(text):
        if target := defined.get((match[2] or match[1]).casefold()):
            yield target


def _at_signs(
    pattern: re.Pattern[str], text: str, sign: re.Pattern[str], may_match: Callable[[str, str], bool]
) -> Iterator[re.Match[str]]:
    """Yield the matches of ``pattern``, none of which is without a ``sign``, looking only where one can begin.

    A match begins at its first sign, or with the word right before it and blanks; ``may_match`` is asked of what stands
    before and behind, and has to say yes wherever the pattern may match.
    """
    end = 0
    for found in sign.finditer(text):
        place = found.start()
        if place < end:
            continue
        start = place
        while start > end and text[start - 1].isspace():
            start -= 1
        start = max(end, start - _LONGEST)
        if not may_match(text[start:place].rstrip().lower(), text[place : place + _LONGEST].lower()):
            continue
        match = next(filter(None, (pattern.match(text, first) for first in range(start, place + 1))), None)
        if match is not None:
            yield match
            end = match.end()


def _may_fetch(before: str, behind: str) -> bool:
    if behind[0] in "=(":
        return before.endswith(_ATTRIBUTE_NAMES if behind[0] == "=" else "url") or not before.isascii()
    return behind.startswith(("<image", "<link", "<use", "<base", "@import")) or not behind[:7].isascii()


def _may_be_scheme(before: str, _: str) -> bool:
    return before.endswith(_SCHEME_NAMES) or "ms-" in before or not before.isascii()


def _as_fetched(target: str) -> str | None:
    """Return the address a browser makes of an attribute: it drops line breaks and mends the slashes."""
    plain = re.sub(r"[\t\n\r]", "", target).strip().split(" ")[0]
    match = re.match(r"(https?|ftp|wss?):[/\\]*(.+)", plain, re.IGNORECASE)
    if match:
        return f"{match[1].lower()}://{match[2]}"
    return plain if plain.startswith(("//", "\\\\")) or plain.lower().startswith(("www.", "data:")) else None
