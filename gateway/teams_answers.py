"""What somebody in Teams may do about a call: say yes to a small risk, say no, call others. Nothing else, nowhere else.

1. The message is checked (:mod:`teams_door`), and taken once: sent again, or changed under its id, it is refused. 2.
Its author is a reviewer here, by tenant and object id. 3. It is plain text that its author typed (:mod:`teams_text`),
and holds exactly one code; words after it are the reason. 4. The code is that of a call of the store, of this channel,
and of this answer. 5. The channel takes this answer to calls of this risk, and a yes only where its message told every
value whole. 6. The queue decides, with all its rules.

Guarantees: a yes accepts no data for later calls; a high or critical call is never approved here; once a call is
decided or edited every code of it is dead, in every channel, since the queue decides a call once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from checkvalve.approvals.calling import call_others
from checkvalve.approvals.canonical import digest_bytes
from checkvalve.approvals.clock import to_the_second
from checkvalve.approvals.errors import ApprovalError, CredentialError, NotAdoptedError, QueueError
from checkvalve.approvals.inert import inert, inert_by
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.records import Proposal, State
from checkvalve.approvals.request_keys import remember
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.risk import TIERS, Tier, tier_of
from checkvalve.gateway import teams_people
from checkvalve.gateway.channel_file import Teams
from checkvalve.gateway.channel_secrets import token_of
from checkvalve.gateway.errors import ChannelError, TeamsError
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.teams_card import is_whole
from checkvalve.gateway.teams_codes import APPROVE, REJECT, Answer, code_for, is_code, read_answer, read_link
from checkvalve.gateway.teams_door import Said, heard

CHANNEL: Final = "chat"
"""The name of chats in the review rules' ``channels``."""
_HOW: Final = "Type one of the codes on a card after the mention; words after it are your reason."
_PLAIN: Final = "Type the code yourself, as plain text: nothing quoted, struck, linked, forwarded or attached."
_WITHIN: Final = 600  # bytes of a reply's own part


class TeamsAnswers:
    """The channels of Teams that take answers, over one queue."""

    def __init__(self, channels: Sequence[Teams], queue: Queue) -> None:
        """Take answers in those that have a security token."""
        self._channels = {channel.name: channel for channel in channels if channel.token_file is not None}
        self._queue = queue

    def answer(self, name: str, authorization: str, body: bytes) -> str:
        """Do steps 1 to 6; returns what is said in reply, as inert text.

        Raises:
            TeamsError: the message was not taken at all.
        """
        channel, token = self._channel(name)
        said = heard(token, authorization, body, channel.tenant, self._queue.clock())
        key = f"{said.tenant}/{said.id}"
        if remember(self._queue.store, f"teams:{name}", key, digest_bytes(body), now=self._queue.clock()) != "new":
            raise TeamsError("came_before", "this message came before; say it again in a new one", status=409)
        try:
            return self._done(channel, token, said)
        except NotAdoptedError as error:  # which files differ is nothing for a chat
            get_logger().error("rules that nobody adopted", channel=name, problem=error.message, remedy=error.remedy)
            return "Not done: this server was started with other rules than those in force. Tell who runs it."
        except (QueueError, CredentialError) as error:
            return f"Not done: {inert(str(error.message), limit=_WITHIN)}. {inert(error.remedy, limit=_WITHIN)}"
        except ApprovalError as error:
            get_logger().error("an answer in a chat failed", channel=name, error=type(error).__name__)
            raise TeamsError("store_failed", "the store cannot be used now", status=503) from error

    def _channel(self, name: str) -> tuple[Teams, bytes]:
        channel = self._channels.get(name)
        try:
            if channel is not None:
                return channel, token_of(channel)
        except ChannelError:
            get_logger().error("the security token of a channel cannot be read", channel=name)
        raise TeamsError("not_signed", "this was not signed by the outgoing webhook of this channel", status=401)

    def _done(self, channel: Teams, token: bytes, said: Said) -> str:
        if not said.plain:
            return f"Nothing was done. {_PLAIN}"
        link = read_link(said.words[0]) if len(said.words) == 1 else None
        if link is not None:
            name = teams_people.link(self._queue, token, channel.name, link, said)
            return f"This account of Teams is now that of {inert(name)}."
        reviewer = teams_people.who(self._queue, said)
        codes = [found for word in said.words if (found := read_answer(word)) is not None]
        if len(codes) != 1 or said.words[0] != codes[0].code:
            return f"Nothing was done. {_HOW}"
        row = self._call(channel, token, codes[0])
        if row.state is not State.PENDING:
            since = to_the_second(row.updated_at)
            return f"Not done: the call is {row.state.value} since {since}, by {inert_by(row.decided_by)}."
        return self._answered(channel, row, reviewer, codes[0], " ".join(said.words[1:]))

    def _call(self, channel: Teams, token: bytes, given: Answer) -> Proposal:
        """Do step 4.

        Raises:
            QueueError: it is the code of no call here.
        """
        try:
            row = self._queue.find(given.start)
        except QueueError:
            row = None
        if row is None or not is_code(given.code, code_for(token, channel.name, row, given.verb)):
            raise QueueError("this is the code of no call here", remedy="copy it from the card as a whole")
        return row

    def _answered(self, channel: Teams, row: Proposal, reviewer: Reviewer, given: Answer, reason: str) -> str:
        """Do steps 5 and 6."""
        queue, tier = self._queue, self._tier(row)
        if given.verb == APPROVE:
            _require(tier in channel.approve, f"a call of {tier.value} risk is not approved in this chat")
            _require(is_whole(queue.veiling.seen(row)), "the card of this call does not tell every value whole")
            row = queue.approve(row.id, reviewer, given.digest, endorse=False, note=reason, channel=CHANNEL)
            return _said(row, "Your yes is stored, and more voices are needed.")
        if given.verb == REJECT:
            _require(tier in channel.reject, f"a call of {tier.value} risk is not rejected in this chat")
            row = queue.reject(row.id, reviewer, reason=reason, channel=CHANNEL)
            return _said(row, "Your no is stored, and more voices are needed.")
        called = call_others(queue, row.id, reviewer, channel=CHANNEL)
        return f"Others were told: {', '.join(inert(name) for name in called) or 'a channel'}."

    def _tier(self, row: Proposal) -> Tier:
        """Return the risk of a call: the graver one of its record and of the plan that was frozen with it."""
        recorded = tier_of(str(row.decision.get("action") or ""), row.rule)
        return min(recorded, self._queue.standing(row.id).plan.tier, key=TIERS.index)


def _require(holds: bool, what: str) -> None:  # noqa: FBT001  # read as a sentence: require that
    if not holds:
        raise QueueError(what, remedy="open the review page: the link is on the card")


def _said(row: Proposal, waiting: str) -> str:
    return waiting if row.state is State.PENDING else f"The call is {row.state.value}, by {inert_by(row.decided_by)}."


__all__ = ["CHANNEL", "TeamsAnswers"]
