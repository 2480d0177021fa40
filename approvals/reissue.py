"""A new token for somebody who has an account: the old one, and every session, end with it.

Guarantees: it takes a fresh proof; row, event and the end of the sessions commit together; the token is shown once.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.account_tables import sessions
from checkvalve.approvals.proof_holds import OF_ACCOUNT, require_holding
from checkvalve.approvals.proofs import Proof, require_fresh
from checkvalve.approvals.recorded_account import REISSUED, credential_digest
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import subject_of
from checkvalve.approvals.sessions import end_sessions, require_reviewer
from checkvalve.approvals.tables import reviewers
from checkvalve.filters.strictjson import JSON


def reissue(board: Reviewers, reviewer: Reviewer, proof: Proof) -> tuple[str, Proof]:
    """Return a new token of a person, and the same proof, of the same moment, as the person is known with it.

    Raises:
        CredentialError: the proof is not fresh, or the account is no longer one.
    """
    now = board.clock()
    require_fresh(proof, reviewer, now)
    selector, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
    hashed = board.hasher.hash(secret)
    with board.store.write() as connection:
        require_reviewer(connection, reviewer)
        require_holding(connection, proof)
        mine = sa.update(reviewers).where(reviewers.c.name == reviewer.name)
        connection.execute(mine.values(selector=selector, token_hash=hashed))
        body: dict[str, JSON] = {"reviewer": reviewer.name, "credential": credential_digest(selector, hashed)}
        body["proof"] = proof.method
        audit.append(connection, at=now, kind=REISSUED, subject=subject_of(reviewer.name), body=body)
        end_sessions(connection, sessions.c.name == reviewer.name, at=now, code="credential")
    known = Reviewer(reviewer.name, selector)
    return f"cvr_{selector}_{secret}", replace(proof, reviewer=known, bound=OF_ACCOUNT)


__all__ = ["REISSUED", "reissue"]
