"""Events in the form of OCSF (the Open Cybersecurity Schema Framework), for systems that collect security events.

Moves of calls are *API Activity* (class 6003), changes of reviewers *Account Change* (3001), the log's own events
*Event Log Activity* (1008). What has no place there stands under ``unmapped``, with the hash of the event.
"""

from __future__ import annotations

from typing import Any, Final

from checkvalve.approvals.audit import Event
from checkvalve.approvals.judge import body_of
from checkvalve.filters.strictjson import JSON

VERSION: Final = "1.3.0"
"""The oldest version of the schema that has the three classes as they are used here."""
_API, _ACCOUNT, _LOG = 6003, 3001, 1008
_OTHER: Final = 99
_SUCCESS, _FAILURE = 1, 2
_LOW, _MEDIUM, _HIGH = 2, 3, 4
_INFO: Final = 1
_ACTIVITIES: Final = {"reviewer.added": 1, "reviewer.disabled": 5, "log.started": 5, "log.stopped": 6}
_NO: Final = frozenset({"denied", "rejected", "expired", "cancelled", "superseded", "lapsed", "invalidated", "failed"})
_LOUD: Final = {"unknown": _HIGH, "denied": _MEDIUM, "rejected": _MEDIUM, "failed": _LOW, "invalidated": _MEDIUM}
_CATEGORIES: Final = {_API: 6, _ACCOUNT: 3, _LOG: 1}


def to_ocsf(event: Event) -> dict[str, JSON]:
    """Return one event as OCSF; ``time`` is in milliseconds."""
    body = body_of(event.body)
    kind = _class_of(event.kind)
    activity = _ACTIVITIES.get(event.kind, _OTHER)
    state = str(body.get("state", ""))
    metadata: dict[str, JSON] = {
        "version": VERSION,
        "uid": str(event.seq),
        "sequence": event.seq,
        "event_code": event.kind,
        "product": {"name": "Checkvalve", "vendor_name": "Checkvalve"},
    }
    found: dict[str, JSON] = {
        "metadata": metadata,
        "time": event.at // 1_000,
        "category_uid": _CATEGORIES[kind],
        "class_uid": kind,
        "activity_id": activity,
        "type_uid": kind * 100 + activity,
        "severity_id": _LOUD.get(state, _INFO),
        "status_id": _FAILURE if state in _NO else _SUCCESS,
        "message": event.kind,
        "actor": {"user": {"name": _person(body)}},
        "unmapped": {"subject": event.subject, "body": body or None, "hash": event.hash, "prev": event.prev},
    }
    if activity == _OTHER:
        found["activity_name"] = event.kind
    if kind == _API:
        found["api"] = {"operation": str(body.get("tool") or event.kind), "request": {"uid": event.subject}}
        found["src_endpoint"] = {"name": str(body.get("server") or "checkvalve")}
    elif kind == _ACCOUNT:
        found["user"] = {"name": str(body.get("reviewer", ""))}
    return found


def _class_of(kind: str) -> int:
    if kind.startswith("reviewer."):
        return _ACCOUNT
    return _LOG if kind.startswith("log.") else _API


def _person(body: dict[str, Any]) -> str:
    return str(body.get("by") or body.get("issued_by") or body.get("requester") or "checkvalve")
