"""What the gateway may be told about the signed log; these are settings like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, Field, field_validator

from checkvalve.approvals.anchors import parse_anchors

AUDIT_PATHS: Final = frozenset({"audit_key", "audit_signed", "audit_policy"})
"""The settings that are paths."""


class AuditSettings(BaseModel):
    """The settings of how the audit log is signed."""

    audit_key: Path | None = Field(
        None,
        description="the key that signs the audit log; default: `audit-key.json` beside the database, if there",
    )
    audit_signed: Path | None = Field(
        None, description="the file of the last signed checkpoint; default: beside the key. Keep it out of backups"
    )
    audit_sealer: Literal["gateway", "apart"] = Field(
        "gateway", description="who signs: the gateway, or a process of its own (`checkvalve audit seal --watch`)"
    )
    audit_anchors: str = Field(
        "",
        description="who else is told of checkpoints: file:/path, syslog:, witness:URL KEY, s3:BUCKET/PREFIX 365d, "
        "tsa:URL FILE ROOT; commas between them",
    )
    audit_policy: Path | None = Field(
        None, description="a policy of witnesses (C2SP `tlog-policy`): whose cosignatures verifying asks for"
    )
    audit_heartbeat_seconds: int = Field(
        60, ge=5, le=86_400, description="seconds without an event after which the log says that it is still watched"
    )

    @field_validator("audit_anchors")
    @classmethod
    def _are_anchors(cls, value: str) -> str:
        parse_anchors(value)
        return value
