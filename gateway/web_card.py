"""The card of one call, as values for a template: the stored review record in the order in which a person needs it.

Guarantees: rendered from the record and never decided anew; every argument of the call is on it; content is in
:class:`Shown` and nowhere else, so what a source wrote cannot leave its place; a call comes as :class:`Seen`, and its
veil is over everything around it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from checkvalve.approvals.argument_leaves import leaves
from checkvalve.approvals.audit import Event
from checkvalve.approvals.card import digest_hex, named
from checkvalve.approvals.content import HistoryItem
from checkvalve.approvals.errors import MandateError
from checkvalve.approvals.ladder_words import history
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.moves import OBSERVE
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.pages_data import effect_of, tier
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import warnings
from checkvalve.approvals.seen import Part, Seen, as_text
from checkvalve.approvals.story import Story, agent_words, said
from checkvalve.approvals.veiled import Hidden, veiled
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway import web_origins
from checkvalve.gateway.web_diff import Change, changes
from checkvalve.gateway.web_origins import Stored
from checkvalve.gateway.web_text import Shown, line, shown
from checkvalve.gateway.web_titles import title_view
from checkvalve.gateway.web_views import ArgumentView, CardView, EventView, OfferView


def view(  # each is a part of the record
    proposal: Seen,
    *,
    items: Sequence[HistoryItem] = (),
    outcome: Outcome | None = None,
    events: Sequence[Event] = (),
    unpack: Callable[[JSON], str] = str,
    story: Story | None = None,
) -> CardView:
    """Return the card of a stored call.

    Args:
        proposal: the record.
        items: the stored history of its task, for passages and the user's words.
        outcome: how it ended, where it did.
        events: what the log holds of it.
        unpack: gives the text of a stored result.
        story: what it is compared with, who said the user's words, and which sub-agents led to it.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    veil, story = proposal.veil, story or Story()
    held = web_origins.stored(items, veil)
    return CardView(
        id=proposal.id,
        state=proposal.state,
        version=proposal.version,
        tier=tier(proposal),
        effect=effect_of(proposal),
        tool=line(named(proposal)),
        title=title_view(proposal),
        rule=proposal.rule,
        rules=tuple(line(rule) for rule in _strings(proposal.decision.get("rules")) if rule != proposal.rule),
        remedy=line(proposal.remedy),
        requester=line(proposal.requester),
        behind=tuple((line(one.name), one.why) for one in proposal.behind),
        thread=line(proposal.thread),
        thread_name=proposal.thread,
        arguments=tuple(
            _argument(part, value, proposal, held)
            for part, (_, value) in zip(proposal.parts(), leaves(proposal.exact.args()), strict=True)
        ),
        offers=tuple(_offer(offer, held) for offer in proposal.endorsable),
        mandate=_mandate(proposal.decision.get("mandate"), veil),
        said=tuple(shown(text) for text in said(items, veil)),
        sender=line(story.sender),
        through=tuple(line(name) for name in story.through),
        agent=shown(wrote) if (wrote := agent_words(items, veil)) else None,
        facts=tuple(name for name, value in _facts(proposal).items() if value is False and name.endswith("_ok")),
        digest=digest_hex(proposal),
        size=proposal.size,
        created_at=proposal.created_at,
        decide_by=proposal.decide_by,
        execute_by=proposal.execute_by,
        updated_at=proposal.updated_at,
        decided_by=line(proposal.decided_by),
        code=line(proposal.code),
        note=line(proposal.note, limit=2_000),
        result=_result(outcome, unpack, veil),
        events=tuple(_event(event) for event in events),
        observed=proposal.mode == OBSERVE,
        self_approved=proposal.self_approved,
        reversible=_facts(proposal).get("reversible") is True,
        before=_compared(story.before, proposal),
        usual=_compared(story.usual, proposal),
    )


def texts(proposal: Seen) -> dict[str, str]:
    """Return every argument of a call as the text that is shown of it, by its path."""
    return {item.path: item.text for item in proposal.parts()}


def _argument(part: Part, value: JSON, proposal: Seen, held: Stored) -> ArgumentView:
    report, text, hidden = _report(proposal, part.at), as_text(value), part.hidden
    whole = any((one.start, one.end) == (0, len(text)) for one in hidden)
    found, more = web_origins.origins(report, held, whole=whole)
    places, rest = web_origins.marks(text, report, held)
    return ArgumentView(
        path=line(part.path),
        role=str(report.get("role") or ""),
        kind=str(report.get("kind") or ""),
        value=_value(text, hidden, places, rest),
        redacted=bool(hidden),
        origins=tuple(found),
        more=more,
        sufficient=report.get("sufficient") is True,
        covered_by=str(report.get("covered_by") or ""),
    )


def _value(text: str, hidden: Sequence[Hidden], places: Sequence[tuple[int, int, str]], rest: str) -> Shown:
    """Return a value with marks for where its parts came from, and without what is not shown of it."""
    if not hidden:
        return shown(text, places, rest=rest)
    left, where = veiled(text, hidden, warnings(text))
    moved: list[tuple[int, int, str]] = []
    for first, last, trust in places:
        start, end = max(where.start(first), moved[-1][1] if moved else 0), where.end(last)
        moved += [(start, end, trust)] if start < end else []
    return shown(left, moved, rest=rest)


def _report(proposal: Proposal, path: str) -> dict[str, Any]:
    arguments = proposal.decision.get("arguments")
    found = [item for item in arguments if isinstance(item, dict)] if isinstance(arguments, list) else []
    return next((item for item in found if item.get("path") == path), {})


def _offer(offer: dict[str, str], held: Stored) -> OfferView:
    source = offer["source"]
    tool, _ = held.tools.get(source, ("", 0))
    return OfferView(
        shown(offer["value"], rest="untrusted"),
        line(source),
        line(tool),
        made_up=source == "none",
        role=offer["role"],
        tool=line(offer["tool"]),
    )


def _mandate(body: object, veil: Veil) -> Shown | None:
    if body is None:
        return None
    try:
        return line(veil.judged(Mandate.from_json(body).in_words()), limit=2_000)
    except MandateError:
        return None


def _result(outcome: Outcome | None, unpack: Callable[[JSON], str], veil: Veil) -> Shown | None:
    if outcome is None or (outcome.result is None and outcome.error is None):
        return None
    text = unpack(outcome.result) if outcome.error is None else json.dumps(outcome.error, ensure_ascii=False)
    return shown(veil.text(text), rest="untrusted")


def _event(event: Event) -> EventView:
    body = json.loads(event.body)
    by = body.get("by") or body.get("issued_by") or ""
    code, rung = body.get("code") or body.get("reason") or "", history(event.kind, body)
    said = line(code, limit=80) if code or not rung else line(rung, limit=1_000)
    return EventView(event.seq, event.at, event.kind, line(by, limit=120), said)


def _compared(other: Seen | None, now: Seen) -> tuple[str, tuple[Change, ...]] | None:
    return None if other is None else (other.id, tuple(changes(texts(other), texts(now))))


def _facts(proposal: Proposal) -> dict[str, JSON]:
    found = proposal.decision.get("facts")
    return found if isinstance(found, dict) else {}


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


__all__ = ["texts", "view"]
