"""What one tool is when its arguments have certain values: a request with `method: GET` reads, with `POST` it sends.

1. A variant fits a call when every argument in ``when`` is there and holds one of the listed values, of the same type
and to the letter, and every argument in ``without`` is missing or empty. 2. The first that fits counts; where none
does, the tool is what it is declared as. 3. A variant says anew what the effect is; what it leaves out of the rest is
as declared, but for what only belongs to the declared effect (undoing, looking first, a preview). What is pinned stays
pinned in every form that has an effect.

Guarantees: pure; only a control argument chooses a variant, and a value that the variant lists needs no origin, since
the deployer has said what the call is then. Another spelling (`get`), a number for a text, or an argument that was left
to its default fits no variant: then the strictest reading, the tool's own, holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import Field, model_validator

from checkvalve.approvals.fieldspec import ArgumentSpec, Declared, Effect, Role

if TYPE_CHECKING:
    pass

_OF_THE_EFFECT: Final = frozenset(
    {"title", "undo", "undo_with", "look_first", "preview", "reversible", "limits", "open_hosts", "open_folders"}
)
"""What is said of the declared effect, and of no other."""


class VariantSpec(Declared):
    """One form of a tool, and the values of its control arguments by which it is known."""

    when: dict[str, tuple[str | bool | int, ...]] = Field(
        min_length=1, description="values of control arguments, to the letter; all of them have to hold"
    )
    without: tuple[str, ...] = Field((), description="arguments that have to be missing or empty in this form")
    effect: Effect = Field(description="what the tool does to the world in this form")
    title: str = Field("", description="what a call of this form does, in one plain sentence for people")
    leaves_domain: bool = Field(False, description="a read that sends its arguments outside")
    reversible: bool = Field(False, description="the effect can be taken back; a policy may ask less for it")
    asks: tuple[str, ...] | None = Field(None, description="words of a user that ask for this form, where others")
    about: tuple[str, ...] | None = Field(None, description="nouns for what it is done to, where others")
    open_hosts: tuple[str, ...] = Field((), description="as for a tool: hosts that this read may visit unasked")
    args: dict[str, ArgumentSpec] = Field(
        default_factory=dict, description="arguments that have another role or kind in this form"
    )
    evidence: str = Field(min_length=1, description="why the call does only this when the arguments have these values")

    @model_validator(mode="after")
    def _conditions_list_values(self) -> VariantSpec:
        """Refuse a condition that nothing could meet."""
        if empty := [name for name, values in self.when.items() if not values]:
            raise ValueError(f"`when` lists no value for {empty[0]!r}; write those that make the tool this")
        return self

    def fits(self, args: Mapping[str, object]) -> bool:
        """Say whether a call with these arguments is of this form."""
        chosen = all(name in args and _is_one_of(args[name], values) for name, values in self.when.items())
        return chosen and all(args.get(name) in (None, "", [], {}) for name in self.without)

    def over(self, declared: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the tool in this form, from those of the tool as declared."""
        kept = {name: value for name, value in declared.items() if name not in _OF_THE_EFFECT and name != "variants"}
        said = {name: value for name in ("asks", "about") if (value := getattr(self, name)) is not None}
        args = {**declared["args"], **self.args}
        for name, values in self.when.items():
            args[name] = args[name].model_copy(update={"safe_values": values})
        return {
            **kept,
            **said,
            "title": self.title,
            "effect": self.effect,
            "leaves_domain": self.leaves_domain,
            "reversible": self.reversible,
            "open_hosts": self.open_hosts,
            "args": args,
            **({"pin": ()} if self.effect is Effect.READ else {}),  # what changes nothing has nothing to pin
        }

    def problems(self, args: Mapping[str, ArgumentSpec]) -> Iterator[str]:
        """Yield what is wrong with this form for a tool that has these arguments."""
        for name in self.when:
            if name not in args:
                yield f"`when` names {name!r}, which the tool does not declare; declare it with `role: control`"
            elif args[name].role is not Role.CONTROL or name in self.args:
                yield f"`when` names {name!r}; only an argument with `role: control` says what a tool does"
        for name in (*self.without, *self.args):
            if name not in args:
                yield f"a variant names {name!r}, which the tool does not declare; declare it among its arguments"


def _is_one_of(value: object, values: tuple[str | bool | int, ...]) -> bool:
    return any(type(value) is type(one) and value == one for one in values)


__all__ = ["VariantSpec"]
