"""What the gateway may be told about channels and about people's attention; these are settings like all others."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pydantic import Field

from checkvalve.gateway.filter_settings import InboundSettings

CHANNEL_PATHS: Final = frozenset({"channels", "oncall"})
"""Settings of this module that are paths."""


class ChannelSettings(InboundSettings):
    """The settings of who is told what, and of how often one person may say yes."""

    channels: Path | None = Field(
        None, description="a TOML file of channels that are told what happens: webhooks, chat, mail"
    )
    oncall: Path | None = Field(
        None, description="a TOML file of who is on call: schedules, services, programs; for `oncall:NAME` in a step"
    )
    review_budget: int = Field(
        30, ge=0, le=1_000, description="yeses of one person within an hour; beyond it questions wait. 0: any number"
    )


__all__ = ["CHANNEL_PATHS", "ChannelSettings"]
