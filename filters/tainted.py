"""A value that cannot be used by accident: ``Tainted[T]`` and the opaque ``Reference``.

Guarantees: printing, formatting or logging a :class:`Tainted` shows its sources and never its value;
``reveal()`` is the only way out, and it hands over value and label together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NoReturn, Protocol, TypeVar

from checkvalve.filters.errors import LabelError
from checkvalve.filters.labels import Label

T = TypeVar("T")
U = TypeVar("U")


class Tainted(Generic[T]):
    """A value with its label. It does not concatenate, compare as text, or print its content."""

    __slots__ = ("_label", "_value")

    def __init__(self, value: T, label: Label) -> None:
        self._value = value
        self._label = label

    @property
    def label(self) -> Label:
        """The label, which is safe to show."""
        return self._label

    def reveal(self) -> tuple[T, Label]:
        """Hand over the value together with the label that must travel on with it."""
        return self._value, self._label

    def with_value(self, value: U) -> Tainted[U]:
        """Return ``value``, which was made from this one alone, under the same label."""
        return Tainted(value, self._label)

    def __repr__(self) -> str:
        names = ", ".join(sorted(str(source) for source in self._label.sources)) or "unknown source"
        return f"<Tainted {self._label.trust.name.lower()} from {names}>"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def _refuse(self, *_: object) -> NoReturn:
        raise LabelError("a tainted value cannot be used directly; call reveal() and keep the label with the result")

    __bool__ = __len__ = __iter__ = __eq__ = __lt__ = __hash__ = _refuse


@dataclass(frozen=True, slots=True)
class Reference:
    """An opaque handle to a stored value: safe to show to a model, it says nothing of the content.

    ``kind`` is the value's kind (``text``, ``email``, ``json``), ``size`` its length in UTF-8 bytes.
    """

    id: str
    kind: str
    size: int

    def __str__(self) -> str:
        return f"ref:{self.id}"


class ContentStore(Protocol):
    """Keeps content under references, with its label. Implemented in ``checkvalve.approvals``."""

    def put(self, content: Tainted[str], *, thread: str, kind: str = "text") -> Reference:
        """Store ``content`` for ``thread`` and return its handle."""
        ...

    def get(self, reference: Reference) -> Tainted[str]:
        """Return the stored value with the label it was stored with.

        Raises:
            UnknownReferenceError: nothing is stored under this handle.
        """
        ...
