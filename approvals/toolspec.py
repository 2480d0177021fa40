"""What the deployer declares of a tool: the pydantic models behind the YAML manifest.

Guarantees: an unknown field is an error; whatever is not declared takes the strictest value (effect ``send``, every
argument a target, every result field written by outsiders and private). Loading files is ``manifest.py``'s work.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PrivateAttr, field_validator, model_validator

from checkvalve.approvals.commandspec import CommandSpec, SandboxSpec
from checkvalve.approvals.fieldspec import (
    ArgumentSpec,
    Declared,
    Effect,
    Identifier,
    ResultField,
    Role,
    WritableBy,
    argument_of,
)
from checkvalve.approvals.limits import Limits
from checkvalve.approvals.pinspec import MAX_PINS, PinSpec
from checkvalve.approvals.previewspec import PreviewSpec
from checkvalve.approvals.probespec import ProbeSpec
from checkvalve.approvals.titlespec import title_problem
from checkvalve.approvals.undospec import LookSpec, UndoSpec
from checkvalve.approvals.variants import VariantSpec


class Idempotency(enum.StrEnum):
    """What may happen after a crash in the middle of a call; ``none`` is at most one attempt, ever.

    ``key``: tried again with the same key and the same bytes, three times in all and within a day (:mod:`retries`).
    ``probe``: ``probe_with`` is read, and settles the call or does not (:mod:`probes`); it is not run again.
    ``read``: simply run again.
    """

    NONE = "none"
    KEY = "key"
    PROBE = "probe"
    READ = "read"


class ToolSpec(Declared):
    """Everything the gateway knows of one tool."""

    name: Identifier = Field("", description="set from the key; only a tool of a `server` says it itself")
    server: str = Field("", description="the server's identity, where two servers have a tool of one name")
    description: str = Field("", description="what it does, in words that the actor of the pipeline reads")
    title: str = Field(
        "", description="what a call does, in one plain sentence for people, such as `Send a mail to {recipients}`"
    )
    effect: Effect = Field(Effect.SEND, description="what the tool does to the world; see the effects below")
    leaves_domain: bool = Field(False, description="a read that sends its arguments outside (fetch, search, DNS)")
    reversible: bool = Field(False, description="the effect can be taken back; a policy may ask less for it")
    undo: str = Field("", description="how it is taken back, or why it cannot be, in words for a person")
    undo_with: UndoSpec | None = Field(None, description="the call that takes it back; a person decides it each time")
    look_first: LookSpec | None = Field(
        None, description="the read that shows the record this call changes; made when nobody has read it yet"
    )
    preview: PreviewSpec | None = Field(
        None, description="how a person is shown what a call would do: by a tool that reads, or by a dry run"
    )
    pin: tuple[PinSpec, ...] = Field(
        (),
        max_length=MAX_PINS,
        description="what may change while a person thinks: its version is read then, and again before the call",
    )
    asks: tuple[str, ...] = Field(
        (), description="words of a user that ask for this effect; can only make things stricter"
    )
    about: tuple[str, ...] = Field((), description="nouns for what the effect is done to, such as email or file")
    args: dict[str, ArgumentSpec] = Field(
        default_factory=dict, description="its arguments by name; a call with any other is denied"
    )
    result: tuple[ResultField, ...] = Field(
        (), description="declared fields of its results; all others are untrusted and private"
    )
    idempotency: Idempotency = Field(
        Idempotency.NONE, description="none, key, probe or read: what may happen after a crash in the middle of a call"
    )
    probe_with: ProbeSpec | None = Field(
        None, description="of `idempotency: probe`: the read that says whether the effect happened"
    )
    egress: tuple[str, ...] = Field((), description="the only hosts it may reach, by exact name; empty: no such list")
    open_hosts: tuple[str, ...] = Field(
        (), description="hosts that a read may visit unasked, at a plain address: the deployer trusts them with it"
    )
    open_folders: tuple[str, ...] = Field(
        (),
        description="folders of the agent's own, in which a write that can be taken back needs no origin for its path",
    )
    commands: tuple[CommandSpec, ...] = Field(
        (), description="the shapes that its commands may have; any other is denied, and with none all are"
    )
    sandbox: SandboxSpec | None = Field(
        None, description="its code runs in the gateway's own sandbox; without it a tool that runs code is denied"
    )
    limits: Limits = Field(Limits(), description="bounds above which a person is asked, whatever the origin")
    schema_digest: str | None = Field(
        None,
        pattern=r"^sha256:[0-9a-f]{64}$",
        description="pins the arguments: with others the tool does not run",
    )
    input_schema: dict[str, object] | None = Field(
        None, description="JSON Schema of the arguments, when the deployer ships it"
    )
    variants: tuple[VariantSpec, ...] = Field(
        (), description="what the tool is when control arguments have certain values; the first that fits counts"
    )
    _forms: tuple[ToolSpec, ...] = PrivateAttr(())  # one for each variant, made once

    @model_validator(mode="after")
    def _title_is_plain(self) -> ToolSpec:
        """Refuse a headline that could mislead, before anybody reads one."""
        if problem := title_problem(self.title, self.args):
            raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _variants_are_tools(self) -> ToolSpec:
        """Make the tool of each variant, so that what is wrong with one is found where the manifest is read."""
        declared = {name: getattr(self, name) for name in type(self).model_fields}
        for variant in self.variants:
            for problem in variant.problems(self.args):
                raise ValueError(problem)
        self._forms = tuple(ToolSpec.model_validate(variant.over(declared)) for variant in self.variants)
        return self

    def called_with(self, args: Mapping[str, object]) -> ToolSpec:
        """Return the tool as it is in a call with these arguments: the first variant that fits, or itself."""
        fitting = (form for variant, form in zip(self.variants, self._forms, strict=True) if variant.fits(args))
        return next(fitting, self)

    @model_validator(mode="after")
    def _egress_needs_an_address(self) -> ToolSpec:
        """Refuse a list of hosts that nothing would be compared with."""
        if self.egress and self.args and not any(argument.kind in {"url", "host"} for argument in self.args.values()):
            raise ValueError("`egress` lists hosts, but no argument has kind url or host; give the address its kind")
        if self.open_hosts and not (self.effect is Effect.READ and self.leaves_domain):
            raise ValueError("`open_hosts` is for a read that leaves the domain: say `leaves_domain: true`")
        return self

    @model_validator(mode="after")
    def _open_folders_are_plain(self) -> ToolSpec:
        """Refuse an open folder where a wrong file could not be taken back, or that is no folder of the agent's own."""
        if not self.open_folders:
            return self
        if self.effect is not Effect.WRITE or not self.reversible or self.leaves_domain:
            raise ValueError(
                "`open_folders` is for a write that stays inside and can be taken back: `reversible: true`"
            )
        for folder in self.open_folders:
            if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_ -]*(?:/[A-Za-z0-9_][A-Za-z0-9_ -]*)*/?", folder):
                raise ValueError(f"{folder!r} is no plain folder below the tool's own; write it like `notes/daily`")
        return self

    @model_validator(mode="after")
    def _readers_are_named_by_arguments(self) -> ToolSpec:
        """Refuse a reader that no argument names, or that prose would name."""
        readers = {name for field in self.result if isinstance(field.readers, tuple) for name in field.readers}
        for name in sorted(found for reader in readers if (found := argument_of(reader)) is not None):
            argument = self.args.get(name)
            if argument is None or argument.role not in {Role.TARGET, Role.SELECTOR} or argument.kind == "text":
                raise ValueError(
                    f"`readers` has {{{name}}}; declare {name!r} among `args` as a target or selector with a `kind` "
                    "other than text, so that it names a place"
                )
        return self

    @model_validator(mode="after")
    def _conditions_stand_on_trust(self) -> ToolSpec:
        """Refuse a condition on a field that outsiders write: they would choose when they are trusted."""
        sound = {
            field.path for field in self.result if field.writable_by is not WritableBy.OUTSIDERS and not field.when
        }
        for field in self.result:
            for path in field.when:
                if path not in sound:
                    raise ValueError(
                        f"field {field.path!r} depends on {path!r}; declare that field for owner, members or stamped, "
                        "without a `when` of its own"
                    )
        return self


class Principal(Declared):
    """Whom the agent works for: the names that count as ``owner``, and the hosts that are inside the trust domain."""

    owner: tuple[str, ...] = Field((), description="addresses and names of the person the agent works for")
    domain: tuple[str, ...] = Field((), description="hosts that are inside, by exact name, such as corp.example")
    contacts: tuple[str, ...] = Field(
        (), description="people the user knows, by address or name; they count in the profile `contacts` only"
    )


class Manifest(Declared):
    """The one file people edit: who it is for, and every tool that may ever run."""

    version: Literal[1] = Field(1, description="of this format")
    name: Identifier = Field(description="of the manifest, for people")
    description: str = Field("", description="for people")
    principal: Principal = Field(Principal(), description="whom the agent works for")
    protected: tuple[str, ...] = Field((), description="paths and hosts no tool may touch, beside the gateway's own")
    tools: dict[str, ToolSpec] = Field(description="every tool that may ever run, by name, or by `server/name`")
    _digest: str = PrivateAttr("")  # computed once by manifest_digest(): a manifest never changes

    @field_validator("protected")
    @classmethod
    def _no_globs(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse patterns: they would look as if they protected something."""
        for guard in value:
            if any(char in guard for char in "*?["):
                raise ValueError(f"{guard!r} is a pattern; write the folder itself, everything below it is covered")
        return value

    @model_validator(mode="before")
    @classmethod
    def _name_tools(cls, data: object) -> object:
        """Give each tool its key as its name, so that people write it once."""
        if isinstance(data, dict) and isinstance(data.get("tools"), dict):
            named = {
                key: ({"name": key, **spec} if isinstance(spec, dict) else {"name": key} if spec is None else spec)
                for key, spec in data["tools"].items()
            }
            return {**data, "tools": named}
        return data

    def find_called(self, tool: str, server: str, args: Mapping[str, object]) -> ToolSpec | None:
        """Return the spec of a tool as it is in a call with these arguments; None where nobody declared it."""
        spec = self.find(tool, server)
        return None if spec is None else spec.called_with(args)

    def find(self, tool: str, server: str = "") -> ToolSpec | None:
        """Return the spec of ``tool`` on ``server``, or None: an unknown tool never runs."""
        spec = self.tools.get(f"{server}/{tool}") if server else None
        if spec is None:
            spec = self.tools.get(tool)
        return spec if spec is not None and spec.server == server else None
