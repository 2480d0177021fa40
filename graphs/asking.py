"""The node ``reader``: everything that needs a look at content. It asks the reader, or compares stored lists by code.

1. Resolve the references; they must come from one source. 2. Ask, with retries. 3. Store what was read, untrusted and
for the readers of its source, before anything of it is shown. 4. Charge the source's account. 5. Show closed values,
or references where the account is used up. Free text is shown as a reference always.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from checkvalve.filters.labels import Readers
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs import lists
from checkvalve.graphs.bits import OUTCOME_BITS, Charge
from checkvalve.graphs.codes import REMEDIES
from checkvalve.graphs.contents import Place
from checkvalve.graphs.desk import Desk, agent_of, full_name, thread_of, turn_of
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.events import Extracted, ReaderAsked, emit
from checkvalve.graphs.labelling import verified_values
from checkvalve.graphs.reader import Asking, ReaderModel, aask, ask
from checkvalve.graphs.references import Book
from checkvalve.graphs.schemas import ReadSchema, parse_schema
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused

_LISTS: Final[Mapping[str, Callable[[Book, Mapping[str, JSON]], lists.Look]]] = {
    "select": lists.select,
    "each": lists.each,
    "join": lists.join,
}


@dataclass
class _Round:
    """One visit of the node: what it found so far, to be written to the state at once."""

    desk: Desk
    state: PipelineState
    book: Book
    log: list[JsonObject] = field(default_factory=list)

    def charge(self, call: str, sources: Collection[str], bits: float) -> Charge:
        """Charge the accounts of the thread; an event names each source."""
        fits = not bits or self.book.contents.charge(sources, bits, self.desk.limits.bits_per_source)
        spent = self.book.contents.accounts()
        found = [Charge(name, fits, bits if fits else 0.0, spent.get(name, 0.0)) for name in sorted(sources)]
        for further in found[1:]:
            self.event(call, further)
        return found[0] if found else Charge("", fits, 0.0, 0.0)

    def update(self) -> PipelineState:
        return {"asks": [], "log": self.log, "references": dict(self.book.made)}

    def tell(self, call: str, content: JsonObject) -> None:
        self.log.append(observed(call, content))

    def event(self, call: str, charged: Charge | None, code: str = "", tries: int = 0) -> None:
        spent = charged or Charge("", fits=True, bits=0.0, spent=0.0)
        emit(
            Extracted(
                thread_of(self.state), agent_of(self.state), call, spent.source, code, tries, spent.bits, spent.spent
            )
        )


@dataclass(frozen=True)
class _Question:
    """A question that can be asked: its call, source, and who may read what it is about."""

    call: str
    asking: Asking
    source: str
    readers: Readers
    hidden: bool  # whether it is about what may not be told of, so that not even its size is


class ReaderNode:
    """The node ``reader`` of one pipeline."""

    def __init__(self, desk: Desk, model: ReaderModel) -> None:
        """Ask ``model``."""
        self._desk = desk
        self._model = model

    def run(self, state: PipelineState) -> PipelineState:
        """Answer every ask of the actor's latest turn, in order."""
        visit = self._begin(state)
        for item in state.get("asks", []):
            question = self._prepare(visit, item)
            if question is not None:
                self._finish(visit, question, lambda asking: ask(self._model, asking))
        return visit.update()

    async def arun(self, state: PipelineState) -> PipelineState:
        """Do what :meth:`run` does."""
        visit = self._begin(state)
        for item in state.get("asks", []):
            question = self._prepare(visit, item)
            if question is not None:
                try:
                    await aask(self._model, question.asking)
                except CodedError as error:
                    self._finish(visit, question, _raising(error))
                else:
                    self._finish(visit, question, lambda asking: asking)
        return visit.update()

    def _begin(self, state: PipelineState) -> _Round:
        return _Round(self._desk, state, self._desk.book(state))

    def _prepare(self, visit: _Round, item: JsonObject) -> _Question | None:
        """Answer what code can answer; return what the reader has to be asked."""
        call, name, args = str(item["call"]), str(item["name"]), item["args"]
        emit(ReaderAsked(thread_of(visit.state), agent_of(visit.state), call, name))
        try:
            if name in _LISTS:
                self._list(visit, call, _LISTS[name](visit.book, args))
                return None
            return self._question(visit, call, args)
        except CodedError as error:
            self._refuse(visit, call, error)
            return None

    @staticmethod
    def _refuse(visit: _Round, call: str, error: CodedError, charged: Charge | None = None) -> None:
        visit.event(call, charged, error.code)
        place = {"field": error.place} if error.place else {}
        visit.tell(call, refused(error.code, error.remedy, **place))

    def _list(self, visit: _Round, call: str, look: lists.Look) -> None:
        """Charge a look, then take it, and show what is left; or references that show nothing, whatever it found."""
        charged = visit.charge(call, look.charged or look.sources, look.bits)
        hidden, code = look.hidden or not charged.fits, "" if charged.fits else "bits_spent"
        self._note_seen(visit, call, look)
        try:
            found = look.take()
        except CodedError as error:
            if not hidden:
                self._refuse(visit, call, error, charged)
                return
            found = ((),) * look.lists
        shown: list[JSON] = [
            visit.book.show_places(places, hidden=hidden, sources=look.sources if hidden else ()) for places in found
        ]
        visit.event(call, charged, code)
        notes: JsonObject = {"code": code, "remedy": REMEDIES[code]} if code else {}
        visit.tell(call, {"status": "done", "result": shown[0] if len(shown) == 1 else shown, **notes})

    def _note_seen(self, visit: _Round, call: str, look: lists.Look) -> None:
        """Keep, before it is told, of which private fields a comparison tells: by name and readers, no word of them."""
        session = self._desk.thread(visit.state).session
        for name, fields in () if look.hidden else look.seen.items():
            readers = reduce(Readers.meet, (found.readers for found in fields), Readers.everyone())
            if not readers.public:
                key = f"seen:{full_name(visit.state, call)}/{name}"
                session.extraction(key, {name: ""}, ", ".join(sorted(look.sources)), readers)

    def _question(self, visit: _Round, call: str, args: Mapping[str, JSON]) -> _Question:
        """Do step 1."""
        names = args.get("references")
        if not isinstance(names, list) or not names or set(args) != {"references", "schema"}:
            raise CodedError("bad_request")
        entries = [visit.book.entry(name) for name in names]
        sources: set[str] = set().union(*(visit.book.sources(entry) for entry in entries))
        if len(sources) != 1:
            raise CodedError("mixed_sources")
        schema = self._schema(args["schema"])
        readers = Readers.everyone()
        for entry in entries:
            for _, found in visit.book.everything(entry):
                readers = readers.meet(found.readers)
        session, turn = self._desk.thread(visit.state).session, turn_of(visit.state)
        wanted = {item.of for item in schema.fields.values() if item.of}
        ids = session.look(turn, lambda index, _: {of: verified_values(index, _kind(of)) for of in wanted})
        inbound = self._desk.services.inbound
        values = [inbound.shown(visit.book.value(entry)) for entry in entries]
        asking = Asking(schema, values, ids, self._desk.id_patterns, self._desk.limits)
        hidden = any(entry.hidden for entry in entries)
        return _Question(call, asking, sources.pop(), readers, hidden)

    def _schema(self, data: JSON) -> ReadSchema:
        if isinstance(data, str):
            if data not in self._desk.schemas:
                raise CodedError("unknown_schema")
            return self._desk.schemas[data]
        return parse_schema(data, max_fields=self._desk.limits.max_fields, max_enum=self._desk.limits.max_enum)

    def _finish(self, visit: _Round, question: _Question, answer: Callable[[Asking], Asking]) -> None:
        """Do steps 2 to 5: an answer is charged before it is asked for, so that no way it ends is free."""
        asked = question.asking
        cost = OUTCOME_BITS + sum(item.bits(asked.ids.get(item.of, ())) for item in asked.schema.fields.values())
        charged = visit.charge(question.call, {question.source}, cost)
        asking = asked
        try:
            asking = answer(asked)
        except CodedError as error:
            if not question.hidden and charged.fits:
                self._refuse(visit, question.call, error, charged)
                return
            asking.values, asking.code = None, "reader_failed"
        fields = asking.schema.fields
        if charged.fits and asking.values is None:
            visit.event(question.call, charged, asking.code, asking.tries)
            self._keep(visit, question, dict.fromkeys(fields, ""))  # that there is none tells of the content, too
            content = {"status": "done", "enough": False}
            failed = refused(asking.code, REMEDIES["reader_failed"])
            visit.tell(question.call, failed if asking.code == "reader_failed" else content)
            return
        # once the account is used up, not even whether there was an answer is shown: what is missing is null
        values = asking.values or dict.fromkeys(fields)
        key = self._keep(visit, question, values)
        order = sorted(values)  # the store keeps an object's members in this order
        shown: JsonObject = {}
        for name, wanted in fields.items():
            place = Place(key, (order.index(name),))
            if not charged.fits:
                shown[name] = visit.book.show_hidden(place)
            else:
                shown[name] = visit.book.show_value(place) if wanted.type == "reference" else values[name]
        code = "" if charged.fits else "bits_spent"
        visit.event(question.call, charged, code, asking.tries)
        notes: JsonObject = {"code": code, "remedy": REMEDIES[code]} if code else {"enough": True}
        visit.tell(question.call, {"status": "done", "values": shown, **notes})

    def _keep(self, visit: _Round, question: _Question, values: Mapping[str, JSON]) -> str:
        """Store what is about to be told, and return the key it is stored under."""
        key = f"read:{full_name(visit.state, question.call)}"
        self._desk.thread(visit.state).session.extraction(key, dict(values), question.source, question.readers)
        return key


def _raising(error: CodedError) -> Callable[[Asking], Asking]:
    def answer(_: Asking) -> Asking:
        raise error

    return answer


def _kind(of: str) -> str:
    return f"id:{of}"
