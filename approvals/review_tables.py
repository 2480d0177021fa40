"""The tables of reviewing: how each question is to be answered, who said what, standing and adopted rules, undoings.

They belong to the same database as those in ``tables``; times are integer microseconds in UTC.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.columns import Name, Words
from checkvalve.approvals.tables import metadata

_PROPOSAL: Final = "proposals.id"

plans = sa.Table(
    "plans",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), primary_key=True),
    sa.Column("tier", Name(8), nullable=False),
    sa.Column("body", Words(), nullable=False),  # the review rule as it was when the question arose, canonical JSON
    sa.Column("parent", Name(36), nullable=False, server_default=""),  # the proposal of which this is an edit
    sa.Column("edited_by", Words(), nullable=False, server_default=""),
    sa.Column("step", sa.Integer, nullable=False, server_default="0"),  # of the ladder of reminders, done so far
    sa.Column("next_at", sa.BigInteger, nullable=True),  # when the next step is due; none: no more, or decided
    sa.Column("ahead", sa.Integer, nullable=False, server_default="0"),  # steps told so far, if one was early
    sa.Column("unreachable_at", sa.BigInteger, nullable=True),  # since when nobody can decide it; none: somebody can
    sa.Index("ix_plans_due", "next_at"),
    sa.Index("ix_plans_unreachable", "unreachable_at"),
    sa.Index("ix_plans_tier", "tier"),
    sa.Index("ix_plans_parent", "parent"),
)

votes = sa.Table(
    "votes",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), primary_key=True),
    sa.Column("person", Words(), primary_key=True),  # one person has one voice, whatever the accounts
    sa.Column("reviewer", Words(), nullable=False),  # the account that was used
    sa.Column("vote", Name(3), nullable=False),  # yes or no
    sa.Column("roles", Words(), nullable=False),  # those that counted, as JSON
    sa.Column("via", Words(), nullable=False),  # who handed over to this person; empty: nobody
    sa.Column("means", Name(12), nullable=False),  # by which credential: token, password, passkey, oidc, link, chat
    sa.Column("digest", Name(71), nullable=False),
    sa.Column("endorse", sa.Boolean(create_constraint=False), nullable=False),  # a yes to the data, too
    sa.Column("code", Words(), nullable=False),
    sa.Column("note", Words(), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Index("ix_votes_reviewer", "reviewer", "at"),
)

remarks = sa.Table(
    "remarks",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), nullable=False),
    sa.Column("kind", Name(12), nullable=False),  # question, answer or reply
    sa.Column("by", Words(), nullable=False),
    sa.Column("text", Words(), nullable=False),
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Index("ix_remarks_proposal", "proposal_id", "id"),
)

snoozes = sa.Table(
    "snoozes",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), primary_key=True),
    sa.Column("reviewer", Words(), primary_key=True),
    sa.Column("until", sa.BigInteger, nullable=False),
)

delegations = sa.Table(
    "delegations",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("giver", Words(), nullable=False),
    sa.Column("taker", Words(), nullable=False),
    sa.Column("reason", Words(), nullable=False),
    sa.Column("starts_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("given_at", sa.BigInteger, nullable=False),
    sa.Column("ended_at", sa.BigInteger, nullable=True),
    sa.Column("ended_by", Words(), nullable=False),
    sa.Index("ix_delegations_taker", "taker", "expires_at"),
)

afterlooks = sa.Table(
    "afterlooks",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), primary_key=True),
    sa.Column("by", Words(), nullable=False),  # who broke the glass
    sa.Column("at", sa.BigInteger, nullable=False),
    sa.Column("reason", Words(), nullable=False),
    sa.Column("looked_by", Words(), nullable=False),  # empty: nobody has looked yet
    sa.Column("looked_at", sa.BigInteger, nullable=True),
    sa.Column("finding", Words(), nullable=False),
    sa.Column("disagreed", sa.Boolean(create_constraint=False), nullable=False),  # it should not have run
)

standing_rules = sa.Table(
    "standing_rules",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("tenant", Words(), nullable=False),
    sa.Column("body", Words(), nullable=False),  # the rule as canonical JSON
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), nullable=False),  # the call that succeeded before it
    sa.Column("made_by", Words(), nullable=False),
    sa.Column("made_at", sa.BigInteger, nullable=False),
    sa.Column("confirmed_by", Words(), nullable=False),  # the second person; empty: it does not count yet
    sa.Column("confirmed_at", sa.BigInteger, nullable=True),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),  # compared and set by whoever uses it up or ends it
    sa.Column("ended_at", sa.BigInteger, nullable=True),
    sa.Column("ended_by", Words(), nullable=False),
    sa.Index("ix_standing_rules_open", "tenant", "ended_at"),
)

undos = sa.Table(
    "undos",
    metadata,
    sa.Column("proposal_id", Name(36), sa.ForeignKey(_PROPOSAL), primary_key=True),  # the effect that can be undone
    sa.Column("body", Words(), nullable=False),  # the call that undoes it, as canonical JSON; empty: none was kept
    sa.Column("why", Name(24), nullable=False),  # a stable word for why none was kept
    sa.Column("kept_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=True),
    sa.Column("undo_id", Name(36), nullable=False),  # the newest proposal that undoes it; empty: not asked for
    sa.Column("asks", sa.Integer, nullable=False),  # how often that was asked for; compared and set
    sa.Index("ix_undos_undo", "undo_id"),
)

rule_changes = sa.Table(
    "rule_changes",
    metadata,
    sa.Column("id", Name(36), primary_key=True),
    sa.Column("tenant", Words(), nullable=False),
    sa.Column("digest", Name(71), nullable=False),  # over the parts: what a person confirms
    sa.Column("base", Name(36), nullable=False),  # the change that was in force when this was proposed; empty: none
    sa.Column("parts", Words(), nullable=False),  # the digest of each governing text, as canonical JSON
    sa.Column("impact", Words(), nullable=False),  # what it would have changed of the recorded calls, as JSON
    sa.Column("note", Words(), nullable=False),
    sa.Column("proposed_by", Words(), nullable=False),
    sa.Column("proposed_at", sa.BigInteger, nullable=False),
    sa.Column("expires_at", sa.BigInteger, nullable=False),
    sa.Column("overlap", sa.Integer, nullable=False),  # seconds for which what it replaces stays in force
    sa.Column("state", Name(9), nullable=False),  # waiting, adopted, refused or withdrawn
    sa.Column("decided_by", Words(), nullable=False),
    sa.Column("decided_at", sa.BigInteger, nullable=True),
    sa.Column("answer", Words(), nullable=False),
    sa.Column("alone", Name(12), nullable=False),  # why one person was enough; empty: two agreed
    sa.Column("until", sa.BigInteger, nullable=True),  # when it ceased to be in force; none: it has not
    sa.Column("version", sa.Integer, nullable=False),
    sa.Index("ix_rule_changes_state", "tenant", "state"),
)

rule_texts = sa.Table(
    "rule_texts",
    metadata,
    sa.Column("digest", Name(71), primary_key=True),
    sa.Column("text", Words(), nullable=False),
)
