"""Logs: structlog to standard error, for people or as JSON.

Guarantees: standard output is never written, because other programs read it; content never gets in, since only the
fields of :data:`FIELDS` pass (an argument, a result or an exception's text is dropped, and the record says which field
was withheld); a control character in a name that a model wrote is shown as an escape; an output that was closed stops
nothing.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import FilteringBoundLogger

from checkvalve.gateway.settings import Settings

FIELDS: Final = frozenset(
    (  # noqa: SIM905  # thirty words read better than thirty lines
        "approval call channel code codes count database effect error event found kind level manifest mode origin "
        "outcome plugin policy problem profile reason remedy rule state thread timestamp tool tries verdict what where "
        "who"
    ).split()
)
"""The fields that may be logged: names, ids, digests and codes of our own. Everything else is content."""

MAX_FIELD: Final = 300  # a log line is for reading; a model can make a tool name of any length


_TALKATIVE: Final = ("pypdf",)
"""Libraries that complain of a stranger's file in its own words; what is wrong with it is in the scan's notes."""


class _StandardError:
    """The error stream as it is when something is said: a program may have put another one there since."""

    def write(self, text: str) -> None:
        """Write ``text``; where nobody listens any more, what is logged is lost and the work goes on."""
        with suppress(OSError, ValueError):  # a broken pipe; a stream that was closed
            sys.stderr.write(text)

    def flush(self) -> None:
        """Let the stream write what it holds back."""
        with suppress(OSError, ValueError):
            sys.stderr.flush()


class _State:
    """The logger of this process. It is our own: a host that uses structlog keeps its configuration."""

    logger: FilteringBoundLogger | None = None


def configure_logs(settings: Settings) -> None:
    """Send our logs to standard error in the format and level that the settings ask for."""
    for name in _TALKATIVE:
        if (library := logging.getLogger(name)).level == logging.NOTSET:  # else the host has said what it wants
            library.setLevel(logging.CRITICAL)
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr is not None and sys.stderr.isatty())
    )
    _State.logger = structlog.wrap_logger(
        structlog.PrintLogger(cast(TextIO, _StandardError())),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            withhold_content,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, settings.log_level.upper())),
    )


def get_logger() -> FilteringBoundLogger:
    """Return the logger of the gateway; before any settings are known it says what is wrong, and nothing else."""
    if _State.logger is None:
        configure_logs(Settings(log_level="warning"))
    return cast(FilteringBoundLogger, _State.logger)


def withhold_content(_logger: object, _method: str, record: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Drop every field that is not known to be free of content, and say which were dropped."""
    withheld = sorted(printable(name) for name in record if name not in FIELDS)
    kept: MutableMapping[str, Any] = {name: _plain(value) for name, value in record.items() if name in FIELDS}
    if withheld:
        kept["withheld"] = withheld
    return kept


def printable(text: str, limit: int = MAX_FIELD) -> str:
    """Return ``text`` with everything that could steer a terminal or forge a line written as an escape."""
    if len(text) > limit:
        text = f"{text[:limit]}... ({len(text)} characters)"
    return "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def _plain(value: object) -> object:
    return value if isinstance(value, int | float | bool) or value is None else printable(str(value))
