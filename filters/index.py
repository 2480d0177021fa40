"""The attribution index: everything that entered an agent's context, and the question "where does this value occur?".

Guarantees: structured fields come first, then mentions in running text; a match shows its byte range in the original;
the same words with other punctuation, or as part of a longer name, are not the same value; what the agent itself
passed to a tool does not become trusted by coming back; memory grows linearly with the context, and a look-up takes
no longer in a large one: it goes from the best fields to the worst and stops when it has what is kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from checkvalve.filters.analysis import Analysis, analyse, decoded_views
from checkvalve.filters.asking import points_back
from checkvalve.filters.echoes import Echoes
from checkvalve.filters.fields import leaves, listing_of, name_of, result_fields
from checkvalve.filters.labels import NOBODY, Authority, Readers, Trust
from checkvalve.filters.mentions import mask, mention
from checkvalve.filters.normalise import Normalised, normalise
from checkvalve.filters.origins import Attribution, Field, FieldRule, MatchKind, Origin
from checkvalve.filters.places import Place, Places, Wanted, parts_of
from checkvalve.filters.values import canonical, words
from checkvalve.filters.words import names_in, own_parts, spoken_name

# Origins kept per value, best first: a person reads no more, and a hostile text may repeat a value without end.
MAX_ORIGINS: Final = 24
MAX_REMEMBERED: Final = 512
"""Answers that are kept until something is added, and characters of a value that has one kept: one decision asks for
the same name, link or address several times."""
DECODED: Final = " (decoded)"
"""What the path of a field ends with that was found by decoding another one."""
_Rank = tuple[int, int]  # authority and trust, negated, so that the best comes first
_NOBODYS: Final[_Rank] = -Authority.NONE, -Trust.UNTRUSTED


class AttributionIndex:
    """Grows with the session; nothing is ever taken out, so what entered the context stays known to the end."""

    def __init__(self) -> None:
        self.fields: list[Field] = []
        self._places: dict[_Rank, Places] = {}  # best rank first
        self._trusted: set[str] = set()
        self._records: dict[str, list[Field]] = defaultdict(list)
        self._listings: dict[str, list[str]] = defaultdict(list)
        self._listed_whole: set[str] = set()
        self._named: dict[str, list[Field]] = defaultdict(list)
        self._people: dict[str, set[str]] = defaultdict(set)
        self._contacts: set[tuple[str, str]] = set()
        self._said: list[tuple[int, str]] = []
        self._words: list[tuple[int, str]] = []
        self._answers: dict[tuple[str, str], Attribution] = {}  # since something was added last
        self._force: frozenset[int] | None = None
        self._said_now: str | None = None
        self._readers = Readers.everyone()
        self._restricted: dict[tuple[Readers, str], Field] = {}
        self._foreign: list[Field] = []
        self._by_tool: dict[str, list[Field]] = defaultdict(list)
        self._tainted = False
        self._echoes = Echoes()
        self._turn = 0
        self._spoken = False

    def add_words(self, text: str, *, authority: Authority, uri: str = "", message: bool = False) -> None:
        """Add what a person or the system said. Quoted and pasted parts of a user's message lose their authority.

        Words that follow a tool's result, or that are a ``message`` of their own, begin a new turn.
        """
        kind = {Authority.SYSTEM: "system", Authority.USER: "user"}.get(authority, "content")
        source = f"{kind}:{uri}" if uri else kind
        if authority is not Authority.USER:
            self._add(_words_field(source, text, authority, 0))
            return
        if message or not self._spoken:
            self._turn, self._spoken = self._turn + 1, True
            self._answers.clear()
            self._force = self._said_now = None
        for part, own in own_parts(text):
            name = source if own else f"{source} (pasted)"
            self._add(_words_field(name, part, authority if own else Authority.NONE, self._turn))

    def add_result(
        self, value: object, *, tool: str, call: str, args: Mapping[str, object], rules: Sequence[FieldRule] = ()
    ) -> None:
        """Add a tool's result: a JSON-like value with the arguments of its call and the declared field rules."""
        self._spoken = False
        self._echoes.passed(args, self._is_trusted)
        if all(item is None or item == "" for _, item in leaves(args)):
            self._listed_whole.add(f"tool:{tool}")
        for field in result_fields(value, tool=tool, call=call, args=args, rules=rules):
            matters = field.trust >= Trust.VERIFIED or field.contact
            echoed = matters and self._echoes.repeats(field.text, self._is_trusted)
            held = replace(field, echo=True) if echoed else field
            self._by_tool[tool].append(held)
            self._add(held)

    def held(self, field: Field) -> Field:
        """Return ``field`` as this index holds it, with what the session knows of it: that it is an echo, for one.

        A field that is not here, or no longer says the same, is not trusted.
        """
        for known in self.record_fields(field.record):
            if (known.source, known.path, known.text) == (field.source, field.path, field.text):
                return known
        return replace(field, trust=Trust.UNTRUSTED)

    def user_text(self) -> str:
        """Return the normalised words of the user and the system that are in force, one part a line.

        The user's last message is in force, and an earlier one as far as the message after it points back at it: what
        was asked an hour ago does not authorise what nobody asks for now. A message that takes something back ("never
        mind") points at nothing.
        """
        if self._said_now is None:
            force = self._in_force()
            self._said_now = "\n".join(text for turn, text in self._said if not turn or turn in force)
        return self._said_now

    def user_words(self) -> str:
        """Return the same as :meth:`user_text` as it was written, for what must not differ in a letter."""
        force = self._in_force()
        return "\n".join(text for turn, text in self._words if not turn or turn in force)

    def _in_force(self) -> frozenset[int]:
        if self._force is None:
            turn, force = self._turn, {self._turn}
            while turn > 1 and points_back("\n".join(text for number, text in self._said if number == turn)):
                turn -= 1
                force.add(turn)
            self._force = frozenset(force)
        return self._force

    def _is_trusted(self, text: str) -> bool:
        return words(text) in self._trusted

    def content_readers(self) -> Readers:
        """Return who may read a mixture of everything that was read so far; echoes of arguments add nothing."""
        return self._readers

    def content_fields(self) -> Iterator[Field]:
        """Yield everything that was read: all fields without authority."""
        return (field for field in self.fields if field.authority is Authority.NONE)

    def fields_of(self, tool: str) -> Sequence[Field]:
        """Return the fields of every result of ``tool``."""
        return self._by_tool.get(tool, ())

    def foreign_words(self) -> Sequence[Field]:
        """Return what stood in turns of the conversation without anybody's authority, such as pasted text."""
        return self._foreign

    def restricted_fields(self) -> Sequence[Field]:
        """Return what was read and is declared to be for some readers only: one field for each name and readers.

        The name of a field is the last step of its path that is no position, so that a list of records adds no more
        than one.
        """
        return tuple(self._restricted.values())

    @property
    def tainted(self) -> bool:
        """Say whether anything that outsiders may have written was read."""
        return self._tainted

    def record_fields(self, record: str) -> Sequence[Field]:
        """Return the fields of one record of a result."""
        return self._records.get(record, ())

    def siblings(self, record: str) -> Sequence[str]:
        """Return every record that the same tool has listed in the same place, ``record`` itself among them."""
        return self._listings.get(listing_of(record), ())

    def is_listed_whole(self, record: str) -> bool:
        """Say whether the tool that listed ``record`` was called without an argument once: no search, and no page."""
        return listing_of(record).partition("#")[0] in self._listed_whole

    def named_alike(self, name: str) -> Sequence[Field]:
        """Return the fields that name a record and are spoken like ``name``."""
        return self._named.get(spoken_name(name), ())

    def people_called(self, name: str) -> frozenset[str]:
        """Return the addresses in trusted fields that have ``name`` (normalised) as a part of their local part."""
        return frozenset(self._people.get(name, ()))

    def is_contact(self, value: str, kind: str) -> bool:
        """Say whether a field that lists the user's contacts holds this person."""
        return (kind, canonical(kind, value) or normalise(value).text) in self._contacts

    def attribute(self, value: str, kind: str = "text") -> Attribution:
        """Return every place ``value`` stands at, best first (authority, trust, then match kind)."""
        if (known := self._answers.get((value, kind))) is not None:
            return known
        answer = self._attribute(value, kind, self._places.values())
        if len(value) <= MAX_REMEMBERED and len(self._answers) < MAX_REMEMBERED:
            self._answers[value, kind] = answer
        return answer

    def attribute_trusted(self, value: str, kind: str = "text") -> Attribution:
        """Return what :meth:`attribute` does of places that may be relied on: of words and of trusted fields only."""
        if (known := self._answers.get((value, kind))) is not None:
            return known
        return self._attribute(value, kind, [places for rank, places in self._places.items() if rank < _NOBODYS])

    def _attribute(self, value: str, kind: str, among: Iterable[Places]) -> Attribution:
        decoded = [Wanted.of(view, kind) for view in decoded_views(value)]
        parts = [] if decoded else parts_of(value, kind)
        likely = [places for places in among if all(places.holds(part) for part in parts)]
        wanted = Wanted.of(value, kind) if likely else None
        found: list[Origin] = []
        for places in likely:
            if wanted is None or len(found) >= MAX_ORIGINS:
                break
            best = places.best(wanted, decoded, MAX_ORIGINS - len(found))
            found += (self._origin(match, place, places.text(place.field), kind) for match, place in best)
        return Attribution(value, kind, tuple(found))

    def sizes(self) -> tuple[int, int]:
        """Return how many places of words and of canonical forms are kept: what the memory grows with."""
        found = [places.sizes() for places in self._places.values()]
        return sum(one for one, _ in found), sum(two for _, two in found)

    def _add(self, field: Field) -> None:
        analysis = analyse(field.text)
        number = len(self.fields)
        self._remember(field, analysis).add_words(number, analysis)
        if field.trust >= Trust.VERIFIED and not field.echo:
            self._trusted.update(form for kind, form, *_ in analysis.members if kind == "text")
        if field.authority is Authority.NONE:
            for decoded in analysis.decoded:
                self._add_hidden(field, decoded)

    def _add_hidden(self, field: Field, decoded: str) -> None:
        """Index the addresses of a decoded view: enough to see where a smuggled value came from, never to trust it."""
        name = f"{field.path}{DECODED}"
        hidden = Field(field.source, name, decoded, Authority.NONE, Trust.UNTRUSTED, field.readers)
        self._remember(hidden, analyse(decoded))

    def _remember(self, field: Field, analysis: Analysis) -> Places:
        rank = -field.authority, -field.trust
        if (places := self._places.get(rank)) is None:
            places = self._places[rank] = Places()
            self._places = dict(sorted(self._places.items(), key=lambda item: item[0]))
        places.add_text(len(self.fields), analysis)
        self._answers.clear()
        self.fields.append(field)
        if field.record:
            if field.record not in self._records:
                self._listings[listing_of(field.record)].append(field.record)
            self._records[field.record].append(field)
        if field.names_record:
            self._named[spoken_name(field.text)].append(field)
        if not field.echo and (field.contact or field.trust >= Trust.VERIFIED):
            self._remember_person(field)
        if field.authority > Authority.NONE:
            self._said.append((field.turn, analysis.text.text))
            self._words.append((field.turn, field.text))
            self._force = self._said_now = None
            return places
        if field.kind == "words":
            self._foreign.append(field)
        self._tainted = self._tainted or (field.trust is Trust.UNTRUSTED and bool(field.text.strip()))
        if not field.echo:
            self._readers = self._readers.meet(field.readers)
        if field.readers.names:
            self._restricted.setdefault((field.readers, name_of(field.path)), field)
        return places

    def _remember_person(self, field: Field) -> None:
        if field.contact:
            self._contacts.add((field.kind, canonical(field.kind, field.text) or normalise(field.text).text))
        if field.kind == "email" and field.trust >= Trust.VERIFIED and (address := canonical("email", field.text)):
            for name in names_in(address):
                self._people[name].add(address)

    def _origin(self, match: MatchKind, place: Place, text: Normalised, kind: str) -> Origin:
        number, start, end, whole = place
        field = self.fields[number]
        personal = field.authority > Authority.NONE
        return Origin(
            field,
            text.origin_of(start, end),
            match,
            whole=whole,
            mention=mention(mask(text.text), start, end, kind) if personal else None,
            stale=personal and field.turn > 0 and field.turn not in self._in_force(),
        )


def _words_field(source: str, text: str, authority: Authority, turn: int) -> Field:
    own = authority > Authority.NONE
    trust = Trust.AUTHORITATIVE if own else Trust.UNTRUSTED
    return Field(source, "", text, authority, trust, Readers.everyone() if own else NOBODY, kind="words", turn=turn)
