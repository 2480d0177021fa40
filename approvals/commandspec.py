"""What the deployer declares of the commands that a tool may run: shapes of a list of words, in the manifest.

Guarantees: a shape names one program and its fixed words; every option and every operand that is not in it is refused.
Nothing is allowed by being left out. A shape that says that it only reads says why.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from checkvalve.approvals.commandline import CommandLineError, split

ValueKind: TypeAlias = Literal["path", "folder", "name", "number", "text"]
"""path: below the work folder; folder: it, or below it; name: one plain word; number: digits; text: anything."""
OptionKind: TypeAlias = Literal["flag", "path", "folder", "name", "number", "text"]

_OPTION: Final = re.compile(r"-{1,2}[A-Za-z0-9][A-Za-z0-9_.-]*=?|-[A-Za-z0-9]")
_PROGRAM: Final = re.compile(r"/(?:[A-Za-z0-9_.+-]+/)*[A-Za-z0-9_.+-]+|[A-Za-z0-9_+-][A-Za-z0-9_.+-]*")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class OperandSpec(_Strict):
    """One operand, or a row of them: a word that is no option."""

    kind: ValueKind = Field("path", description="path, folder, name, number or text")
    one_of: tuple[str, ...] = Field((), description="the only values it may have")
    optional: bool = Field(default=False, description="may be left out")
    many: bool = Field(default=False, description="for the last one: as many as wanted, all of this kind")


Option: TypeAlias = OptionKind | Annotated[tuple[str, ...], Field(min_length=1)]
"""What an option takes: nothing (flag), a value of a kind, or one of the listed values."""


class CommandSpec(_Strict):
    """One shape that a command may have. All of its words have to fit, and nothing may be left over."""

    run: str = Field(min_length=1, max_length=1_000, description="the program and its fixed words, such as `git log`")
    options: dict[str, Option] = Field(
        default_factory=dict,
        description="options by exact spelling: flag, a kind of value, or a list of values. `--depth=` takes its value "
        "in the same word, `--depth` in the next; nothing is abbreviated or bundled",
    )
    operands: tuple[OperandSpec, ...] = Field((), description="what may follow, in order; none when left out")
    reads_only: bool = Field(
        default=False, description="changes nothing: runs in a closed sandbox whoever chose its words"
    )
    review: bool = Field(default=False, description="a person is asked, whoever chose its words")
    asks: tuple[str, ...] = Field(
        (), description="words of a user that ask for this command, beside the program's own name"
    )
    evidence: str = Field("", description="why it only reads")

    @field_validator("run")
    @classmethod
    def _plain_words(cls, value: str) -> str:
        try:
            words = split(value)
        except CommandLineError as error:
            raise ValueError(f"`run` holds {error.message}; write a program and plain words") from None
        if not _PROGRAM.fullmatch(words[0]):
            raise ValueError(f"the program {words[0]!r} is neither a plain name nor an absolute path")
        return value

    @field_validator("options")
    @classmethod
    def _spelled_out(cls, value: dict[str, Option]) -> dict[str, Option]:
        for name, takes in value.items():
            if not _OPTION.fullmatch(name):
                raise ValueError(f"{name!r} is no spelling of an option; write it as it is given, such as --depth")
            if name.endswith("=") and takes == "flag":
                raise ValueError(f"{name!r} takes a value; say of which kind")
        return value

    @model_validator(mode="after")
    def _one_meaning(self) -> CommandSpec:
        """Refuse shapes of which a command could fit in two ways, and a claim without evidence."""
        for operand in self.operands[:-1]:
            if operand.many or operand.optional:
                raise ValueError("only the last operand may be `many` or `optional`")
        if self.reads_only and not self.evidence:
            raise ValueError(f"`{self.run}` is said to only read; say in `evidence` why it changes nothing")
        if self.reads_only and self.review:
            raise ValueError(f"`{self.run}` cannot both run whoever chose its words and wait for a person")
        return self

    @property
    def words(self) -> tuple[str, ...]:
        """Return the program and its fixed words."""
        return split(self.run)


class SandboxSpec(_Strict):
    """That a tool's code runs in the gateway's own sandbox, and what is wider there than nothing."""

    network: bool = Field(default=False, description="has the network; every command then waits for a person")
