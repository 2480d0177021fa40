"""What the gateway may be told about the agent's own user; this is a setting like all others."""

from __future__ import annotations

from pydantic import Field

from checkvalve.gateway.channel_settings import ChannelSettings


class DoctorSettings(ChannelSettings):
    """The settings that only `checkvalve doctor` reads."""

    agent_user: str = Field(
        "", max_length=64, description="the system's user under whom the agent runs, name or number: for the doctor"
    )
