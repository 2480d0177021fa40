"""What requests that answer a call have in common: which call, which digest, sent once; and how a no is told.

Guarantees: of a call that a caller may not see it is not even said that it exists; the same request again, under its
``Idempotency-Key``, does nothing a second time, as the log tells; the queue's own words hold no content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import Header, Path

from checkvalve.approvals.audit import read_events
from checkvalve.approvals.errors import ApprovalError, DigestError, NotFoundError
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.request_keys import remember
from checkvalve.approvals.revisions import require_revision
from checkvalve.approvals.tablecheck import body_of
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.http_access import PROBLEMS
from checkvalve.gateway.http_callers import Caller
from checkvalve.gateway.http_problems import Problem, problem_of, problem_schema
from checkvalve.gateway.http_runs import RunServer

Name: TypeAlias = Annotated[str, Path(pattern=r"^[0-9a-f-]{36}$", description="the id of the call")]
Match: TypeAlias = Annotated[
    str,
    Header(
        max_length=200,
        description='the ETag of the call: `"sha256:..."`; or `"sha256:...;vN"`, with the `revision` that was seen',
    ),
]
Key: TypeAlias = Annotated[
    str, Header(max_length=200, description="drawn by the sender; the same request again is harmless")
]
DECIDING: Final[dict[int | str, dict[str, Any]]] = {
    **PROBLEMS,
    **{code: problem_schema(code) for code in (410, 412, 428, 429)},
}
_ETAG: Final = re.compile(r'"?(?:sha256:)?([0-9a-f]{64})(?:;v([0-9]{1,9}))?"?')
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")


def own_call(server: RunServer, caller: Caller, name: str) -> Proposal:
    """Return a call that the caller may see; of others it is not even said that they exist."""
    try:
        row = server.gateway.queue.get(name)
    except NotFoundError:
        row = None
    if row is None or not caller.sees(row):
        raise Problem(404, "no_such_approval", "there is no such call of yours", "list them: GET /approvals")
    return row


@dataclass(frozen=True, slots=True)
class Wanted:
    """What ``If-Match`` names: a digest, 64 hexadecimal digits, and the revision that was seen, where one is."""

    digest: str
    seen: int | None = None

    def require_digest(self, row: Proposal) -> None:
        """Make sure that a request is about the call that was looked at.

        Raises:
            DigestError: it is another one.
        """
        if row.digest != f"sha256:{self.digest}":
            text = "this is not the digest of the stored call"
            raise DigestError(text, remedy="look at the call again", present=row.present)

    def require_seen(self, server: RunServer, row: Proposal) -> None:
        """Make sure that nothing was added to what is shown with the call; for requests after which nothing runs.

        Raises:
            DigestError: something was.
        """
        if self.seen is not None:
            with server.gateway.store.read() as connection:
                require_revision(connection, row, self.seen)


def wanted_of(if_match: str) -> Wanted:
    """Return what ``If-Match`` names, on every route that takes it.

    Raises:
        Problem: nothing, or nothing that names a call.
    """
    if not if_match:
        raise Problem(428, "digest_needed", "a decision names the call by its digest", "send If-Match with the ETag")
    found = _ETAG.fullmatch(if_match.strip().casefold())
    if found is None:
        raise Problem(400, "bad_digest", "If-Match is no digest of a call", 'send the whole ETag: "sha256:..."')
    return Wanted(found[1], None if found[2] is None else int(found[2]))


def known_of(server: RunServer, who: str, key: str, request: JSON) -> Literal["new", "same"]:
    """Take an ``Idempotency-Key``; say whether it is new, or came with the same request before.

    Raises:
        Problem: the key is not usable, or came with another request.
    """
    if not _KEY.fullmatch(key):
        raise Problem(400, "bad_key", "the Idempotency-Key is not usable", "send up to 200 printable characters")
    known = remember(server.gateway.store, who, key, request, now=server.gateway.queue.clock())
    if known == "other":
        raise Problem(422, "key_reused", "this Idempotency-Key came with another request", "draw a new key")
    return known


def was_done(
    server: RunServer, who: str, key: str, request: JSON, name: str, made: Callable[[str, Mapping[str, Any]], bool]
) -> bool:
    """Say whether this very request was done before.

    ``made`` says of the kind and the body of an event of the call ``name`` whether it is what the request makes.

    Raises:
        Problem: the key is not usable, or came with another request.
    """
    if not key:
        return False
    known = known_of(server, who, key, request)
    if known == "new":
        return False
    with server.gateway.store.read() as connection:
        events = list(read_events(connection, subject=name))
    return any(made(event.kind, body_of(event.body)) for event in events)


def refused(error: ApprovalError) -> Problem:
    """Return the problem for an answer that was refused."""
    return problem_of(error, ("no_such_approval", "there is no such call", "list them: GET /approvals"))


__all__ = [
    "DECIDING",
    "Key",
    "Match",
    "Name",
    "Wanted",
    "known_of",
    "own_call",
    "refused",
    "wanted_of",
    "was_done",
]
