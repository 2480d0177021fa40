"""Who said what about one question, and whether that is enough. One person has one voice, whatever the accounts.

1. A no is counted first: with as many of them as the plan takes, it is over. 2. A yes counts for the roles that the
person had when it was said. 3. One alternative of the plan has to be filled with different people. 4. Of an edited
call that is grave, the editor's yes does not count alone: somebody else has to say yes as well.

Guarantees: :func:`tally` is pure; a vote is stored by compare-and-set together with its event; a yes may become a no
while the question is open, nothing else changes, and nobody votes twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import canonical
from checkvalve.approvals.causes import Present
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.plans import Alternative, Need, Plan
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import StaleError, VoteGivenError
from checkvalve.approvals.review_tables import votes
from checkvalve.approvals.roles import Account, Role
from checkvalve.filters.strictjson import JSON

CAST: Final = "vote.cast"
"""The kind of the event of a vote."""
YES: Final = "yes"
NO: Final = "no"
_SORTED: Final = sa.select(votes).order_by(votes.c.at, votes.c.person)
_OF_ONE: Final = _SORTED.where(votes.c.proposal_id == sa.bindparam("wanted"))
_CAST: Final = sa.insert(votes)


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person said. ``roles`` are those that count; ``via`` is who handed over to this person, or empty."""

    proposal_id: str
    person: str
    reviewer: str
    yes: bool
    roles: frozenset[Role]
    via: str
    digest: str
    endorse: bool
    code: str
    note: str
    at: int
    means: str = ""  # by which credential it was said; empty where the caller did not know

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        return {
            "person": self.person,
            "reviewer": self.reviewer,
            "vote": YES if self.yes else NO,
            "roles": [*sorted(role.value for role in self.roles)],
            "via": self.via,
            "means": self.means,
            "endorse": self.endorse,
            "code": self.code,
            "note": self.note,
            "at": rfc3339(self.at),
        }


@dataclass(frozen=True, slots=True)
class Voter:
    """A person whose right to vote on one question was checked. Only ``deciding`` should make one."""

    account: Account
    roles: frozenset[Role]
    via: str = ""
    own: bool = False  # they asked for the call themselves, which a single-user setting lets pass
    means: str = ""  # by which credential they came


@dataclass(frozen=True, slots=True)
class Tally:
    """What the votes come to.

    ``missing`` is what the alternative that is nearest still needs; ``ways`` the same for each alternative, nearest
    first; ``somebody_else`` that the yes of who edited the call does not count alone.
    """

    decided: Literal["yes", "no", ""]
    missing: Alternative = ()
    ways: tuple[Alternative, ...] = ()
    somebody_else: bool = False
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()

    def to_json(self) -> dict[str, JSON]:
        """Return the published form."""
        open_ways = self.ways if not self.decided else ()
        ways: list[JSON] = [{need.role.value: need.count for need in way} for way in open_ways if way]
        return {"decided": self.decided, "missing": ways, "somebody_else": self.somebody_else}

    def in_words(self) -> str:
        """Return what is still needed, such as ``one auditor, or 2 approvers``; empty where nothing is."""
        found = ", or ".join(" and ".join(_counted(need) for need in way) for way in self.ways if way)
        return "; ".join(part for part in (found, "somebody besides the editor" if self.somebody_else else "") if part)


def tally(plan: Plan, cast: Sequence[Vote]) -> Tally:
    """Return what these votes come to under this plan; see the module's list."""
    said_yes = {vote.person: vote.roles for vote in cast if vote.yes}
    said_no = tuple(vote.person for vote in cast if not vote.yes)
    ways = tuple(sorted((shortfall(needs, said_yes) for needs in plan.approve), key=_size))
    alone = plan.needs_four_eyes and all(_is_editors(plan, vote) for vote in cast if vote.yes)
    enough = not ways[0] and not alone
    decided: Literal["yes", "no", ""] = "no" if len(said_no) >= plan.deny else "yes" if enough else ""
    return Tally(decided, ways[0], ways, alone and not ways[0], tuple(said_yes), said_no)


def _is_editors(plan: Plan, vote: Vote) -> bool:
    return plan.edited_by in {vote.person, vote.reviewer, vote.via}


def shortfall(needs: Alternative, people: Mapping[str, Collection[Role]]) -> Alternative:
    """Return what is missing when as many places as possible are filled, each with another person.

    A person with two roles fills one place. Kuhn's algorithm: a place takes a free person, or one whose present place
    can be filled by somebody else.
    """
    places = [need.role for need in needs for _ in range(need.count)]
    holder: dict[str, int] = {}

    def fill(place: int, tried: set[str]) -> bool:
        for person, roles in people.items():
            if places[place] in roles and person not in tried:
                tried.add(person)
                if person not in holder or fill(holder[person], tried):
                    holder[person] = place
                    return True
        return False

    empty = Counter(places[place] for place in range(len(places)) if not fill(place, set()))
    return tuple(Need(count, role) for role, count in sorted(empty.items()))


def reachable(plan: Plan, people: Mapping[str, Collection[Role]], *, editor: str = "") -> bool:
    """Say whether these people, with these roles, could say yes together; ``editor`` is the person who edited."""
    useful = {person: roles for person, roles in people.items() if not plan.roles.isdisjoint(roles)}
    enough = any(not shortfall(needs, useful) for needs in plan.approve)
    return enough and (not plan.needs_four_eyes or bool(useful.keys() - {editor}))


def _size(needs: Alternative) -> int:
    return sum(need.count for need in needs)


def _counted(need: Need) -> str:
    return f"one {need.role.value}" if need.count == 1 else f"{need.count} {need.role.value}s"


def read(connection: sa.Connection, proposal_id: str) -> list[Vote]:
    """Return the votes on a question, oldest first.

    Raises:
        StoreCorruptError: a row holds what this program never writes.
    """
    return of_rows(connection.execute(_OF_ONE, {"wanted": proposal_id}).mappings().all())


def of_rows(rows: Iterable[Mapping[str, Any] | sa.RowMapping]) -> list[Vote]:
    """Return the votes in database rows, oldest first; raises as :func:`read`."""
    return sorted((_vote(row) for row in rows), key=lambda one: (one.at, one.person))


def read_all(connection: sa.Connection, proposal_ids: Sequence[str]) -> dict[str, list[Vote]]:
    """Return the votes on several questions; see :func:`read`."""
    found: dict[str, list[Vote]] = {name: [] for name in proposal_ids}
    for row in connection.execute(_SORTED.where(votes.c.proposal_id.in_(proposal_ids))).mappings().all():
        found[row["proposal_id"]].append(_vote(row))
    return found


def _vote(row: Mapping[str, Any] | sa.RowMapping) -> Vote:
    values: dict[str, Any] = dict(row)
    try:
        values["yes"] = {YES: True, NO: False}[values.pop("vote")]
        values["roles"] = frozenset(Role(word) for word in json.loads(values["roles"]))
    except (KeyError, ValueError, TypeError) as error:
        raise StoreCorruptError("a stored vote cannot be read", remedy="verify the audit log") from error
    return Vote(**values)


def cast(  # noqa: PLR0913  # each is a column of the vote
    connection: sa.Connection,
    proposal: Proposal,
    voter: Voter,
    *,
    before: Sequence[Vote],
    yes: bool,
    at: int,
    code: str = "",
    note: str = "",
    endorse: bool = False,
    channel: str = "",
    proof: str = "",
) -> list[Vote]:
    """Store what one person says, with the event, and return the votes as they are then, oldest first.

    1. Nobody has used this person's voice, or that of whom they stand in for; else only a yes becomes a no. 2. Write
    the row where it still is what was read: of several racers one gets it. 3. Append the event.

    Args:
        connection: of the transaction that decides.
        proposal: an open question.
        voter: who it is, and which roles count.
        before: the votes as this transaction read them.
        yes: what they say.
        at: now, in microseconds.
        code: a stable word for a no.
        note: their own words.
        endorse: a yes also accepts the data that was shown.
        channel: where it was said, for the record.
        proof: how they proved once more who they are, for the record.

    Raises:
        ConflictError: this person, or the one they stand in for, has said something already.
    """
    earlier = require_unused(before, voter, yes=yes)
    roles = sorted(role.value for role in voter.roles)
    row: dict[str, Any] = {
        "reviewer": voter.account.name,
        "vote": YES if yes else NO,
        "roles": canonical(list(roles)).decode(),
        "via": voter.via,
        "means": voter.means,
        "digest": proposal.digest,
        "endorse": yes and endorse,
        "code": code,
        "note": note,
        "at": at,
    }
    _write(connection, proposal.id, voter.account.person, row, earlier)
    body: dict[str, JSON] = {"person": voter.account.person, "by": f"reviewer:{voter.account.name}", **row}
    body |= {"roles": list(roles), "channel": channel, "proof": proof, "was": "" if earlier is None else YES}
    del body["at"], body["reviewer"]
    audit.append(connection, at=at, kind=CAST, subject=proposal.id, body=body)
    vote = _vote({"proposal_id": proposal.id, "person": voter.account.person, **row})
    others = [other for other in before if other.person != vote.person]
    return sorted([*others, vote], key=lambda one: (one.at, one.person))


def _write(connection: sa.Connection, proposal_id: str, person: str, row: dict[str, Any], earlier: Vote | None) -> None:
    if earlier is None:
        connection.execute(_CAST, {"proposal_id": proposal_id, "person": person, **row})
        return
    mine = (votes.c.proposal_id == proposal_id, votes.c.person == person, votes.c.vote == YES)
    if connection.execute(sa.update(votes).where(*mine).values(**row)).rowcount != 1:
        raise StaleError("this vote has changed", remedy="look at the question again; nothing was changed")


def require_unused(cast_before: Sequence[Vote], voter: Voter, *, yes: bool) -> Vote | None:
    """Make sure that this voice may still be used; returns the yes that a no would take back, if there is one.

    A voice is that of a person, of any account, and of whoever handed over.

    Raises:
        ConflictError: it was used.
    """
    voices = {voter.account.person, voter.via} - {""}
    earlier = next(
        (v for v in cast_before if v.reviewer == voter.account.name or not voices.isdisjoint({v.person, v.via})), None
    )
    if earlier is not None and (yes or not earlier.yes or earlier.person != voter.account.person):
        told = Present(by=f"reviewer:{earlier.reviewer}", at=earlier.at, digest=earlier.digest)
        raise VoteGivenError(_said_already(earlier), remedy=_way_out(earlier, yes=yes), present=told)
    return earlier


def _said_already(vote: Vote) -> str:
    whose = f"{vote.reviewer} for {vote.via}" if vote.via else vote.reviewer
    return f"{whose} said {YES if vote.yes else NO} to this call at {to_the_second(vote.at)}"


def _way_out(earlier: Vote, *, yes: bool) -> str:
    if earlier.yes and yes:
        return "one person has one voice: somebody else has to say yes, too"
    return "a no stays, and nobody else changes it: nothing was changed"


__all__ = [
    "CAST", "NO", "YES", "Tally", "Vote", "Voter", "cast", "of_rows", "reachable", "read", "read_all", "require_unused",
    "shortfall", "tally",
]  # fmt: skip
