"""The node ``reader``: everything that needs a look at content. It asks the reader, or compares stored lists by code.

1. Resolve the references; they must come from one source. 2. Ask, with retries. 3. Store what was read, untrusted and
for the readers of its source, before anything of it is shown. 4. Charge the source's account. 5. Show closed values,
or references where the account is used up. Free text is shown as a reference always.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.labels import Readers
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs import lists
from checkvalve.graphs.bits import OUTCOME_BITS, Charge, charge
from checkvalve.graphs.codes import REMEDIES
from checkvalve.graphs.contents import Place
from checkvalve.graphs.desk import Desk, agent_of, full_name, thread_of, turn_of
from checkvalve.graphs.errors import CodedError
from checkvalve.graphs.events import Extracted, ReaderAsked, emit
from checkvalve.graphs.reader import Asking, ReaderModel, aask, ask
from checkvalve.graphs.references import Book
from checkvalve.graphs.schemas import ReadSchema, parse_schema
from checkvalve.graphs.state import JsonObject, PipelineState, observed, refused

_LISTS: Final[Mapping[str, Callable[[Book, Mapping[str, JSON]], lists.Found]]] = {
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
    bits: dict[str, float] = field(default_factory=dict)
    log: list[JsonObject] = field(default_factory=list)

    def accounts(self) -> dict[str, float]:
        return {**self.state.get("bits", {}), **self.bits}

    def charge(self, source: str, bits: float) -> Charge:
        found = charge(self.accounts(), source, bits, self.desk.limits.bits_per_source)
        self.bits[source] = found.spent
        return found

    def update(self) -> PipelineState:
        return {"asks": [], "log": self.log, "references": dict(self.book.made), "bits": self.bits}

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
                    self._refuse(visit, question.call, error)
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
    def _refuse(visit: _Round, call: str, error: CodedError) -> None:
        visit.event(call, None, error.code)
        place = {"field": error.place} if error.place else {}
        visit.tell(call, refused(error.code, error.remedy, **place))

    @staticmethod
    def _list(visit: _Round, call: str, found: lists.Found) -> None:
        """Show what is left of a list, or one reference when showing it would cost more than is left."""
        charged = visit.charge(found.source, found.bits)
        hidden = found.hidden or not charged.fits
        shown: list[JSON] = [visit.book.show_places(places, hidden=hidden) for places in found.lists]
        code = "" if charged.fits else "bits_spent"
        visit.event(call, charged, code)
        notes: JsonObject = {"code": code, "remedy": REMEDIES[code]} if code else {}
        visit.tell(call, {"status": "done", "result": shown[0] if len(shown) == 1 else shown, **notes})

    def _question(self, visit: _Round, call: str, args: Mapping[str, JSON]) -> _Question:
        """Do step 1."""
        names = args.get("references")
        if not isinstance(names, list) or not names or set(args) != {"references", "schema"}:
            raise CodedError("bad_request")
        entries = [visit.book.entry(name) for name in names]
        items = [visit.book.contents.item(place.item) for entry in entries for place in entry.places]
        if len({item.source for item in items}) != 1:
            raise CodedError("mixed_sources")
        schema = self._schema(args["schema"])
        readers = Readers.everyone()
        for entry in entries:
            for _, found in visit.book.everything(entry):
                readers = readers.meet(found.readers)
        session, turn = self._desk.thread(visit.state).session, turn_of(visit.state)
        ids = {item.of: session.verified_values(_kind(item.of), turn) for item in schema.fields.values() if item.of}
        values = [visit.book.value(entry) for entry in entries]
        asking = Asking(schema, values, ids, self._desk.id_patterns, self._desk.limits)
        return _Question(call, asking, items[0].source, readers)

    def _schema(self, data: JSON) -> ReadSchema:
        if isinstance(data, str):
            if data not in self._desk.schemas:
                raise CodedError("unknown_schema")
            return self._desk.schemas[data]
        return parse_schema(data, max_fields=self._desk.limits.max_fields, max_enum=self._desk.limits.max_enum)

    def _finish(self, visit: _Round, question: _Question, answer: Callable[[Asking], Asking]) -> None:
        """Do steps 2 to 5."""
        try:
            asking = answer(question.asking)
        except CodedError as error:
            self._refuse(visit, question.call, error)
            return
        fields = asking.schema.fields
        cost = OUTCOME_BITS + sum(item.bits(asking.ids.get(item.of, ())) for item in fields.values())
        charged = visit.charge(question.source, cost)
        if charged.fits and asking.values is None:
            visit.event(question.call, charged, asking.code, asking.tries)
            content = {"status": "done", "enough": False}
            failed = refused(asking.code, REMEDIES["reader_failed"])
            visit.tell(question.call, failed if asking.code == "reader_failed" else content)
            return
        # once the account is used up, not even whether there was an answer is shown: what is missing is null
        values = asking.values or dict.fromkeys(fields)
        key = f"read:{full_name(visit.state, question.call)}"
        self._desk.thread(visit.state).session.extraction(key, values, question.source, question.readers)
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


def _kind(of: str) -> str:
    return of if of.startswith("id:") else f"id:{of}"
