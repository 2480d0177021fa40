"""Is this really said by somebody in Teams, just now? The checks before anything that was said is looked at.

1. The body is signed with the security token of the outgoing webhook: ``Authorization: HMAC`` and base64 of
HMAC-SHA256 over the raw bytes. 2. It is strict JSON, and a new message: an edited one has another type. 3. Its time is
within five minutes of now; Teams signs no other time, so nothing older is known to be old. 4. It comes from the tenant
that the file of channels names, in every place that names one. 5. It says which user of the directory wrote it.

Guarantees: pure; a display name and a mail address are never read, since their owner or anybody else can change them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from checkvalve.approvals.moments import micros_of
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict
from checkvalve.gateway.errors import TeamsError
from checkvalve.gateway.teams_text import plain_words

WINDOW: Final = 300_000_000
"""Microseconds by which the time of a message may differ from ours."""
_SCHEME: Final = "HMAC "
_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ID: Final = re.compile(r"[\x21-\x7e]{1,200}")


@dataclass(frozen=True, slots=True)
class Said:
    """One message that passed the checks. ``user`` is the person's object id in the directory of ``tenant``.

    ``plain`` says that its words stand there as plain text; of any other message no word is read.
    """

    id: str
    tenant: str
    user: str
    words: tuple[str, ...] = field(repr=False)
    plain: bool = True


def heard(token: bytes, authorization: str, body: bytes, tenant: str, now: int) -> Said:
    """Do steps 1 to 5.

    Raises:
        TeamsError: one of them fails.
    """
    if not is_signed(token, authorization, body):
        raise TeamsError("not_signed", "this was not signed by the outgoing webhook of this channel", status=401)
    message = _parsed(body)
    if message.get("type") != "message":
        raise TeamsError("no_message", "only new messages are read, not edited ones and no other events", status=403)
    name, at = _in(message, "id") or "", _moment(message.get("timestamp"))
    if not _ID.fullmatch(name) or at is None or abs(now - at) > WINDOW:
        raise TeamsError("too_old", "this message has no id, or its time is not now; check the clock", status=403)
    places = [_in(message, "channelData", "tenant", "id"), _in(message, "conversation", "tenantId")]
    named = {place.lower() for place in places if place is not None}
    if named != {tenant}:
        raise TeamsError("other_tenant", "this message comes from another tenant than the file of channels", status=403)
    user = str(_in(message, "from", "aadObjectId")).lower()
    if not _UUID.fullmatch(user):
        raise TeamsError(
            "nobody", "this message names no user of the directory: guests and apps decide nothing", status=403
        )
    words = plain_words(message)
    return Said(name, tenant, user, words or (), plain=words is not None)


def is_signed(token: bytes, authorization: str, body: bytes) -> bool:
    """Say whether ``body`` has the signature that ``authorization`` gives."""
    wanted = _SCHEME + base64.b64encode(hmac.digest(token, body, hashlib.sha256)).decode()
    return hmac.compare_digest(wanted.encode(), authorization.encode("utf-8", "surrogatepass"))


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = parse_strict(body)
    except HostileInputError:
        found = None
    if not isinstance(found, dict):
        raise TeamsError("no_message", "this is no message", status=400)
    return found


def _moment(text: object) -> int | None:
    try:
        found = datetime.fromisoformat(str(text))
        return micros_of(found) if found.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _in(value: Any, *path: str) -> str | None:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return None if value is None else str(value)


__all__ = ["WINDOW", "Said", "heard", "is_signed"]
