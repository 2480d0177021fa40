"""Mandates, what was used of them and of endorsements, and endorsements that end.

Revision ID: 0003
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_KEY = ["thread", "value_digest", "source", "role", "tool", "kind"]


def upgrade() -> None:
    with op.batch_alter_table("endorsements") as table:  # SQLite writes the table anew to change a constraint
        table.add_column(sa.Column("expires_at", sa.BigInteger, nullable=True))
        table.add_column(sa.Column("ended_at", sa.BigInteger, nullable=True))
        table.add_column(sa.Column("ended_by", sa.Text, nullable=False, server_default=""))
        table.drop_constraint("uq_endorsements_key", type_="unique")
        table.create_unique_constraint("uq_endorsements_given", [*_KEY, "proposal_id"])
    op.create_table(
        "mandates",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("requester", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("granted_by", sa.Text, nullable=False),
        sa.Column("granted_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("ended_by", sa.Text, nullable=False),
    )
    op.create_index("ix_mandates_thread", "mandates", ["thread", "granted_at"])
    op.create_table(
        "uses",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("kind", sa.String(16), primary_key=True),
        sa.Column("item", sa.String(36), primary_key=True),
        sa.Column("amount", sa.Text, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_uses_item", "uses", ["item"])


def downgrade() -> None:
    raise NotImplementedError("evidence is not thrown away: there is no way back")
