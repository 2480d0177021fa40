"""Standing rules of one tenant: tried out, made, confirmed, taken back, and read by whoever decides calls.

1. A rule is drafted by code from a call that a person approved and that succeeded, and widened by a person.
2. It is tried on the record; where it would have let through what somebody refused, it is not saved.
3. Whoever makes it is an approver for such calls and did not ask for the call; where two have to agree, it counts for
   nothing before another person, who did not ask either, has confirmed it, and the record is looked at again then.
4. Any approver takes it back, and it ends at its deadline. Each step commits with its event.

Guarantees: how many people have to agree follows from the setting and from what the review rules ask for such a call
up to the rule's cap, and never gets less later; where the setting is off, no rule counts.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals import audit, moves
from checkvalve.approvals.adopted import Adopted
from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import Clock, micros, rfc3339
from checkvalve.approvals.errors import StoreCorruptError
from checkvalve.approvals.matching import one_named
from checkvalve.approvals.people import same_person
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.refusals import EndedError, NotOfferedError, SecondPersonError, TooManyError
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.approvals.review_tables import standing_rules
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, account_of, require_role
from checkvalve.approvals.standing import StandingRule, canonical_text
from checkvalve.approvals.standing_draft import TIGHT, Widening, draft
from checkvalve.approvals.standing_dryrun import SPAN, DryRun, Trial, dry_run
from checkvalve.approvals.standing_entry import CLOCK, StandingEntry
from checkvalve.approvals.standing_people import persons_needed, require_good_end, require_person
from checkvalve.approvals.standing_store import Look, advance, end, in_force, load, read_all
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import require_recorded
from checkvalve.filters.strictjson import JSON

Mode: TypeAlias = Literal["off", "one", "two"]
MOST: Final = 200
"""Rules of one tenant that may wait or be in force: more than that nobody keeps in mind."""
_REVIEWER: Final = "reviewer:"
_DAY: Final = timedelta(days=1)

Entries: TypeAlias = list[StandingEntry]


class StandingRules:
    """The standing rules of one tenant in one store. Safe to use from several threads and processes at once."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        tenant: str = "",
        single_user: bool = False,
        review: ReviewRules | None = None,
    ) -> None:
        """Use ``tenant`` to tell apart the gateways that share a store; ``review`` says who decides such calls.

        ``mode`` is the setting ``standing_rules``: how many people make a rule, or ``off``.
        """
        self.mode: Mode = "two"
        self.adopted = Adopted()
        self._review = review or ReviewRules()
        self._store, self._clock, self._tenant, self._single_user = store, clock, tenant, single_user
        self._reviewers, self._without = Reviewers(store, clock), ""

    def as_of(self, moment: int, without: str) -> StandingRules:
        """Return the same rules as they stood when a call was recorded, to decide it again."""
        then = StandingRules(
            self._store, lambda: moment, tenant=self._tenant, single_user=self._single_user, review=self._review
        )
        then.mode = self.mode
        then._without = without
        return then

    def in_force(self, tool: str, *, without: str = "", only_used: bool = False) -> Sequence[StandingEntry]:
        """Return the rules that may answer calls of a tool now, oldest first.

        Args:
            tool: the tool's name.
            without: the id of a proposal whose own use does not count, since it is being looked at again.
            only_used: leave out those that this proposal has not used up anything of.

        Raises:
            StoreCorruptError: one of them is not what its events say: nobody made it so.
        """
        if self.mode == "off":
            return ()
        with self._store.read() as connection:
            found = in_force(connection, self._look(without or self._without), self._tenant, tool)
        return [item for item in found if item.used_here or not only_used]

    def list(self) -> Entries:
        """Return every rule, oldest first, after noting which have expired."""
        self.sweep()
        with self._store.read() as connection:
            return read_all(connection, self._look(), self._tenant)

    def waiting(self) -> int:
        """Return how many rules wait for a second person."""
        row = standing_rules.c
        query = sa.select(sa.func.count()).select_from(standing_rules)
        query = query.where(row.tenant == self._tenant, row.confirmed_by == "", row.ended_at.is_(None))
        with self._store.read() as connection:
            return int(connection.execute(query.where(row.expires_at > self._clock())).scalar_one())

    def find(self, prefix: str) -> StandingEntry:
        """Return the one rule whose id starts like this.

        Raises:
            NotFoundError, ConflictError: none does, or several do.
        """
        return one_named(self.list(), prefix, "standing rule", "checkvalve approvals standing list")

    def trial(self, proposal_id: str, widening: Widening = TIGHT, *, since: int | None = None) -> Trial:
        """Return the rule for a call, widened, and what it would have done; nothing is saved.

        ``since`` (microseconds) looks further back than 30 days, or less far.

        Raises:
            StandingRuleError, NotFoundError, NotAllowedError: no rule can be made of it, or rules are switched off.
        """
        self._require_on()
        with self._store.read() as connection:
            return self._trial(connection, moves.load(connection, proposal_id), widening, since)

    def run(self, item: StandingEntry, *, since: int | None = None) -> DryRun:
        """Return what a stored rule would have done, of itself; ``since`` as in :meth:`trial`."""
        with self._store.read() as connection:
            return self._run(connection, item.rule, since)

    def make(self, proposal_id: str, widening: Widening, reviewer: Reviewer) -> StandingEntry:
        """Save a rule, in one transaction with its event. Where two people have to agree it waits for the second.

        Raises:
            ConflictError: people refused calls that it would have let through, or there are too many rules.
            NotAllowedError: this person may not, or rules are switched off.
            StandingRuleError, NotFoundError, CredentialError, StoreCorruptError: nothing was saved.
        """
        self._require_on()
        now = self._clock()
        with self._store.write() as connection:
            proposal = moves.load(connection, proposal_id)
            require_recorded(connection, proposal_id)
            trial = self._trial(connection, proposal, widening, None)
            trial.run.require_clean()
            self._require_person(connection, reviewer, proposal, trial.rule)
            if sum(item.state in {"waiting", "in force"} for item in self._all(connection)) >= MOST:
                raise TooManyError(f"there are {MOST} standing rules already", remedy="take some back first")
            alone = trial.rule.persons == 1
            values: dict[str, Any] = {
                "id": str(uuid.uuid4()),
                "tenant": self._tenant,
                "body": canonical_text(trial.rule.to_json()),
                "proposal_id": proposal_id,
                "made_by": reviewer.name,
                "made_at": now,
                "confirmed_by": reviewer.name if alone else "",
                "confirmed_at": now if alone else None,
                "expires_at": now + micros(widening.days * _DAY),
                "version": 1,
                "ended_at": None,
                "ended_by": "",
            }
            connection.execute(sa.insert(standing_rules).values(values))
            body = _told(trial.rule, values) | {"single_user": self._single_user}
            audit.append(connection, at=now, kind="standing.made", subject=values["id"], body=body)
            return load(connection, self._look(), values["id"])

    def confirm(self, name: str, reviewer: Reviewer) -> StandingEntry:
        """Agree as the second person; the rule counts from now on.

        Raises:
            ConflictError: it does not wait for anybody, or people have refused such calls since it was made.
            NotAllowedError: this person made it, or asked for the call it was made from.
        """
        self._require_on()
        now = self._clock()
        with self._store.write() as connection:
            found = load(connection, self._look(), name)
            if found.tenant != self._tenant or found.state != "waiting":
                raise EndedError(f"this standing rule is {found.state}", remedy="nothing was changed")
            proposal = moves.load(connection, found.proposal_id)
            self._require_person(connection, reviewer, proposal, found.rule)
            account_of(connection, found.made_by)  # whose account that is, is what the log says
            if reviewer.name in found.people or any(same_person(reviewer.name, other) for other in found.people):
                raise SecondPersonError("you made this rule yourself", remedy="another person has to confirm it")
            self._run(connection, found.rule, None).require_clean()
            advance(connection, found, confirmed_by=reviewer.name, confirmed_at=now)
            body: dict[str, JSON] = {"by": reviewer.name, "version": found.version + 1}
            audit.append(connection, at=now, kind="standing.confirmed", subject=name, body=body)
            return load(connection, self._look(), name)

    def revoke(self, name: str, reviewer: Reviewer) -> StandingEntry:
        """Take a rule back: calls that rely on it and have not run will not, and the question comes back.

        Raises:
            NotFoundError, ConflictError, NotAllowedError, CredentialError: there is none, it has ended, or no approver.
        """
        now = self._clock()
        with self._store.write() as connection:
            self._reviewers.require(connection, reviewer)
            require_role(connection, reviewer, Role.APPROVER)
            found = load(connection, self._look(), name)
            if found.tenant != self._tenant or found.state in {"revoked", "expired"}:
                raise EndedError(f"this standing rule is {found.state}", remedy="nothing was changed")
            end(connection, found, by=f"{_REVIEWER}{reviewer.name}", at=now)
            return load(connection, self._look(), name)

    def sweep(self) -> int:
        """Note the end of every rule whose time is over; returns how many that were."""
        now, row = self._clock(), standing_rules.c
        late = sa.and_(row.ended_at.is_(None), row.expires_at <= now)
        with self._store.read() as connection:
            if not connection.execute(sa.select(sa.exists().where(late))).scalar():
                return 0
        ended = 0
        with self._store.write() as connection:
            for name in connection.execute(sa.select(row.id).where(late)).scalars().all():
                with suppress(StoreCorruptError):  # it counts for nothing as it is; `audit verify` names it
                    end(connection, load(connection, self._look(), name), by=CLOCK, at=now)
                    ended += 1
        return ended

    def _look(self, without: str = "") -> Look:
        needed = 1 if self.mode == "one" or self._single_user else 2
        return Look(self._clock(), needed, self._single_user, without)

    def _all(self, connection: sa.Connection) -> Entries:
        return read_all(connection, self._look(), self._tenant)

    def _require_on(self) -> None:
        if self.mode == "off":
            raise NotOfferedError(
                "standing rules are switched off", remedy="the setting standing_rules says how many people make one"
            )

    def _trial(self, connection: sa.Connection, proposal: Proposal, widening: Widening, since: int | None) -> Trial:
        require_good_end(connection, proposal.id)
        rule = draft(proposal, widening)
        needed = persons_needed(
            connection, proposal, rule, self._review, least=self._look().needed, single_user=self._single_user
        )
        rule = replace(rule, persons=needed)
        return Trial(rule, self._run(connection, rule, since), proposal.id, widening.days)

    def _require_person(
        self, connection: sa.Connection, reviewer: Reviewer, proposal: Proposal, rule: StandingRule
    ) -> None:
        self.adopted.require(connection, self._clock())  # how many people it takes is what the review rules say
        self._reviewers.require(connection, reviewer)
        require_person(connection, reviewer, proposal, rule, single_user=self._single_user)

    def _run(self, connection: sa.Connection, rule: StandingRule, since: int | None) -> DryRun:
        now = self._clock()
        start = now - SPAN if since is None else since
        return dry_run(connection, rule, tenant=self._tenant, since=start, until=now)


def _told(rule: StandingRule, values: dict[str, Any]) -> dict[str, JSON]:
    """Return what the log keeps of a rule: for what and for how long, and a digest of the values it names."""
    return {
        "by": values["made_by"],
        "made_by": values["made_by"],
        "confirmed_by": values["confirmed_by"],
        "tenant": values["tenant"],
        "proposal_id": values["proposal_id"],
        "server": rule.server,
        "tool": rule.tool,
        "answers": list(rule.answers),
        "anybody": rule.requester == "",
        "max_calls": rule.max_calls,
        "per_day": rule.per_day,
        "persons": rule.persons,
        "expires_at": rfc3339(values["expires_at"]),
        "rule_digest": digest_bytes(values["body"].encode()),
        "version": 1,
    }


__all__ = ["MOST", "Mode", "StandingRules"]
