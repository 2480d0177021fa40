"""Prompts are files: ``name@version.md`` with a header. A released file never changes; a change is a new version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from checkvalve.graphs.errors import PromptError

_FENCE = "---\n"
_HEADER = ("version", "date", "reason")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt with what its header says."""

    name: str
    version: int
    date: str
    reason: str
    text: str

    @property
    def id(self) -> str:
        """``name@version``, as events and records name it."""
        return f"{self.name}@{self.version}"


@cache
def load(name: str) -> Prompt:
    """Return the prompt ``name@version``.

    Raises:
        PromptError: there is no such file, or its header is incomplete or names another version.
    """
    base, _, version = name.partition("@")
    file = files("checkvalve.graphs.prompts").joinpath(f"{name}.md")
    if not base.isidentifier() or not version.isdigit() or not file.is_file():
        raise PromptError(f"there is no prompt {name!r}")
    head, found, text = file.read_text(encoding="utf-8").removeprefix(_FENCE).partition(_FENCE)
    header = yaml.safe_load(head) if found else None
    if not isinstance(header, dict) or set(header) != set(_HEADER) or not text.strip():
        raise PromptError(f"the prompt {name!r} needs a header with exactly {', '.join(_HEADER)}, and a text")
    if header["version"] != int(version):
        raise PromptError(f"the header of {name!r} names another version")
    return Prompt(base, int(version), str(header["date"]), str(header["reason"]), text.strip())
