"""What is wrong with a value of a setting, in words, and what to do about it."""

from __future__ import annotations

import difflib
from typing import Final

from pydantic_core import ErrorDetails

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
