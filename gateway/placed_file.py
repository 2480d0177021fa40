"""A TOML file of the operator's that names other files: channels, and who is on call.

1. No more of it is read than it may have. 2. A path that stands in it is relative to it, and ``~`` is a home. 3. What a
model does not know is an error that names the place.

Guarantees: every error is the file's own, and says what to do; nothing of a file that is named is read here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from checkvalve.gateway.channel_secrets import MAX_FILE
from checkvalve.gateway.errors import GatewayError
from checkvalve.gateway.toml_file import path_in, read_toml

_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """One kind of such file: the setting that names it, the keys that are paths, its errors, and where it is explained.

    Every method that reads raises ``error``: the file cannot be used, and the error says which entry and what to do.
    """

    setting: str
    paths: tuple[str, ...]
    error: type[GatewayError]
    explained: str

    def load(self, file: Path, model: type[_Model]) -> _Model:
        """Return what the file says, as ``model`` takes it."""
        entries = self._read(file)
        try:
            return model.model_validate(entries)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"]) or "file"
            said = first["msg"].removeprefix("Value error, ")
            raise self.error(f"{file}: {place}: {said}", self.explained) from error

    def named(self, file: Path) -> list[Path]:
        """Return the files that it names; none where it cannot be read, which is said when it is used."""
        try:
            entries = self._read(file)
        except self.error:
            return []
        return [entry[key] for entry, key in self._places(entries) if isinstance(entry[key], Path)]

    def _read(self, file: Path) -> dict[str, Any]:
        remedy = f"check the setting `{self.setting}`"
        entries = read_toml(file, most=MAX_FILE, error=self.error, remedy=remedy)
        for entry, key in self._places(entries):
            if isinstance(entry[key], str):
                entry[key] = file.parent / path_in(entry[key], str(file), self.error)
        return entries

    def _places(self, entries: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield each entry with each of its keys that is a path."""
        for group in entries.values():
            for entry in group if isinstance(group, list) else []:
                if isinstance(entry, dict):
                    yield from ((entry, key) for key in self.paths if key in entry)


__all__ = ["PlacedFile"]
