"""Bounds that a manifest sets for one tool."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Limits(BaseModel):
    """Bounds above which a person is asked whatever the origin. Zero means none at all; absent means no bound."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    amount: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="the largest amount, of each argument of that role"
    )
    calls_per_task: int | None = Field(None, ge=0, description="calls of this tool in one task")


__all__ = ["Limits"]
