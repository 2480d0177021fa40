"""The tables of signing in: passwords, passkeys, identities of an organisation's provider, links, sessions, counts.

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
    sa.Column("address", Words(), nullable=False),  # what the provider verified then: never opens the account
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
    sa.Column("browser", Words(), nullable=False),  # a word of ours for it
    sa.Index("ix_sessions_seen", "seen_at"),
    sa.Index("ix_sessions_name", "name"),
)

invitations = sa.Table(
    "invitations",
    metadata,
    sa.Column("key", Name(64), primary_key=True),  # the hash of the code in the link
    sa.Column("name", Words(), nullable=False),  # whose account it opens; empty: the first reviewer's
    sa.Column("made_by", Words(), nullable=False),
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger, nullable=True),  # used, or replaced by a newer one
)

spent_proofs = sa.Table(
    "spent_proofs",
    metadata,
    sa.Column("key", Name(64), primary_key=True),  # of a challenge that was answered: never again
    sa.Column("purpose", Name(12), nullable=False),  # step-up, sign-in, passkey or oidc
    sa.Column("name", Words(), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Index("ix_spent_proofs_at", "at"),
)

tries = sa.Table(
    "tries",
    metadata,
    sa.Column("key", Name(64), primary_key=True),  # the hash of an account's name, or of a known browser
    sa.Column("since", sa.BigInteger, primary_key=True, autoincrement=False),  # where the counted span begins
    sa.Column("count", sa.Integer, nullable=False),
)

devices = sa.Table(
    "devices",
    metadata,
    sa.Column("key", Name(64), primary_key=True),  # the hash of what a browser holds that somebody signed in with
    sa.Column("name", Words(), sa.ForeignKey("reviewers.name"), nullable=False),
    sa.Column("seen_at", sa.BigInteger, nullable=False),
    sa.Index("ix_devices_name", "name"),
)

page_keys = sa.Table(
    "page_keys",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # one row: every server seals with it
    sa.Column("secret", sa.LargeBinary, nullable=False),
    sa.Column("made_at", sa.BigInteger, nullable=False),
)
