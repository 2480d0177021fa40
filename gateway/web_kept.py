"""A form that was refused: its page once more, with what stood in the way and with everything that was typed.

Guarantees: nothing is decided here. What was typed is given back to the session that sent it, in a form with a new seal
over what is shown now; digests and secrets are never given back, since they are typed to prove something.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from fastapi import Request
from fastapi.responses import Response

from checkvalve.approvals.errors import ApprovalError
from checkvalve.approvals.records import State
from checkvalve.gateway import web_delegations, web_glass, web_item, web_queue, web_standing
from checkvalve.gateway.web_desk import HOME, Form, Stop, Visit
from checkvalve.gateway.web_seed_items import open_seed, seed_card
from checkvalve.gateway.web_text import Shown, shown

AGAIN: Final = frozenset({409, 422, 425})
"""What a person can mend: a field, a record that has changed, an answer that came too fast."""
WORDS: Final = ("note", "text", "reason", "finding")
"""Fields that hold words of people: nobody has to write them twice."""
_ID: Final = r"[0-9a-f-]{36}"
_WITH_FORMS: Final = frozenset({State.PENDING, State.APPROVED, State.UNKNOWN})
_Page: TypeAlias = Callable[[Visit, str], Response | None]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was typed into a form, and the address that it was sent to."""

    path: str
    form: Form

    def words(self) -> list[Shown]:
        """Return the words that people typed, for a page that has no form for them any more."""
        return [shown(text) for name in WORDS for text in self.form.get(name, []) if text.strip()]


def kept(request: Request) -> Kept | None:
    """Return the form of this request, where its seal was checked."""
    form = getattr(request.state, "sealed_form", None)
    return None if form is None else Kept(request.url.path, form)


def page_again(visit: Visit, stop: Stop, typed: Kept) -> Response | None:
    """Return the page that the form was on, or None where there is no such page, or it can take no answer any more."""
    if stop.status not in AGAIN:
        return None
    path = stop.back.partition("?")[0].removeprefix(HOME)
    for form, page in _PAGES:
        if (found := re.fullmatch(form, path)) is not None:
            again = replace(
                visit, path=f"{HOME}{path}", problem=(stop.code, stop.detail), typed=(typed.path, typed.form)
            )
            try:
                response = page(again, found["name"] if "name" in found.groupdict() else "")
            except (ApprovalError, Stop):  # there is no such page any more
                return None
            if response is not None:
                response.status_code = stop.status
            return response
    return None


def _card(visit: Visit, name: str) -> Response | None:
    """Return the card, where it still has forms; that of an item that looks like one as well."""
    if (item := open_seed(visit, name)) is not None:
        return seed_card(visit, item)
    proposal = visit.desk.queue.get(name)
    return web_item.show_card(visit, proposal) if proposal.state in _WITH_FORMS else None


_PAGES: Final[tuple[tuple[str, _Page], ...]] = (
    (rf"/items/(?P<name>{_ID})", _card),
    (rf"/equal/(?P<name>{_ID})", web_queue.show_batch),
    (rf"/items/(?P<name>{_ID})/standing", web_standing.drafted_again),
    (r"/delegations", lambda visit, _: web_delegations.listing(visit)),
    (r"/afterlooks", lambda visit, _: web_glass.listing(visit)),
)

__all__ = ["AGAIN", "Kept", "kept", "page_again"]
