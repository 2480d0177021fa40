"""Remarks and snoozes: do the rows say what their events say? The part of ``tablecheck`` that is about talk.

A planted answer would put words into a requester's mouth, and a planted snooze would hide a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.review_tables import remarks, snoozes
from checkvalve.approvals.subjectrows import Row, Rows, stored
from checkvalve.approvals.talked import Talk
from checkvalve.filters.errors import HostileInputError

Found = Iterator[tuple[str, str]]


def check_talk(
    connection: sa.Connection,
    told: Mapping[str, Talk],
    *,
    only: str = "",
    erased: frozenset[str] = frozenset(),
    rows: Rows = stored,
) -> Found:
    """Yield a code and a sentence for each question whose talk differs from its events.

    That of ``erased`` calls is compared as a whole elsewhere.
    """
    said = {name: talk.remarks for name, talk in told.items() if talk.remarks and name not in erased}
    found = {
        name: rows
        for name, rows in _remarks(rows(connection, remarks.c.proposal_id, only)).items()
        if name not in erased
    }
    for name in sorted(said.keys() | found.keys()):
        if said.get(name, []) != found.get(name, []):
            yield "row_differs", f"what was asked and answered about {name} is not what its events say"
    put_off = {name: talk.snoozes for name, talk in told.items() if talk.snoozes and name not in erased}
    hidden = {
        name: rows
        for name, rows in _snoozes(rows(connection, snoozes.c.proposal_id, only)).items()
        if name not in erased
    }
    for name in sorted(put_off.keys() | hidden.keys()):
        if put_off.get(name, {}) != hidden.get(name, {}):
            yield "row_differs", f"who has put off {name} is not what its events say"


def _remarks(rows: Iterable[Row]) -> dict[str, list[tuple[str, str, str, int]]]:
    found: dict[str, list[tuple[str, str, str, int]]] = {}
    for row in sorted(rows, key=lambda row: int(row["id"])):
        try:
            text = digest(row["text"])
        except HostileInputError:
            text = ""
        found.setdefault(row["proposal_id"], []).append((row["kind"], row["by"], text, row["at"]))
    return found


def _snoozes(rows: Iterable[Row]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        try:
            until = rfc3339(row["until"])
        except (TypeError, ValueError, OverflowError):
            until = ""
        found.setdefault(row["proposal_id"], {})[row["reviewer"]] = until
    return found


__all__ = ["check_talk"]
