"""The signed log: salted bodies of events, the tree's tiles, and the newest checkpoint.

Events that are there already stay as they are: their bodies are in their hashes. They become leaves like all others.

Revision ID: 0004
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("events", sa.Column("salt", sa.String(64), nullable=True))
    op.add_column("events", sa.Column("commitment", sa.String(76), nullable=True))
    op.create_table(
        "tiles",
        sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "checkpoints",
        sa.Column("origin", sa.Text, primary_key=True),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("signed_at", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    raise NotImplementedError("evidence is not thrown away: there is no way back")
