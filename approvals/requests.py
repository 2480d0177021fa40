"""What an agent asks for: one tool, its arguments, and the canonical bytes that a decision binds to.

Guarantees: no :class:`ActionRequest` exists whose arguments were not checked; the arguments are a copy, so nothing
the caller does later changes them; two requests are equal when their canonical bytes, thread and call are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from checkvalve.approvals.asked_by import Behind
from checkvalve.approvals.canonical import canonical, digest_bytes
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, check_value

MAX_NAME: Final = 200
"""Characters of a tool, server, thread, call or requester: what the manifest allows for a name."""

Scalar: TypeAlias = bool | int | float | str | None
Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar inside the arguments. ``path`` is the truth; :meth:`dotted` is for people."""

    path: Path
    value: Scalar

    def dotted(self) -> str:
        """Return the path as text, such as ``recipients.0``."""
        return ".".join(str(step) for step in self.path)


@dataclass(frozen=True)
class ActionRequest:
    """One proposed call. ``canonical_form`` covers tool, server and arguments, and nothing else."""

    tool: str
    args: Mapping[str, JSON] = field(compare=False)  # compared through the canonical form: here True would equal 1
    server: str = ""
    thread: str = ""
    call_id: str = ""
    requester: str = ""
    behind: tuple[Behind, ...] = field(default=(), compare=False)  # who else asked, see ``asked_by``
    canonical_form: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check everything and keep a copy.

        Raises:
            HostileInputError: a name or an argument breaks the rules of ``filters.strictjson``.
        """
        for name in (self.tool, self.server, self.thread, self.call_id, self.requester, *(b.name for b in self.behind)):
            _check_name(name)
        if not self.tool:
            raise HostileInputError("not_json", "a call without the name of a tool")
        args = check_value(self.args)
        if not isinstance(args, dict):
            raise HostileInputError("not_json", "the arguments of a call are one JSON object")
        object.__setattr__(self, "args", MappingProxyType(args))
        form = canonical({"tool": self.tool, "server": self.server, "args": args})
        object.__setattr__(self, "canonical_form", form)

    @classmethod
    def build(
        cls,
        tool: str,
        args: Mapping[str, object],
        *,
        server: str = "",
        thread: str = "",
        call_id: str = "",
        requester: str = "",
        behind: tuple[Behind, ...] = (),
    ) -> ActionRequest:
        """Return the checked request for arguments that come from a framework.

        Raises:
            HostileInputError: a name or an argument breaks the rules of ``filters.strictjson``.
        """
        checked = check_value(args)
        if not isinstance(checked, dict):
            raise HostileInputError("not_json", "the arguments of a call are one JSON object")
        names = {"server": server, "thread": thread, "call_id": call_id, "requester": requester}
        return cls(tool, checked, **names, behind=behind)

    @property
    def digest(self) -> str:
        """``sha256:<hex>`` over the canonical form: what a person approves, and what may run."""
        return digest_bytes(self.canonical_form)

    def leaves(self) -> Iterator[Leaf]:
        """Yield every scalar with its path, in the order of the arguments. Empty containers have none."""
        for name, value in self.args.items():
            yield from _leaves((name,), value)

    def inner_keys(self) -> Iterator[Leaf]:
        """Yield every key below the arguments' own names as a value: a key can carry data just as well as a leaf.

        ``path`` ends with the key itself, so it is also the path of what the key names.
        """
        for name, value in self.args.items():
            yield from _keys((name,), value)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise HostileInputError("not_json", "the names of a call are text")
    if len(name) > MAX_NAME:
        raise HostileInputError("too_long", f"a name of more than {MAX_NAME} characters")
    check_value(name)


def _leaves(path: Path, value: JSON) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaves((*path, index), item)
    else:
        yield Leaf(path, value)


def _keys(path: Path, value: JSON) -> Iterator[Leaf]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield Leaf((*path, key), key)
            yield from _keys((*path, key), item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _keys((*path, index), item)
