"""The fixtures made from public incidents: their format, and what each of their two sides comes down to.

A fixture is an attack and its twin. The twin inherits everything and overrides the keys it names. Guarantees: models
are frozen, an unknown field is an error, and every problem names file, line and field. What a fixture waits for is
written in the fixture, for each side, as one of the known capabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from checkvalve.corpora.errors import CorpusDataError

Expected: TypeAlias = Literal["allow", "sanitise", "ask", "withhold", "deny"]
Capability: TypeAlias = Literal[
    "delegation identity",
    "images",
    "pinning at load",
    "requester identity",
    "session scope",
]
"""What the gateway does not have yet and a side of a fixture cannot be judged without."""
Side: TypeAlias = Literal["attack", "twin"]
SIDES: Final[tuple[Side, ...]] = ("attack", "twin")

_NEXT_TURN: Final = " / next turn: "
_TAG_OFFSET: Final = 0xE0000
Text = Annotated[str, Field(min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FixtureCall(_Strict):
    """The call that the model proposes; the tool is written ``server.tool``."""

    tool: Text
    args: dict[str, Any]


class Surroundings(_Strict):
    """What the deployer of the fixture's setting configured."""

    allow_hosts: tuple[str, ...] = ()
    deny_paths: tuple[str, ...] = ()
    pins: dict[str, str] = Field(default_factory=dict)


class TwinChanges(_Strict):
    """What is different in the harmless neighbour. Nothing said means: as in the attack."""

    task: str | None = None
    untrusted: Any = None
    tool: str | None = None
    args: dict[str, Any] | None = None
    prior_reads: tuple[str, ...] | None = None
    policy: Surroundings | None = None
    session: dict[str, Any] | None = None
    turn: int | None = None
    check: str = ""
    expect: Expected


class Waiting(_Strict):
    """The capability that each side waits for; empty when it can be judged today."""

    attack: Capability | Literal[""] = ""
    twin: Capability | Literal[""] = ""


class Incident(_Strict):
    """One fixture, as it stands in the file."""

    id: Annotated[str, Field(pattern=r"^[A-Z]\d\d$")]
    title: Text
    stopped_by: Text
    task: Text
    source_tool: Text
    untrusted: Any
    build: str = ""
    call: FixtureCall
    prior_reads: tuple[str, ...] = ()
    policy: Surroundings = Surroundings()
    session: dict[str, Any] = Field(default_factory=dict)
    turn: int = 1
    check: str = ""
    expect: Expected
    twin: TwinChanges
    waits_for: Waiting = Waiting()


@dataclass(frozen=True)
class Situation:
    """One side, ready to be run: the user's words before and after the reading, what was read, and the call."""

    incident: str
    side: Side
    before: tuple[str, ...]
    after: tuple[str, ...]
    source_tool: str
    untrusted: Any
    prior_reads: tuple[str, ...]
    policy: Surroundings
    tool: str
    args: Mapping[str, Any]
    expect: Expected
    waits_for: str


def situation(incident: Incident, side: Side) -> Situation:
    """Return one side of a fixture with everything it inherits.

    Words of a later turn come after the reading. A twin of a later turn replaces the last words and keeps the first;
    of a first turn it replaces the whole task. Content that has to be built is built for the attack only.
    """
    first, _, later = incident.task.partition(_NEXT_TURN)
    twin = incident.twin if side == "twin" else None
    untrusted = _built(incident)
    if twin is not None:
        untrusted = incident.untrusted if twin.untrusted is None else twin.untrusted
        if twin.task is not None:
            first, later = (first, twin.task) if (twin.turn or incident.turn) > 1 else (twin.task, "")
    args = incident.call.args if twin is None or twin.args is None else twin.args
    return Situation(
        incident=incident.id,
        side=side,
        before=(first,),
        after=(later,) if later else (),
        source_tool=incident.source_tool,
        untrusted=untrusted,
        prior_reads=incident.prior_reads if twin is None or twin.prior_reads is None else twin.prior_reads,
        policy=incident.policy if twin is None or twin.policy is None else twin.policy,
        tool=incident.call.tool if twin is None or twin.tool is None else twin.tool,
        args=args,
        expect=incident.expect if twin is None else twin.expect,
        waits_for=incident.waits_for.attack if twin is None else incident.waits_for.twin,
    )


def _built(incident: Incident) -> Any:
    """Return what the source returned; invisible text is built here, so that the file can be read by people."""
    if not incident.build:
        return incident.untrusted
    _, quote, rest = incident.build.partition("'")
    sentence, closing, _ = rest.rpartition("'")
    if not quote or not closing or f"{_TAG_OFFSET:#X}".replace("X", "x") not in incident.build:
        raise CorpusDataError(f"fixture {incident.id}: nobody knows how to build {incident.build!r}")
    return f"{incident.untrusted}{''.join(chr(_TAG_OFFSET + ord(char)) for char in sentence)}"


def parse_incidents(text: str, name: str) -> tuple[Incident, ...]:
    """Parse one fixture per line.

    Raises:
        CorpusDataError: a line is not JSON, repeats an id, or does not fit the format.
    """
    found: dict[str, Incident] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            incident = Incident.model_validate(json.loads(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            field = ".".join(str(part) for part in first["loc"]) or "the fixture"
            raise CorpusDataError(f"{where}: {field}: {first['msg']}") from None
        except (ValueError, RecursionError) as error:
            raise CorpusDataError(f"{where}: not one JSON object: {error}") from None
        if incident.id in found:
            raise CorpusDataError(f"{where}: the id {incident.id!r} is used twice; give each fixture its own")
        found[incident.id] = incident
    if not found:
        raise CorpusDataError(f"{name}: no fixture in it")
    return tuple(found.values())


def load_incidents(path: Path | Traversable | None = None) -> tuple[Incident, ...]:
    """Load the fixtures of ``path``, or those that ship with the package."""
    source = files("checkvalve.corpora") / "data" / "incidents.jsonl" if path is None else path
    try:
        return parse_incidents(source.read_text(encoding="utf-8"), source.name)
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusDataError(f"cannot read the fixtures in {source.name}: {error}") from error
