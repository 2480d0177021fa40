"""What the gateway may be told about the people behind its agents; this is a setting like all others."""

from __future__ import annotations

from pydantic import BaseModel, Field, field_validator

from checkvalve.approvals.people import RULE, folded, is_usable


class PeopleSettings(BaseModel):
    """The setting that says whose agents these are."""

    agent_owner: str = Field(
        "",
        max_length=500,
        description="whose the agents of this gateway are, names with commas between: they approve nothing it asks for",
    )

    @property
    def agent_owners(self) -> tuple[str, ...]:
        """The owners as people are compared."""
        return tuple(folded(name) for name in self.agent_owner.split(",") if name.strip())

    @field_validator("agent_owner")
    @classmethod
    def _are_people(cls, value: str) -> str:
        if any(not is_usable(name) for name in value.split(",") if name.strip()):
            raise ValueError(f"an owner has a name that people can read: {RULE}")
        return value


__all__ = ["PeopleSettings"]
