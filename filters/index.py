"""The attribution index: everything that entered an agent's context, and the question "where does this value occur?".

Guarantees: structured fields come first, then mentions in running text; a match shows its byte range in the original;
memory grows linearly with the context, and a look-up costs about the number of places it finds.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from checkvalve.filters.fields import result_fields
from checkvalve.filters.labels import Authority, Readers, Trust
from checkvalve.filters.normalise import Normalised, normalise
from checkvalve.filters.origins import Attribution, Field, FieldRule, MatchKind, Origin
from checkvalve.filters.values import canonical, entities, words
from checkvalve.filters.words import mention, own_parts, tokens

# Origins kept per value, best first: a person reads no more, and a hostile text may repeat a value without end.
MAX_ORIGINS: Final = 24
# Longest stretch that is decoded as base64; longer ones are files, not smuggled addresses.
_MAX_ENCODED: Final = 8192
_ENCODED: Final = re.compile(rf"[A-Za-z0-9+/_-]{{16,{_MAX_ENCODED}}}={{0,2}}")
# Longest text that is compared as one value, in characters: the longest URL that clients accept.
_MAX_VALUE: Final = 2048
_ORDER: Final = list(MatchKind)

_Hit = tuple[int, int, int, bool]  # field number, start, end (normalised text), whole


class AttributionIndex:
    """Grows with the session; nothing is ever taken out, so what entered the context stays known to the end."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self._texts: list[Normalised] = []
        self._spans: list[list[tuple[int, int]]] = []
        self._words: list[list[str]] = []
        self._whole: dict[tuple[str, str], list[_Hit]] = defaultdict(list)
        self._entities: dict[tuple[str, str], list[_Hit]] = defaultdict(list)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def add_words(self, text: str, *, authority: Authority, uri: str = "") -> None:
        """Add what a person or the system said. Quoted and pasted parts of a user's message lose their authority."""
        kind = {Authority.SYSTEM: "system", Authority.USER: "user"}.get(authority, "content")
        source = f"{kind}:{uri}" if uri else kind
        if authority is not Authority.USER:
            self._add(_words_field(source, text, authority))
            return
        for part, own in own_parts(text):
            self._add(_words_field(source if own else f"{source} (pasted)", part, authority if own else Authority.NONE))

    def add_result(
        self, value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule] = ()
    ) -> None:
        """Add a tool's result: a JSON-like value with the arguments of its call and the declared field rules."""
        for field in result_fields(value, tool=tool, call=call, args=args, rules=rules):
            self._add(field)

    def user_text(self) -> str:
        """Return the normalised words that have the user's or the system's authority, one part a line."""
        return "\n".join(
            text.text for field, text in zip(self.fields, self._texts, strict=True) if field.authority > Authority.NONE
        )

    def content_fields(self) -> Iterator[Field]:
        """Yield everything that was read: all fields without authority."""
        return (field for field in self.fields if field.authority is Authority.NONE)

    def attribute(self, value: str, kind: str = "text") -> Attribution:
        """Return every place ``value`` stands at, best first (authority, trust, then match kind)."""
        hits: dict[tuple[int, int, int], Origin] = {}
        for hit in self._find(value, kind):
            self._keep(hits, hit, value, kind, None)
        for decoded in _decoded(value):
            for hit in self._find(decoded, kind):
                self._keep(hits, hit, decoded, kind, MatchKind.DERIVED)
        found = sorted(hits.values(), key=_rank)
        return Attribution(value, kind, tuple(found[:MAX_ORIGINS]))

    def record_fields(self, record: str) -> list[Field]:
        """Return the fields of one record of a result."""
        return [field for field in self.fields if field.record == record]

    def _add(self, field: Field) -> None:
        number = len(self.fields)
        text = normalise(field.text)
        found = list(tokens(text.text))
        self.fields.append(field)
        self._texts.append(text)
        self._words.append([word for word, *_ in found])
        self._spans.append([(start, end) for _, start, end in found])
        for position, (word, *_) in enumerate(found):
            self._postings[word].append((number, position))
        for kind, form, start, end in entities(field.text if text.offsets is None else text.text):
            self._entities[kind, form].append((number, start, end, False))
        for start, end in _members(text.text):
            piece = text.text[start:end]
            if plain := words(piece):
                self._whole["text", plain].append((number, start, end, True))
            for family in ("email", "url", "account", "phone", "number", "path", "date"):
                if len(piece) <= _MAX_VALUE and (special := canonical(family, piece)):
                    self._whole[family, special].append((number, start, end, True))
        if field.authority is Authority.NONE:
            self._add_decoded(field)

    def _add_decoded(self, field: Field) -> None:
        for decoded in _hidden(field.text):
            hidden = Field(
                field.source, f"{field.path} (decoded)", decoded, Authority.NONE, Trust.UNTRUSTED, field.readers
            )
            number = len(self.fields)
            text = normalise(decoded)
            self.fields.append(hidden)
            self._texts.append(text)
            self._words.append([])
            self._spans.append([])
            for kind, form, start, end in entities(text.text):
                self._entities[kind, form].append((number, start, end, False))

    def _find(self, value: str, kind: str) -> Iterator[_Hit]:
        family = kind.partition(":")[0]
        if form := words(value):
            yield from self._whole.get(("text", form), ())
        special = canonical(family, value) if family not in {"text", "name", "id", "user", "channel"} else None
        if special:
            yield from self._whole.get((family, special), ())
            yield from self._entities.get((family, special), ())
        if family not in {"email", "url", "number"} or special is None:
            yield from self._phrase(value)

    def _phrase(self, value: str) -> Iterator[_Hit]:
        wanted = [word for word, *_ in tokens(normalise(value).text)]
        if not wanted:
            return
        rarest = min(range(len(wanted)), key=lambda index: len(self._postings.get(wanted[index], ())))
        for number, position in self._postings.get(wanted[rarest], ()):
            first = position - rarest
            if first >= 0 and self._words[number][first : first + len(wanted)] == wanted:
                spans = self._spans[number]
                yield number, spans[first][0], spans[first + len(wanted) - 1][1], False

    def _keep(
        self, hits: dict[tuple[int, int, int], Origin], hit: _Hit, value: str, kind: str, forced: MatchKind | None
    ) -> None:
        number, start, end, whole = hit
        known = hits.get((number, start, end))
        if known is not None and (known.whole or not whole):
            return
        field, text = self.fields[number], self._texts[number]
        span = text.origin_of(start, end)
        original = field.text.encode("utf-8", "surrogatepass")[span[0] : span[1]].decode("utf-8", "replace")
        match = forced or (MatchKind.EXACT if original == value else MatchKind.NORMALISED)
        said = mention(text.text, start, end, kind) if field.authority > Authority.NONE else None
        hits[number, start, end] = Origin(
            field,
            span,
            match,
            whole=whole,
            negated=bool(said and said.negated),
            as_source=bool(said and said.as_source),
            marked=bool(said and said.marked),
        )


def _words_field(source: str, text: str, authority: Authority) -> Field:
    own = authority > Authority.NONE
    trust = Trust.AUTHORITATIVE if own else Trust.UNTRUSTED
    return Field(source, "", text, authority, trust, Readers.everyone() if own else Readers.nobody(), kind="words")


def _rank(origin: Origin) -> tuple[int, int, int, int]:
    return -origin.field.authority, -origin.field.trust, _ORDER.index(origin.match), 0 if origin.whole else 1


def _members(text: str) -> Iterator[tuple[int, int]]:
    """Yield the whole text and, where it has several lines, each line without its bullet or label."""
    yield 0, len(text)
    if "\n" not in text and ": " not in text:
        return
    for line in re.finditer(r"[^\n]+", text):
        bullet = re.match(r"\s*(?:[-*•]\s+|\d{1,3}[.)]\s+)?", line[0])
        start = line.start() + (bullet.end() if bullet else 0)
        end = line.start() + len(line[0].rstrip())
        if start < end:
            yield start, end
            label = re.match(r"[^:\n]{1,80}:\s+", text[start:end])
            if label and start + label.end() < end:
                yield start + label.end(), end


def _decoded(value: str) -> Iterator[str]:
    """Yield what an argument says once its percent or base64 encoding is taken off."""
    if "%" in value and (plain := unquote(value)) != value:
        yield plain
    if _ENCODED.fullmatch(value.strip()) and (hidden := _from_base64(value.strip())):
        yield hidden


def _hidden(text: str) -> Iterator[str]:
    """Yield decoded views of a text: base64 stretches, and the whole of it percent-decoded."""
    for match in _ENCODED.finditer(text):
        if hidden := _from_base64(match[0]):
            yield hidden
    if re.search(r"%[0-9A-Fa-f]{2}", text) and (plain := unquote(text)) != text:
        yield plain


def _from_base64(text: str) -> str | None:
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        plain = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True).decode()
    except (binascii.Error, ValueError):
        return None
    return plain if plain.isprintable() and len(plain) >= 6 else None  # noqa: PLR2004 - shorter ones are accidents
