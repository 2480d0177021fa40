"""Whose account somebody in Teams has here: by tenant and object id, linked by that person's own two credentials.

1. A reviewer proves who they are here and gets a code. 2. Within five minutes they type it in Teams, which says in a
signed message who typed it. 3. Both belong together from then on, until the person takes the link back on their page.

Guarantees: a code works once; one object id opens one account; a link is a row and an event in one transaction, and one
that was planted opens nothing. A chat's identity signs nobody in to the pages: no issuer of sign-ins has this name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.errors import CredentialError
from checkvalve.approvals.identities import Identities, Identity
from checkvalve.approvals.proofs import Proof
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.request_keys import remember
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.tables import reviewers
from checkvalve.gateway.teams_codes import Linking, is_code, link_code
from checkvalve.gateway.teams_door import Said

ISSUER: Final = "teams:"
"""Before the tenant: no address of an issuer, so that no sign-in is ever taken for it."""
_SECOND: Final = 1_000_000  # microseconds


def new_code(token: bytes, channel: str, reviewer: Reviewer, now: int) -> str:
    """Return a code for somebody who has just proved to be ``reviewer``."""
    return link_code(token, channel, reviewer.selector, now // _SECOND)


def link(queue: Queue, token: bytes, channel: str, given: Linking, said: Said) -> str:
    """Do step 3; returns the name of the account.

    Raises:
        CredentialError: the code is none, too old, or used.
        AccountError: whoever typed it has an account already.
    """
    reviewer = _of_selector(queue, given.selector)
    fresh = is_code(given.code, link_code(token, channel, given.selector, given.made_at))
    if reviewer is None or not fresh or remember(queue.store, "teams", given.code, "", now=queue.clock()) != "new":
        raise CredentialError("this code is not good, or was used", remedy="make another: checkvalve channels link")
    proof = Proof(reviewer, "token", given.made_at * _SECOND)
    Identities(queue.reviewers).link(reviewer, Identity(ISSUER + said.tenant, said.user), proof)
    return reviewer.name


def who(queue: Queue, said: Said) -> Reviewer:
    """Return whose account the author of a message has.

    Raises:
        CredentialError: nobody's, or one that was disabled.
        StoreCorruptError: the link was planted.
    """
    proof = Identities(queue.reviewers).find(Identity(ISSUER + said.tenant, said.user))
    if proof is None:
        raise CredentialError(
            "this account of Teams belongs to no reviewer", remedy="link it: checkvalve channels link NAME"
        )
    return replace(proof.reviewer, means="chat")


def _of_selector(queue: Queue, selector: str) -> Reviewer | None:
    row = reviewers.c
    with queue.store.read() as connection:
        name = connection.execute(
            sa.select(row.name).where(row.selector == selector, row.disabled_at.is_(None))
        ).scalar()
    return None if name is None else Reviewer(str(name), selector)


__all__ = ["ISSUER", "link", "new_code", "who"]
