"""What the deployer declares of a tool: the pydantic models behind the YAML manifest.

Guarantees: an unknown field is an error; whatever is not declared takes the strictest value (effect ``send``, every
argument a target, every result field written by outsiders and private). Loading files is ``manifest.py``'s work.
"""

from __future__ import annotations

import enum
import re
from difflib import get_close_matches
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from checkvalve.approvals.commandspec import CommandSpec, SandboxSpec
from checkvalve.approvals.limits import Limits
from checkvalve.approvals.undospec import LookSpec, UndoSpec


class Effect(enum.StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"
    SEND = "send"
    PAY = "pay"
    EXECUTE = "execute"
    REMEMBER = "remember"
    CONFIGURE = "configure"
    DELETE = "delete"


class Role(enum.StrEnum):
    """What an argument does. Everything but ``content`` carries authority."""

    TARGET = "target"
    SELECTOR = "selector"
    COMMAND = "command"
    CREDENTIAL = "credential"
    AMOUNT = "amount"
    CONTROL = "control"
    CONTENT = "content"


class WritableBy(enum.StrEnum):
    """Who can put a value into a result field.

    ``stamped`` is the name of whoever acted, set by the system: nobody can write another's name there, but an outsider
    stands there under his own. It can be a condition (``when``), and never a destination.
    """

    OWNER = "owner"
    MEMBERS = "members"
    STAMPED = "stamped"
    OUTSIDERS = "outsiders"


TRUSTED: Final = frozenset({WritableBy.OWNER, WritableBy.MEMBERS})
"""What counts as written by nobody outside."""


class Idempotency(enum.StrEnum):
    """What may happen after a crash in the middle of a call; ``none`` is at most one attempt, ever."""

    NONE = "none"
    KEY = "key"
    PROBE = "probe"
    READ = "read"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


Identifier = Annotated[str, Field(min_length=1, max_length=200)]

KINDS: Final = ("email", "url", "host", "account", "phone", "path", "channel", "user", "name", "date", "number", "text")
"""Kinds of values; beside these there is ``id:TYPE`` for the ids of records."""


def _known_kind(kind: str) -> str:
    """Refuse a kind nobody compares by: it would look declared and be nothing."""
    if kind in KINDS or re.fullmatch(r"id:[A-Za-z0-9_.-]{1,60}", kind):
        return kind
    near = get_close_matches(kind, KINDS, 1)
    hint = f"did you mean `{near[0]}`?" if near else f"choose from {', '.join(KINDS)}, or id:TYPE"
    raise ValueError(f"there is no kind {kind!r}; {hint}")


Kind = Annotated[str, AfterValidator(_known_kind)]


class ArgumentSpec(_Strict):
    """One argument of a tool. ``path`` members of nested values inherit the role unless ``fields`` says otherwise."""

    role: Role = Field(Role.TARGET, description="what the argument does; see the roles below")
    kind: Kind = Field(
        "text", description="email, url, host, account, phone, path, channel, user, name, date, number, text or id:TYPE"
    )
    accepts: tuple[Literal["user", "system", "fields"], ...] = Field(
        ("user", "system", "fields"),
        description="origins that suffice: the user's words, the system, fields outsiders cannot write",
    )
    safe_values: tuple[str | bool | int, ...] = Field(
        (), description="values of a control argument that need no origin"
    )
    optional: bool = Field(
        default=False,
        description="leaving it out is harmless: it sends nowhere, picks nothing, changes nothing",
    )
    fields: dict[str, ArgumentSpec] = Field(
        default_factory=dict, description="specs of the members of an object argument"
    )
    evidence: str = Field("", description="why this role and kind are right")


class ResultField(_Strict):
    """One declared field of a result. ``path`` is dotted; ``*`` is a step, ``**`` any depth, ``$`` the result."""

    path: Identifier = Field(description="dotted, without the numbers of lists; `*` one step, `**` any, `$` the result")
    writable_by: WritableBy = Field(
        WritableBy.OUTSIDERS, description="who can put a value there; what outsiders write is untrusted"
    )
    kind: Kind = Field("text", description="as for an argument; an id has its type, such as id:mail")
    readers: tuple[str, ...] | Literal["public", "owner", "domain"] | None = Field(
        None,
        description="who may read the value: public, owner (the principal), domain, or a list; nothing means private",
    )
    names_record: bool = Field(
        False, description="true for the field people call the record by, such as a title or file name"
    )
    keys: bool = Field(False, description="the names under `path` are meant, not the values: {ann@corp.example: read}")
    contact: bool = Field(
        False, description="who stands here is a contact of the user: an address book, whom the user has written to"
    )
    when: dict[str, tuple[str, ...]] = Field(
        default_factory=dict,
        description="trusted only while these other fields of the same record hold one of these values; `@owner` is "
        "the principal. Otherwise outsiders may have written it",
    )
    evidence: str = Field("", description="why outsiders cannot write this field, or can")

    @property
    def trusted(self) -> bool:
        """Say whether no outsider can put a value here, as far as ``when`` holds."""
        return self.writable_by in TRUSTED

    @model_validator(mode="after")
    def _conditions_are_plain(self) -> ResultField:
        """Refuse conditions that would look as if they held something."""
        if self.when and not self.trusted and not self.contact:
            raise ValueError(
                f"field {self.path!r} has `when` and nothing to trust; say in `writable_by` who writes it then"
            )
        if self.when and ("**" in self.path or self.path.split(".")[0] in {"*", "$"}):
            raise ValueError(f"field {self.path!r} has `when`; name its first step, so that the record is known")
        if any(not allowed or not all(allowed) for allowed in self.when.values()):
            raise ValueError(f"field {self.path!r}: each condition of `when` lists the values that it accepts")
        if self.contact and not self.trusted and not (self.when and self.evidence):
            raise ValueError(
                f"field {self.path!r} cannot list contacts: outsiders write it; name in `when` what the user does to "
                "accept an entry, and say why in `evidence`"
            )
        return self

    @model_validator(mode="after")
    def _trust_needs_evidence(self) -> ResultField:
        if self.writable_by is not WritableBy.OUTSIDERS and not self.evidence:
            raise ValueError(
                f"field {self.path!r} is trusted without evidence; say in `evidence` why outsiders cannot write it"
            )
        return self


class ToolSpec(_Strict):
    """Everything the gateway knows of one tool."""

    name: Identifier = Field("", description="set from the key; only a tool of a `server` says it itself")
    server: str = Field("", description="the server's identity, where two servers have a tool of one name")
    description: str = Field("", description="what it does, in words that the actor of the pipeline reads")
    effect: Effect = Field(Effect.SEND, description="what the tool does to the world; see the effects below")
    leaves_domain: bool = Field(False, description="a read that sends its arguments outside (fetch, search, DNS)")
    reversible: bool = Field(False, description="the effect can be taken back; a policy may ask less for it")
    undo: str = Field("", description="how it is taken back, or why it cannot be, in words for a person")
    undo_with: UndoSpec | None = Field(None, description="the call that takes it back; a person decides it each time")
    look_first: LookSpec | None = Field(
        None, description="the read that shows the record this call changes; made when nobody has read it yet"
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
    egress: tuple[str, ...] = Field((), description="the only hosts it may reach, by exact name; empty: no such list")
    open_hosts: tuple[str, ...] = Field(
        (), description="hosts that a read may visit unasked, at a plain address: the deployer trusts them with it"
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

    @model_validator(mode="after")
    def _egress_needs_an_address(self) -> ToolSpec:
        """Refuse a list of hosts that nothing would be compared with."""
        if self.egress and self.args and not any(argument.kind in {"url", "host"} for argument in self.args.values()):
            raise ValueError("`egress` lists hosts, but no argument has kind url or host; give the address its kind")
        if self.open_hosts and not (self.effect is Effect.READ and self.leaves_domain):
            raise ValueError("`open_hosts` is for a read that leaves the domain: say `leaves_domain: true`")
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


class Principal(_Strict):
    """Whom the agent works for: the names that count as ``owner``, and the hosts that are inside the trust domain."""

    owner: tuple[str, ...] = Field((), description="addresses and names of the person the agent works for")
    domain: tuple[str, ...] = Field((), description="hosts that are inside, by exact name, such as corp.example")
    contacts: tuple[str, ...] = Field(
        (), description="people the user knows, by address or name; they count in the profile `contacts` only"
    )


class Manifest(_Strict):
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

    def find(self, tool: str, server: str = "") -> ToolSpec | None:
        """Return the spec of ``tool`` on ``server``, or None: an unknown tool never runs."""
        spec = self.tools.get(f"{server}/{tool}") if server else None
        if spec is None:
            spec = self.tools.get(tool)
        return spec if spec is not None and spec.server == server else None
