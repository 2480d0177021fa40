"""What the deployer declares of undoing a tool: the call of another tool that takes its effect back, and until when.

Guarantees: every argument of that call says where its value is from; nothing is made up by a model and nothing is left
to be filled in later. Whether tools and arguments exist is checked with the whole manifest (:mod:`undo_declared`).
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from checkvalve.filters.strictjson import JSON

_UNITS: Final = {"m": 60, "h": 3_600, "d": 86_400}
_WITHIN: Final = r"^[1-9][0-9]{0,4}[mhd]$"
_PATH: Final = re.compile(r"\$(?:\.[^.\s]{1,200}){0,16}")
MICROSECONDS: Final = 1_000_000


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _no_path(path: str | None) -> bool:
    return path is not None and _PATH.fullmatch(path) is None


class UndoValue(_Strict):
    """Where the value of one argument is from: exactly one of these."""

    argument: str | None = Field(
        None, min_length=1, max_length=200, description="an argument of the call that is undone, by its name"
    )
    result: str | None = Field(
        None, description="a field of that call's result: `$` is the whole, `$.id` a member, `$.items.0.id` by number"
    )
    before: str | None = Field(None, description="a field of the record that was read before the effect, as a path")
    value: str | bool | int | float | None = Field(None, description="a constant")

    @model_validator(mode="after")
    def _one_of_them(self) -> UndoValue:
        """Refuse a value with no origin, or with two."""
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("say where the value is from: one of `argument`, `result`, `before`, `value`")
        if _no_path(self.result) or _no_path(self.before):
            raise ValueError("a path starts with `$` and names members after dots, such as `$.id`")
        return self

    def to_json(self) -> dict[str, JSON]:
        """Return what was declared, for the record."""
        name = next(iter(self.model_fields_set))
        return {name: getattr(self, name)}


class LookValue(_Strict):
    """Where the value of an argument of the reading tool is from: exactly one of these."""

    argument: str | None = Field(
        None, min_length=1, max_length=200, description="an argument of the call that it is made beside, by its name"
    )
    value: str | bool | int | float | None = Field(None, description="a constant")

    @model_validator(mode="after")
    def _one_of_them(self) -> LookValue:
        """Refuse a value with no origin, or with two."""
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("say where the value is from: one of `argument`, `value`")
        return self


class LookSpec(_Strict):
    """A read that the gateway makes beside a call: of the record that the call is about."""

    tool: str = Field(min_length=1, max_length=200, description="a tool of the same server, with effect read")
    args: dict[str, LookValue] = Field(default_factory=dict, description="its arguments by name")


class BeforeSpec(LookSpec):
    """The read that is made right before the effect, and again when it is to be undone."""

    required: bool = Field(
        default=False, description="without the record the effect is held back; else only its undoing is lost"
    )


class UndoSpec(_Strict):
    """The call that takes an effect back. It is decided by a person, each time."""

    tool: str = Field(min_length=1, max_length=200, description="a tool of the same server")
    args: dict[str, UndoValue] = Field(default_factory=dict, description="its arguments by name")
    before: BeforeSpec | None = Field(None, description="what is read before the effect, for its old values")
    within: Annotated[str, Field(pattern=_WITHIN)] | None = Field(
        None, description="how long it can be undone: a number of minutes, hours or days, such as 30m, 24h, 30d"
    )

    @property
    def microseconds(self) -> int | None:
        """How long the effect can be undone; nothing: for ever."""
        return None if self.within is None else int(self.within[:-1]) * _UNITS[self.within[-1]] * MICROSECONDS


__all__ = ["MICROSECONDS", "BeforeSpec", "LookSpec", "LookValue", "UndoSpec", "UndoValue"]
