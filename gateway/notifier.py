"""Tells channels what happens, in the background: one thread for each, over the outbox in the store.

1. Collect what is new. 2. Take what is due, one after the other; make the message; send it. 3. It arrived: forget it.
It did not: wait longer each time, with jitter, and after ten tries leave it on the list of dead ones for a person.

Guarantees: a channel that is slow or broken holds up no other channel, no run and no decision; several processes may do
this over one store; nothing that comes back is read but a status. A channel decides nothing.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final, TypeAlias

from checkvalve.approvals.clock import micros
from checkvalve.approvals.notices import Notice
from checkvalve.approvals.outbox import Delivery, Outbox
from checkvalve.approvals.queue import Queue
from checkvalve.gateway.channel_file import Channels, Mail, Slack, Teams, Webhook, load_channels
from checkvalve.gateway.channel_messages import mail_of, slack_body, webhook_body
from checkvalve.gateway.channel_secrets import secrets_of, token_of, url_of
from checkvalve.gateway.errors import ChannelError
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.mail_send import send_mail
from checkvalve.gateway.safe_post import Answered, post
from checkvalve.gateway.teams_card import teams_body
from checkvalve.gateway.webhook_signature import headers

AnyChannel: TypeAlias = Webhook | Slack | Teams | Mail

EVERY: Final = 1.0
"""Seconds between looks at the log."""
HOLD: Final = micros(timedelta(minutes=5))
"""How long a process has a notice to itself: longer than one try can take."""
TRIES: Final = 10
"""Tries before a notice is left for a person: with the waits below, about half a day."""
FIRST_WAIT: Final = 5.0
"""Seconds after the first try; three times as long after each further one, up to :data:`LONGEST`."""
LONGEST: Final = 21_600.0
_GROWTH: Final = 3.0
_GONE: Final = 410
_RANDOM: Final = random.SystemRandom()


def wait_after(tries: int, retry_after: float = 0.0) -> float:
    """Return the seconds to wait after ``tries`` failures: at least half of the full wait, so that many spread out."""
    full = min(LONGEST, FIRST_WAIT * _GROWTH ** min(tries - 1, TRIES))
    return max(retry_after, full * _RANDOM.uniform(0.5, 1.0))


class Notifier:
    """The channels of one file, over one store."""

    def __init__(self, channels: Channels, queue: Queue, origin: str = "") -> None:
        """``origin`` is where people reach the review pages; without it messages name the command instead."""
        self.channels = channels
        self._origin = origin
        self._queue = queue
        self._outbox = Outbox(queue.store, queue.clock)
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(item,), name=f"checkvalve-{item.name}", daemon=True)
            for item in channels.all()
        ]

    def start(self) -> None:
        """Begin to look."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Begin nothing more. What is being sent is not waited for longer than a moment: it is sent again later."""
        self._stop.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(EVERY)

    def tick(self, channel: AnyChannel) -> int:
        """Do steps 1 to 3 once for one channel; returns how many notices were tried."""
        while self._outbox.collect(channel.name, channel.wants):
            pass
        tried = 0
        while not self._stop.is_set() and (delivery := self._outbox.claim(channel.name, hold=HOLD)) is not None:
            tried += 1
            self._try(channel, delivery)
        return tried

    def _try(self, channel: AnyChannel, delivery: Delivery) -> None:
        notice = self._outbox.notice(delivery.seq)
        if notice is None:  # its content was erased: there is nothing to tell any more
            self._outbox.arrived(delivery)
            return
        try:
            answer = self.send(channel, notice)
        except ChannelError:  # a secret is not there now
            answer = Answered(code="no_secret")
        if answer.ok:
            self._outbox.arrived(delivery)
            get_logger().info("channel.told", channel=channel.name, kind=notice.kind, tries=delivery.tries)
            return
        dead = delivery.tries >= TRIES or answer.status == _GONE
        wait = wait_after(delivery.tries, answer.retry_after)
        self._outbox.failed(delivery, answer.word, wait=None if dead else int(wait * 1_000_000))
        said = "channel.gave_up" if dead else "channel.failed"
        get_logger().warning(said, channel=channel.name, kind=notice.kind, code=answer.word, tries=delivery.tries)

    def send(self, channel: AnyChannel, notice: Notice) -> Answered:
        """Send one notice to one channel, once.

        Raises:
            ChannelError: a secret of the channel cannot be used now.
        """
        if notice.proposal is not None:
            notice = replace(notice, proposal=self._queue.veiling.seen(notice.proposal))
        if isinstance(channel, Mail):
            return send_mail(channel, mail_of(notice, channel, self._origin))
        if isinstance(channel, Slack):
            return self._post(url_of(channel), slack_body(notice, channel, self._origin), {}, channel.ca_file)
        if isinstance(channel, Teams):
            token = b"" if channel.token_file is None else token_of(channel)
            return self._post(url_of(channel), teams_body(notice, channel, self._origin, token), {}, channel.ca_file)
        body = webhook_body(notice, channel, self._origin)
        signed = headers(notice.id, int(time.time()), body, secrets_of(channel))
        return self._post(channel.url, body, signed, channel.ca_file)

    def _post(self, url: str, body: bytes, more: dict[str, str], ca_file: Path | None) -> Answered:
        told = {"Content-Type": "application/json", **more}
        return post(url, body, told, private_hosts=self.channels.private_hosts, ca_file=ca_file)

    def _watch(self, channel: AnyChannel) -> None:
        while not self._stop.is_set():
            try:
                self.tick(channel)
            except Exception as error:  # noqa: BLE001  # a store that does not answer now may do so in a second
                get_logger().warning("a channel cannot be served", channel=channel.name, error=type(error).__name__)
            self._stop.wait(EVERY)


def notifier_of(file: Path | None, queue: Queue, origin: str = "") -> Notifier | None:
    """Return what tells the channels of ``file``, None where there is none.

    Raises:
        ChannelError: the file, or a secret that it names, cannot be used.
    """
    return None if file is None else Notifier(load_channels(file), queue, origin)


__all__ = ["EVERY", "TRIES", "Notifier", "notifier_of", "wait_after"]
