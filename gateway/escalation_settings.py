"""What the gateway may be told about emergencies; these are settings like all others."""

from __future__ import annotations

from pydantic import Field

from checkvalve.gateway.channel_settings import ChannelSettings


class EscalationSettings(ChannelSettings):
    """The settings of breaking the glass."""

    break_glass: bool = Field(
        False, description="one person with the role breaker may let a call run where its review rule allows it"
    )
    break_glass_open: int = Field(
        3, ge=1, le=100, description="broken glasses nobody has looked at; with so many no further one is broken"
    )


__all__ = ["EscalationSettings"]
