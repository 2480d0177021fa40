"""What the deployer declares of one argument or one field of a result, and the words to say it in.

Guarantees: an unknown field is an error; whatever is not declared takes the strictest value (every argument a target,
every result field written by outsiders and private). :mod:`toolspec` puts them together to tools.
"""

from __future__ import annotations

import enum
import re
from difflib import get_close_matches
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator


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


class Declared(BaseModel):
    """Something that a manifest says: frozen, and with no field that nobody knows."""

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


def argument_of(reader: str) -> str | None:
    """Return the argument that a declared reader names, as in ``{repo}``, or None where it is somebody's name."""
    found = re.fullmatch(r"\{(\w{1,100})\}", reader)
    return found[1] if found else None


class ArgumentSpec(Declared):
    """One argument of a tool. ``path`` members of nested values inherit the role unless ``fields`` says otherwise."""

    role: Role = Field(Role.TARGET, description="what the argument does; see the roles below")
    kind: Kind = Field(
        "text", description="email, url, host, account, phone, path, channel, user, name, date, number, text or id:TYPE"
    )
    accepts: tuple[Literal["user", "system", "fields"], ...] = Field(
        ("user", "system", "fields"),
        description="origins that suffice: the user's words, the system, fields outsiders cannot write",
    )
    unattributed: Literal["review", "deny"] = Field(
        "review", description="what happens without such an origin: a person is asked, or the call is denied"
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
    redact: bool = Field(
        default=False,
        description="people are shown a mark instead of the value; of content only, a credential always is",
    )
    evidence: str = Field("", description="why this role and kind are right")

    @property
    def is_secret(self) -> bool:
        """Say whether people are not shown the value, or a member of it."""
        members = any(member.is_secret for member in self.fields.values())
        return self.redact or self.role is Role.CREDENTIAL or members

    @model_validator(mode="after")
    def _content_needs_no_origin(self) -> ArgumentSpec:
        """Refuse to demand an origin of what never needs one: it would look as if it were held."""
        if self.unattributed == "deny" and self.role is Role.CONTENT:
            raise ValueError(
                "`content` needs no origin; `unattributed: deny` is for an argument that carries authority"
            )
        return self

    @model_validator(mode="after")
    def _what_is_judged_is_shown(self) -> ArgumentSpec:
        """Refuse to hide what somebody has to see to judge the call."""
        if self.redact and self.role not in {Role.CONTENT, Role.CREDENTIAL}:
            raise ValueError(
                f"a `{self.role}` is what a person judges a call by; `redact` is for `role: content` "
                "(keys and passwords in any argument are redacted without it)"
            )
        return self


class ResultField(Declared):
    """One declared field of a result. ``path`` is dotted; ``*`` is a step, ``**`` any depth, ``$`` the result."""

    path: Identifier = Field(description="dotted, without the numbers of lists; `*` one step, `**` any, `$` the result")
    writable_by: WritableBy = Field(
        WritableBy.OUTSIDERS, description="who can put a value there; what outsiders write is untrusted"
    )
    kind: Kind = Field("text", description="as for an argument; an id has its type, such as id:mail")
    readers: tuple[str, ...] | Literal["public", "owner", "domain"] | None = Field(
        None,
        description="who may read the value: public, owner (the principal), domain, or a list, in which `{repo}` is "
        "what the argument `repo` of this read named; nothing means private",
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
