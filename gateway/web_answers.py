"""Answers: yes to data or to one call, no with a reason, a mandate, how an unknown outcome ended; one at a time.

Guarantees, for each answer: 1. the form carries the seal of this session for this address; 2. it carries the seal over
the record that was shown, and that record is still what is stored; 3. some time passed between showing and answering;
4. grave ones come with the start of the digest, typed, and critical ones with a reason; 5. the queue then checks the
person, the state and the digest once more, in one transaction. Whatever fails: nothing is decided, a page says why.
"""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from checkvalve.approvals import pages_data, seeds
from checkvalve.approvals.batching import batch_of
from checkvalve.approvals.before_proof import require_worth_proving
from checkvalve.approvals.causes import Cause, cause_of
from checkvalve.approvals.deciding import Yes
from checkvalve.approvals.errors import DigestError, NotAdoptedError, NoteNeededError, QueueError, StepUpError
from checkvalve.approvals.mandates import Mandate
from checkvalve.approvals.queue import match_digest
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.seed_cards import as_question, plan_of
from checkvalve.approvals.seeds import Seed
from checkvalve.approvals.spoken import says_something
from checkvalve.gateway.web_desk import HOME, Posted, Sent, Stop, back, link
from checkvalve.gateway.web_item import Id, now_ms, own_call
from checkvalve.gateway.web_prove import step_up_of
from checkvalve.gateway.web_queue import show_batch
from checkvalve.gateway.web_seed_items import closed, open_seed
from checkvalve.gateway.web_sessions import MIN_LOOK
from checkvalve.gateway.web_views import GRAVE

REASONS: Final = ("not_wanted", "wrong_value", "untrusted_source", "looks_like_attack", "ask_user", "other")
"""The coded reasons of a no."""
MAX_NOTE: Final = 2_000
"""Characters of a reason in words."""
_MS: Final = 1_000
router: Final = APIRouter()


def proven(sent: Posted, name: str, seal: str) -> Proposal:
    """Return the stored call, if the seal says that it is exactly what this person was shown, long enough ago.

    Raises:
        Stop: the seal is another one's, or the record has changed since, or the answer came too fast.
    """
    return proven_row(sent, sent.visit.desk.queue.get(name), seal)


def proven_row(sent: Posted, proposal: Proposal, seal: str) -> Proposal:
    """Return a call that was read, on the same conditions."""
    at, _, rest = seal.partition(".")
    version, _, mac = rest.partition(".")
    where = link(f"/items/{proposal.id}")
    if not sent.visit.session.is_sealed(mac, "shown", proposal.id, proposal.digest, version, at):
        raise Stop(409, "stale", back=where)
    if version != str(proposal.version):
        raise moved(proposal, where)
    if now_ms(sent.visit) - int(at) < MIN_LOOK * _MS:
        raise Stop(425, "fast", back=where)
    return proposal


def moved(proposal: Proposal, where: str) -> Stop:
    """Return what is said of a call that somebody or something has moved on since it was shown."""
    cause = Cause.STALE if proposal.state is State.PENDING else cause_of(proposal.state.value)
    return Stop(409, "moved", f"{proposal.state.value}: {proposal.decided_by}", back=where, cause=cause)


def typed(proposal: Proposal, sent: Posted, where: str) -> None:
    """Check the start of the digest that somebody typed.

    Raises:
        Stop: it is too short, or that of another call.
    """
    try:
        match_digest(proposal, sent.get("digest"))
    except DigestError:
        raise Stop(422, "digest", back=where) from None


@router.post("/items/{name}/yes")
def yes(request: Request, sent: Sent, name: Id) -> Response:
    """Accept the data for the rest of the task and let the call run once, or let only this call run once."""
    if (item := open_seed(sent.visit, name)) is not None:
        return _yes_to_item(sent, item)
    proposal = proven(sent, name, sent.get("shown"))
    where, note = link(f"/items/{name}"), sent.get("note")[:MAX_NOTE]
    tier = pages_data.tier(proposal)
    if tier in GRAVE:
        typed(proposal, sent, where)
    data = sent.get("scope") == "data" and bool(proposal.endorsable)
    _worth_proving(sent, proposal, Yes(proposal.digest, endorse=data, note=note, channel="web"), where)
    proof = step_up_of(request, sent, proposal)
    if isinstance(proof, Response):  # the page that asks for it
        return proof
    desk = sent.visit.desk
    row = desk.queue.approve(
        proposal.id, sent.visit.reviewer, proposal.digest, endorse=data, note=note, channel="web", step_up=proof
    )
    done = "voted" if row.state is State.PENDING else "endorsed" if data else "approved"
    return back(link(f"/items/{name}", done=done))


def _worth_proving(sent: Posted, proposal: Proposal, said: Yes, where: str) -> None:
    """Look whether a yes would be taken before anybody is asked for a proof; raises as the queue, which looks again."""
    queue = sent.visit.desk.queue
    try:
        with queue.store.read() as connection:
            require_worth_proving(connection, queue.bench, proposal, sent.visit.reviewer, said, at=queue.clock())
    except NoteNeededError:
        raise Stop(422, "reason", back=where) from None  # as to an item that looks like a call


def _yes_to_item(sent: Posted, item: Seed) -> Response:
    """Take a yes to an item on the same conditions as one to a call."""
    row, where = proven_row(sent, as_question(item), sent.get("shown")), link(f"/items/{item.id}")
    if pages_data.tier(row) in GRAVE:
        typed(row, sent, where)
    if plan_of(item).note_required and not says_something(sent.get("note")[:MAX_NOTE]):
        raise Stop(422, "reason", back=where)
    return closed(sent, item.id, seeds.YES)


@router.post("/items/{name}/no")
def no(sent: Sent, name: Id) -> Response:
    """Refuse a call, with a coded reason and words."""
    item = open_seed(sent.visit, name)
    shown = sent.get("shown")
    proposal = proven(sent, name, shown) if item is None else proven_row(sent, as_question(item), shown)
    code = sent.get("code")
    if code not in REASONS:
        raise Stop(422, "code", back=link(f"/items/{name}"))
    if item is not None:
        return closed(sent, name, seeds.NO)
    note = sent.get("note")[:MAX_NOTE]
    row = sent.visit.desk.queue.reject(proposal.id, sent.visit.reviewer, code, note, channel="web")
    return back(link(f"/items/{name}", done="voted_no" if row.state is State.PENDING else "rejected"))


@router.post("/items/{name}/settle")
def settle(sent: Sent, name: Id) -> Response:
    """Say how an unknown outcome ended."""
    proposal = proven(sent, name, sent.get("shown"))
    if (how := sent.get("how")) not in {"done", "not_done"}:
        raise Stop(422, "code", back=link(f"/items/{name}"))
    note = sent.get("note")[:MAX_NOTE]
    sent.visit.desk.queue.settle(proposal.id, sent.visit.reviewer, done=how == "done", note=note)
    return back(link(f"/items/{name}", done="settled"))


@router.post("/items/{name}/mandate")
def mandate(sent: Sent, name: Id) -> Response:
    """Grant the mandate that this question offers; the question itself stays open, and is answered on its own."""
    proposal = proven(sent, name, sent.get("shown"))
    where = link(f"/items/{name}")
    offered = proposal.decision.get("mandate")
    if offered is None or proposal.state is not State.PENDING:
        raise Stop(409, "mandate", back=where)
    if pages_data.tier(proposal) in GRAVE:
        typed(proposal, sent, where)
    queue, who = sent.visit.desk.queue, sent.visit.reviewer
    if not sent.visit.desk.single_user and own_call(sent.visit, proposal):
        raise Stop(403, "own", back=where)
    queue.grant_mandate(Mandate.from_json(offered), who, thread=proposal.thread, requester=proposal.requester)
    return back(link(f"/items/{name}", done="mandate"))


@router.post("/equal/{name}")
def several(sent: Sent, name: Id) -> Response:
    """Answer the chosen ones of equal questions, each as its own record; one that cannot be is left and says why."""
    chosen = list(dict.fromkeys(sent.form.get("item", [])))
    answer, code = sent.get("answer"), sent.get("code")
    if not 0 < len(chosen) <= pages_data.MAX_BATCH or not (answer == "yes" or (answer == "no" and code in REASONS)):
        raise Stop(422, "code", back=link(f"/equal/{name}"))
    rows = batch_of(sent.visit.desk.queue.store, sent.visit.desk.queue.get(name)).rows
    equal = {row.id for row in rows}
    if answer == "yes" and rows and pages_data.tier(rows[0]) in GRAVE:
        typed(rows[0], sent, link(f"/equal/{name}"))
    outcomes: dict[str, str] = {}
    for item in chosen:
        try:
            outcomes[item] = _one(sent, item, answer, code) if item in equal else "stop.moved"
        except Stop as stop:
            outcomes[item] = f"stop.{stop.code}"
        except StepUpError:
            outcomes[item] = "stop.stepup"
        except NotAdoptedError:
            outcomes[item] = "stop.unadopted"
        except QueueError:
            outcomes[item] = "stop.refused"
    return show_batch(sent.visit, name, outcomes=outcomes)


def _one(sent: Posted, item: str, answer: str, code: str) -> str:
    proposal = proven(sent, item, sent.get(f"shown-{item}"))
    queue, who, note = sent.visit.desk.queue, sent.visit.reviewer, sent.get("note")[:MAX_NOTE]
    if answer == "no":
        row = queue.reject(proposal.id, who, code, note, channel="web")
        return "done.voted_no" if row.state is State.PENDING else "done.rejected"
    row = queue.approve(proposal.id, who, proposal.digest, note=note, channel="web")
    return "done.voted" if row.state is State.PENDING else "done.endorsed"


@router.post("/resume")
def resume(sent: Sent) -> Response:
    """Let a task go on that was paused because it asked too much."""
    more = sent.get("more")
    if not (more.isascii() and more.isdigit() and len(more) <= 4):  # noqa: PLR2004  # digits
        raise Stop(422, "code")
    sent.visit.desk.queue.let_go_on(sent.get("thread"), sent.visit.reviewer, more=int(more))
    return back(f"{HOME}?done=resumed")


__all__ = ["MAX_NOTE", "REASONS", "moved", "proven", "proven_row", "router", "typed"]
