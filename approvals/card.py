"""What a reviewer sees of one call, in the terminal: always the same parts in the same order, content as plain text.

Nothing here interprets content: every piece of it passes :mod:`render` and enters a ``rich.text.Text``, which has no
markup. A call comes as :class:`Seen`, in which what a rule redacts is a mark. Tables fold and never cut, and what may
be long has lines of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from checkvalve.approvals.asked_by import reasons
from checkvalve.approvals.audit import Event
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.counting import Standing
from checkvalve.approvals.hand import HAND, TYPED
from checkvalve.approvals.ladder_words import history
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.moves import OBSERVE, Grant
from checkvalve.approvals.origin_words import NOWHERE, WHY, place_of
from checkvalve.approvals.outcome import Outcome
from checkvalve.approvals.pages_data import effect_of, tier
from checkvalve.approvals.preview_lines import Barred
from checkvalve.approvals.quorum_words import quorum_rows
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.redaction import Veil
from checkvalve.approvals.render import block, neutralise, size_of, warnings
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.seen import Seen
from checkvalve.approvals.story import Story, on_expiry
from checkvalve.approvals.story_lines import SUB, said_lines
from checkvalve.approvals.titled import in_words
from checkvalve.filters.strictjson import JSON

SHORT_ID: Final = 8
_INDENT: Final = (0, 0, 0, 4)  # of what belongs to the line above
_FIRST, _BEHIND = "    ", "      "
_TRUST_STYLE: Final = {"untrusted": "bold red", "verified": "yellow", "authoritative": "green"}
_LOUD: Final = "bold white on red"
_HEAD: Final = frozenset({"tier", "tool", "why", "verdict", "rule", "reason", "standing", "remedy", "warning"})
"""What is read first; the rest stands below the arguments."""
_STYLES: Final = {"why": "bold", "digest": "bold", "missing": "bold", "warning": _LOUD}
_GRAVE: Final = {Tier.CRITICAL: _LOUD, Tier.HIGH: "bold red"}


def safe(value: object, style: str = "") -> Text:
    """Return untrusted text for one line."""
    return Text(neutralise(str(value)), style=style, overflow="fold")


def digest_hex(proposal: Proposal) -> str:
    """Return the digest's hexadecimal part, which is what a reviewer types."""
    return proposal.digest.removeprefix("sha256:")


def as_text(value: JSON) -> str:
    """Return a stored result as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def card(  # noqa: PLR0913  # each is a part of the card
    proposal: Seen,
    *,
    outcome: Outcome,
    grant: Grant | None,
    events: Sequence[Event] = (),
    full: bool = False,
    unpack: Callable[[JSON], str] = as_text,
    around: Iterable[RenderableType] = (),
    standing: Standing | None = None,
    story: Story | None = None,
) -> RenderableType:
    """Return the whole card: what, why, what the user asked, arguments with their origins, who and when, what happened.

    ``around`` is what follows the arguments: differences, previews, words of the agent and of reviewers; ``unpack``
    gives the text of a stored result, for a surface that keeps results in a form of its own; ``standing`` says who has
    said what, and what is missing; ``story`` has the user's words, and the sub-agents that led to the call.
    """
    story = story or Story()
    parts: list[RenderableType] = []
    if proposal.mode == OBSERVE:
        parts.append(
            Text("OBSERVE MODE: this call was recorded and not stopped, whatever the verdict says", style=_LOUD)
        )
    if proposal.self_approved:
        parts.append(Text("SELF-APPROVED: the person who asked for this call also approved it", style=_LOUD))
    head, rest = _facts(proposal, grant, standing, story)
    parts += [
        Barred(Text(in_words(proposal), style="bold", overflow="fold")),
        head,
        *said_lines(story, full=full),
        Text("Arguments", style="bold"),
        *_arguments(proposal, full=full),
        *_unseen(proposal),
        *around,
    ]
    if proposal.endorsable and proposal.state is State.PENDING:
        parts += [Text("A yes also accepts, for the rest of this task", style="bold"), *_offers(proposal, full=full)]
    if (offer := proposal.decision.get("mandate")) is not None and proposal.state is State.PENDING:
        parts += [Text("A mandate for the source would have made the question unnecessary", style="bold")]
        parts += [_mandate(offer, proposal)]
    parts += [Text("Details", style="bold"), rest]
    if outcome.result is not None or outcome.error is not None:
        parts += [Text("Result (untrusted content)", style="bold"), _result(outcome, unpack, proposal.veil, full=full)]
    if events:
        parts += [Text("History", style="bold"), _timeline(events)]
    return Panel(Group(*parts), title=safe(f"{proposal.state.value}: {named(proposal)}"), title_align="left")


def named(proposal: Proposal) -> str:
    """Return the tool's name, with its server's where it has one."""
    return f"{proposal.server}/{proposal.tool}" if proposal.server else proposal.tool


def _facts(proposal: Seen, grant: Grant | None, standing: Standing | None, story: Story) -> tuple[Table, Table]:
    """Return what is read first, and what is looked up."""
    head, rest = plain_table(header=False), plain_table(header=False)
    until, after = on_expiry(proposal), f"; {on_expiry(proposal)}"
    rows: list[tuple[str, object]] = [
        ("tier", _tier(proposal)),
        ("tool", named(proposal)),
        ("why", WHY.get(proposal.rule, "")),
        ("verdict", proposal.verdict_name),
        ("rule", "; also ".join((proposal.rule, *_other_rules(proposal)))),
        ("reason", "" if proposal.reason == proposal.rule else proposal.reason),
        ("standing", _answered(proposal)),
        ("remedy", proposal.remedy),
        *(quorum_rows(standing, pending=proposal.state is State.PENDING) if standing else ()),
        ("state", f"{proposal.state.value} since {to_the_second(proposal.updated_at)}"),
        ("moved by", proposal.decided_by),
        ("code", proposal.code),
        ("note", proposal.note),
        ("permit", "" if grant is None else f"{grant.issued_by}, {'used' if grant.used_at else 'not used'}"),
        ("decide by", to_the_second(proposal.decide_by) + after if proposal.state is State.PENDING else ""),
        ("execute by", to_the_second(proposal.execute_by) + after if until and proposal.execute_by else ""),
        ("requester", proposal.requester or "not known"),
        *(("also asked by", f"{name}: {why}") for name, why in reasons(proposal.behind)),
        ("through", f"the sub-agent {SUB.join(map(neutralise, story.through))}" if story.through else ""),
        ("thread", proposal.thread),
        ("id", proposal.id),
        ("size", f"{proposal.size:,} bytes, version {proposal.version} (each byte: --bytes)"),
        ("digest", digest_hex(proposal)),
    ]
    for name, value in rows:
        if value != "":
            style = _GRAVE.get(tier(proposal), "") if name == "tier" else _STYLES.get(name, "")
            (head if name in _HEAD else rest).add_row(Text(name, style="dim"), safe(value, style))
    return head, rest


_WHY: Final = {
    "tool_changed": "no longer answers: what the manifest says of the tool has changed",
    "schema_changed": "no longer answers: the tool's arguments have changed",
    "server_changed": "does not answer: this is another server",
    "detector": "does not answer: a detector asks, too",
}


def _answered(proposal: Proposal) -> str:
    """Return which standing rule answered, and what a person would have been asked; or why one no longer does."""
    told = proposal.decision.get("standing")
    if not isinstance(told, dict):
        return ""
    name, why = str(told.get("id"))[:SHORT_ID], told.get("why")
    if why is not None:
        return f"{name} {_WHY.get(str(why), str(why))}"
    if proposal.verdict_name != "allow":  # something else made it stricter again
        return ""
    return f"{name} answered; a person would have been asked because of {told.get('rule')}"


def _tier(proposal: Proposal) -> str:
    """Return how grave a call is, its recorded effect, and whether that can be taken back."""
    effect, facts = effect_of(proposal), proposal.decision.get("facts")
    lasting = effect != "read" and not (isinstance(facts, dict) and facts.get("reversible") is True)
    return ", ".join((tier(proposal).value, effect or "no known effect", *(["cannot be undone"] if lasting else [])))


def _other_rules(proposal: Proposal) -> list[str]:
    rules = proposal.decision.get("rules")
    return [str(rule) for rule in rules if rule != proposal.rule] if isinstance(rules, list) else []


def _arguments(proposal: Seen, *, full: bool) -> Iterator[RenderableType]:
    """Yield each argument: its name, role and size; its value; what to beware of; each origin on a line of its own."""
    reports = _reports(proposal.decision)
    for item in proposal.parts():
        report, text = reports.get(item.at, {}), item.text
        yield Barred(safe(item.path, "bold"))  # names of arguments beneath an object are content, too
        said = f"{report.get('role', 'not declared')}, {size_of(text):,} bytes"
        yield Padding(safe(said, "dim"), _INDENT)
        yield Barred(Text(block(text, full=full), overflow="fold"))
        for warning in warnings(text):
            yield Padding(Text(f"! {warning}", style="bold red"), _INDENT)
        yield from _origins(report)


def _unseen(proposal: Seen) -> Iterator[RenderableType]:
    """Yield how to look at what is redacted, where something is."""
    if proposal.redacted():
        command = f"checkvalve approvals reveal {proposal.id[:SHORT_ID]}"
        yield Text(f"What is redacted takes the role revealer, and the log has it first: {command}", style="dim")


def _reports(decision: dict[str, JSON]) -> dict[str, dict[str, JSON]]:
    arguments = decision.get("arguments")
    reports = [item for item in arguments if isinstance(item, dict)] if isinstance(arguments, list) else []
    return {str(item.get("path")): item for item in reports}


def _origins(report: dict[str, JSON]) -> Iterator[RenderableType]:
    """Yield every place the value was found at, or that nobody is known to have said it."""
    origins = report.get("origins")
    found = [origin for origin in origins if isinstance(origin, dict)] if isinstance(origins, list) else []
    for origin in found:
        trust = str(origin.get("trust"))
        span = origin.get("span")
        where = f", bytes {span[0]}-{span[1]}" if isinstance(span, list) and len(span) == 2 else ""  # noqa: PLR2004  # a pair
        said = safe(f"{place_of(str(origin.get('source'))).in_words()}{where}, {origin.get('match')}")
        if origin.get("match") == TYPED:
            said = safe(f"typed by {str(origin.get('source')).removeprefix(HAND)}, a reviewer")
        yield _hanging(Text.assemble(safe(f"{trust}: ", _TRUST_STYLE.get(trust, "bold red")), said, overflow="fold"))
        if isinstance(flags := origin.get("flags"), list) and flags:
            text = f"! flagged in this source: {', '.join(map(str, flags))}"
            yield _hanging(safe(text, "bold red"))
    if not found:
        yield Padding(Text(NOWHERE, style="bold red"), _INDENT)


def _offers(proposal: Proposal, *, full: bool) -> Iterator[RenderableType]:
    for offer in proposal.endorsable:
        yield Barred(Text(block(offer["value"], full=full), overflow="fold"))
        place = safe(place_of(str(offer["source"])).in_words(), "bold red")
        yield _hanging(Text.assemble(safe(f"as {offer['role']}, from "), place, overflow="fold"))


def _hanging(text: Text) -> Barred:
    """Return a line of ours with a place in it: names in content cannot stand where a further line of ours would."""
    return Barred(text, _FIRST, _BEHIND)


def _mandate(offer: JSON, proposal: Seen) -> RenderableType:
    said = proposal.veil.judged(Mandate.from_json(offer).in_words())
    command = f"checkvalve mandates grant --offered {proposal.id[:SHORT_ID]}"
    return Padding(Group(safe(said), Text(command, style="dim")), _INDENT)


def _result(outcome: Outcome, unpack: Callable[[JSON], str], veil: Veil, *, full: bool) -> Barred:
    text = unpack(outcome.result) if outcome.error is None else as_text(outcome.error)
    return Barred(Text(block(veil.text(text), full=full), overflow="fold"))


def _timeline(events: Iterable[Event]) -> Table:
    table = plain_table("event", "at", "kind and code", "by")
    for event in events:
        body = json.loads(event.body)
        by = body.get("by") or body.get("issued_by") or ""
        code = body.get("code") or body.get("reason") or history(event.kind, body)
        what = safe(f"{event.kind} {code}".rstrip()), safe(str(by).removeprefix("reviewer:"))
        table.add_row(Text(str(event.seq)), Text(to_the_second(event.at)), *what)
    return table


def plain_table(*names: str, header: bool = True) -> Table:
    """Return a table without lines whose cells fold and are never cut."""
    table = Table(show_header=header, box=None, pad_edge=False)
    for name in names or ("", ""):
        table.add_column(name, overflow="fold")
    return table
