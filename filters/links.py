"""Links and addresses inside text, in every written form, because whatever shows the text may follow them.

Guarantees: linear time; Markdown (inline, reference, autolink, image), HTML attributes, CSS ``url()``, bare URLs and
mail addresses are found; ``auto_fetch`` says that a client loads the target without anybody clicking.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from checkvalve.filters.normalise import visible
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
_BARE_HOST: Final = re.compile(
    r"(?<![\w@./:-])(?:[^\W_](?:[\w-]{0,61}[^\W_])?[.\u3002\uff0e\uff61]){1,8}[^\W\d_]{2,24}(?![\w@-])(?:[/?#][^\s<>\"'`{}|^)]{0,2048})?"
    r"|(?<![\w@./:-])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?:[/?#][^\s<>\"'`{}|^)]{0,2048})"
)
_IMAGE_INLINE: Final = re.compile(r"!\[(?:[^\[\]]|\[[^\[\]]{0,300}\]){0,1000}\]\(\s*<?([^\s)>]{1,2048})")
_IMAGE_REFERENCE: Final = re.compile(r"!\[([^\]]{0,1000})\](?:\[([^\]]{0,1000})\])?")
_DEFINITION: Final = re.compile(r"^[ ]{0,3}\[([^\]]{1,1000})\]:\s*<?([^\s>]{1,2048})", re.MULTILINE)
_ATTRIBUTES: Final = r"src|srcset|background|poster|data|action|formaction|xlink:href"
_FETCHING: Final = re.compile(
    rf"""(?:\b(?:{_ATTRIBUTES})\s*=\s*["']?|<(?:image|link|use|base)\b[^>]{{0,300}}?\bhref\s*=\s*["']?"""
    r"""|url\(\s*["']?|@import\s+["']?)\s*([^"'>)]{1,2048})""",
    re.IGNORECASE,
)
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
    dense = _dense(plain)
    for target, fetched in _targets(plain, dense):
        cleaned = target.rstrip(_TRAILING)
        if cleaned and cleaned not in seen:
            seen.add(cleaned)
            yield Link(cleaned, "url", url_host(cleaned), fetched)
    for match in EMAIL.finditer(dense):
        address = match[0]
        if address not in seen:
            seen.add(address)
            yield Link(address, "email", address.rpartition("@")[2].lower())


def _dense(text: str) -> str:
    """Return the stretches without white space that can hold a bare link or an address, one a line."""
    return "\n".join(part for part in text.split() if "." in part or "/" in part or "@" in part or "\u3002" in part)


def _targets(text: str, dense: str) -> Iterator[tuple[str, bool]]:
    defined = {match[1].casefold(): match[2] for match in _DEFINITION.finditer(text)}
    for match in _IMAGE_INLINE.finditer(text):
        yield match[1], True
    for match in _IMAGE_REFERENCE.finditer(text):
        target = defined.get((match[2] or match[1]).casefold())
        if target:
            yield target, True
    for match in _FETCHING.finditer(text):
        if target := _as_fetched(match[1]):
            yield target, True
    for match in URL.finditer(dense):
        yield match[0], False
    for match in _SCHEME.finditer(text):
        yield _as_fetched(match[0]) or match[0], False
    for match in _BARE_HOST.finditer(dense):
        host, slash, _ = match[0].partition("/")
        # "notes.md" is a file; "k4711.example.md" has a label too many to be one
        if slash or "?" in host or host.count(".") > 1 or host.rpartition(".")[2].lower() not in FILE_ENDINGS:
            yield match[0], False


def _as_fetched(target: str) -> str | None:
    """Return the address a browser makes of an attribute: it drops line breaks and mends the slashes."""
    plain = re.sub(r"[\t\n\r]", "", target).strip().split(" ")[0]
    match = re.match(r"(https?|ftp|wss?):[/\\]*(.+)", plain, re.IGNORECASE)
    if match:
        return f"{match[1].lower()}://{match[2]}"
    return plain if plain.startswith(("//", "\\\\")) or plain.lower().startswith(("www.", "data:")) else None
