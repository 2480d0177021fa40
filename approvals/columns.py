"""Text that comes back as it was from every database.

PostgreSQL has no NUL character in its text. Names that a model or a host chose may hold one, so there it is written as
two noncharacters, which no interchanged text has; the first of them is written as a pair too, so reading is exact.
SQLite keeps text as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import sqlalchemy as sa

_MARK: Final = "\ufdd0"
_NUL: Final = "\ufdd0\ufdd1"
_ITSELF: Final = "\ufdd0\ufdd2"


def escape(text: str) -> str:
    """Return ``text`` without NUL characters."""
    return text.replace(_MARK, _ITSELF).replace("\x00", _NUL)


def unescape(text: str) -> str:
    """Return what :func:`escape` was given."""
    return text.replace(_NUL, "\x00").replace(_ITSELF, _MARK)


def _escaped(value: str | None) -> str | None:
    return value if value is None or (_MARK not in value and "\x00" not in value) else escape(value)


def _unescaped(value: str | None) -> str | None:
    return value if value is None or _MARK not in value else unescape(value)


class _AnyText(sa.types.TypeDecorator[str]):
    """Writes text in the form that the database can keep, and reads it back."""

    impl: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]] = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return _escaped(value) if dialect.name == "postgresql" else value

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        return _unescaped(value) if dialect.name == "postgresql" else value

    def bind_processor(self, dialect: sa.Dialect) -> Callable[[str | None], str | None] | None:
        """Return what is done with each value that is written: nothing, where the database keeps any text."""
        return _escaped if dialect.name == "postgresql" else None

    def result_processor(
        self,
        dialect: sa.Dialect,
        coltype: object,  # noqa: ARG002  # what the driver says of the column
    ) -> Callable[[str | None], str | None] | None:
        """Return what is done with each value that is read."""
        return _unescaped if dialect.name == "postgresql" else None


class Words(_AnyText):
    """A column of text of any length."""

    cache_ok = True


class Name(_AnyText):
    """A column of text of a limited length, for words of our own: ``Name(36)``. What it is compared with may be any."""

    impl = sa.String
    cache_ok = True
