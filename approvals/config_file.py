"""Files that the deployer wrote, read within a bound."""

from __future__ import annotations

from pathlib import Path

from checkvalve.approvals.errors import ConfigError


def config_bytes(
    path: Path, most: int, error: type[ConfigError], *, remedy: str = "give the path of a readable file"
) -> bytes:
    """Return what the file at ``path`` begins with: one byte more than it may have, where it is over ``most`` bytes.

    So whoever parses it sees that it is too long, and no more of it is in memory.

    Raises:
        ConfigError: it cannot be read, or there is no such path; the error is an ``error``.
    """
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "not a usable path"
        raise error(f"cannot be read: {reason}", file=str(path), remedy=remedy) from None


__all__ = ["config_bytes"]
