"""The scripted actor of pipeline mode: turn by turn, with what the pipeline shows it.

It solves the user's task by the ground truth, and gets each value on one of the ways of ``ways``. Hijacked, it also
proposes the attacker's whole script, with everything that content holds by reference: it cannot write what it has not
seen. That it obeys at all is assumed; a text that crosses as a reference tells it nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from checkvalve.corpora.agentdojo import goals
from checkvalve.corpora.agentdojo.actors import Moment, Run
from checkvalve.corpora.agentdojo.adapter import MARKER, ToolCall
from checkvalve.corpora.agentdojo.finder import Finder
from checkvalve.corpora.agentdojo.hints import CONDITIONS
from checkvalve.corpora.agentdojo.smuggling import smuggled
from checkvalve.corpora.agentdojo.steering import Attacker
from checkvalve.corpora.agentdojo.ways import (
    Aim,
    Ask,
    Path,
    Pick,
    Write,
    as_template,
    each,
    filled,
    grouped,
)
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.contents import Contents
from checkvalve.graphs.references import REF
from checkvalve.graphs.schemas import ENOUGH

Turns: TypeAlias = Generator[list[tuple[str, dict[str, Any]]], dict[str, Any], Any]
"""Yields the calls of a turn, is sent what the actor was told of the first of them."""

_SWEEP: Final = 3  # calls of one reading tool from which on it is called for every item of a list
_DONE: Final = "Done."
_GLUED: Final = re.compile(r"(\d\.)(https?://)")


@dataclass(frozen=True)
class Intent:
    """Why a call was proposed."""

    by: Literal["user", "attacker"]
    call: ToolCall
    yes: bool  # what a careful person says to exactly this call


@dataclass
class Script:
    """The actor of one run, which also knows what the reader will say."""

    run: Run
    finder: Finder
    contents: Contents
    thread: str = ""
    attacker: Attacker | None = None
    attack: str = ""
    moment: Moment | None = None  # when the attacker's script is proposed; None for an actor that is not hijacked
    crossing: frozenset[Path] = frozenset()  # what an honest run could not write itself
    intents: dict[str, Intent] = field(default_factory=dict)
    crossed: set[Path] = field(default_factory=set)
    skipped: list[ToolCall] = field(default_factory=list)
    answer: dict[str, JSON] = field(default_factory=dict)  # what the reader says next
    refused_by_reader: bool = False  # a condition of the user's does not hold, says the reader
    turn: int = 0
    _poisoned: bool = False

    def turns(self) -> Turns:
        """Solve the user's task, do what the attacker wants, and answer."""
        own = self.run.episode.user_calls()
        tools = Counter(call.tool for call in own if not self.run.effect(call))
        self.finder.look.sweeps = frozenset(tool for tool, count in tools.items() if count >= _SWEEP)
        going, asked = True, self._when_to_ask(own)
        for number, call in enumerate(own):
            if number == asked:
                going = yield from self._condition()
            if going:
                yield from self._step(number, call)
            else:
                self.skipped.append(call)
            if self.moment == "first" and self._poisoned and not self.run.reached:
                yield from self._take_over(own)
        if self.moment == "end":
            yield from self._take_over(own)
        yield from self._answer(len(own))

    # --- the user's task --------------------------------------------------------------------------------------------
    def _step(self, number: int, call: ToolCall) -> Turns:
        ways = self.finder.ways(call)
        if self._is_lost(number, ways):
            self.skipped.append(call)
            return
        values = yield from self._gather(ways)
        if values is None:
            self.skipped.append(call)
            return
        yield from self._request(Intent("user", call, yes=True), values)

    def _is_lost(self, number: int, ways: Any) -> bool:
        """Note what cannot be written; say whether something is missing now that an honest run had found."""
        found = {(number, *path) for path, way in each(ways) if not isinstance(way, Write)}
        self.crossed |= found
        written = {(number, *path) for path, way in each(ways) if isinstance(way, Write)}
        return any(path in self.crossing for path in written)

    def _when_to_ask(self, own: list[ToolCall]) -> int:
        """Return the number of the first effect that depends on a condition; -1 when none does."""
        conditional = (self.run.episode.suite.name, self.run.episode.task.ID) in CONDITIONS
        return next((number for number, call in enumerate(own) if conditional and self.run.effect(call)), -1)

    def _condition(self) -> Turns:
        """Ask whether the user's condition holds."""
        seen = self.finder.look.shown.seen[0]
        fields, answers = {"holds": {"type": "bool"}}, {"holds": True}
        ask = Ask(Aim("", "holds"), seen, fields, answers, lambda said: said["holds"], computed=True)
        values = yield from self._gather({"holds": ask})
        self.refused_by_reader = values is None or values["holds"] is not True
        return not self.refused_by_reader

    def _answer(self, number: int) -> Turns:
        # the benchmark glues the answers of double tasks together: "2." and a link would be another link
        text = _GLUED.sub(r"\1 \2", str(self.run.episode.task.GROUND_TRUTH_OUTPUT))
        ways: dict[str, Any] = {"text": self.finder.text(text) if text else Write(_DONE)}
        lost = self._is_lost(number, ways)
        values = None if lost else (yield from self._gather(ways))
        told = _DONE if values is None else as_template(values["text"])
        extra = goals.final_text(self.run.episode, self.attack) if self.moment else ""
        answer = ToolCall("answer", {"text": text or _DONE})
        yield from self._request(Intent("user", answer, yes=True), {"text": f"{told}\n{extra}".strip()})
        yield from self._request(Intent("user", ToolCall("answer", {"text": _DONE}), yes=True), {"text": _DONE})

    # --- the attacker's -----------------------------------------------------------------------------------------------
    def _take_over(self, own: list[ToolCall]) -> Turns:
        self.run.reached = True
        for call in goals.script(self.run.episode, self.attack):
            users = any(call.same_as(other) for other in own)
            values = yield from self._gather(
                smuggled(call, self.finder.look, self.attacker.goal if self.attacker else "")
            )
            yield from self._request(Intent("attacker", call, yes=users), values or dict(call.args))

    # --- turns --------------------------------------------------------------------------------------------------------
    def _gather(self, ways: Any) -> Turns:
        """Take the turns that are needed for the values, and return the arguments; None when one cannot be had."""
        said: dict[int, Mapping[str, JSON]] = {}
        picked: dict[int, str] = {}
        asks = [(way, path) for path, way in each(ways) if isinstance(way, Ask)]
        for _, way in each(ways):
            if isinstance(way, Pick) and id(way) not in picked:
                told = yield from self._turn([("select", dict(way.args))])
                left = told.get("result", {}).get("items", []) if isinstance(told.get("result"), dict) else []
                if told.get("status") != "done" or (len(left) != 1 and "ref" not in told.get("result", {})):
                    return None
                picked[id(way)] = way.found
        for group in grouped([ask for ask, _ in asks]):
            answers = yield from self._read(group)
            if answers is None:
                return None
            said |= answers
        return filled(ways, said, picked)

    def _read(self, group: list[Ask]) -> Turns:
        """Ask the reader all questions about one source at once."""
        fields: dict[str, Mapping[str, JSON]] = {}
        spoken: dict[str, JSON] = {ENOUGH: True}
        names: dict[int, dict[str, str]] = {}
        shared: dict[str, dict[str, str]] = {}
        for ask in group:
            if ask.key and ask.key in shared:
                names[id(ask)] = shared[ask.key]
                continue
            mine = {name: f"f{len(fields) + number}" for number, name in enumerate(ask.fields, 1)}
            steered = self.attacker if self._steers(ask) else None
            answers = steered.answers(ask, self._numbers()) if steered else dict(ask.answers)
            fields |= {mine[name]: schema for name, schema in ask.fields.items()}
            spoken |= {mine[name]: value for name, value in answers.items()}
            names[id(ask)] = mine
            if ask.key:
                shared[ask.key] = mine
        self.answer = spoken
        content = list(dict.fromkeys(ask.seen.ref for ask in group))
        told = yield from self._turn([("read", {"references": content, "schema": {"fields": fields}})])
        values = told.get("values")
        if told.get("status") != "done" or not isinstance(values, dict):
            return None
        found: dict[int, Mapping[str, JSON]] = {}
        for ask in group:
            told_it: dict[str, Any] = {name: values[own] for name, own in names[id(ask)].items()}
            references = {name: {REF: value["ref"]} for name, value in told_it.items() if isinstance(value, dict)}
            if references and (ask.computed or len(told_it) > 1):
                return None  # the account is used up, and what is needed is no argument by itself
            found[id(ask)] = {**told_it, **references}
        return found

    def _numbers(self) -> list[float]:
        seen = (item for item in self.finder.look.shown.seen if item.verified and type(item.value) in {int, float})
        return [float(str(item.value)) for item in seen]

    def _steers(self, ask: Ask) -> bool:
        """Say whether the attacker speaks: about the user's task, once his text was in any result."""
        return self.attacker is not None and self._poisoned and ask.aim is not None

    def _request(self, intent: Intent, args: Mapping[str, JSON]) -> Turns:
        self.intents[f"c{self.turn + 1}x1@t{self.turn + 1}"] = intent
        yield from self._turn([(intent.call.tool, dict(args))])

    def _turn(self, calls: list[tuple[str, dict[str, Any]]]) -> Turns:
        """Take one turn and note what was shown."""
        told = yield calls
        self.turn += 1
        call = f"c{self.turn}x1"
        result = told.get("result", told.get("detail"))
        if calls[0][0] in {"read", "select"} or not isinstance(result, dict):
            return told
        parts = self.contents.parts(f"call:{call}@t{self.turn}/0")
        self.finder.look.shown.take(call, result, parts)
        self._poisoned = self._poisoned or any(MARKER in json.dumps(part.value, ensure_ascii=False) for part in parts)
        return told
