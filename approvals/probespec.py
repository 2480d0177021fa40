"""What the deployer declares of finding out whether an effect happened: a read, and which of its answers say so.

Guarantees: nothing of it is chosen by a model; every argument is one of the call, a constant or the call's key. What no
condition fits says nothing. Whether tools, arguments and fields exist, and who writes those fields, is checked with the
whole manifest (:mod:`probe_declared`).
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, model_validator

from checkvalve.approvals.fieldspec import Declared
from checkvalve.approvals.undospec import LookSpec, LookValue

SECONDS: Final = 10
"""How long a probe may take where the manifest says nothing: whoever comes back to the call waits for it."""
MAX_SECONDS: Final = 60
MAX_VALUES: Final = 20
_PATH: Final = re.compile(r"\$(?:\.[^.\s]{1,200}){0,16}")


def _is_path(path: str) -> str:
    if _PATH.fullmatch(path) is None:
        raise ValueError("a path starts with `$` and names members after dots, such as `$.state`")
    return path


class ProbeValue(Declared):
    """Where the value of an argument of the probe is from: exactly one of these."""

    argument: str | None = Field(
        None, min_length=1, max_length=200, description="an argument of the call that is looked for, by its name"
    )
    value: str | bool | int | float | None = Field(None, description="a constant")
    key: Literal[True] | None = Field(None, description="true: the idempotency key that the call was made with")

    @model_validator(mode="after")
    def _one_of_them(self) -> ProbeValue:
        """Refuse a value with no origin, or with two."""
        if len(self.model_fields_set) != 1 or getattr(self, next(iter(self.model_fields_set))) is None:
            raise ValueError("say where the value is from: one of `argument`, `value`, `key: true`")
        return self


class ProbeWhen(Declared):
    """One condition on the answer of a probe; a field that is not there meets none."""

    path: Annotated[str, AfterValidator(_is_path)] = Field(
        description="a declared field of the answer that outsiders cannot write, such as `$.state`"
    )
    values: tuple[str | bool | int | float | None, ...] = Field(
        (), max_length=MAX_VALUES, description="it holds one of these, of the same type and to the letter"
    )
    argument: str | None = Field(
        None, min_length=1, max_length=200, description="or: it holds what this argument of the call holds"
    )
    there: Literal[True] | None = Field(None, description="or: it is there, and is not null")

    @model_validator(mode="after")
    def _one_of_them(self) -> ProbeWhen:
        """Refuse a condition that asks for nothing, or for two things."""
        if sum((bool(self.values), self.argument is not None, self.there is not None)) != 1:
            raise ValueError("say what the field has to hold: one of `values`, `argument`, `there: true`")
        return self


class ProbeSpec(Declared):
    """The read that says whether an effect happened; see `idempotency: probe`."""

    tool: str = Field(min_length=1, max_length=200, description="a tool of the same server, with effect read")
    args: dict[str, ProbeValue] = Field(default_factory=dict, description="its arguments by name")
    done_when: ProbeWhen = Field(description="the answer that says that the effect happened")
    not_done_when: ProbeWhen | None = Field(
        None, description="the answer that says that it did not; without it the probe can only say that it did"
    )
    seconds: int = Field(SECONDS, ge=1, le=MAX_SECONDS, description="how long it may take; then it has said nothing")

    @property
    def conditions(self) -> dict[str, ProbeWhen]:
        """The conditions by their names in the manifest."""
        found = {"done_when": self.done_when}
        return found if self.not_done_when is None else found | {"not_done_when": self.not_done_when}

    @property
    def look(self) -> LookSpec:
        """The reading call in the form of any read beside a call; in the place of the key stands a text."""
        args = {
            name: LookValue(argument=item.argument)
            if item.argument is not None
            else LookValue(value="key" if item.key else item.value)
            for name, item in self.args.items()
        }
        return LookSpec(tool=self.tool, args=args)


__all__ = ["MAX_SECONDS", "SECONDS", "ProbeSpec", "ProbeValue", "ProbeWhen"]
