"""What the gateway may be told about the inbound filters; these are settings like all others."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from checkvalve.gateway.audit_settings import AuditSettings


class InboundSettings(AuditSettings):
    """The settings of what is done with content that enters."""

    inbound_filter: Literal["on", "report", "off"] = Field(
        "on", description="what enters: on scans, cleans and asks; report scans and tells; off does not scan"
    )
    inbound_withhold: Literal["never", "high", "medium"] = Field(
        "never", description="from which weight of a finding on content is withheld, not only cleaned"
    )
    inbound_seconds: float = Field(
        0.25,
        ge=0.05,
        le=60,
        allow_inf_nan=False,
        description="seconds to scan one item; what is left then is unscanned",
    )
    inbound_max_tokens: int = Field(
        0, ge=0, description="tokens of one item that a model is shown at most; a longer one is withheld; 0 is no bound"
    )
    inbound_keys: Literal["redact", "keep"] = Field(
        "redact", description="keys, passwords and registered values in what enters: redact shows models a mark instead"
    )
    inbound_keys_of: str = Field(
        "", description="tools whose results keep their keys, because the agent works with them, with commas between"
    )
    inbound_tokens: str = Field(
        "", description="personal data that models are shown as tokens, by tool: `read_mail: email iban, *: card`"
    )
    inbound_detectors: str = Field(
        "", description="detectors of other packages to load, by entry point, with commas between them"
    )
