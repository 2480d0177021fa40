"""What the HTTP API says of a call. Values are content: whoever shows them shows them as text and nothing else.

Guarantees: ``shown`` is neutralised and says what it leaves out; ``args`` are the arguments, for programs. In both,
what a rule redacts is a mark, and ``redacted`` lists where; the exact ones take the right to reveal, and are recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from checkvalve.approvals.asked_by import as_json
from checkvalve.approvals.clock import rfc3339
from checkvalve.approvals.counting import Standing
from checkvalve.approvals.edits import edited
from checkvalve.approvals.for_programs import note_for_programs, plan_for_programs, remark_is_for_programs
from checkvalve.approvals.notices import Notice
from checkvalve.approvals.pins_shown import Pinned
from checkvalve.approvals.previews import Preview
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.remarks import Remark
from checkvalve.approvals.render import block, size_of, warnings
from checkvalve.approvals.risk import tier_of
from checkvalve.approvals.seen import Part, Seen, marks_of
from checkvalve.approvals.story import Story
from checkvalve.approvals.titled import in_words, without_values
from checkvalve.filters.strictjson import JSON

_MAX_TEXT = 2_000


class _View(BaseModel):
    model_config = ConfigDict(frozen=True)


class Line(_View):
    """A call in a list: no value of it."""

    id: str
    state: str
    tier: str = Field(description="low, medium, high or critical: how it is ranked, never whether it may run")
    tool: str
    server: str
    title: str = Field(description="what it would do, in one sentence; in a list with names in the place of values")
    rule: str
    reason: str
    requester: str
    behind: list[dict[str, Any]] = Field(
        [], description="who else asked for it: name and why (for, token, agent); none of them approves it either"
    )
    thread: str
    digest: str = Field(description="sha256 of the canonical call: what a decision binds to")
    created_at: str
    decide_by: str


class Listed(_View):
    """One page of calls, oldest first."""

    approvals: list[Line]
    next: str | None = Field(description="give it as `after` to go on; null at the end")
    mark: int = Field(description="the number of the newest event: give it as `since` to wait for a change")


class ShownValue(_View):
    """One argument for people's eyes."""

    path: str
    role: str
    text: str = Field(description="neutralised text; everything that hides or reorders stands as its code point")
    size: int = Field(description="bytes of the exact value")
    warnings: list[str]
    origins: list[dict[str, Any]]


class Said(_View):
    """One remark about a call: its author's words, verified by nobody."""

    kind: str = Field(description="question, answer or reply")
    by: str = Field(description="reviewer:NAME, client:NAME (a program's token) or agent:NAME (the agent's process)")
    text: str = Field(description="neutralised text")
    at: str


class Action(BaseModel):
    """An edited call, as LangChain's middleware names it. The tool stays the same."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=1_000)
    args: dict[str, Any] = Field(description="all arguments, the unchanged ones as well")


class Card(Line):
    """One call with everything that a decision needs."""

    version: int
    revision: int = Field(
        1, description="grows with what is shown here beside the call: talk, votes, preview, pinned versions"
    )
    mode: str
    verdict: str
    remedy: str
    args: dict[str, Any] = Field(description="the arguments that will run, with a mark for what is redacted")
    redacted: list[dict[str, Any]] = Field(description="where a mark stands: path and marks; empty where all is exact")
    shown: list[ShownValue]
    endorsable: list[dict[str, str]] = Field(description="what a yes would also accept, for the rest of the task")
    execute_by: str | None
    decided_by: str
    code: str
    note: str = Field(description="words beside the decision; a client's token gets those that are for its agent")
    self_approved: bool
    talk: list[Said] = Field(
        description="what reviewers asked and what was answered, oldest first; unverified; replies for reviewers only"
    )
    edit_of: str | None = Field(description="the call of which this one is an edit")
    edited_to: str | None = Field(description="the call that a person made of this one")
    changes: list[dict[str, Any]] = Field(description="what the edit changed: path, kind, before, after")
    preview: dict[str, Any] | None = Field(
        None, description="what the call would do, as its tool said: untrusted text, when it was made, or why not"
    )
    pinned: dict[str, Any] | None = Field(
        None, description="the versions of what it points at: read when asked, and compared right before it runs"
    )
    plan: dict[str, Any] | None = Field(
        None,
        description="how it is to be answered: quorum and times; channels, reminders, who is called only for reviewers",
    )
    after_crash: dict[str, Any] | None = Field(None, description="of an unknown end: its tries, or what a probe said")
    votes: list[dict[str, Any]] = Field([], description="who said what; one voice each. Empty for a client's token")
    missing: list[dict[str, int]] = Field([], description="what each alternative still needs, by role; nearest first")
    seeded: dict[str, Any] | None = Field(
        None, description="in the answer to a decision: that the call was made up, and what was to be seen"
    )
    asked: list[dict[str, str]] = Field(
        [], description="the user's own words: which (message, or first and latest), text, sender where that is known"
    )
    agent_words: str = Field("", description="what the agent itself wrote last; verified by nobody")
    sub_agents: list[str] = Field([], description="the sub-agents through which it was asked for, outermost first")
    compared: dict[str, dict[str, Any] | None] = Field(
        {}, description="what differs from the task's call of this tool before it, and from the last approved one"
    )
    on_expiry: str = Field("", description="what happens when its time is over")
    reachable: bool = Field(True, description="false: the reviewers there are cannot approve it, so it waits in vain")


class Told(_View):
    """How a call stands, with the tool message that its agent is told."""

    id: str
    state: str
    digest: str
    done: bool = Field(description="whether nothing will change any more by itself")
    message: dict[str, Any] = Field(description="LangChain's ToolMessage: type, content, name, tool_call_id, status")


class Answer(BaseModel):
    """A reviewer's answer, in the words of LangChain's middleware.

    ``edit`` makes another call, which waits for a decision of its own; ``respond`` ends this one with a text for its
    agent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["approve", "reject", "edit", "respond"]
    message: str = Field(
        "", max_length=_MAX_TEXT, description="your own words, kept with the decision; of a response, the text"
    )
    code: str = Field("rejected", pattern=r"^[a-z][a-z0-9_-]{0,63}$", description="of a no: a stable word for programs")
    endorse: bool = Field(True, description="of a yes: also accept the shown data for the rest of the task")
    edited_action: Action | None = Field(None, description="of an edit: the whole call")
    password: SecretStr = Field(
        SecretStr(""), max_length=256, description="of a yes to a grave call: your password, as a fresh proof of you"
    )


class Decisions(BaseModel):
    """The same, in the envelope of LangChain's middleware: one decision, for the one call of the address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    decisions: list[Answer] = Field(min_length=1, max_length=1)


def line(row: Proposal) -> dict[str, Any]:
    """Return the members of :class:`Line`."""
    return {
        "id": row.id,
        "state": row.state.value,
        "tier": tier_of(str(row.decision.get("action") or ""), row.rule).value,
        "tool": row.tool,
        "server": row.server,
        "title": without_values(row),
        "rule": row.rule,
        "reason": row.reason,
        "requester": row.requester,
        "behind": as_json(row.behind),
        "thread": row.thread,
        "digest": row.digest,
        "created_at": rfc3339(row.created_at),
        "decide_by": rfc3339(row.decide_by),
    }


def card(
    row: Seen,
    *,
    talk: Sequence[Remark] = (),
    lineage: tuple[Seen | None, Seen | None] = (None, None),
    standing: Standing | None = None,
    preview: Preview | None = None,
    pinned: Pinned | None = None,
    story: Story | None = None,
) -> Card:
    """Return everything of a call; ``lineage`` is what it is an edit of, and what it was edited to.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    before, after = lineage
    standing = None if standing is None else row.said(standing)
    said = [(item, block(row.veil.text(item.text))) for item in talk]
    return Card(
        **(line(row) | {"title": in_words(row)}),
        version=row.version,
        mode=row.mode,
        verdict=row.verdict_name,
        remedy=row.remedy,
        args=row.args(),
        redacted=[*marks_of(row)],  # type: ignore[list-item]  # each is an object
        shown=[_shown(item, _report(row, item.at)) for item in row.parts()],
        endorsable=[dict(item) for item in row.endorsable],
        execute_by=None if row.execute_by is None else rfc3339(row.execute_by),
        decided_by=row.decided_by,
        code=row.code,
        note=row.note,
        self_approved=row.self_approved,
        talk=[Said(kind=item.kind, by=block(item.by), text=text, at=rfc3339(item.at)) for item, text in said],
        edit_of=None if before is None else before.id,
        edited_to=None if after is None else after.id,
        changes=_changes(row, before, after),
        preview=None if preview is None else preview.to_json(),
        pinned=None if pinned is None else pinned.to_json(),
        **(story or Story()).to_json(row),  # type: ignore[arg-type]  # the names are those of the fields
        **(standing.to_json() if standing else {}),  # type: ignore[arg-type]  # the names are those of the fields
    )


def for_program(found: Card, row: Seen) -> Card:
    """Return the card of ``row`` for the program that asked for the call: what its receipt tells it of people, too.

    What that is stands in :mod:`checkvalve.approvals.for_programs`.
    """
    plan = None if found.plan is None else plan_for_programs(found.plan)
    talk = [item for item in found.talk if remark_is_for_programs(item.kind)]
    return found.model_copy(update={"note": note_for_programs(row), "votes": [], "plan": plan, "talk": talk})


def _changes(row: Seen, before: Seen | None, after: Seen | None) -> list[dict[str, Any]]:
    """Return what an edit changed: the one that made this call, else the one that was made of it."""
    if before is not None:
        return [item.to_json() for item in edited(before, row)]
    return [] if after is None else [item.to_json() for item in edited(row, after)]


def told(notice: Notice) -> dict[str, Any]:
    """Return a notice for an event stream: names and numbers, no value."""
    row = notice.proposal
    body: dict[str, Any] = {"id": notice.id, "kind": notice.kind, "at": rfc3339(notice.at)}
    if row is not None:
        return {**body, "approval": row.id, "state": notice.state, "digest": row.digest, "tier": line(row)["tier"]}
    return {**body, "subject": notice.subject}


def _report(row: Proposal, path: str) -> dict[str, JSON]:
    found = row.decision.get("arguments")
    reports = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return next((item for item in reports if item.get("path") == path), {})


def _shown(item: Part, report: dict[str, JSON]) -> ShownValue:
    text, origins = item.text, report.get("origins")
    return ShownValue(
        path=block(item.path),
        role=str(report.get("role") or "not declared"),
        text=block(text),
        size=size_of(text),
        warnings=warnings(text),
        origins=[item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else [],
    )


__all__ = [
    "Action", "Answer", "Card", "Decisions", "Line", "Listed", "Said", "ShownValue", "Told", "card",
    "for_program", "line", "told",
]  # fmt: skip
