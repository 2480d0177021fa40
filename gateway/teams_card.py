"""What Microsoft Teams is told of a notice: one Adaptive Card, in the form that incoming webhooks and workflows take.

1. Everything is a ``TextRun``: version 1.2 of the schema says that Markdown is not read there, as it is in a
``TextBlock`` and in a ``Fact``. 2. Names and values are inert text all the same. 3. The one action opens our own
review page. 4. A message has at most :data:`MAX_BYTES`: values are left out from the end, and counted. 5. Where people
may answer, the card has the words to type; those for a yes only where every value stands on it whole.

Guarantees: no picture, no mention, no address but our own, no input and no action that sends anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from checkvalve.approvals.inert import inert
from checkvalve.approvals.notices import Notice
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.records import Proposal
from checkvalve.gateway.channel_file import Teams
from checkvalve.gateway.channel_messages import WAITING, command_of, link_of, pairs_of, title_of
from checkvalve.gateway.teams_codes import APPROVE, ESCALATE, REJECT, code_for
from checkvalve.gateway.told_values import as_seen, told_values

MAX_BYTES: Final = 28_000
"""Bytes of a message: Teams refuses what is over about 28 kB."""
VERSION: Final = "1.2"
"""The oldest version with text that no Markdown is read in; every client of Teams knows it."""
_CLIP: Final = 500  # characters of one line
_WHOLE: Final = 10**7  # bytes: nothing is clipped
Pairs = Sequence[tuple[str, str]]


def teams_body(notice: Notice, channel: Teams, origin: str, token: bytes = b"") -> bytes:
    """Return the JSON of a message; ``token`` signs the words to answer with, and without it there are none."""
    row = notice.proposal if channel.shows_values(notice) else None
    lines, told = (_lines(row), is_whole(row)) if row is not None else ([], False)
    for kept in range(len(lines), -1, -1):
        more = [("more", f"{len(lines) - kept} further lines are not told here")] if kept < len(lines) else []
        typed = _answers(notice, channel, token, whole=told and kept == len(lines))
        body = _message(notice, origin, [*lines[:kept], *more], typed, values=row is not None)
        if len(body) <= MAX_BYTES:
            return body
    return _message(notice, origin, [("more", "this was too long for a message")], [], short=True)


def is_whole(row: Proposal) -> bool:
    """Say whether a message that tells the values of a call tells all of it: nothing cut, nothing hidden.

    That is also where each value came from.
    """
    shown = as_seen(row)
    wanted = [(inert(item.path, limit=_WHOLE), inert(item.text, limit=_WHOLE)) for item in shown.parts()]
    told = [(item["path"], item["text"]) for item in told_values(shown)]
    short = all(len(name) <= _CLIP and len(text) <= _CLIP for name, text in _lines(shown))
    return told == wanted and not shown.redacted() and short


def _lines(row: Proposal) -> list[tuple[str, str]]:
    """Return each value, and where it came from."""
    arguments = row.decision.get("arguments")
    reports = [item for item in arguments if isinstance(item, dict)] if isinstance(arguments, list) else []
    found: list[tuple[str, str]] = []
    for item in told_values(row):
        found.append((item["path"], item["text"]))
        found += [("from", _origins(report)) for report in reports if inert(str(report.get("path"))) == item["path"]]
    return found


def _origins(report: Mapping[str, Any]) -> str:
    origins = report.get("origins")
    found = [item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else []
    said = [f"{inert(str(item.get('trust')))}: {inert(place_of(str(item.get('source'))).in_words())}" for item in found]
    return "; ".join(said) or "nowhere: nobody is known to have said it"


def _answers(notice: Notice, channel: Teams, token: bytes, *, whole: bool) -> list[tuple[str, str]]:
    """Return what people may type, where this channel takes answers to calls of this risk."""
    row, tier = notice.proposal, notice.tier
    if row is None or tier is None or not token or notice.kind not in WAITING:
        return []
    verbs = [APPROVE] if tier in channel.approve and whole else []
    verbs += [REJECT] if tier in channel.reject else []
    return [(f"to {verb}", code_for(token, channel.name, row, verb)) for verb in (*verbs, ESCALATE)]


def _message(
    notice: Notice, origin: str, lines: Pairs, typed: Pairs, *, short: bool = False, values: bool = False
) -> bytes:
    row = notice.proposal
    pairs = pairs_of(notice, values=values)
    body = [_block([_run(_clipped(title_of(notice)), weight="Bolder", size="Medium")])]
    body += [_line(name, value) for name, value in (pairs[-2:] if short else pairs)]
    body += [_line(name, value) for name, value in lines]
    if typed:
        body.append(_block([_run("Mention the webhook of this team, and type one of these words after it:")]))
        body += [_line(name, value) for name, value in typed]
    if row is not None:
        body.append(_block([_run(command_of(row), isSubtle=True)]))
    link = link_of(row, origin) if row is not None else ""
    card: dict[str, Any] = {"type": "AdaptiveCard", "version": VERSION, "body": body}
    if link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Look at it", "url": link}]
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return json.dumps({"type": "message", "attachments": [attachment]}, ensure_ascii=False).encode()


def _line(name: str, value: str) -> dict[str, Any]:
    return _block([_run(f"{_clipped(name)}: ", weight="Bolder"), _run(_clipped(value))])


def _block(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": runs}


def _run(text: str, **style: object) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **style}


def _clipped(text: str) -> str:
    """Return ``text`` short enough for a line; what is left out is counted."""
    if len(text) <= _CLIP:
        return text
    kept = _CLIP - 60  # room for the words that count
    return f"{text[:kept]} \u27e8{len(text) - kept} characters not shown\u27e9"


__all__ = ["MAX_BYTES", "VERSION", "is_whole", "teams_body"]
