"""The address of a database for people: a password does not stand in it, in whichever of its places it was given."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

_HIDDEN: Final = "hidden"
_SECRET: Final = ("pass", "secret", "token")
"""Parts of the names of parameters that hold secrets: libpq takes ``password`` and ``sslpassword`` after a ``?``."""


def shown_address(url: sa.URL) -> str:
    """Return the address as people may see it."""
    return url.update_query_dict(dict.fromkeys(_secrets(url), _HIDDEN)).render_as_string(hide_password=True)


def has_password(url: sa.URL) -> bool:
    """Say whether whoever reads the address can come in with it."""
    return url.password is not None or bool(_secrets(url))


def _secrets(url: sa.URL) -> list[str]:
    return [name for name in url.query if any(part in name.casefold() for part in _SECRET)]


__all__ = ["has_password", "shown_address"]
