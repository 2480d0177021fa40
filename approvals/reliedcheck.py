"""What a permit rests on, as the call's own first event says: mandates, standing rules, accepted data.

Guarantees: as long as a call may still run, a removed row of ``uses`` is found, so it revives nothing that has ended. A
call that an older version recorded does not say it; of that, the rows count alone. Once a call has run, its uses are
compared with what was used up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import sqlalchemy as sa

from checkvalve.approvals.records import State
from checkvalve.approvals.subjectrows import Rows, stored
from checkvalve.approvals.tables import uses

Relied = frozenset[tuple[str, str, int]]
"""Kind, item, and when it was used (microseconds)."""
_MAY_RUN: Final = (State.APPROVED.value, State.UNKNOWN.value)


class Says(Protocol):
    """What the events say of one call, as far as it is needed here."""

    @property
    def state(self) -> str:
        """Where the call stands."""
        ...

    @property
    def erased(self) -> str:
        """Not empty: it was erased, and is compared as a whole."""
        ...

    @property
    def relied(self) -> Relied:
        """What its permit rests on."""
        ...


def relied_on(told: object, at: int) -> Relied | None:
    """Return what the first event of a call says that its permit rests on; None where it cannot be read."""
    if told is None:
        return frozenset()
    try:
        return frozenset((str(item["kind"]), str(item["id"]), at) for item in told)  # type: ignore[attr-defined]
    except (TypeError, KeyError, AttributeError):
        return None


def check_relied(
    connection: sa.Connection, seen: Mapping[str, Says], only: str = "", rows: Rows = stored
) -> Iterator[tuple[str, str]]:
    """Yield a code and a sentence for each call that may run, and whose uses are not those of its first event."""
    told = {name: said.relied for name, said in seen.items() if said.relied and not said.erased}
    told = {name: relied for name, relied in told.items() if seen[name].state in _MAY_RUN}
    if not told:
        return
    found: dict[str, set[tuple[Any, ...]]] = {}
    for row in rows(connection, uses.c.proposal_id, only):
        found.setdefault(row["proposal_id"], set()).add((row["kind"], row["item"], row["used_at"]))
    for name, relied in told.items():
        if found.get(name, set()) != relied:
            yield "row_differs", f"what the call {name} relies on is not what its events say"


__all__ = ["Relied", "check_relied", "relied_on"]
