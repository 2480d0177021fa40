"""How questions are answered: plans, votes, remarks, delegations, rules; ways to sign in; what can be undone.

Revision ID: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("reviewers", sa.Column("roles", sa.Text, nullable=False, server_default=""))
    op.add_column("reviewers", sa.Column("person", sa.Text, nullable=False, server_default=""))
    op.add_column("proposals", sa.Column("behind", sa.Text, nullable=False, server_default=""))
    op.add_column("request_keys", sa.Column("answer", sa.LargeBinary, nullable=True))
    op.create_index("ix_proposals_decide_by", "proposals", ["state", "decide_by"])
    op.create_index("ix_proposals_tool", "proposals", ["tool", "created_at"])
    op.create_index("ix_proposals_open", "proposals", ["thread", "state", "digest"])
    op.create_index("ix_proposals_updated", "proposals", ["updated_at"])
    op.create_index("ix_grants_issued", "grants", ["issued_by", "issued_at"])
    op.create_index("ix_endorsements_proposal", "endorsements", ["proposal_id"])
    _reviewing()
    _adopting()
    _signing_in()
    _closing()
    _seeding()


def _reviewing() -> None:
    op.create_table(
        "plans",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("tier", sa.String(8), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("parent", sa.String(36), nullable=False, server_default=""),
        sa.Column("edited_by", sa.Text, nullable=False, server_default=""),
        sa.Column("step", sa.Integer, nullable=False, server_default="0"),
        sa.Column("next_at", sa.BigInteger, nullable=True),
        sa.Column("ahead", sa.Integer, nullable=False, server_default="0"),
        sa.Column("unreachable_at", sa.BigInteger, nullable=True),
    )
    op.create_index("ix_plans_due", "plans", ["next_at"])
    op.create_index("ix_plans_unreachable", "plans", ["unreachable_at"])
    op.create_index("ix_plans_tier", "plans", ["tier"])
    op.create_index("ix_plans_parent", "plans", ["parent"])
    op.create_table(
        "votes",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("reviewer", sa.Text, nullable=False),
        sa.Column("vote", sa.String(3), nullable=False),
        sa.Column("roles", sa.Text, nullable=False),
        sa.Column("via", sa.Text, nullable=False),
        sa.Column("means", sa.String(12), nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("endorse", sa.Boolean, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_votes_reviewer", "votes", ["reviewer", "at"])
    op.create_table(
        "remarks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), nullable=False),
        sa.Column("kind", sa.String(12), nullable=False),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_remarks_proposal", "remarks", ["proposal_id", "id"])
    op.create_table(
        "snoozes",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("reviewer", sa.Text, primary_key=True),
        sa.Column("until", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "delegations",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("giver", sa.Text, nullable=False),
        sa.Column("taker", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("starts_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("given_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("ended_by", sa.Text, nullable=False),
    )
    op.create_index("ix_delegations_taker", "delegations", ["taker", "expires_at"])
    op.create_table(
        "afterlooks",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("by", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("looked_by", sa.Text, nullable=False),
        sa.Column("looked_at", sa.BigInteger, nullable=True),
        sa.Column("finding", sa.Text, nullable=False),
        sa.Column("disagreed", sa.Boolean, nullable=False),
    )
    op.create_table(
        "standing_rules",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("confirmed_by", sa.Text, nullable=False),
        sa.Column("confirmed_at", sa.BigInteger, nullable=True),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("ended_by", sa.Text, nullable=False),
    )
    op.create_index("ix_standing_rules_open", "standing_rules", ["tenant", "ended_at"])
    op.create_table(
        "undos",
        sa.Column("proposal_id", sa.String(36), sa.ForeignKey("proposals.id"), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("why", sa.String(24), nullable=False),
        sa.Column("kept_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("undo_id", sa.String(36), nullable=False),
        sa.Column("asks", sa.Integer, nullable=False),
    )
    op.create_index("ix_undos_undo", "undos", ["undo_id"])


def _adopting() -> None:
    op.create_table(
        "rule_changes",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("tenant", sa.Text, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
        sa.Column("base", sa.String(36), nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("impact", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("proposed_by", sa.Text, nullable=False),
        sa.Column("proposed_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("overlap", sa.Integer, nullable=False),
        sa.Column("state", sa.String(9), nullable=False),
        sa.Column("decided_by", sa.Text, nullable=False),
        sa.Column("decided_at", sa.BigInteger, nullable=True),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("alone", sa.String(12), nullable=False),
        sa.Column("until", sa.BigInteger, nullable=True),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.create_index("ix_rule_changes_state", "rule_changes", ["tenant", "state"])
    op.create_table(
        "rule_texts",
        sa.Column("digest", sa.String(71), primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
    )


def _signing_in() -> None:
    op.create_table(
        "passwords",
        sa.Column("name", sa.Text, sa.ForeignKey("reviewers.name"), primary_key=True),
        sa.Column("password_hash", sa.Text, nullable=False),
        sa.Column("set_at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "passkeys",
        sa.Column("credential", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, sa.ForeignKey("reviewers.name"), nullable=False),
        sa.Column("public_key", sa.LargeBinary, nullable=False),
        sa.Column("sign_count", sa.BigInteger, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("added_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=True),
        sa.Column("removed_at", sa.BigInteger, nullable=True),
    )
    op.create_index("ix_passkeys_name", "passkeys", ["name"])
    op.create_table(
        "identities",
        sa.Column("issuer", sa.Text, primary_key=True),
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, sa.ForeignKey("reviewers.name"), nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("linked_at", sa.BigInteger, nullable=False),
        sa.Column("removed_at", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "sessions",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("name", sa.Text, sa.ForeignKey("reviewers.name"), nullable=False),
        sa.Column("selector", sa.String(16), nullable=False),
        sa.Column("method", sa.String(12), nullable=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
        sa.Column("proved_at", sa.BigInteger, nullable=False),
        sa.Column("browser", sa.Text, nullable=False),
    )
    op.create_index("ix_sessions_seen", "sessions", ["seen_at"])
    op.create_index("ix_sessions_name", "sessions", ["name"])
    _links_and_counts()


def _links_and_counts() -> None:
    op.create_table(
        "invitations",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("used_at", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "spent_proofs",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("purpose", sa.String(12), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_spent_proofs_at", "spent_proofs", ["at"])
    op.create_table(
        "tries",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("since", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "devices",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("name", sa.Text, sa.ForeignKey("reviewers.name"), nullable=False),
        sa.Column("seen_at", sa.BigInteger, nullable=False),
    )
    op.create_index("ix_devices_name", "devices", ["name"])
    op.create_table(
        "page_keys",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
    )


def _closing() -> None:
    op.create_table(
        "closed_tiles",
        sa.Column("log", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("level", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("hashes", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "put_aside",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("log", sa.Integer, nullable=False),
        sa.Column("source", sa.String(24), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("digest", sa.String(71), nullable=False),
    )
    op.create_index("ix_put_aside_log", "put_aside", ["log", "id"])
    op.create_index("ix_put_aside_subject", "put_aside", ["subject"])


def _seeding() -> None:
    op.create_table(
        "seed_consents",
        sa.Column("reviewer", sa.Text, sa.ForeignKey("reviewers.name"), primary_key=True),
        sa.Column("agreed_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger, nullable=True),
        sa.Column("next_at", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "seeds",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("reviewer", sa.Text, sa.ForeignKey("reviewers.name"), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made_at", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.String(10), nullable=False),
        sa.Column("answered_at", sa.BigInteger, nullable=True),
    )
    op.create_index("ix_seeds_reviewer", "seeds", ["reviewer", "answer"])


def downgrade() -> None:
    raise NotImplementedError("there is no way back")
