"""Mandates in a file that a person wrote: one JSON object, or a list of them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.mandates import Mandate
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict

MAX_BYTES: Final = 65_536
"""Bytes of a file of mandates: a page, and no data."""
MAX_MANDATES: Final = 20
"""Mandates of one file or request."""


def read_mandates(file: Path) -> list[Mandate]:
    """Return the mandates in ``file``.

    Raises:
        MandateError: it cannot be read, or something in it is no mandate; the error names the file and the field.
    """
    try:
        with file.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise MandateError(f"{file} cannot be read: {error.strerror}", remedy="give the path of a JSON file") from error
    try:
        data = parse_strict(text) if len(text) <= MAX_BYTES else None
    except HostileInputError as error:
        raise MandateError(f"{file} is not acceptable JSON [{error.code}]", remedy="see docs/mandates.md") from error
    listed = data if isinstance(data, list) else [data]
    if not listed or len(listed) > MAX_MANDATES:
        raise MandateError(f"{file} holds no mandate, or more than {MAX_MANDATES}", remedy="see docs/mandates.md")
    try:
        return [Mandate.from_json(item) for item in listed]
    except MandateError as error:
        raise MandateError(f"{file}: {error.message}", remedy=error.remedy) from error


__all__ = ["MAX_MANDATES", "read_mandates"]
