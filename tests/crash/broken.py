"""Builds of Checkvalve that are broken on purpose: a suite that does not fail on them proves nothing.

``apply`` changes the present process and nothing else. The programs of the crash tests call it with what their job
says; as a plugin of pytest (``-p tests.crash.broken``) it takes the name from ``CHECKVALVE_TEST_BUILD``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final


def _sound(_: Mapping[str, Any]) -> None:
    """Leave everything as it is: the control of the controls."""


BUILDS: Final[dict[str, Callable[[Mapping[str, Any]], None]]] = {"": _sound}


def apply(name: str, job: Mapping[str, Any]) -> None:
    """Break this process in the way called ``name``; an empty name breaks nothing."""
    BUILDS[name](job)
