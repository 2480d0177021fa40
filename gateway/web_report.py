"""The pages of the weekly report and of who is on call: the same figures as over HTTP and in the terminal.

Guarantees: of people everybody sees their own row alone; names and tools are content; nothing is changed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Query
from fastapi.responses import Response

from checkvalve.approvals.report import FAST, WEEK, lately
from checkvalve.approvals.report_figures import LEAST
from checkvalve.approvals.report_shown import MAX_DAYS, MIN_PEOPLE, shown_to
from checkvalve.approvals.report_words import TIMED, rows_of, span
from checkvalve.gateway.oncall_view import Duty, duties
from checkvalve.gateway.web_desk import Looking
from checkvalve.gateway.web_text import Shown, line

router: Final = APIRouter()


@dataclass(frozen=True, slots=True)
class DutyView:
    """Who is on call under one name."""

    name: str
    people: tuple[tuple[Shown, str], ...]
    failed: str
    until: int | None


@router.get("/report")
def weekly(visit: Looking, days: Annotated[int, Query(ge=1, le=MAX_DAYS)] = WEEK) -> Response:
    """Show how people decided."""
    queue = visit.desk.queue
    found = shown_to(lately(queue.store, queue.clock(), days=days), visit.reviewer.name)
    figures = found.report.attention
    hidden = TIMED if found.few_people else frozenset[str]()
    return visit.page(
        "report.html",
        days=days,
        asked=figures.asked,
        rows=[(row, line(row.tool), line(row.thread)) for row in rows_of(figures) if row.key not in hidden],
        rules=figures.rules,
        mine=found.mine,
        look=None if found.mine is None or found.mine.look.seconds is None else span(found.mine.look.seconds),
        few_people=found.few_people,
        people=MIN_PEOPLE,
        fast=f"{FAST:g}",
        least=LEAST,
    )


@router.get("/oncall")
def oncall(visit: Looking) -> Response:
    """Show who is on call now."""
    return visit.page("oncall.html", rows=[_view(one) for one in duties(visit.desk.queue)])


def _view(one: Duty) -> DutyView:
    people = tuple((line(name), one.cannot.get(name, "")) for name in one.duty.people)
    return DutyView(one.name, people, one.duty.failed, one.duty.until)


__all__ = ["DutyView", "router"]
