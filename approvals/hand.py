"""How the record names a value that a reviewer typed: by whose hand it is, and that it matches nothing but that."""

from __future__ import annotations

from typing import Final

HAND: Final = "edit:"
"""What the name of the source of a typed value begins with; the editor's account follows."""
TYPED: Final = "typed"
"""How a typed value matches its source: it is that source."""

__all__ = ["HAND", "TYPED"]
