"""What the gateway may be told about the signed log; these are settings like all others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal, Self

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from checkvalve.approvals.anchors import parse_anchors
from checkvalve.approvals.signers import FILE

AUDIT_PATHS: Final = frozenset(
    {"audit_key", "audit_signed", "audit_policy", "audit_pkcs11_module", "audit_pkcs11_pin_file"}
)
"""The settings that are paths."""
SECRETS: Final = frozenset({"audit_pkcs11_pin"})
"""The settings that stand in no file of settings, since others may read it."""
_SIGNER: Final = re.compile(r"[A-Za-z0-9_.\-]{1,64}")


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
    audit_signer: str = Field(
        FILE,
        description="what holds the keys that are made from now on: file, pkcs11, or an installed signer",
    )
    audit_pkcs11_module: Path | None = Field(
        None, description="the library of a token (PKCS#11), as its maker ships it"
    )
    audit_pkcs11_token: str = Field("", max_length=32, description="the label of the token")
    audit_pkcs11_pin: SecretStr | None = Field(
        None, description="its PIN; as a variable only, never in the settings file. Better: audit_pkcs11_pin_file"
    )
    audit_pkcs11_pin_file: Path | None = Field(None, description="a file with the PIN, for its owner alone (0600)")
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

    @field_validator("audit_signer")
    @classmethod
    def _is_signer(cls, value: str) -> str:
        if not _SIGNER.fullmatch(value):
            raise ValueError("a signer is file, pkcs11, or a name of letters, digits, dots and dashes")
        return value

    @model_validator(mode="after")
    def _has_one_pin(self) -> Self:
        if self.audit_pkcs11_pin is not None and self.audit_pkcs11_pin_file is not None:
            raise ValueError("audit_pkcs11_pin and audit_pkcs11_pin_file are both given: leave one of them out")
        return self
