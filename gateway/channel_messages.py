"""What a channel is told of a notice: a webhook's JSON, a chat message, a mail.

Guarantees: frame texts are ours and names are inert text, so nothing in them becomes markup, a link, a mention or a
header; no value of an argument is in a message unless the channel's tiers allow it, and never in a subject; the one
link leads to our own review pages. A message carries nothing that decides.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final

from checkvalve.approvals.asked_by import reasons
from checkvalve.approvals.card import SHORT_ID
from checkvalve.approvals.clock import rfc3339, to_the_second
from checkvalve.approvals.handed import EARLY
from checkvalve.approvals.inert import inert, inert_by
from checkvalve.approvals.ladder_words import pairs_in
from checkvalve.approvals.notices import ASKED, ESCALATED, GLASS, REMINDER, UNREACHABLE, Notice
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.titled import in_a_message
from checkvalve.gateway.channel_file import Channel, Mail
from checkvalve.gateway.told_values import as_seen, told_values

_FIELD: Final = 1_900  # characters; Slack takes 2,000 in a field
_FIELDS: Final = 10  # fields of one section
_HEADER: Final = 140  # characters; Slack takes 150 in a header
_SAID: Final = {
    ASKED: "a call waits for a person",
    "approved": "a call was approved",
    "rejected": "a call was rejected",
    "expired": "nobody decided a call in time",
    "cancelled": "the question about a call was taken back",
    "superseded": "a call was replaced by another one",
    "lapsed": "an approval was not used in time",
    "invalidated": "an approval is void: what it rests on was not so any more right before the effect",
    "revoked": "an approval was taken back before its call ran",
    "succeeded": "a call was made and succeeded",
    "failed": "a call was made and failed",
    "unknown": "nobody knows whether a call took effect: a person has to look",
    "denied": "a call was refused by the policy",
    "settled": "a person said how an unknown outcome ended",
    "paused": "a task asked too many questions and is paused",
    "resumed": "a paused task goes on",
    "budget": "somebody has said yes as often as one can look within an hour: others have to decide",
    "question": "a reviewer asked something about a call: whoever asked for the call answers",
    "answer": "a question about a call was answered: the call still waits for a decision",
    REMINDER: "a call still waits for a person",
    ESCALATED: "a call has waited too long, or nobody who was told can be reached: others should look at it now",
    UNREACHABLE: "nobody can decide a call: too few reviewers may, whoever asked left out, or can be reached",
    "afterlook": "a glass was broken, and nobody has looked at that call yet: another person has to",
    GLASS: "somebody broke the glass: a call was approved by one person alone, and has to be looked at afterwards",
}
"""What happened, in our own words."""
WAITING: Final = frozenset({ASKED, REMINDER, ESCALATED, UNREACHABLE})
"""The kinds of which the deadline matters more than who it is from."""


def webhook_body(notice: Notice, channel: Channel, origin: str) -> bytes:
    """Return the JSON of a webhook; the same bytes at every try."""
    data: dict[str, Any] = {"kind": notice.kind, "state": notice.state}
    row = notice.proposal
    if row is None:
        data["subject"] = inert(notice.subject)
    else:
        data |= {
            "approval": row.id,
            "digest": row.digest,
            "tier": notice.tier.value if notice.tier else "",
            "title": in_a_message(as_seen(row), values=channel.shows_values(notice)),
            "tool": inert(_tool(row)),
            "rule": inert(row.rule),
            "requester": inert(row.requester),
            "behind": [{"why": one.why, "name": inert(one.name)} for one in row.behind],
            "thread": inert(row.thread),
            "decide_by": rfc3339(row.decide_by),
            "review": link_of(row, origin),
        }
    if by := notice.body.get("by"):
        data["by"] = inert_by(str(by))
    if notice.who:
        data["who"] = [inert(name) for name in notice.who]
    if said := pairs_in(notice.body, early=EARLY):
        data["escalation"] = [{"what": name, "text": inert(text)} for name, text in said]
    if row is not None and channel.shows_values(notice):
        data["values"] = told_values(row)
    body = {"type": f"approval.{notice.kind}", "timestamp": rfc3339(notice.at), "data": data}
    return json.dumps(body, ensure_ascii=True, separators=(",", ":")).encode()


def slack_body(notice: Notice, channel: Channel, origin: str) -> bytes:
    """Return the JSON of a chat message: plain text blocks, and the same as plain text for notifications."""
    pairs = pairs_of(notice, values=channel.shows_values(notice))
    text = f"{title_of(notice)}. " + ". ".join(f"{name} {value}" for name, value in pairs)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title_of(notice)[:_HEADER])}]
    blocks += _sections(pairs)
    row = notice.proposal
    if row is not None:
        if channel.shows_values(notice):
            blocks += _sections([(item["path"], item["text"]) for item in told_values(row)])
        blocks += [{"type": "section", "text": _plain(command_of(row))}]
        if link := link_of(row, origin):
            button = {"type": "button", "text": _plain("Look at it"), "url": link, "action_id": "look"}
            blocks += [{"type": "actions", "elements": [button]}]
    found = {"text": _fitting(text), "blocks": blocks, "mrkdwn": False, "parse": "none", "link_names": False}
    return json.dumps({**found, "unfurl_links": False, "unfurl_media": False}).encode()


def mail_of(notice: Notice, channel: Mail, origin: str) -> EmailMessage:
    """Return a mail of text alone. The message id is the notice's, so a repeated one is recognised."""
    found = EmailMessage(policy=SMTP)
    row = notice.proposal
    found["Subject"] = f"[Checkvalve] {title_of(notice)}" + (f" ({row.id[:SHORT_ID]})" if row is not None else "")
    found["From"], found["To"] = channel.sender, ", ".join(channel.to)
    found["Message-ID"] = f"<{notice.id}@checkvalve.invalid>"
    found["Auto-Submitted"] = "auto-generated"
    found["X-Auto-Response-Suppress"] = "All"
    pairs = pairs_of(notice, values=channel.shows_values(notice))
    lines = [f"{title_of(notice)}.", "", *(f"{name}: {value}" for name, value in pairs)]
    if row is not None:
        if channel.shows_values(notice):
            lines += ["", "Values (content, as inert text):"]
            lines += [f"  {item['path']}: {item['text']}" for item in told_values(row)]
        link = link_of(row, origin)
        lines += ["", *([f"Look at it: {link}"] if link else []), command_of(row)]
        lines += ["", "Nothing in this mail decides, and an answer to it is read by nobody."]
    found.set_content("\n".join(lines) + "\n", charset="utf-8", cte="quoted-printable")
    return found


def title_of(notice: Notice) -> str:
    """Return what happened in our own words, with the risk of the call."""
    tier = f"{notice.tier.value} risk: " if notice.tier is not None else ""
    said = _SAID[notice.kind]
    return tier + said if tier else said[0].upper() + said[1:]


def pairs_of(notice: Notice, *, values: bool) -> list[tuple[str, str]]:
    """Return what is said of a notice, as pairs of our own words and inert text; ``values`` if it may be told any."""
    row = notice.proposal
    if row is None:
        return [("about", inert(notice.subject)), ("at", to_the_second(notice.at))]
    title = in_a_message(as_seen(row), values=values)
    pairs = [("what it does", title), ("tool", inert(_tool(row)))]
    pairs += [("rule", inert(row.rule)), ("asked by", _askers(row))]
    if notice.kind in WAITING:
        pairs.append(("decide before", to_the_second(row.decide_by)))
        pairs += [("who should look", ", ".join(inert(name) for name in notice.who))] if notice.who else []
        pairs += [(name, inert(text)) for name, text in pairs_in(notice.body, early=EARLY)]
    elif by := notice.body.get("by"):
        pairs.append(("by", inert_by(str(by))))
    return [*pairs, ("id", row.id[:SHORT_ID]), ("digest", row.digest.removeprefix("sha256:")[:16])]


def _askers(row: Proposal) -> str:
    """Return everybody who asked for a call; of those beside the requester, with what they have to do with it."""
    others = (f"{inert(name)} ({why})" for name, why in reasons(row.behind))
    return "; ".join([inert(row.requester) or "not known", *others])


def _sections(pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    fields = [_plain(_fitting(f"{name}: {value}")) for name, value in pairs]
    return [{"type": "section", "fields": fields[start : start + _FIELDS]} for start in range(0, len(fields), _FIELDS)]


def _fitting(text: str) -> str:
    """Return ``text`` as Slack takes it; what is left out is counted."""
    if len(text) <= _FIELD:
        return text
    kept = _FIELD - 60  # room for the words that count
    return f"{text[:kept]} \u27e8{len(text) - kept} characters not shown\u27e9"


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _tool(row: Proposal) -> str:
    return f"{row.server}/{row.tool}" if row.server else row.tool


def link_of(row: Proposal, origin: str) -> str:
    """Return where the review pages show a call; empty where there are none."""
    return f"{origin}/review/items/{row.id}" if origin else ""


def command_of(row: Proposal) -> str:
    """Return the command that shows a call in a terminal."""
    return f"In a terminal: checkvalve approvals show {row.id[:SHORT_ID]}"


__all__ = ["WAITING", "command_of", "link_of", "mail_of", "pairs_of", "slack_body", "title_of", "webhook_body"]
