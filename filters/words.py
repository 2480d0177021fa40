"""The user's own words: which parts of a message they are, how they are split, and what is too common to mean anything.

Guarantees: quoted, pasted, very long and structured parts of a message lose the user's authority. Everything here can
only make a decision stricter. What the words around a mention say is read in ``mentions.py`` and ``asking.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.normalise import normalise
from checkvalve.filters.values import canonical
from checkvalve.filters.vocabulary import FILE_ENDINGS, STOPWORDS

# Above this many words one paragraph is taken as pasted: people do not type it into an agent's prompt.
MAX_OWN_PARAGRAPH_WORDS: Final = 250

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)")
_PASTED_LINE: Final = re.compile(
    r"^[ \t]*(?:>|\|.*\|[ \t]*$|<\/?[a-z!]|[-=_]{5,}\s*(?:forwarded|original|begin)\b)", re.IGNORECASE
)
_HEADER: Final = re.compile(
    r"^(?:from|to|subject|date|cc|sent|von|an|betreff|发件人|收件人|主题)\s*:\s*\S", re.IGNORECASE
)
_FORWARDED: Final = re.compile(r"^[ \t]*(?:fwd?|wg|tr|from|von|de|发件人)\s*:\s*\S", re.IGNORECASE)
_TOKEN: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of normalised ``text`` with their offsets; each Han, kana or hangul sign is a word of its own."""
    for match in _TOKEN.finditer(text):
        yield match[0], match.start(), match.end()


def split(text: str) -> list[str]:
    """Return the words of normalised ``text``."""
    return _TOKEN.findall(text)


def own_parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a user's message in order, each with whether it is in the user's own words."""
    own: list[str] = []
    pasted: list[str] = []
    for line, foreign in _lines(text):
        # What is left out becomes blanks of the same length, so that byte ranges stay those of the whole message.
        blank = " " * len(line.encode("utf-8", "surrogatepass"))
        own.append(blank if foreign else line)
        pasted.append(line if foreign else blank)
    for kept, label in ((own, True), (pasted, False)):
        if any(line.strip() for line in kept):
            yield "\n".join(kept), label


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with whether it is foreign: fenced, quoted, structured, mail-like or too long to be typed.

    A mail header of two lines, or one that says who wrote it, starts a pasted mail: it lasts to the end of the message.
    """
    fenced = structured = mail = False
    previous = ""
    for line in text.split("\n"):
        fence = bool(_FENCE.match(line))
        header = bool(_HEADER.match(line))
        mail = mail or bool(_FORWARDED.match(line)) or (header and bool(_HEADER.match(previous)))
        structured = structured or line.strip() in {"{", "["}
        long = len(line.split()) > MAX_OWN_PARAGRAPH_WORDS
        yield line, fenced or fence or structured or mail or header or long or bool(_PASTED_LINE.match(line))
        structured = structured and not line.strip().startswith(("}", "]"))
        fenced = fenced ^ fence
        previous = line


def stem(word: str) -> str:
    """Return a crude English stem, enough to see "emails", "emailed" and "emailing" as one word."""
    for suffix in ("ing", "ies", "ed", "es", "s", "e"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004 - shorter stems collide
            return word[: -len(suffix)] + ("y" if suffix == "ies" else "")
    return word


def spoken_name(text: str) -> str:
    """Return a record's name as people say it: "team-notes_2024.docx" is "team notes 2024"."""
    found = [word for part in normalise(text).text.split("_") for word, *_ in tokens(part)]
    if len(found) > 1 and found[-1] in FILE_ENDINGS:
        found.pop()
    return " ".join(found)


def names_in(address: str) -> Iterator[str]:
    """Yield the parts of an e-mail address that can be a person's name: "ann" and "lee" of ann.lee@corp.example."""
    for part in re.split(r"[^a-z]+", address.partition("@")[0].casefold()):
        if len(part) >= 3 and part not in STOPWORDS:  # noqa: PLR2004 - initials are shared by many
            yield part


def is_evidence(value: str, kind: str, *, marked: bool, capitalised: bool) -> bool:
    """Say whether mentioning ``value`` is enough to mean it: short or common words prove nothing by accident.

    ``value`` is normalised. A number never names a record by itself: it needs its noun or the word "id".
    """
    family = kind.partition(":")[0]
    if family == "id" or (kind == "text" and value.isdecimal()):
        return marked
    if family in {"email", "url", "host", "account", "phone", "number", "date", "path"} and canonical(family, value):
        return True
    found = [word for word, *_ in tokens(value)]
    if len(found) == 1:
        word = found[0]
        return marked or (len(word) >= 3 and not word.isdecimal() and (word not in STOPWORDS or capitalised))  # noqa: PLR2004
    return sum(len(word) for word in found) >= 3  # noqa: PLR2004
