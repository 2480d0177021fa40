"""What is told to whom: how far each channel has got, what is still to be delivered, and keys of repeated requests.

Revision ID: 0005
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "outbox",
        sa.Column("channel", sa.String(64), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "deliveries",
        sa.Column("channel", sa.String(64), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("next_at", sa.BigInteger, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
    )
    op.create_index("ix_deliveries_due", "deliveries", ["channel", "state", "next_at"])
    op.create_table(
        "request_keys",
        sa.Column("key", sa.String(71), primary_key=True),
        sa.Column("request", sa.String(71), nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("there is no way back")
