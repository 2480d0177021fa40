"""What the gateway may be told about the review pages; these are settings like all others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator

from checkvalve.gateway.adoption_settings import AdoptionSettings
from checkvalve.gateway.doctor_settings import DoctorSettings
from checkvalve.gateway.escalation_settings import EscalationSettings
from checkvalve.gateway.oidc_settings import OIDC_PATHS, OidcSettings

REVIEW_PATHS: Final = frozenset({"review_rules"}) | OIDC_PATHS
"""Settings of this module that are paths."""
_ORIGIN: Final = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,255}")


class ReviewSettings(EscalationSettings, OidcSettings, DoctorSettings, AdoptionSettings):
    """The settings of the pages that people decide on."""

    review_rules: Path | None = Field(
        None, description="a YAML file: who has to say yes to what, within which time; default: one approver"
    )
    review_pages: bool = Field(True, description="`checkvalve serve` also serves the review pages, under /review")
    review_origin: str = Field(
        "", description="the address at which people reach them, such as https://gate.example; default: this machine's"
    )
    review_idle: int = Field(
        1_800, ge=60, le=86_400, description="seconds without a look after which one is signed out"
    )
    review_session: int = Field(28_800, ge=300, le=604_800, description="seconds after which one signs in again anyway")

    seeded_items: int = Field(
        0,
        ge=0,
        le=5,
        description="made-up questions within a week, at most, for each reviewer who has agreed; 0: none",
    )
    standing_rules: Literal["off", "one", "two"] = Field(
        "two", description="how many people make a standing rule; off: none is made, and none counts"
    )

    @field_validator("review_origin")
    @classmethod
    def _is_origin(cls, value: str) -> str:
        if value and not _ORIGIN.fullmatch(value):
            raise ValueError("an origin is a scheme, a host and maybe a port, such as https://gate.example")
        return value.lower()
