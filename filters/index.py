"""The attribution index: everything that entered an agent's context, and the question "where does this value occur?".

Guarantees: structured fields come first, then mentions in running text; a match shows its byte range in the original;
memory grows linearly with the context, and a look-up costs about the number of places it finds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from checkvalve.filters.analysis import Analysis, analyse, decoded_views
from checkvalve.filters.fields import result_fields
from checkvalve.filters.labels import NOBODY, Authority, Readers, Trust
from checkvalve.filters.normalise import normalise
from checkvalve.filters.origins import Attribution, Field, FieldRule, MatchKind, Origin
from checkvalve.filters.values import canonical, words
from checkvalve.filters.words import mention, own_parts, tokens

# Origins kept per value, best first: a person reads no more, and a hostile text may repeat a value without end.
MAX_ORIGINS: Final = 24
_ORDER: Final = list(MatchKind)
_PLAIN: Final = frozenset({"text", "name", "id", "user", "channel"})
_COMPOUND: Final = frozenset({"email", "url", "host", "path"})
"""Kinds whose values reach to the next white space or quote: a part of one is another value."""
_STOPS: Final = frozenset(" \t\n\r'\"<>(),;")
_TRAILING: Final = ".,;:!?"
_JOINTS: Final = frozenset("@./\\-_+")

_Hit = tuple[int, int, int, bool]  # field number, start, end (normalised text), whole


class AttributionIndex:
    """Grows with the session; nothing is ever taken out, so what entered the context stays known to the end."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self._analyses: list[Analysis] = []
        self._forms: dict[tuple[str, str], list[_Hit]] = defaultdict(list)
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._records: dict[str, list[Field]] = defaultdict(list)
        self._listings: dict[str, list[str]] = defaultdict(list)
        self._named: dict[str, list[Field]] = defaultdict(list)
        self._said: list[str] = []
        self._readers = Readers.everyone()

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
        return "\n".join(self._said)

    def content_readers(self) -> Readers:
        """Return who may read a mixture of everything that was read so far; echoes of arguments add nothing."""
        return self._readers

    def content_fields(self) -> Iterator[Field]:
        """Yield everything that was read: all fields without authority."""
        return (field for field in self.fields if field.authority is Authority.NONE)

    def record_fields(self, record: str) -> Sequence[Field]:
        """Return the fields of one record of a result."""
        return self._records.get(record, ())

    def siblings(self, record: str) -> Sequence[str]:
        """Return every record that the same tool has listed in the same place, ``record`` itself among them."""
        return self._listings.get(_listing(record), ())

    def named_alike(self, name: str) -> Sequence[Field]:
        """Return the fields that name a record and hold exactly ``name``."""
        return self._named.get(name, ())

    def attribute(self, value: str, kind: str = "text") -> Attribution:
        """Return every place ``value`` stands at, best first (authority, trust, then match kind)."""
        hits: dict[tuple[int, int, int], Origin] = {}
        for hit in self._find(value, kind):
            self._keep(hits, hit, value, kind, None)
        for hit in self._phrase(value):
            self._keep(hits, hit, value, kind, None if self._says(hit, value, kind) else MatchKind.DERIVED)
        for decoded in decoded_views(value):
            for hit in self._find(decoded, kind):
                self._keep(hits, hit, decoded, kind, MatchKind.DERIVED)
        found = sorted(hits.values(), key=_rank)
        return Attribution(value, kind, tuple(found[:MAX_ORIGINS]))

    def _add(self, field: Field) -> None:
        analysis = analyse(field.text)
        number = len(self.fields)
        self._remember(field, analysis)
        for position, word in enumerate(analysis.words):
            self._postings[word].append((number, position))
        for kind, form, start, end in analysis.members:
            self._forms[kind, form].append((number, start, end, True))
        if field.authority is Authority.NONE:
            for decoded in analysis.decoded:
                self._add_hidden(field, decoded)

    def _add_hidden(self, field: Field, decoded: str) -> None:
        """Index the addresses of a decoded view: enough to see where a smuggled value came from, never to trust it."""
        name = f"{field.path} (decoded)"
        hidden = Field(field.source, name, decoded, Authority.NONE, Trust.UNTRUSTED, field.readers)
        self._remember(hidden, analyse(decoded))

    def _remember(self, field: Field, analysis: Analysis) -> None:
        number = len(self.fields)
        self.fields.append(field)
        self._analyses.append(analysis)
        for kind, form, start, end in analysis.entities:
            self._forms[kind, form].append((number, start, end, False))
        if field.record:
            if field.record not in self._records:
                self._listings[_listing(field.record)].append(field.record)
            self._records[field.record].append(field)
        if field.names_record:
            self._named[field.text].append(field)
        if field.authority > Authority.NONE:
            self._said.append(analysis.text.text)
        elif not field.echo:
            self._readers = self._readers.meet(field.readers)

    def _find(self, value: str, kind: str) -> Iterator[_Hit]:
        """Yield whole fields, lines and addresses that equal ``value``."""
        family = kind.partition(":")[0]
        if form := words(value):
            yield from self._forms.get(("text", form), ())
        if family == "host" and (host := canonical(family, value)):
            yield from self._forms.get(("url", f"//{host}"), ())
        elif family not in _PLAIN and (special := canonical(family, value)):
            yield from self._forms.get((family, special), ())

    def _says(self, hit: _Hit, value: str, kind: str) -> bool:
        """Say whether a run of the same words is really the same value: same punctuation, and no part of a longer one.

        "../notes.txt" and "notes/txt" have the words of "notes.txt"; "bob" stands in "bob@example.com".
        """
        number, start, end, _ = hit
        text = self._analyses[number].text.text
        family = kind.partition(":")[0]
        if family in _COMPOUND:
            while start and text[start - 1] not in _STOPS:
                start -= 1
            while end < len(text) and text[end] not in _STOPS:
                end += 1
            return canonical(family, text[start:end].rstrip(_TRAILING)) == canonical(family, value) is not None
        if _joined(text, start - 1, -1) or _joined(text, end, 1):
            return False
        said = text[start:end]
        return words(said) == words(value) or (
            family not in _PLAIN and canonical(family, said) == canonical(family, value) is not None
        )

    def _phrase(self, value: str) -> Iterator[_Hit]:
        wanted = tuple(word for word, *_ in tokens(normalise(value).text))
        if not wanted:
            return
        rarest = min(range(len(wanted)), key=lambda index: len(self._postings.get(wanted[index], ())))
        for number, position in self._postings.get(wanted[rarest], ()):
            first = position - rarest
            analysis = self._analyses[number]
            if first >= 0 and analysis.words[first : first + len(wanted)] == wanted:
                yield number, analysis.spans[first][0], analysis.spans[first + len(wanted) - 1][1], False

    def _keep(
        self,
        hits: dict[tuple[int, int, int], Origin],
        hit: _Hit,
        value: str,
        kind: str,
        forced: MatchKind | None,
    ) -> None:
        number, start, end, whole = hit
        known = hits.get((number, start, end))
        if known is not None and (known.whole or not whole):
            return
        field, text = self.fields[number], self._analyses[number].text
        said = mention(text.text, start, end, kind) if field.authority > Authority.NONE else None
        hits[number, start, end] = Origin(
            field,
            text.origin_of(start, end),
            forced or (MatchKind.EXACT if text.source(start, end) == value else MatchKind.NORMALISED),
            whole=whole,
            negated=bool(said and said.negated),
            as_source=bool(said and said.as_source),
            marked=bool(said and said.marked),
            sentence=said.sentence if said else "",
        )


def _joined(text: str, position: int, step: int) -> bool:
    """Say whether a joint at ``position`` ties a run of words to further ones: "report" in "report-final"."""
    if not 0 <= position < len(text) or text[position] not in _JOINTS:
        return False
    beyond = position + step
    return 0 <= beyond < len(text) and text[beyond].isalnum()


def _listing(record: str) -> str:
    """Return what records of one tool's lists have in common: no call, and no position in the list."""
    source, _, path = record.partition("#")
    return f"{source.rpartition('/')[0]}#{path.rstrip('0123456789')}"


def _words_field(source: str, text: str, authority: Authority) -> Field:
    own = authority > Authority.NONE
    trust = Trust.AUTHORITATIVE if own else Trust.UNTRUSTED
    return Field(source, "", text, authority, trust, Readers.everyone() if own else NOBODY, kind="words")


def _rank(origin: Origin) -> tuple[int, int, int, int]:
    return -origin.field.authority, -origin.field.trust, _ORDER.index(origin.match), 0 if origin.whole else 1
