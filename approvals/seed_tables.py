"""The tables of seeded items: who has agreed to see them, and the items themselves.

They belong to the same database as those in ``tables``; times are integer microseconds in UTC. A seeded item is no
proposal: permits and attempts refer to rows of ``proposals``, so none can be made of it.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals.columns import Name, Words
from checkvalve.approvals.tables import metadata

seed_consents = sa.Table(
    "seed_consents",
    metadata,
    sa.Column("reviewer", Words(), sa.ForeignKey("reviewers.name"), primary_key=True),
    sa.Column("agreed_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=True),  # taken back
    sa.Column("next_at", sa.BigInteger, nullable=True),  # drawn: not before this moment comes another item
)

seeds = sa.Table(
    "seeds",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("reviewer", Words(), sa.ForeignKey("reviewers.name"), nullable=False),  # who alone is shown it
    sa.Column("body", Words(), nullable=False),  # what is shown, and what was to be seen, as canonical JSON
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("answer", Name(10), nullable=False),  # empty: it is open
    sa.Column("answered_at", sa.BigInteger, nullable=True),
    sa.Index("ix_seeds_reviewer", "reviewer", "answer"),
)

__all__ = ["seed_consents", "seeds"]
