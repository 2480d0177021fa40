"""Do the tables say what the events say? A row that was edited, planted or removed by hand is found here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from checkvalve.approvals.canonical import digest, digest_bytes
from checkvalve.approvals.reviewers import credential_digest
from checkvalve.approvals.tables import attempts, endorsements, grants, proposals, reviewers
from checkvalve.filters.errors import HostileInputError

_ENDORSEMENT = ("thread", "value_digest", "source", "role", "tool", "kind")


@dataclass(slots=True)
class Seen:
    """What the events say of one subject; the empty subject has the reviewers."""

    state: str = ""
    version: int = 0
    digest: str = ""
    decision: str = ""
    granted_by: str = ""
    fence: int = 0
    endorsed: set[tuple[str, ...]] = field(default_factory=set)
    reviewers: dict[str, str] = field(default_factory=dict)
    disabled: set[str] = field(default_factory=set)

    def note(self, kind: str, body: Mapping[str, Any]) -> None:
        """Take in one event."""
        if kind.startswith("proposal."):
            self.state, self.version = str(body.get("state")), _number(body.get("version"))
            self.digest = str(body.get("digest"))
            self.decision = str(body.get("decision_digest") or self.decision)
        elif kind == "grant.issued":
            self.granted_by = str(body.get("issued_by"))
        elif kind == "attempt.intent":
            self.fence = _number(body.get("fence"))
        elif kind == "endorsement.stored":
            self.endorsed.add(tuple(str(body.get(name)) for name in _ENDORSEMENT))
        elif kind == "reviewer.added":
            self.reviewers[str(body.get("reviewer"))] = str(body.get("credential"))
        elif kind == "reviewer.disabled":
            self.disabled.add(str(body.get("reviewer")))


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0  # an edited event may hold anything


def check_tables(connection: sa.Connection, seen: Mapping[str, Seen]) -> Iterator[tuple[str, str]]:
    """Yield a code and a sentence for each row that differs from its events, and for each row that is gone."""
    known = set()
    for row in connection.execute(sa.select(proposals)).mappings():
        known.add(row["id"])
        if not _same_proposal(row, seen.get(row["id"], Seen())):
            yield "row_differs", f"proposal {row['id']} is not what its events say"
    for gone in sorted(subject for subject in seen if subject and subject not in known):
        yield "row_missing", f"proposal {gone} has events and no row"
    yield from _check_permits(connection, seen)
    yield from _check_endorsements(connection, seen)
    yield from _check_reviewers(connection, seen.get("", Seen()))


def _same_proposal(row: sa.RowMapping, said: Seen) -> bool:
    try:
        stored = digest_bytes(row["canonical"])
        decision = digest_bytes(row["decision"].encode())  # it is stored in its canonical form
    except (TypeError, AttributeError, UnicodeError):
        return False
    return (row["state"], row["version"], row["digest"], stored, decision) == (
        said.state,
        said.version,
        said.digest,
        said.digest,
        said.decision,
    )


def _check_permits(connection: sa.Connection, seen: Mapping[str, Seen]) -> Iterator[tuple[str, str]]:
    permitted, attempted = set(), set()
    for permit in connection.execute(sa.select(grants.c.proposal_id, grants.c.issued_by, grants.c.digest)):
        permitted.add(permit.proposal_id)
        said = seen.get(permit.proposal_id, Seen())
        if (permit.issued_by, permit.digest) != (said.granted_by, said.digest):
            yield "row_differs", f"the permit of proposal {permit.proposal_id} is not what its events say"
    for attempt in connection.execute(sa.select(attempts.c.proposal_id, attempts.c.fence)):
        attempted.add(attempt.proposal_id)
        if attempt.fence != seen.get(attempt.proposal_id, Seen()).fence:
            yield "row_differs", f"the attempt of proposal {attempt.proposal_id} is not what its events say"
    for subject, said in seen.items():
        if said.granted_by and subject not in permitted:
            yield "row_missing", f"the permit of proposal {subject} is gone"
        if said.fence and subject not in attempted:
            yield "row_missing", f"the attempt of proposal {subject} is gone"


def _check_endorsements(connection: sa.Connection, seen: Mapping[str, Seen]) -> Iterator[tuple[str, str]]:
    found = 0
    for row in connection.execute(sa.select(endorsements)).mappings():
        found += 1
        said = seen.get(row["proposal_id"], Seen())
        try:
            same = digest(row["value"]) == row["value_digest"]
        except HostileInputError:
            same = False
        if not same or tuple(str(row[name]) for name in _ENDORSEMENT) not in said.endorsed:
            yield "row_differs", f"an endorsement of proposal {row['proposal_id']} is not what its events say"
    if found < sum(len(said.endorsed) for said in seen.values()):
        yield "row_missing", "an endorsement is gone"


def _check_reviewers(connection: sa.Connection, said: Seen) -> Iterator[tuple[str, str]]:
    found = set()
    for row in connection.execute(sa.select(reviewers)):
        found.add(row.name)
        same = credential_digest(str(row.selector), str(row.token_hash)) == said.reviewers.get(row.name)
        if not same or (row.disabled_at is not None) != (row.name in said.disabled):
            yield "row_differs", f"reviewer {row.name!r} is not what the events say"
    for gone in sorted(said.reviewers.keys() - found):
        yield "row_missing", f"reviewer {gone!r} has an event and no row"
