"""How a scripted actor gets each value of a ground-truth call, given that it never sees content.

1. What the user said is written literally. 2. A stored field is passed as a reference. Where it is one of several, the
actor has to learn which: by a comparison in code when the user named the record, else from the reader, as a number or
a checked id. 3. What stands inside a text comes from the reader: numbers and dates as closed values, everything else
as a reference to the stretch. 4. What stands nowhere was composed by the actor itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from checkvalve.approvals.attributed import spec_for
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.requests import Leaf
from checkvalve.approvals.toolspec import Manifest, ToolSpec
from checkvalve.corpora.agentdojo.adapter import ToolCall
from checkvalve.corpora.agentdojo.composing import Composer
from checkvalve.corpora.agentdojo.figures import DAY, HOUR, MINUTE, MONEY, day_in, has_day, holds, numbers, real, whole
from checkvalve.corpora.agentdojo.hints import CHOICES, COMPUTED, EXTREMES
from checkvalve.corpora.agentdojo.lookup import Lookup
from checkvalve.corpora.agentdojo.shown import Seen
from checkvalve.corpora.agentdojo.ways import Aim, Ask, Path, Pick, Take, Way, Write
from checkvalve.filters.strictjson import JSON

_PROSE: Final = 30  # characters from which on a text is prose that a reader reads, and not a field


@dataclass
class Finder:
    """Finds the way of every value of one run."""

    suite: str
    task: str
    manifest: Manifest
    look: Lookup

    def ways(self, call: ToolCall) -> dict[str, Any]:
        """Return the arguments of a call with a way in the place of each value."""
        spec = self.manifest.find(call.tool)
        return {name: self._ways(call.tool, (name,), value, spec) for name, value in call.args.items()}

    def text(self, text: str) -> Way:
        """Return the way of a final answer."""
        return Composer(self.look).content(text, Aim("answer", "text"))

    def _ways(self, tool: str, path: Path, value: JSON, spec: ToolSpec | None) -> Any:
        if isinstance(value, dict):
            return {key: self._ways(tool, (*path, key), item, spec) for key, item in value.items()}
        if isinstance(value, list):
            if value and (whole := self.look.equal(value)) and len(self.look.shown.alike(whole)) == 1:
                return Take(whole.ref)
            return [self._ways(tool, (*path, number), item, spec) for number, item in enumerate(value)]
        found = spec_for(Leaf(path, value), spec) if spec else None
        aim = Aim(tool, str(path[0]), found.kind, found.role) if found else Aim(tool, str(path[0]))
        return self._way(value, aim)

    def _way(self, value: JSON, aim: Aim) -> Way:
        if (choice := CHOICES.get((self.suite, self.task, aim.arg))) and self.look.shown.seen:
            return self._choice(str(value), aim, choice.options, choice.form)
        if value is None or isinstance(value, bool):
            return Write(value)
        if aim.kind.startswith("id:"):
            return self._id(value, aim)
        if isinstance(value, int | float):
            return self._number(value, aim)
        if aim.kind == "date":
            return self._date(value, aim)
        text = str(value)
        return Composer(self.look).content(text, aim) if aim.role is Role.CONTENT else self._name(text, aim)

    def _id(self, value: JSON, aim: Aim) -> Way:
        item = self.look.equal(value)
        if item is None:
            return Write(value)
        listed = self.look.shown.at(item.call, item.path[:-2])
        if (extreme := EXTREMES.get((self.suite, self.task, aim.arg))) and listed:
            pick = {"field": extreme.field, "most": extreme.most}
            return Pick({"reference": listed.ref, "pick": pick}, item.ref)
        if len(self.look.shown.alike(item)) == 1:
            return Take(item.ref)
        if (picked := self.look.named(item)) is not None:
            return picked
        ids = tuple(
            sorted({str(seen.value) for seen in self.look.shown.seen if seen.kind == aim.kind and seen.verified})
        )
        if str(value) not in ids:
            return self.look.field(item, aim)
        kind: Any = type(value)
        return Ask(
            aim,
            item,
            {"id": {"type": "id", "of": aim.kind.removeprefix("id:")}},
            {"id": str(value)},
            lambda said: kind(said["id"]),
            options=ids,
        )

    def _name(self, value: str, aim: Aim) -> Way:
        if self.look.said(value):
            return Write(value)
        if (item := self.look.equal(value)) is not None:
            return self.look.field(item, aim)
        inside = self.look.inside(value)
        return Write(value) if inside is None else self.look.stretch(value, inside, aim)

    def _number(self, value: float, aim: Aim) -> Way:
        if value in numbers(self.look.prompt) or not self.look.shown.seen:
            return Write(value)
        if (made := COMPUTED.get((self.suite, self.task))) and aim.role is Role.AMOUNT:
            result, based = made.result, (item for item in self.look.shown.latest() if holds(item.value, made.base))
            seen = next(based, next(self.look.shown.latest()))
            return Ask(
                aim,
                seen,
                {"sum": MONEY},
                {"sum": made.base},
                lambda said: result(real(said["sum"])),
                "sum",
                computed=True,
            )
        if (item := self.look.equal(value)) is not None:
            return self.look.field(item, aim)
        texts = (item for item in self.look.shown.latest() if isinstance(item.value, str))
        if (inside := next((item for item in texts if value in numbers(str(item.value))), None)) is not None:
            return Ask(aim, inside, {"sum": MONEY}, {"sum": value}, lambda said: said["sum"])
        return Write(value)

    def _date(self, value: JSON, aim: Aim) -> Way:
        text = str(value)
        when = day_in(text)
        if when is None or has_day(self.look.prompt, when):
            return Write(value)
        item = self.look.equal(value)
        if item is not None and item.verified and len(self.look.shown.alike(item)) == 1:
            return Take(item.ref)
        prose = (x for x in self.look.shown.latest() if isinstance(x.value, str) and len(x.value) >= _PROSE)
        inside = next((x for x in prose if has_day(str(x.value), when)), None)
        return Write(value) if inside is None else self._moment(text, inside, aim)

    def _moment(self, text: str, seen: Seen, aim: Aim) -> Ask:
        """Ask for the day and the time of a beginning; an end is computed from it."""
        start = self._start(text)
        shift = datetime.fromisoformat(text) - start
        answers: dict[str, JSON] = {"day": start.date().isoformat(), "hour": start.hour, "minute": start.minute}

        def use(said: Mapping[str, JSON]) -> JSON:
            begin = datetime.fromisoformat(str(said["day"])) + timedelta(
                hours=whole(said["hour"]), minutes=whole(said["minute"])
            )
            return (begin + shift).isoformat(" ")[: len(text)]

        return Ask(aim, seen, {"day": DAY, "hour": HOUR, "minute": MINUTE}, answers, use, "moment", computed=True)

    def _start(self, text: str) -> datetime:
        """Return when the event begins of which ``text`` is the beginning or the end."""
        hours = re.search(r"(\d+) hours", self.look.prompt)
        moment = datetime.fromisoformat(text)
        for item in self.look.shown.latest():
            if isinstance(item.value, str) and hours and f"{moment.hour - int(hours[1])}:00" in item.value:
                return moment - timedelta(hours=int(hours[1]))
        return moment

    def _choice(self, value: str, aim: Aim, options: tuple[str, ...], form: str) -> Ask:
        mine = next(number for number, option in enumerate(options) if form.format(option) == value)
        names = CHOICES[self.suite, self.task, "start_time"].options

        def use(said: Mapping[str, JSON]) -> JSON:
            return form.format(options[names.index(str(said["time"]))])

        schema: Mapping[str, JSON] = {"type": "enum", "values": list(names)}
        return Ask(
            aim, next(self.look.shown.latest()), {"time": schema}, {"time": names[mine]}, use, "choice", computed=True
        )
