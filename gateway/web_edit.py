"""Editing a call on the pages: one field for each argument, of the kind of value that stands there.

Guarantees: a value that nobody touched comes back to the last byte: what a text field could not hold exactly (hidden
characters, other line ends) is shown as JSON, and what is too long stays as it is; what is redacted is a mark in its
field, and :mod:`checkvalve.approvals.seen_edits` puts the secret back in its place; what cannot be read is said beside
the form, with everything typed still in it; the call that was shown is the one that is edited.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals.editing import parse_as
from checkvalve.approvals.edits import edit
from checkvalve.approvals.errors import ConflictError, EditRefusedError, QueueError
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.render import is_deceptive
from checkvalve.approvals.seed_cards import as_question
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.veiled import CLOSE, MARK, OPEN, Veiled, as_veiled
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import JSON, parse_strict
from checkvalve.gateway.web_answers import moved, proven
from checkvalve.gateway.web_desk import Looking, Posted, Sent, Visit, back, link
from checkvalve.gateway.web_item import Id, card_of, now_ms, shown_seal
from checkvalve.gateway.web_seed_items import doubted, item_card, open_seed
from checkvalve.gateway.web_text import Shown, line

MAX_FIELD: Final = 6_000
"""Characters of a value that is edited here; forms are bounded, and nobody edits a longer one in a field."""
MAX_ARGS: Final = 40
"""Arguments that have a field here."""
_LINE: Final = 80  # characters of a text that needs more than one line
router: Final = APIRouter()


@dataclass(frozen=True, slots=True)
class FieldView:
    """One argument. ``kind`` is text, number, truth, json, or fixed where it cannot be edited here."""

    key: str
    name: Shown
    kind: str
    value: str
    rows: int
    dropped: bool = False
    problem: str = ""
    redacted: bool = False


@router.get("/items/{name}/edit")
def form(visit: Looking, name: Id) -> Response:
    """Show the fields of a call that waits."""
    item = open_seed(visit, name)
    proposal = visit.desk.queue.get(name) if item is None else as_question(item)
    if proposal.state is not State.PENDING:
        raise moved(proposal, link(f"/items/{name}"))
    shown = visit.desk.queue.veiling.seen(proposal).args().items()
    fields = [_field(f"arg-{number}", name, value) for number, (name, value) in enumerate(shown)]
    return _page(visit, proposal, fields, item=item)


@router.post("/items/{name}/edit")
def send(sent: Sent, name: Id) -> Response:
    """Make an edited call of it; what stands in the way is said with the form."""
    if (item := doubted(sent, name)) is not None:
        return item
    proposal = proven(sent, name, sent.get("shown"))
    visit, more = sent.visit, sent.get("more").replace("\r\n", "\n")
    fields, args = _typed(proposal, sent)
    problem = ""
    try:
        if any(item.problem for item in fields):
            return _page(visit, proposal, fields, more=more, problem="fields", status=422)
        args = {**args, **_further(more, args)}
        made = edit(visit.desk.queue, name, visit.reviewer, proposal.digest, args, visit.desk.decide(visit.desk.queue))
        return back(link(f"/items/{made.id}", done="edited"))
    except EditRefusedError as error:
        problem = f"{error.message}: {error.remedy}" if error.remedy else error.message
    except ConflictError as error:
        if visit.desk.queue.get(name).version != proposal.version:
            raise
        problem = f"{error.message}: {error.remedy}"
    return _page(visit, proposal, fields, more=more, said=problem, problem="refused", status=422)


def _page(
    visit: Visit,
    proposal: Proposal,
    fields: list[FieldView],
    *,
    more: str = "",
    problem: str = "",
    said: str = "",
    status: int = 200,
    item: Seed | None = None,
) -> Response:
    return visit.page(
        "edit.html",
        status,
        card=card_of(visit, proposal, compare=False) if item is None else item_card(visit, item),
        fields=fields,
        more=more if _fits(more) else "",
        shown_seal=shown_seal(visit, proposal, now_ms(visit)),
        problem=problem,
        problem_said=line(said, limit=600),
    )


def _field(key: str, name: str, value: JSON) -> FieldView:
    """Return the field for a value as it is shown."""
    kind, text = "json", json.dumps(value, ensure_ascii=False, indent=1 if isinstance(value, dict | list) else None)
    if isinstance(value, bool):
        kind = "truth"
    elif isinstance(value, int | float):
        kind = "number"
    elif isinstance(value, str) and _fits(value):
        kind, text = "text", value
    if not _fits(text):
        text = json.dumps(value, indent=1 if isinstance(value, dict | list) else None)
    if len(text) > MAX_FIELD or int(key.removeprefix("arg-")) >= MAX_ARGS:
        return FieldView(key, line(name), "fixed", "", 1)
    return FieldView(key, line(name), kind, text, _rows(text), redacted=_marked(value))


def _fits(text: str) -> bool:
    """Say whether a text field gives back exactly this text; of a veiled one the brackets are ours."""
    ours = OPEN + CLOSE if isinstance(text, Veiled) else ""
    return not any(char != "\n" and char not in ours and is_deceptive(char) for char in text)


def _marked(value: JSON) -> bool:
    """Say whether a mark stands in a value."""
    if isinstance(value, dict):
        return any(_marked(key) or _marked(item) for key, item in value.items())
    return any(map(_marked, value)) if isinstance(value, list) else isinstance(value, Veiled)


def _rows(text: str) -> int:
    return min(12, max(1, text.count("\n") + 1 + len(text) // _LINE))


def _typed(proposal: Proposal, sent: Posted) -> tuple[list[FieldView], dict[str, JSON]]:
    """Return the fields as they were sent, and the arguments in them."""
    fields, args = list[FieldView](), dict[str, JSON]()
    row = sent.visit.desk.queue.veiling.seen(proposal)
    pairs = zip(row.exact.args().items(), row.args().items(), strict=True)
    for number, ((name, old), (shown_name, seen)) in enumerate(pairs):
        key = f"arg-{number}"
        known = _field(key, shown_name, seen)
        if key not in sent.form or known.kind == "fixed":
            args[name] = old
            fields.append(known)
            continue
        text = sent.get(key).replace("\r\n", "\n")
        dropped, problem = bool(sent.get(f"drop-{number}")), ""
        try:
            if not dropped:
                args[name] = _value(seen if MARK.search(text) or not known.redacted else old, known.kind, text)
        except QueueError as error:
            problem = error.message
        fits = known.kind != "text" or _fits(as_veiled(text) if known.redacted or MARK.search(text) else text)
        shown = text if fits else known.value  # what a field cannot give back exactly is not offered again
        problem = problem or ("" if fits else "hidden characters were typed")
        fields.append(FieldView(key, known.name, known.kind, shown, _rows(shown), dropped, problem, known.redacted))
    return fields, args


def _value(old: JSON, kind: str, text: str) -> JSON:
    if kind != "json" or not isinstance(old, str):
        return parse_as(old, text)
    try:
        found = parse_strict(text.strip())
    except HostileInputError:
        raise QueueError("this is not a JSON text", remedy="keep the quotation marks") from None
    if not isinstance(found, str):
        raise QueueError("this is not a JSON text", remedy="keep the quotation marks")
    return found


def _further(text: str, args: Mapping[str, JSON]) -> dict[str, JSON]:
    """Return further arguments, given as one JSON object.

    Raises:
        EditRefusedError: it is none, or names an argument that has a field.
    """
    if not text.strip():
        return {}
    try:
        found = parse_strict(text.strip())
    except HostileInputError as error:
        raise EditRefusedError(f"the further arguments are not JSON [{error.code}]", remedy="give an object") from error
    if not isinstance(found, dict) or not found.keys().isdisjoint(args):
        raise EditRefusedError("the further arguments are no object of others", remedy="use the fields for known ones")
    return found


__all__ = ["MAX_FIELD", "FieldView", "router"]
