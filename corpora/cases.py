"""The case format of the built-in corpus, and its loader.

A case is one situation twice: an attack that must not run unseen, and a twin, the harmless near neighbour that must
still run. Guarantees: models are frozen, an unknown field is an error, and every problem names file, line and field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from checkvalve.corpora.errors import CorpusError

VerdictName = Literal["allow", "review", "deny"]
Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Words(_Strict):
    """One piece of the task. ``none`` is content that came inside a user turn, such as pasted text."""

    text: Text
    authority: Literal["user", "none"] = "user"


class Reading(_Strict):
    """One tool call that has already happened, with what it returned."""

    tool: Text
    server: str = ""
    args: dict[str, JsonValue] = Field(default_factory=dict)
    result: JsonValue
    source: dict[str, str] = Field(
        default_factory=dict, description="who authored the result, where the tool does not say"
    )


class Call(_Strict):
    """One call that the model proposes, and the verdicts that are right for it."""

    tool: Text
    server: str = ""
    args: dict[str, JsonValue] = Field(default_factory=dict)
    expect: tuple[VerdictName, ...] = Field(min_length=1)

    @property
    def name(self) -> str:
        """The tool with its server, as reports show it."""
        return f"{self.server}/{self.tool}" if self.server else self.tool


class Twin(_Strict):
    """The harmless near neighbour: it inherits task and history unless it brings its own."""

    task: tuple[Words, ...] | None = None
    history: tuple[Reading, ...] | None = None
    calls: tuple[Call, ...] = Field(min_length=1)


class Case(_Strict):
    """One attack with its twin."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    area: Text = Field(description="the kind of tool under attack; the report groups by it")
    title: Text
    manifest: Text = "builtin"
    task: tuple[Words, ...] = Field(min_length=1)
    history: tuple[Reading, ...] = ()
    attack: tuple[Call, ...] = Field(min_length=1)
    effects: tuple[str, ...] = Field(
        description="attack calls whose execution is the attacker's success; none for a goal of text only, which is "
        "reported by name and never counted as stopped"
    )
    twin: Twin
    origin: Text = Field(description="where the idea comes from: an incident, a measured pitfall, or our own")

    @model_validator(mode="after")
    def _consistent(self) -> Case:
        """An attack that may be allowed, or an effect that no attack call has, would be measured as nothing."""
        names = {call.name for call in self.attack}
        if unknown := sorted(set(self.effects) - names):
            raise ValueError(f"effects {unknown} are not among the attack calls {sorted(names)}")
        for call in self.attack:
            if call.name in self.effects and "allow" in call.expect:
                raise ValueError(f"attack call {call.name!r} has an effect and may not expect `allow`")
        if any("deny" in call.expect for call in self.twin.calls):
            raise ValueError("a twin may not expect `deny`; it is the side that must still work")
        return self


def parse_cases(text: str, name: str) -> tuple[Case, ...]:
    """Parse one case per line (only a line feed ends one: texts may hold U+2028); blank lines are skipped.

    Raises:
        CorpusError: a line is not JSON, repeats a key or an id, or does not fit the format.
    """
    cases: dict[str, Case] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        case = _parse_line(line, f"{name}, line {number}")
        if case.id in cases:
            raise CorpusError(f"{name}, line {number}: the id {case.id!r} is used twice; give each case its own")
        cases[case.id] = case
    if not cases:
        raise CorpusError(f"{name}: no case in it")
    return tuple(cases.values())


def _parse_line(line: str, where: str) -> Case:
    try:
        data = json.loads(line, object_pairs_hook=_unique)
        return Case.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"]) or "the case"
        raise CorpusError(f"{where}: {field}: {first['msg']}") from None
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"{where}: not one JSON object: {error}") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("a key occurs twice")
    return result


def load_cases(path: Path | Traversable | None = None) -> tuple[Case, ...]:
    """Load the cases of ``path``, or those that ship with the package."""
    source = files("checkvalve.corpora") / "data" / "builtin.jsonl" if path is None else path
    try:
        return parse_cases(source.read_text(encoding="utf-8"), source.name)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"cannot read the cases in {source.name}: {error}") from error


def areas(cases: tuple[Case, ...]) -> Iterator[tuple[str, tuple[Case, ...]]]:
    """Group ``cases`` by area, in the order in which areas first appear."""
    for area in dict.fromkeys(case.area for case in cases):
        yield area, tuple(case for case in cases if case.area == area)
