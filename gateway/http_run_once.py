"""Starting a run, once: where no name is given, it follows from who asks and the key, or the id of the message.

1. The key is taken, or the message's id where there is no key and no name; with another request it is refused. 2. The
name of the run and the id of its first message are drawn from whose it is and the key, so that the same request again
meets the same run at any process, also where the first one died in the middle. 3. Where the run was begun, it is
shown as it stands. Where the first request is still at it, the second one waits a little, and then does the rest:
a name, a mandate and a message that are there already are not there twice.

Guarantees: a name that was drawn for one client's key is no other client's; one that was forgotten begins no run anew.
"""

from __future__ import annotations

import time
from typing import Final

from checkvalve.approvals import request_keys
from checkvalve.approvals.canonical import digest
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_deciding import known_of
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_runs import NewRun, RunServer
from checkvalve.gateway.http_tokens import Client

_WAIT: Final = 20
"""How often the second of two equal requests looks whether the first one has begun the run."""
_EVERY: Final = 0.25  # seconds between two looks
_LETTERS: Final = 32  # of a name: as long as one that is drawn by chance


def begin_once(server: RunServer, body: NewRun, client: Client, key: str) -> tuple[str, bool]:
    """Begin a run, or find the one that this request began; returns its name, and whether it was there.

    Raises:
        Problem: the key is not usable, or came with another request; or the run cannot be begun.
    """
    who, name = f"client:{client.name}", key
    if not key:
        if body.thread is not None or body.message_id is None:  # the one is a name already, the other asks for none
            return server.begin(body, client), False
        who, name = f"{who} message", body.message_id
    what: JSON = ["POST", "/runs", body.model_dump(mode="json")]
    known = known_of(server, who, name, what)
    drawn = digest(["run", who, name]).removeprefix("sha256:")[:_LETTERS]
    thread, message = body.thread or drawn, body.message_id or drawn
    if known == "same" and _was_begun(server, thread, client):
        return thread, True
    try:
        if known == "new":
            _require_new(server, thread, client, given=body.message_id is not None and body.thread is not None)
        whole = body.model_copy(update={"thread": thread, "message_id": message})
        return server.begin(whole, client), False
    except Problem:  # nothing was begun: what stood in the way may be gone the next time, or the request another one
        request_keys.forget(server.gateway.store, who, name, what)
        raise


def _begun(server: RunServer, thread: str, client: Client) -> bool:
    record = server.log.find(thread)
    return record is not None and record.requester == client.name and record.status != "accepted"


def _was_begun(server: RunServer, thread: str, client: Client) -> bool:
    """Say whether the first request has begun its run, by now or within a moment."""
    for _ in range(_WAIT):
        if _begun(server, thread, client):
            return True
        time.sleep(_EVERY)
    return False


def _require_new(server: RunServer, thread: str, client: Client, *, given: bool) -> None:
    """Make sure that a key that nobody remembers begins no message in a run that was begun with it long ago.

    ``given`` says that run and message were named: then this is a further message, and one that is there is harmless.
    """
    if not given and _begun(server, thread, client):
        remedy = f"look at it: GET /runs/{thread}; for another run draw a new key or id"
        raise Problem(409, "run_exists", "this run was started", remedy)


__all__ = ["begin_once"]
