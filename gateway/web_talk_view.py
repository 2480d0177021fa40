"""What a card shows around the decision: edits of a call, the talk about it, and what one may do beside yes and no.

Guarantees: words of people are in :class:`Shown` like all content, under their author and the credential they came by;
what the log does not have is not shown, the page says that the record was changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals import remarks, snoozes
from checkvalve.approvals.edits import lineage, whole_talk
from checkvalve.approvals.people import is_usable
from checkvalve.approvals.reach import asked
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.responding import response_of
from checkvalve.approvals.roles import account_of
from checkvalve.approvals.seen import Seen
from checkvalve.gateway.web_card import texts
from checkvalve.gateway.web_desk import Visit
from checkvalve.gateway.web_diff import Change, changes
from checkvalve.gateway.web_text import Shown, line, shown

SPANS: Final = (15, 60, 240, 1_440)
"""Minutes for which a question can be put off here."""
_MINUTE: Final = 60_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class RemarkView:
    """One remark."""

    kind: str
    means: str
    author: Shown
    text: Shown
    at: int
    earlier: bool  # about the call of which this one is an edit


@dataclass(frozen=True, slots=True)
class TalkView:
    """Everything around the decision on one call. ``own`` says that this person asked for it."""

    said: tuple[RemarkView, ...] = ()
    asked: bool = False
    edit_of: str = ""
    edited_by: Shown = field(default_factory=lambda: line(""))
    edited_to: str = ""
    changed: tuple[Change, ...] = ()
    response: Shown | None = None
    own: bool = False
    spans: tuple[tuple[int, int], ...] = ()
    snoozed: int | None = None
    hidden: bool = False


def talk_view(visit: Visit, proposal: Proposal) -> TalkView:
    """Return what is shown around the decision on a call.

    Raises:
        StoreCorruptError: a remark or an edit is stored that nobody made.
    """
    queue = visit.desk.queue
    said, (before, after) = whole_talk(queue, proposal), lineage(queue, proposal)
    pending, now = proposal.state is State.PENDING, queue.clock()
    with queue.store.read() as connection:
        mine = snoozes.put_off(connection, visit.reviewer.name, now) if pending else {}
        hidden = snoozes.hidden_from(connection, queue, visit.reviewer.name, now) if proposal.id in mine else {}
    now_seen = proposal if isinstance(proposal, Seen) else queue.veiling.seen(proposal)
    veil, other = now_seen.veil, before if before is not None else after
    return TalkView(
        said=tuple(_remark(item, proposal.id, veil) for item in said),
        asked=any(item.kind == remarks.QUESTION and item.proposal_id == proposal.id for item in said),
        edit_of="" if before is None else before.id,
        edited_by=line("" if before is None else before.decided_by.removeprefix("reviewer:")),
        edited_to="" if after is None else after.id,
        changed=tuple(
            _changed(
                now_seen, None if other is None else queue.veiling.beside(now_seen, other), is_edit=before is not None
            )
        ),
        response=shown(veil.text(text)) if (text := response_of(proposal)) else None,
        own=is_usable(proposal.requester) and _asked(visit, proposal),
        spans=tuple((span, span * _MINUTE) for span in SPANS if now + span * _MINUTE < proposal.decide_by),
        snoozed=mine.get(proposal.id),
        hidden=proposal.id in hidden,
    )


def _asked(visit: Visit, proposal: Proposal) -> bool:
    """Say whether this person is one of those who asked for the call."""
    with visit.desk.queue.store.read() as connection:
        return asked(connection, proposal.asked_by, account_of(connection, visit.reviewer.name))


def _remark(item: remarks.Remark, now: str, veil: Veil) -> RemarkView:
    text = shown(veil.text(item.text))
    return RemarkView(item.kind, item.means, line(item.author), text, item.at, earlier=item.proposal_id != now)


def _changed(proposal: Seen, other: Seen | None, *, is_edit: bool) -> list[Change]:
    """Return what the edit changed, old before new; what stayed the same stands among the arguments."""
    if other is None:
        return []
    old, new = (other, proposal) if is_edit else (proposal, other)
    return [item for item in changes(texts(old), texts(new)) if item.kind != "same"]


__all__ = ["RemarkView", "TalkView", "talk_view"]
