"""What is wrong with a value of a setting, in words, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic_core import ErrorDetails

from checkvalve.approvals.facts import PROFILES

if TYPE_CHECKING:
    from checkvalve.gateway.settings import Settings

READ: Final = ("manifest", "policy", "channels", "review_rules", "outbound_values")
"""Settings that name a file which has to be there; the others are made when they are needed."""
_SHOWN: Final = 60  # characters of a wrong value: enough to find it again


def said(problem: ErrorDetails) -> str:
    """Say in words what is wrong with a value; one of a closed list is named with the list."""
    if problem["type"] == "literal_error":
        given = f"{problem['input']!r}"[:_SHOWN]
        return f"{given} is not one of {', '.join(_allowed(problem))}"
    return problem["msg"].removeprefix("Value error, ").replace("Input should be", "this should be")


def remedy(problem: ErrorDetails) -> str:
    """Return the one thing to do about a wrong value."""
    if problem["type"] != "literal_error":
        return "`checkvalve config show` lists every setting"
    close = difflib.get_close_matches(str(problem["input"]).lower(), _allowed(problem), n=1, cutoff=0.0)
    return f"did you mean {close[0]}?"


def _allowed(problem: ErrorDetails) -> list[str]:
    return [word.strip("'") for word in problem["ctx"]["expected"].replace(" or ", ", ").split(", ")]


def plain_problems(settings: Settings) -> Iterator[str]:
    """Yield what cannot work whatever else is there: a profile that does not exist, and files that are missing."""
    if settings.profile not in PROFILES:
        yield f"profile: there is no {settings.profile!r}; use one of: {', '.join(PROFILES)}"
    if settings.manifest is None:
        yield "manifest: none is named, so every tool is refused; write one: checkvalve policy draft --help"
    for name in READ:
        path = getattr(settings, name, None)
        if isinstance(path, Path) and not path.is_file():
            yield f"{name}: there is no file {path}"
