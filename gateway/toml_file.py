"""TOML files that the operator writes, and the paths that stand in them.

Guarantees: no more of a file is read than it may have; whatever is wrong with a file or a path is an error of the kind
that is asked for, and says what to do.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from checkvalve.gateway.errors import GatewayError


def read_toml(file: Path, *, most: int, error: type[GatewayError], remedy: str) -> dict[str, Any]:
    """Return what a file of at most ``most`` bytes says; ``remedy`` is for one that cannot be read.

    Raises:
        GatewayError: it cannot be read, is too long, or is no TOML; the error is an ``error``.
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(most + 1)
        if len(raw) > most:
            raise error(f"{file} is over {most} bytes", "leave out what is over")
        return tomllib.loads(raw.decode("utf-8"))
    except OSError as problem:
        raise error(f"{file} cannot be read: {problem.strerror}", remedy) from problem
    except (ValueError, RecursionError) as problem:  # no TOML, no UTF-8, or a number with thousands of digits
        raise error(f"{file} is not valid TOML: {problem}", "mend the line that is named") from problem


def path_in(text: str, where: str, error: type[GatewayError]) -> Path:
    """Return the path in a text, with a home for ``~``; ``where`` is the file or the setting that it stands in.

    Raises:
        GatewayError: it is none: nobody has that home, or a character that no path has; the error is an ``error``.
    """
    try:
        if "\0" in text:
            raise ValueError
        os.fsencode(text)
        return Path(text).expanduser()
    except (RuntimeError, ValueError) as problem:
        remedy = "write the whole path, from / on, in characters that one may have"
        raise error(f"{where}: {text!r} is no path of a file", remedy) from problem


__all__ = ["path_in", "read_toml"]
