"""Events in the form of OCSF (the Open Cybersecurity Schema Framework), for systems that collect security events.

Moves of calls, votes and what is written about them are *API Activity* (class 6003); accounts and their passwords and
keys *Account Change* (3001); sign-ins and step-ups *Authentication* (3002); roles, hand-overs, mandates and standing
rules, by which somebody may do more than before, *User Access Management* (3005); the log's own events *Event Log
Activity* (1008).
What has no place there stands under ``unmapped``, with the hash of the event.

Guarantees: each event fits the JSON Schema of its class, in the version it names and in the newest one that a test has
at hand; what was erased names nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from checkvalve.approvals.audit import Event
from checkvalve.approvals.handed import BROKEN, GLASS, OPENED, REACHING
from checkvalve.approvals.judge import body_of
from checkvalve.approvals.people import PARTS
from checkvalve.filters.strictjson import JSON

VERSION: Final = "1.4.0"
"""The oldest version of the schema that has the five classes as they are used here."""
_API, _ACCOUNT, _SIGN_IN, _ACCESS, _LOG = 6003, 3001, 3002, 3005, 1008
_OTHER: Final = 99
_UNKNOWN, _SUCCESS, _FAILURE = 0, 1, 2
_LOW, _MEDIUM, _HIGH = 2, 3, 4
_INFO: Final = 1
_USER: Final = 1
_NAME: Final = "Checkvalve"
_ACTIVITIES: Final = {
    "reviewer.added": 1,
    "reviewer.disabled": 5,
    "password.set": 3,
    "passkey.added": 10,
    "passkey.removed": 11,
    "session.started": 1,
    "session.ended": 2,
    "reviewer.roles": 1,
    "delegation.given": 1,
    "delegation.ended": 2,
    "mandate.granted": 1,
    "mandate.revoked": 2,
    "mandate.expired": 2,
    "standing.confirmed": 1,
    "standing.revoked": 2,
    "standing.expired": 2,
    "log.exported": 3,
    "log.pruned": 2,
    "log.started": 6,
    "log.stopped": 7,
}
"""The activities that OCSF has a number for; any other is ``Other``, with its kind as its name."""
_CLASSES: Final = (
    ("reviewer.roles", _ACCESS),
    ("delegation.", _ACCESS),
    ("mandate.", _ACCESS),
    ("standing.", _ACCESS),
    ("reviewer.", _ACCOUNT),
    ("password.", _ACCOUNT),
    ("passkey.", _ACCOUNT),
    ("identity.", _ACCOUNT),
    ("invitation.", _ACCOUNT),
    ("session.", _SIGN_IN),
    ("stepup.", _SIGN_IN),
    ("log.", _LOG),
)
"""The class of a kind by how it begins, the first that fits; anything else is *API Activity*."""
_CATEGORIES: Final = {_API: 6, _ACCOUNT: 3, _SIGN_IN: 3, _ACCESS: 3, _LOG: 1}
_NO: Final = frozenset(
    {"denied", "rejected", "expired", "cancelled", "superseded", "lapsed", "invalidated", "revoked", "failed"}
)
_OPEN: Final = frozenset({"pending", "executing"})
_LOUD: Final = {
    "unknown": _HIGH,
    "denied": _MEDIUM,
    "rejected": _MEDIUM,
    "failed": _LOW,
    "invalidated": _MEDIUM,
    "revoked": _MEDIUM,
}
_ALARMS: Final = frozenset({OPENED, REACHING[0]})
"""What somebody has to look at at once: a glass was broken, or nobody can decide a call."""
_PEOPLE: Final = ("reviewer:", "client:", "host:", GLASS)
"""How the name of a person, or of who acts for one, begins in the log; rules, clocks and executors are no people."""


def to_ocsf(event: Event) -> dict[str, JSON]:
    """Return one event as OCSF; ``time`` is in milliseconds."""
    body = body_of(event.body)
    kind = next((found for start, found in _CLASSES if event.kind.startswith(start)), _API)
    activity = _ACTIVITIES.get(event.kind, _OTHER)
    state = str(body.get("state", ""))
    metadata: dict[str, JSON] = {
        "version": VERSION,
        "uid": str(event.seq),
        "sequence": event.seq,
        "event_code": event.kind,
        "product": {"name": _NAME, "vendor_name": _NAME},
    }
    found: dict[str, JSON] = {
        "metadata": metadata,
        "time": event.at // 1_000,
        "category_uid": _CATEGORIES[kind],
        "class_uid": kind,
        "activity_id": activity,
        "type_uid": kind * 100 + activity,
        "severity_id": _HIGH if body.get("code") == BROKEN or event.kind in _ALARMS else _LOUD.get(state, _INFO),
        "status_id": _status(state),
        "message": event.kind,
        "actor": _actor(body, erased=event.is_erased),
        "unmapped": {"subject": event.subject, "body": body or None, "hash": event.hash, "prev": event.prev},
    }
    if state:
        found["status"] = state
    if activity == _OTHER:
        found["activity_name"] = event.kind
    return {**found, **_of_class(kind, event, body)}


def _of_class(kind: int, event: Event, body: Mapping[str, Any]) -> dict[str, JSON]:
    """Return what an event of its class has to have."""
    if kind == _API:
        operation: dict[str, JSON] = {"operation": str(body.get("tool") or event.kind)}
        operation["request"] = {"uid": event.subject}
        return {"api": operation, "src_endpoint": {"name": str(body.get("server") or "checkvalve")}}
    if kind == _LOG:
        return {"log_name": "checkvalve audit log"}
    found: dict[str, JSON] = {"user": {"name": _whose(event, body)}}
    if kind == _SIGN_IN:
        found["service"] = {"name": "checkvalve"}
    elif kind == _ACCESS:
        found["privileges"] = [_privilege(event.kind, body)]
    return found


def _status(state: str) -> int:
    if state in _NO:
        return _FAILURE
    if state == "unknown":
        return _UNKNOWN
    return _OTHER if state in _OPEN else _SUCCESS


def _actor(body: Mapping[str, Any], *, erased: bool) -> dict[str, JSON]:
    """Return who did it: a person, or the part of this program that decided by itself."""
    if erased:
        return {"app_name": "erased"}
    by = str(body.get("by") or body.get("issued_by") or body.get("requester") or "")
    for start in _PEOPLE:
        if by.startswith(start):
            return {"user": {"name": by.removeprefix(start), "type_id": _USER}, "invoked_by": start.rstrip(":")}
    if by and not (body.get("by") or body.get("issued_by")):
        return {"user": {"name": by}}
    if by and ":" not in by and by not in PARTS:
        return {"user": {"name": by, "type_id": _USER}}
    return {"app_name": by or "checkvalve"}


def _whose(event: Event, body: Mapping[str, Any]) -> str:
    """Return whose account, session or rights it is about."""
    told = (body.get(name) for name in ("taker", "reviewer", "name", "requester"))
    known = next((str(name) for name in told if name), "")
    return known or event.subject.partition(":")[2] or event.subject or "unknown"


def _privilege(kind: str, body: Mapping[str, Any]) -> str:
    """Return what somebody may do since, in a word: roles, standing in for somebody, a mandate or a rule."""
    if kind == "reviewer.roles":
        return str(body.get("roles") or "roles")
    if kind.startswith("standing."):
        return "standing rule"
    return "stands in for an approver" if kind.startswith("delegation.") else "mandate"


__all__ = ["VERSION", "to_ocsf"]
