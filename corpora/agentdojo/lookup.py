"""Where a value stands among what was shown: as a whole field, as one of several, or as a stretch of a text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from checkvalve.corpora.agentdojo.figures import whole
from checkvalve.corpora.agentdojo.shown import Seen, Shown
from checkvalve.corpora.agentdojo.ways import Aim, Ask, Pick, Take, Way
from checkvalve.filters.strictjson import JSON
from checkvalve.graphs.references import REF


@dataclass
class Lookup:
    """Looks values up in one run. What the user said is known to the actor, so it never has to be looked up."""

    prompt: str
    shown: Shown
    sweeps: frozenset[str] = frozenset()
    """Tools that are called for each item of a list: nobody has to pick one."""

    def equal(self, value: JSON) -> Seen | None:
        """Return a field that is exactly this value: one that outsiders cannot write rather than another."""
        number = isinstance(value, int | float)
        found = [
            item
            for item in self.shown.latest()
            if type(item.value) is type(value) or (number and type(item.value) in {int, float})
            if item.value == value
        ]
        return next((item for item in found if item.verified), found[0] if found else None)

    def field(self, item: Seen, aim: Aim) -> Way:
        """Pass a field; where there are several of its shape, find out which one."""
        alike = self.shown.alike(item)
        if len(alike) == 1 or aim.tool in self.sweeps:
            return Take(item.ref)
        if (picked := self.named(item)) is not None:
            return picked
        number = alike.index(item) + 1
        return Ask(
            aim,
            item,
            {"which": {"type": "number", "min": 1, "max": len(alike)}},
            {"which": number},
            lambda said: {REF: alike[whole(said["which"]) - 1].ref},
            options=tuple(other.value for other in alike),
            computed=True,
        )

    def named(self, item: Seen) -> Pick | None:
        """Pick the record by a field of it that the user named, if it is a record of a list."""
        if len(item.path) < 2 or not isinstance(item.path[-2], int):
            return None
        start = item.path[:-2]
        listed = self.shown.at(item.call, start)
        for other in self.shown.seen:
            name, same = other.value, other.call == item.call and other.path[:-1] == item.path[:-1]
            if not same or listed is None or not isinstance(name, str) or name not in self.prompt:
                continue
            if self.said(name) and sum(one.value == name for one in self.shown.alike(other)) == 1:
                where = [{"field": str(other.path[-1]), "value": name}]
                return Pick({"reference": listed.ref, "where": where}, item.ref)
        return None

    def inside(self, text: str) -> Seen | None:
        """Return the latest field that holds ``text`` as a stretch, or the record that has it as a key."""
        pattern = re.compile(rf"(?<!\w){re.escape(text)}(?!\w)")
        for item in self.shown.latest():
            if isinstance(item.value, str) and pattern.search(item.value):
                return item
            if isinstance(item.value, dict) and any(pattern.fullmatch(key) for key in item.value):
                return item
        return None

    def stretch(self, text: str, seen: Seen, aim: Aim | None) -> Ask:
        """Ask the reader for a stretch, by reference."""
        return Ask(aim, seen, {"text": {"type": "reference"}}, {"text": text}, lambda said: said["text"])

    def said(self, text: str) -> bool:
        """Say whether the user said ``text``."""
        return re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", self.prompt.casefold()) is not None
