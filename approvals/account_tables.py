"""The tables of signing in: passwords, passkeys, identities of an organisation's provider, and sessions.

They belong to the same database as those in ``tables``; times are integer microseconds in UTC. An account is a row of
``reviewers``; what is here are further ways to prove that one is that person.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals.columns import Name, Words
from checkvalve.approvals.tables import metadata

passwords = sa.Table(
    "passwords",
    metadata,
    sa.Column("name", Words(), sa.ForeignKey("reviewers.name"), primary_key=True),
    sa.Column("password_hash", Words(), nullable=False),  # argon2id
    sa.Column("set_at", sa.BigInteger, nullable=False),
)

passkeys = sa.Table(
    "passkeys",
    metadata,
    sa.Column("credential", Words(), primary_key=True),  # base64url
    sa.Column("name", Words(), sa.ForeignKey("reviewers.name"), nullable=False),
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("sign_count", sa.BigInteger, nullable=False),
    sa.Column("label", Words(), nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger, nullable=True),
    sa.Column("removed_at", sa.BigInteger, nullable=True),
    sa.Index("ix_passkeys_name", "name"),
)

identities = sa.Table(
    "identities",
    metadata,
    sa.Column("issuer", Words(), primary_key=True),
    sa.Column("subject", Words(), primary_key=True),
    sa.Column("name", Words(), sa.ForeignKey("reviewers.name"), nullable=False),
    sa.Column("linked_at", sa.BigInteger, nullable=False),
    sa.Column("removed_at", sa.BigInteger, nullable=True),
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("key", Name(64), primary_key=True),  # the hash of what the browser holds
    sa.Column("name", Words(), sa.ForeignKey("reviewers.name"), nullable=False),
    sa.Column("selector", Name(16), nullable=False),  # of the account when it signed in
    sa.Column("method", Name(12), nullable=False),  # token, password, passkey or oidc
    sa.Column("secret", sa.LargeBinary, nullable=False),  # seals the forms of this session
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Column("proved_at", sa.BigInteger, nullable=False),  # when the person last proved who they are
    sa.Index("ix_sessions_seen", "seen_at"),
)
