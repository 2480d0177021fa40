"""The part of a report that one reviewer is shown: everybody's figures together, and of people their own alone.

1. Groups, rules, prompts, expiry and reversals are those of everybody. 2. Figures of how people look at cards, times
and what was opened, are left out while fewer than :data:`MIN_PEOPLE` people have answered: they would be about one of
them. 3. Of each person there is a row in the terminal of who has the database; elsewhere everybody sees their own.

Guarantees: nothing is counted here; leaving out is the only thing that is done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from checkvalve.approvals.people import same_person
from checkvalve.approvals.report import Person, Report
from checkvalve.approvals.report_figures import Middle, Opened, Share
from checkvalve.approvals.seed_figures import MIN_PEOPLE
from checkvalve.filters.strictjson import JSON

MAX_DAYS: Final = 366
"""Days of a report that a reviewer may ask for."""
_TIMED: Final = ("median_look", "quick", "arguments")


@dataclass(frozen=True, slots=True)
class Shown:
    """What one reviewer is shown. ``few_people``: figures of how people look are left out."""

    report: Report
    mine: Person | None
    few_people: bool

    def to_json(self) -> dict[str, JSON]:
        """Return it for programs."""
        told = self.report.to_json()
        mine = None if self.mine is None else self.mine.to_json()
        figures = self.report.attention.to_json() | (dict.fromkeys(_TIMED) if self.few_people else {})
        return {**told, "attention": figures, "people": None, "mine": mine, "few_people": self.few_people}


def shown_to(report: Report, reviewer: str) -> Shown:
    """Return the part of a report for the reviewer of this name."""
    mine = next((one for one in report.people if same_person(one.name, reviewer)), None)
    few = len(report.people) < MIN_PEOPLE
    found = report.attention
    found = replace(found, look=Middle(), quick=Share(), opened=Opened()) if few else found
    return Shown(replace(report, people=[], attention=found), mine, few)


__all__ = ["MAX_DAYS", "MIN_PEOPLE", "Shown", "shown_to"]
