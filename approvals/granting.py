"""What people give ahead of a call and take back: accepted data, mandates, and further questions of a paused task.

Guarantees: each takes a credential and the role for it, checked in the transaction that changes something.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals import endorsing, flood
from checkvalve.approvals.clock import Clock
from checkvalve.approvals.endorsements import Endorsement
from checkvalve.approvals.errors import ConflictError
from checkvalve.approvals.flood import Flood
from checkvalve.approvals.givers import widest
from checkvalve.approvals.mandate_entry import MandateEntry
from checkvalve.approvals.mandate_store import Mandates
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.refusals import OutOfScopeError
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, account_of, require_role, who_could
from checkvalve.approvals.spoken import kept
from checkvalve.approvals.store import Store


class Granting:
    """The part of the queue that is about no single question."""

    store: Store
    clock: Clock
    reviewers: Reviewers
    endorsed: endorsing.Endorsements
    mandates: Mandates

    def endorsements(self, thread: str) -> list[Endorsement]:
        """Return the data that people accepted in this thread and that still counts: the same is not asked twice."""
        with self.store.read() as connection:
            return endorsing.read(connection, thread, self.clock())

    def _require(self, connection: sa.Connection, reviewer: Reviewer, *roles: Role) -> None:
        self.reviewers.require(connection, reviewer)
        require_role(connection, reviewer, *roles)

    def revoke_endorsement(self, name: str, reviewer: Reviewer) -> endorsing.Endorsed:
        """Take accepted data back; see :meth:`endorsing.Endorsements.revoke`."""
        with self.store.write() as connection:
            self._require(connection, reviewer, Role.RESPONDER, Role.APPROVER)
            return self.endorsed.revoke(connection, name, by=f"reviewer:{reviewer.name}")

    def grant_mandate(self, mandate: Mandate, reviewer: Reviewer, *, thread: str, requester: str) -> MandateEntry:
        """Let a person with a credential grant a mandate for somebody's task; see :meth:`Mandates.grant`.

        Raises:
            CredentialError, RoleNeededError: no approver, or not one for every call that this would let through.
            QueueError: thread or requester is no text.
        """
        kept(thread + requester)
        with self.store.write() as connection:
            self._require(connection, reviewer, Role.APPROVER)
            gravest = widest(mandate, self.mandates.tenant)
            if Role.APPROVER not in (account := account_of(connection, reviewer.name)).roles_for(gravest):
                raise OutOfScopeError(
                    f"this mandate reaches beyond what {account.name} may approve ({account.scope.in_words()})",
                    remedy=who_could(connection, lambda one: Role.APPROVER in one.roles_for(gravest)),
                )
            by = f"reviewer:{reviewer.name}"
            return self.mandates.grant_in(connection, mandate, thread=thread, requester=requester, by=by)

    def revoke_mandate(self, name: str, reviewer: Reviewer) -> MandateEntry:
        """Take a mandate back; see :meth:`Mandates.revoke`."""
        with self.store.write() as connection:
            self._require(connection, reviewer, Role.RESPONDER, Role.APPROVER)
            return self.mandates.revoke(connection, name, by=f"reviewer:{reviewer.name}")

    def flood(self, thread: str) -> Flood:
        """Say whether the task of a thread is paused for asking too much, and what more it may ask."""
        with self.store.read() as connection:
            return flood.standing(connection, thread)

    def paused(self) -> list[Flood]:
        """Return every task that is paused for asking too much."""
        with self.store.read() as connection:
            return flood.all_paused(connection)

    def let_go_on(self, thread: str, reviewer: Reviewer, *, more: int) -> None:
        """Let a paused task go on and ask ``more`` further questions.

        Raises:
            ConflictError: it is not paused, or that is no number of questions.
        """
        with self.store.write() as connection:
            self._require(connection, reviewer, Role.APPROVER)
            if not flood.standing(connection, thread).paused or not 0 <= more <= flood.MAX_MORE:
                raise ConflictError("this task is not paused", remedy="list those that are: checkvalve approvals list")
            by = f"reviewer:{reviewer.name}"
            flood.let_go_on(connection, thread, by=by, more=more, at=self.clock())


__all__ = ["Granting"]
