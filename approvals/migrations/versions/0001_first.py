"""The first tables: proposals with their grants, attempts and endorsements, reviewers, content, and the event chain.

Revision ID: 0001
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "proposals",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("call_id", sa.Text, nullable=False),
        sa.Column("requester", sa.Text, nullable=False),
        sa.Column("server", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("canonical", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("mode", sa.String(8), nullable=False),
        sa.Column("idempotency", sa.String(8), nullable=False),
        sa.Column("verdict", sa.String(8), nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("remedy", sa.Text, nullable=False),
        sa.Column("decision", sa.Text, nullable=False),
        sa.Column("endorsable", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("decide_by", sa.BigInteger, nullable=False),
        sa.Column("execute_by", sa.BigInteger, nullable=True),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("self_approved", sa.Boolean(create_constraint=False), nullable=False),
    )
    op.create_index("ix_proposals_state", "proposals", ["state", "created_at"])
    op.create_index("ix_proposals_thread", "proposals", ["thread", "call_id"])
    op.create_table(
        "grants",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("issued_by", sa.Text, nullable=False),
        sa.Column("issued_at", sa.BigInteger, nullable=False),
        sa.Column("execute_by", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "attempts",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("idempotency_key", sa.String(36), nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("finished_at", sa.BigInteger, nullable=True),
        sa.Column("result", sa.Text, nullable=True),
        sa.Column("error", sa.Text, nullable=True),
    )
    op.create_table(
        "endorsements",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("value_digest", sa.String(71), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("tool", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), nullable=False),
        sa.Column("endorsed_by", sa.Text, nullable=False),
        sa.Column("endorsed_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("thread", "value_digest", "source", "role", "tool", "kind", name="uq_endorsements_key"),
    )
    op.create_table(
        "reviewers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("selector", sa.String(16), nullable=False, unique=True),
        sa.Column("token_hash", sa.Text, nullable=False),
        sa.Column("added_by", sa.Text, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("disabled_at", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "content",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("stored_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "history",
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("value_digest", sa.String(71), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("stored_at", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("thread", "key", "value_digest", name="uq_history_item"),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("prev", sa.String(71), nullable=False),
        sa.Column("hash", sa.String(71), nullable=False),
    )
    op.create_index("ix_events_subject", "events", ["subject", "seq"])
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.String(71), nullable=False),
    )
    op.execute("INSERT INTO audit_head (id, seq, hash) VALUES (1, 0, '')")


def downgrade() -> None:
    raise NotImplementedError("evidence is not thrown away: there is no way back")
