"""Many calls or events in the terminal, one short line each: what does not fit is one `show` or `--json` away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from checkvalve.approvals.accountcheck import FIRST
from checkvalve.approvals.audit import Event
from checkvalve.approvals.card import SHORT_ID, digest_hex, named, plain_table, safe
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.origin_words import place_of
from checkvalve.approvals.pages_data import tier
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import neutralise
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.so_far import SoFar
from checkvalve.approvals.titled import in_words

SHORT_DIGEST: Final = 8
"""Characters of a digest in a list: more than an approval has to give."""
MAX_VALUE: Final = 60
"""Characters of a value in a list; `show` has all of it."""
MAX_NAME: Final = 24
"""Characters of a person's name in a list."""
_MINUTE: Final = slice(5, 16)  # of a moment: month, day, hour and minute; --json has the rest
_SPANS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))  # seconds; the largest that fits is shown
_TOLD: Final = ("tool", "verdict", "rule", "reviewer", "issued_by", "by", "code")


def ago(moment: int, now: int) -> str:
    """Return how long ago that was, in its largest unit."""
    seconds = max(0, now - moment) // 1_000_000
    return next((f"{seconds // size} {unit}" for size, unit in _SPANS if seconds >= size), "now")


def queue_table(proposals: Sequence[Proposal], now: int, *, verdicts: bool = False, said: SoFar | None = None) -> Table:
    """Return proposals, one line each. A column that would say the same of all of them is left out.

    ``now`` is what the ages count to; ``verdicts`` adds what the policy said, whatever became of the call. ``said`` is
    how many people have said yes to a question that takes several.
    """
    said = said or {}
    waiting = any(proposal.state is State.PENDING for proposal in proposals)
    others = any(proposal.state is not State.PENDING for proposal in proposals)
    names = ["id", "tier", "tool", "reason", *(["verdict"] if verdicts else []), *(["state"] if others else [])]
    names += ["age"] if verdicts else ["requester", "age"]
    names += ["yes"] if said else []
    table = plain_table(*names, *(["digest"] if waiting and not others else []))
    for column in table.columns:
        column.no_wrap = column.header not in {"tool", "reason"}
        column.overflow = "ellipsis" if column.header == "requester" else "fold"
    for proposal in proposals:
        cells = {
            "id": Text(proposal.id[:SHORT_ID]),
            "tier": Text(tier(proposal).value),
            "yes": Text("{}/{}".format(*said[proposal.id]) if proposal.id in said else ""),
            "tool": safe(named(proposal)),
            "reason": safe(proposal.reason),
            "verdict": Text(proposal.verdict_name),
            "state": Text(proposal.state.value),
            "requester": safe(proposal.requester),
            "age": Text(ago(proposal.updated_at, now)),
            "digest": Text(digest_hex(proposal)[:SHORT_DIGEST]),
        }
        table.add_row(*(cells[str(column.header)] for column in table.columns))
    return table


def titles_table(proposals: Sequence[Seen]) -> Table | None:
    """Return what the open questions would do, one sentence each; None where nothing is open."""
    rows = [proposal for proposal in proposals if proposal.state is State.PENDING]
    table = plain_table("call", "what it would do")
    for proposal in rows:
        table.add_row(Text(proposal.id[:SHORT_ID]), Text(in_words(proposal), overflow="fold"))
    return table if rows else None


def asked_about(proposals: Sequence[Proposal]) -> Table | None:
    """Return the values that open questions are about, with where each stands; None where there is nothing to say."""
    rows = [
        (proposal.id, offer)
        for proposal in proposals
        if proposal.state is State.PENDING
        for offer in proposal.endorsable
    ]
    table = plain_table("asked", "about", "from")
    for name, offer in rows:
        value = neutralise(str(offer["value"]))
        cut = f"{value[:MAX_VALUE]}…" if len(value) > MAX_VALUE else value
        place = safe(place_of(str(offer["source"])).in_words(), "red")
        table.add_row(Text(name[:SHORT_ID]), Text(cut, style="bold"), place)
    return table if rows else None


def events_table(events: Iterable[Event]) -> Table:
    """Return audit events, one line each: which call, and what was said of it. The rest is in ``--json``."""
    table = plain_table("event", "at", "kind", "call", "what")
    table.padding = (0, 1, 0, 0)
    for column in table.columns[:4]:
        column.no_wrap = True
    for event in events:
        at = to_the_second(event.at)[_MINUTE].replace("T", " ")
        subject = safe(_subject(event.subject))
        table.add_row(Text(str(event.seq)), Text(at), safe(event.kind), subject, safe(_summary(event)))
    return table


def _subject(subject: str) -> str:
    """Return what an event is about: the name of an account, the first start, or the start of an id."""
    if subject == FIRST:
        return "(first start)"
    name = subject.removeprefix("account:")
    return name[:MAX_NAME] if name != subject else subject.removeprefix("task:")[:SHORT_ID]


def _summary(event: Event) -> str:
    """Pick what a reader looks for: of a new call its tool, verdict and rule; of a move who made it, and its code."""
    body = json.loads(event.body) if event.body else {"code": "(erased)"}
    told = {name: str(body[name]) for name in _TOLD if body.get(name)}
    if event.kind == "proposal.recorded":
        told.pop("by", None)
    if told.get("by", "").startswith("executor:"):
        del told["by"]  # a number of a process
    if told.get("by"):
        told["by"] = f"by {told['by']}"
    return " ".join(told.values())


__all__ = ["ago", "asked_about", "events_table", "queue_table", "titles_table"]
