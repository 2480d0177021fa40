"""Text that comes back as it was from every database.

PostgreSQL has no NUL character in its text. Names that a model or a host chose may hold one, so there it is written as
two noncharacters, which no interchanged text has; the first of them is written as a pair too, so reading is exact.
SQLite keeps text as it is.
"""

from __future__ import annotations

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


class Words(sa.types.TypeDecorator[str]):
    """A text column, of at most ``length`` characters where one is given, that keeps every string."""

    impl = sa.String
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """Return the plain type: one of limited length only where a length was given."""
        length = getattr(self.impl_instance, "length", None)
        return dialect.type_descriptor(sa.Text() if length is None else sa.String(length))

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Write the text in the form that this database can keep."""
        return escape(value) if value is not None and dialect.name == "postgresql" else value

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Read it back."""
        return unescape(value) if value is not None and dialect.name == "postgresql" else value
