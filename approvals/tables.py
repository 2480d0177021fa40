"""The tables of the store, in portable SQLAlchemy Core. Times are integer microseconds in UTC (see ``clock``).

The migrations under ``migrations/versions`` create them; a test holds the two together.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.columns import Name, Words

SCHEMA_REVISION: Final = "0006"
"""The newest migration. Kept here so that opening an up-to-date database needs no Alembic."""

metadata = sa.MetaData()

proposals = sa.Table(
    "proposals",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("thread", Words(), nullable=False),
    sa.Column("call_id", Words(), nullable=False),
    sa.Column("requester", Words(), nullable=False),
    sa.Column("server", Words(), nullable=False),
    sa.Column("tool", Words(), nullable=False),
    sa.Column("canonical", sa.LargeBinary, nullable=False),  # the bytes that were decided, shown and will run
    sa.Column("digest", Name(71), nullable=False),
    sa.Column("mode", Name(8), nullable=False),
    sa.Column("idempotency", Name(8), nullable=False),
    sa.Column("verdict", Name(8), nullable=False),
    sa.Column("rule", Words(), nullable=False),
    sa.Column("reason", Words(), nullable=False),
    sa.Column("remedy", Words(), nullable=False),
    sa.Column("decision", Words(), nullable=False),  # the Decision as JSON, exactly what reviewers are shown
    sa.Column("endorsable", Words(), nullable=False),  # the endorsements a yes would store, as JSON
    sa.Column("state", Name(20), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("created_at", sa.BigInteger, nullable=False),
    sa.Column("updated_at", sa.BigInteger, nullable=False),
    sa.Column("decide_by", sa.BigInteger, nullable=False),
    sa.Column("execute_by", sa.BigInteger, nullable=True),
    sa.Column("decided_by", Words(), nullable=False),  # who made the last move: a rule, a reviewer, the clock
    sa.Column("code", Words(), nullable=False),  # why the last move was made, a stable word
    sa.Column("note", Words(), nullable=False),  # the reviewer's own words
    sa.Column("self_approved", sa.Boolean(create_constraint=False), nullable=False),
    sa.Column("behind", Words(), nullable=False, server_default=""),  # who else asked, JSON; empty: the requester alone
    sa.Index("ix_proposals_thread", "thread", "call_id"),
    sa.Index("ix_proposals_state", "state", "created_at"),
    sa.Index("ix_proposals_decide_by", "state", "decide_by"),
    sa.Index("ix_proposals_tool", "tool", "created_at"),
    sa.Index("ix_proposals_open", "thread", "state", "digest"),
    sa.Index("ix_proposals_updated", "updated_at"),
)

grants = sa.Table(
    "grants",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey("proposals.id"), primary_key=True),  # so: one, ever
    sa.Column("digest", Name(71), nullable=False),
    sa.Column("issued_by", Words(), nullable=False),  # rule:<id>, reviewer:<name> or observe
    sa.Column("issued_at", sa.BigInteger, nullable=False),
    sa.Column("execute_by", sa.BigInteger, nullable=False),
    sa.Column("used_at", sa.BigInteger, nullable=True),
    sa.Index("ix_grants_issued", "issued_by", "issued_at"),
)

attempts = sa.Table(
    "attempts",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey("proposals.id"), primary_key=True),  # so: one, ever
    sa.Column("fence", sa.Integer, nullable=False),
    sa.Column("idempotency_key", Name(36), nullable=False),
    sa.Column("owner", Words(), nullable=False),
    sa.Column("lease_until", sa.BigInteger, nullable=False),
    sa.Column("started_at", sa.BigInteger, nullable=False),
    sa.Column("finished_at", sa.BigInteger, nullable=True),
    sa.Column("result", Words(), nullable=True),
    sa.Column("error", Words(), nullable=True),
)

endorsements = sa.Table(
    "endorsements",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("thread", Words(), nullable=False),
    sa.Column("value_digest", Name(71), nullable=False),
    sa.Column("value", Words(), nullable=False),
    sa.Column("source", Words(), nullable=False),
    sa.Column("role", Words(), nullable=False),
    sa.Column("tool", Words(), nullable=False),
    sa.Column("kind", Words(), nullable=False),
    sa.Column("proposal_id", Name(36), sa.ForeignKey("proposals.id"), nullable=False),
    sa.Column("endorsed_by", Words(), nullable=False),
    sa.Column("endorsed_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),  # none: given before endorsements had a deadline
    sa.Column("ended_at", sa.BigInteger, nullable=True),
    sa.Column("ended_by", Words(), nullable=False, server_default=""),  # the clock, or who took it back
    sa.UniqueConstraint(
        "thread", "value_digest", "source", "role", "tool", "kind", "proposal_id", name="uq_endorsements_given"
    ),
    sa.Index("ix_endorsements_proposal", "proposal_id"),
)

mandates = sa.Table(
    "mandates",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("tenant", Words(), nullable=False),
    sa.Column("thread", Words(), nullable=False),
    sa.Column("requester", Words(), nullable=False),
    sa.Column("body", Words(), nullable=False),  # the mandate as canonical JSON
    sa.Column("granted_by", Words(), nullable=False),  # host:<requester>, client:<name> or reviewer:<name>
    sa.Column("granted_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # compared and set by whoever uses it up or ends it
    sa.Column("ended_at", sa.BigInteger, nullable=True),
    sa.Column("ended_by", Words(), nullable=False),
    sa.Index("ix_mandates_thread", "thread", "granted_at"),
)

uses = sa.Table(
    "uses",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey("proposals.id"), primary_key=True),
    sa.Column("kind", Name(16), primary_key=True),  # mandate or endorsement
    sa.Column("item", Name(36), primary_key=True),
    sa.Column("amount", Words(), nullable=False),  # a plain decimal, empty where nothing is counted
    sa.Column("used_at", sa.BigInteger, nullable=False),
    sa.Index("ix_uses_item", "item"),
)

reviewers = sa.Table(
    "reviewers",
    metadata,
    sa.Column("name", Words(), primary_key=True),  # folded: two spellings are one person
    sa.Column("selector", Name(16), nullable=False, unique=True),  # the public half of the token
    sa.Column("token_hash", Words(), nullable=False),  # argon2 of the secret half
    sa.Column("added_by", Words(), nullable=False),
    sa.Column("added_at", sa.BigInteger, nullable=False),
    sa.Column("disabled_at", sa.BigInteger, nullable=True),
    sa.Column("roles", Words(), nullable=False, server_default=""),  # JSON; empty: added before there were roles
    sa.Column("person", Words(), nullable=False, server_default=""),  # whose account this is; empty: its own name's
)

content = sa.Table(
    "content",
    metadata,
    sa.Column("id", Name(32), primary_key=True),
    sa.Column("thread", Words(), nullable=False),
    sa.Column("kind", Words(), nullable=False),
    sa.Column("value", Words(), nullable=False),  # JSON text, so that any string survives any database
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("label", Words(), nullable=False),
    sa.Column("stored_at", sa.BigInteger, nullable=False),
)

history = sa.Table(
    "history",
    metadata,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("thread", Words(), nullable=False),
    sa.Column("key", Words(), nullable=False),
    sa.Column("kind", Words(), nullable=False),
    sa.Column("value_digest", Name(71), nullable=False),
    sa.Column("value", Words(), nullable=False),
    sa.Column("label", Words(), nullable=False),
    sa.Column("stored_at", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("thread", "key", "value_digest", name="uq_history_item"),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("kind", Words(), nullable=False),
    sa.Column("subject", Words(), nullable=False),
    sa.Column("body", Words(), nullable=False),
    sa.Column("prev", Name(71), nullable=False),
    sa.Column("hash", Name(71), nullable=False),
    sa.Column("salt", Name(64), nullable=True),  # erased with the body; what is hashed is the commitment
    sa.Column("commitment", Name(76), nullable=True),  # none: written before bodies were committed to
    sa.Index("ix_events_subject", "subject", "seq"),
)

audit_head = sa.Table(
    "audit_head",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),  # one row: every append passes through it
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("hash", Name(71), nullable=False),
)

tiles = sa.Table(
    "tiles",
    metadata,
    sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),  # 0: of leaves; n: of 256**n leaves each
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hashes", sa.LargeBinary, nullable=False),  # up to 256 of 32 bytes, as in C2SP's tlog-tiles
)

checkpoints = sa.Table(
    "checkpoints",
    metadata,
    sa.Column("origin", Words(), primary_key=True),  # of this log; there is one row
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("note", Words(), nullable=False),  # the newest signed checkpoint
    sa.Column("signed_at", sa.BigInteger, nullable=False),
)

outbox = sa.Table(
    "outbox",
    metadata,
    sa.Column("channel", Name(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),  # of the last event that was looked at for this channel
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("channel", Name(64), primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),  # of the event that it tells
    sa.Column("state", Name(8), nullable=False),  # waiting or dead; what arrived has no row
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("next_at", sa.BigInteger, nullable=False),
    sa.Column("code", Words(), nullable=False),  # why the last try failed, a stable word
    sa.Index("ix_deliveries_due", "channel", "state", "next_at"),
)

request_keys = sa.Table(
    "request_keys",
    metadata,
    sa.Column("key", Name(71), primary_key=True),  # the digest of who sent which Idempotency-Key
    sa.Column("request", Name(71), nullable=False),  # the digest of what it was sent with
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("answer", sa.LargeBinary, nullable=True),  # sealed; empty: it ended, and no answer was kept
)

leases = sa.Table(
    "leases",
    metadata,
    sa.Column("thread", Words(), primary_key=True),
    sa.Column("owner", Words(), nullable=False),  # empty when nobody holds it; the row stays, so that fences only grow
    sa.Column("fence", sa.BigInteger, nullable=False),
    sa.Column("until", sa.BigInteger, nullable=False),
)
