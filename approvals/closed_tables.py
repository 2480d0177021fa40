"""The tables of logs that were closed: the hashes of their trees, and what was put aside because it is in doubt.

They belong to the same database as those in ``tables``. A closed log's events that are as they were signed stay in
``events``; what else was found there is here, as evidence, and nothing relies on it.
"""

from __future__ import annotations

import sqlalchemy as sa

from checkvalve.approvals.columns import Name, Words
from checkvalve.approvals.tables import metadata

closed_tiles = sa.Table(
    "closed_tiles",
    metadata,
    sa.Column("log", sa.Integer, primary_key=True, autoincrement=False),  # 1: the first log that was closed here
    sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("hashes", sa.LargeBinary, nullable=False),
)

put_aside = sa.Table(
    "put_aside",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("log", sa.Integer, nullable=False),
    sa.Column("source", Name(24), nullable=False),  # the table that it was in
    sa.Column("subject", Words(), nullable=False),  # what it was about, so that erasing finds it
    sa.Column("body", Words(), nullable=False),  # the row as JSON; empty: erased
    sa.Column("digest", Name(71), nullable=False),  # over the body
    sa.Index("ix_put_aside_log", "log", "id"),
    sa.Index("ix_put_aside_subject", "subject"),
)

__all__ = ["closed_tiles", "put_aside"]
