"""Changes of a gateway's rules: one person proposes them, another one confirms them, and from then on they count.

1. Whoever proposes gives the texts; those of parts that stay are the ones in force. What they would have changed of the
recorded calls was worked out before, and is stored with them.
2. Another person who is an administrator confirms exactly what was shown, by its digest; never the author, whatever the
account. Nobody is asked twice where nothing was in force before, or where the rules in force say that one person uses
the gateway: then the record says why one was enough.
3. What was in force ends then, or after the time that the change says, so that several hosts can be brought up to date.
4. A change is confirmed only while what it was compared with is still in force. 5. Other review rules than those in
force are taken only where the people who are there can keep them (:mod:`rule_reach`).

Guarantees: each step is one transaction with its event; write transactions pass one after the other, so of two people
who confirm at the same moment one is told that it has happened.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import Clock, micros, rfc3339
from checkvalve.approvals.errors import DigestError, NotAllowedError, NotFoundError
from checkvalve.approvals.matching import one_named
from checkvalve.approvals.refusals import DoneAlreadyError, EndedError, StaleError, TooManyError
from checkvalve.approvals.review_tables import rule_changes
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, accounts, require_role
from checkvalve.approvals.rule_draft import RuleDraft, check_draft, words_kept
from checkvalve.approvals.rule_people import FIRST, is_other, may_begin, why_alone
from checkvalve.approvals.rule_reach import require_reachable
from checkvalve.approvals.ruleset_store import (
    ADOPTED,
    WAITING,
    RuleChange,
    current_of,
    keep_texts,
    read_changes,
    read_text,
    stored_json,
    subject_of,
)
from checkvalve.approvals.rulesets import set_digest
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON

OPEN_FOR: Final = micros(timedelta(days=14))
"""How long a change may wait: what it was compared with is old after that."""
MOST: Final = 20
"""Changes that may wait: more than that nobody compares."""
_row = rule_changes.c
Changes: TypeAlias = list[RuleChange]  # inside the class, `list` is the method


class RuleChanges:
    """The rules of one tenant in one store. Safe to use from several threads and processes at once."""

    def __init__(self, store: Store, clock: Clock, *, tenant: str = "", reviewers: Reviewers | None = None) -> None:
        """Use ``tenant`` to tell apart the gateways that share a store."""
        self._store, self._clock, self.tenant = store, clock, tenant
        self._reviewers = reviewers or Reviewers(store, clock)

    def list(self) -> Changes:
        """Return every change, oldest first.

        Raises:
            StoreCorruptError: one of them is not what the log says.
        """
        with self._store.read() as connection:
            return self._all(connection)

    def current(self) -> RuleChange | None:
        """Return what is in force; None where nothing was ever adopted."""
        return current_of(self.list())

    def waiting(self) -> int:
        """Return how many changes wait for a second person."""
        query = sa.select(sa.func.count()).select_from(rule_changes)
        mine = query.where(_row.tenant == self.tenant, _row.state == WAITING, _row.expires_at > self._clock())
        with self._store.read() as connection:
            return int(connection.execute(mine).scalar_one())

    def find(self, prefix: str) -> RuleChange:
        """Return the one change whose id starts like this.

        Raises:
            NotFoundError, ConflictError: none does, or several do.
        """
        return one_named(self.list(), prefix, "change of the rules", "checkvalve rules list")

    def texts(self, change: RuleChange | None) -> dict[str, str]:
        """Return the texts of a change, by part; none where there is none."""
        if change is None:
            return {}
        with self._store.read() as connection:
            return {part: read_text(connection, found) for part, found in change.parts.items()}

    def waits_for_others(self, change: RuleChange, reviewer: Reviewer) -> bool:
        """Say whether a change waits for somebody else than this person, who proposed it."""
        with self._store.read() as connection:
            if is_other(connection, change.proposed_by, reviewer):
                return False
            try:
                why_alone(connection, current_of(self._all(connection)), self.tenant, reviewer)
            except NotAllowedError:
                return True
        return False

    def propose(self, draft: RuleDraft, reviewer: Reviewer) -> RuleChange:
        """Store a change with its texts. Where nothing was in force and an administrator proposes, it counts at once.

        Raises:
            ConflictError: it changes nothing, was proposed already, was compared with what is no longer in force, or
                has review rules that the people who are there cannot keep.
            ConfigError: its review rules cannot be read.
            CredentialError, NotAllowedError: this person may not.
            QueueError: a text, the reason or the time is not what it has to be.
        """
        check_draft(draft)
        now, name, parts = self._clock(), str(uuid.uuid4()), draft.parts
        values: dict[str, Any] = {
            "id": name,
            "tenant": self.tenant,
            "digest": set_digest(parts),
            "base": draft.base,
            "parts": stored_json(dict(parts)),
            "impact": stored_json(draft.impact),
            "note": draft.note,
            "proposed_by": reviewer.name,
            "proposed_at": now,
            "expires_at": now + OPEN_FOR,
            "overlap": draft.overlap,
            "state": WAITING,
            "decided_by": "",
            "decided_at": None,
            "answer": "",
            "alone": "",
            "until": None,
            "version": 1,
        }
        with self._store.write() as connection:
            self._reviewers.require(connection, reviewer)
            account = require_role(connection, reviewer, Role.APPROVER, Role.ADMINISTRATOR)
            known = self._all(connection)
            self._require_new(known, draft.base, values["digest"])
            self._require_reachable(connection, current_of(known), draft.texts["review"])
            keep_texts(connection, draft.texts.values())
            connection.execute(sa.insert(rule_changes).values(values))
            plain = ("id", "digest", "base", "note", "overlap")
            body: dict[str, JSON] = {
                **{key: values[key] for key in plain},
                "by": reviewer.name,
                "parts": dict(parts),
                "impact_digest": digest_bytes(values["impact"].encode()),
                "expires_at": rfc3339(values["expires_at"]),
                "version": 1,
            }
            self._log(connection, "rules.proposed", body, now)
            first = current_of(known) is None and account.has(Role.ADMINISTRATOR)
            if first and may_begin(connection, self.tenant, reviewer):
                self._adopt(connection, self._load(connection, name), None, reviewer.name, now, alone=FIRST)
            return self._load(connection, name)

    def confirm(self, name: str, reviewer: Reviewer, digest: str) -> RuleChange:
        """Agree as the second person to exactly the change with this digest; it counts from now on.

        Raises:
            NotFoundError, ConflictError: there is none, it does not wait for anybody any more, or its review rules
                cannot be kept by those who are there now.
            DigestError: that is not the digest of this change.
            CredentialError, NotAllowedError: this person is no administrator, or proposed it.
        """
        now = self._clock()
        with self._store.write() as connection:
            self._reviewers.require(connection, reviewer)
            require_role(connection, reviewer, Role.ADMINISTRATOR)
            found = self._load(connection, name)
            if found.state != WAITING:
                raise EndedError(f"this change of the rules is {found.state}", remedy="nothing was changed")
            if found.digest != digest:
                raise DigestError(
                    "this is not the digest of this change", remedy="look at it again; nothing was changed"
                )
            current = current_of(self._all(connection))
            if found.base != (current.id if current else ""):
                raise StaleError(
                    "other rules are in force than those that this change was compared with",
                    remedy="nothing was changed; propose it again, so that people see what it changes now",
                )
            self._require_reachable(connection, current, read_text(connection, found.parts["review"]))
            other = is_other(connection, found.proposed_by, reviewer)
            alone = "" if other else why_alone(connection, current, self.tenant, reviewer)
            self._adopt(connection, found, current, reviewer.name, now, alone=alone)
            return self._load(connection, name)

    def refuse(self, name: str, reviewer: Reviewer, answer: str = "") -> RuleChange:
        """Say no to a change that waits; whoever proposed it takes it back this way.

        Raises:
            NotFoundError, ConflictError, CredentialError, NotAllowedError, QueueError: nothing was changed.
        """
        now, said = self._clock(), words_kept(answer)
        with self._store.write() as connection:
            self._reviewers.require(connection, reviewer)
            found = self._load(connection, name)
            own = not is_other(connection, found.proposed_by, reviewer)
            if not own:
                require_role(connection, reviewer, Role.ADMINISTRATOR)
            if found.stored != WAITING:
                raise EndedError(f"this change of the rules is {found.state}", remedy="nothing was changed")
            state = "withdrawn" if own else "refused"
            self._move(connection, found, state=state, decided_by=reviewer.name, decided_at=now, answer=said)
            body: dict[str, JSON] = {"id": found.id, "by": reviewer.name, "answer": said, "version": found.version + 1}
            self._log(connection, f"rules.{state}", body, now)
            return self._load(connection, name)

    @staticmethod
    def _require_reachable(connection: sa.Connection, current: RuleChange | None, review: str) -> None:
        before = "" if current is None else read_text(connection, current.parts["review"])
        require_reachable(before, review, accounts(connection, everyone=True))

    def _require_new(self, known: Changes, base: str, digest: str) -> None:
        current, waiting = current_of(known), [item for item in known if item.state == WAITING]
        if base != (current.id if current else ""):
            raise StaleError("other rules came into force meanwhile", remedy="nothing was changed; propose it again")
        if current is not None and current.digest == digest:
            raise DoneAlreadyError("these rules are in force already", remedy="nothing was changed")
        same = next((item for item in waiting if item.digest == digest and item.base == base), None)
        if same is not None:
            raise DoneAlreadyError(
                f"this change was proposed already: {same.id[:8]}",
                remedy=f"look at it: checkvalve rules show {same.id[:8]}",
            )
        if len(waiting) >= MOST:
            raise TooManyError(f"{MOST} changes wait already", remedy="confirm or refuse some of them first")

    def _adopt(
        self,
        connection: sa.Connection,
        found: RuleChange,
        before: RuleChange | None,
        by: str,
        now: int,
        *,
        alone: str,
    ) -> None:
        """Put a change into force, and end what was in force, with one event for both."""
        self._move(connection, found, state=ADOPTED, decided_by=by, decided_at=now, alone=alone)
        body: dict[str, JSON] = {"id": found.id, "by": by, "digest": found.digest, "alone": alone}
        body |= {"base": found.base, "until": None, "version": found.version + 1}
        if before is not None:
            until = now + found.overlap * 1_000_000
            self._move(connection, before, until=until)
            body["until"] = rfc3339(until)
        self._log(connection, "rules.adopted", body, now)

    def _move(self, connection: sa.Connection, found: RuleChange, **values: Any) -> None:
        """Compare and set: move a change on, if it still is what it was when it was read."""
        mine = sa.update(rule_changes).where(_row.id == found.id, _row.version == found.version)
        if connection.execute(mine.values(version=found.version + 1, **values)).rowcount != 1:
            raise StaleError("this change of the rules has moved on", remedy="nothing was changed")

    def _all(self, connection: sa.Connection) -> Changes:
        return read_changes(connection, self.tenant, self._clock())

    def _load(self, connection: sa.Connection, name: str) -> RuleChange:
        found = next((item for item in self._all(connection) if item.id == name), None)
        if found is None:
            raise NotFoundError("there is no such change of the rules", remedy="list them: checkvalve rules list")
        return found

    def _log(self, connection: sa.Connection, kind: str, body: Mapping[str, JSON], at: int) -> None:
        audit.append(connection, at=at, kind=kind, subject=subject_of(self.tenant), body=body)


__all__ = ["OPEN_FOR", "Changes", "RuleChanges"]
