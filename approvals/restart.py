"""Closing a log and going on under a new key and name: when its key was stolen, or it was found tampered with.

1. What is committed is signed once more with the old key, if the log is what was signed and nobody named an event.
2. In one transaction the log is examined (:mod:`restart_examine`). Whole it is if all its events are signed, nothing
   more was signed than there is, and the tables say what the events say. Then nothing but the key and the name change.
3. Else what is in doubt is put aside, and the administrator must be one by what is good (:mod:`restart_accounts`).
4. The tree of the old log is kept; the first event of the new one says what it follows, who closed it and why, and from
   which event on the old log is in doubt.
5. In doubt nothing more is relied on than must be (:mod:`restart_state`, :mod:`restart_accounts`, :mod:`restart_rest`).
6. The new key is written before the transaction commits; then the file of what was last signed is kept under another
   name, and the new log is signed.

Guarantees: a restart that was interrupted is finished by running it again; nothing is removed but what is kept aside.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals import audit, restart_accounts, restart_rest, restart_state
from checkvalve.approvals.chainend import HEAD_ROW
from checkvalve.approvals.closedlogs import RESTARTED, Closed, closed_logs
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import KEYS, Outside, body_of
from checkvalve.approvals.lastsigned import read_signed
from checkvalve.approvals.logkeys import Follows, LogKey
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.putaside import aside, told_of
from checkvalve.approvals.restart_examine import Examined, examine
from checkvalve.approvals.restart_links import UNKNOWN, done_before, start_of, take_out
from checkvalve.approvals.restart_state import Taking
from checkvalve.approvals.reviewers import Reviewer, Reviewers
from checkvalve.approvals.roles import Role, require_role
from checkvalve.approvals.said import Seen
from checkvalve.approvals.sealer import Sealed
from checkvalve.approvals.spoken import kept
from checkvalve.approvals.store import Store
from checkvalve.approvals.tablecheck import check_tables
from checkvalve.approvals.tables import audit_head, checkpoints, events, tiles
from checkvalve.approvals.tiles import Tiles
from checkvalve.filters.strictjson import JSON

_LARGEST: Final = 2**53 - 1  # an event's number is in a canonical form


@dataclass(frozen=True, slots=True)
class Order:
    """What somebody asks for: why, the new log's name (empty: one is drawn), and from which event nothing is good."""

    by: Reviewer
    reason: str
    origin: str = ""
    before: int | None = None
    label: str = ""  # of a key that is held elsewhere; empty: one is made


@dataclass(frozen=True, slots=True)
class Restarted:
    """What was done: the closed log, whether something is in doubt, how much was closed, and the first checkpoint."""

    closed: Closed
    counts: dict[str, int] = field(default_factory=dict)
    sealed: Sealed | None = None
    left: tuple[str, ...] = ()  # what the tables say all the same that no event says: nothing of it was closed


def restart(store: Store, place: LogPlace, people: Reviewers, order: Order) -> Restarted:
    """Close the log of ``store`` and begin a new one; see the module.

    Raises:
        LogError: there is no key, nothing to close, or something cannot be read or written; nothing was changed.
        LogTamperedError: an older database was put back in which the log had not been closed yet.
        CredentialError, NotAllowedError: ``order.by`` is no administrator, or not by what can be relied on.
    """
    kept(order.reason)
    if not order.reason.strip():
        raise LogError("closing a log takes a reason", remedy="say why: --note TEXT")
    if place.has_key:
        with suppress(LogError):
            place.settle(store)  # a change of keys that was interrupted
    old, key = _keys(place)
    began = UNKNOWN if key is None else key.follows
    done = None if key is None else done_before(store, key)
    if key is not None and done is not None:
        if not _signed_by(place, done.origin):
            old, key = Follows(key.origin, key.public, key.rotations), None
        else:
            return Restarted(done, {}, _sign(store, place, done.number))
    elif key is not None and key.follows is not None:
        old, began = _resumed(place, key), UNKNOWN
    else:
        key = None
    whole = key is None and order.before is None and _sealed(store, place)  # 1.
    drawn = key is None
    key = key or place.made(order.origin, order.label, old)
    known = [*_stored(store), *place.outside()]
    with store.write() as connection:
        start = start_of(connection, old, began, known, order.before)
        planted = take_out(connection, start)  # before anything is read that believes them
        people.require_row(connection, order.by)  # what of the log can be relied on is asked in step 3
        counts = _close(connection, people.clock(), order, key, known, start=start, planted=planted, whole=whole)
        if drawn:
            place.keep_old(len(closed_logs(connection)))
            place.save(key, replacing=place.has_key)  # 6.
    closed = _last_closed(store)
    return Restarted(closed, counts, _sign(store, place, closed.number), _left(store) if counts else ())


def _left(store: Store) -> tuple[str, ...]:
    with store.read() as connection:
        return tuple(text for _, text in check_tables(connection, _seen(connection)))


def _keys(place: LogPlace) -> tuple[Follows, LogKey | None]:
    """Return who could sign the log until now, and its key; None where only the public half is left."""
    if place.has_key:
        key = place.load()
        return Follows(key.origin, key.public, key.rotations), key
    public = place.public_keys()
    if not public:
        raise LogError("there is no key, so there is no signed log to close", remedy="checkvalve audit key create")
    return Follows(public[0].name, public), None


def _last_closed(store: Store) -> Closed:
    with store.read() as connection:
        return closed_logs(connection)[-1]


def _signed_by(place: LogPlace, origin: str) -> bool:
    return (read_signed(place.signed_file) or "").startswith(f"{origin}\n")


def _resumed(place: LogPlace, key: LogKey) -> Follows:
    """Return the log that is to be closed where a restart was interrupted after its key was written.

    Raises:
        LogTamperedError: it was not interrupted: the new log was signed, so an older database was put back.
    """
    if key.follows is None or _signed_by(place, key.origin):
        raise LogTamperedError(
            f"the database is from before the log {key.origin} began: an older one was put back",
            remedy="put back a newer one; where there is none, begin with a new database and a new key",
        )
    return key.follows


def _sealed(store: Store, place: LogPlace) -> bool:
    """Do step 1; say whether the log is what was signed."""
    try:
        place.sealer(store).seal()
    except LogError:
        return False
    return True


def _stored(store: Store) -> list[Outside]:
    with store.read() as connection:
        notes = connection.execute(sa.select(checkpoints.c.note)).scalars().all()
    return [Outside("the database", str(note), inside=True) for note in notes]


def _close(  # each is a part of the order
    connection: sa.Connection,
    at: int,
    order: Order,
    key: LogKey,
    known: Iterable[Outside],
    *,
    start: int,
    planted: Sequence[Mapping[str, Any]],
    whole: bool,
) -> dict[str, int]:
    """Do steps 2 to 5 inside the transaction."""
    old = key.follows or Follows("", ())
    before = closed_logs(connection)
    if key.origin in {old.origin, *(one.origin for one in before)}:
        raise LogError(f"a log was called {key.origin} before", remedy="take another name, or none: one is drawn")
    found = examine(connection, old, known, base=start, before=order.before)  # 2.
    number = len(before) + 1
    doubtful: list[Mapping[str, Any]] = [*planted, *(dict(row) for row in found.doubtful)]
    for row in doubtful:
        aside(connection, number, events.name, str(row["subject"]), row)
        connection.execute(sa.delete(events).where(events.c.seq == row["seq"]))
    taking = Taking(at, f"reviewer:{order.by.name}", _seen(connection), *_about(found))
    clean = whole and not planted and found.is_whole and not any(True for _ in check_tables(connection, taking.seen))
    names = set[str]()
    if clean:
        require_role(connection, order.by, Role.ADMINISTRATOR)
    else:
        restart_accounts.require_known(connection, order.by, taking)  # 3.
        names = restart_state.doubtful(connection, taking)
        restart_accounts.keep_aside(connection, taking, number)
        restart_rest.keep_aside(connection, taking, names, number)
    last = _keep_tree(connection, found, number)  # 4.
    _begin(connection, at, order, key, found, None if clean else len(names), number=number)
    if clean:
        return {}
    restart_rest.mend(connection, taking, names)  # 5.
    restart_rest.quiet(connection, last)
    counts = restart_state.close_all(connection, taking, names)
    return counts | {"people": restart_accounts.shut_out(connection, taking, order.by)}


def _seen(connection: sa.Connection) -> dict[str, Seen]:
    seen: dict[str, Seen] = {}
    for event in audit.read_events(connection):
        seen.setdefault(event.subject, Seen()).note(event.kind, body_of(event.body), event.at)
    return seen


def _about(found: Examined) -> tuple[frozenset[str], frozenset[str]]:
    """Return what the events that were put aside are about: their subjects, and the accounts."""
    bodies = [body_of(row["body"]) for row in found.doubtful if str(row["kind"]).startswith("reviewer.")]
    about = frozenset(str(body["reviewer"]) for body in bodies if "reviewer" in body)
    return frozenset(str(row["subject"]) for row in found.doubtful), about


def _keep_tree(connection: sa.Connection, found: Examined, number: int) -> int:
    """Keep tiles and checkpoint of the log, and return the number of the last event before the next one.

    The next number is behind every one that was ever shown, and no edited row makes it a large one.
    """
    most = found.last + found.rows + max(found.signed - found.size, 0)
    head = connection.execute(sa.select(audit_head.c.seq)).scalars().all()
    shown = (seq for seq in [*(row["seq"] for row in found.doubtful), *head] if isinstance(seq, int))
    last = max(found.last, found.base + found.signed, *(seq for seq in shown if seq <= most), 0)
    if last >= _LARGEST:
        raise LogError("the numbers of events are used up", remedy="begin with a new database")
    tree = Tiles(connection, number)
    tree.extend(0, found.leaves)
    tree.save(connection)
    connection.execute(sa.delete(tiles))
    connection.execute(sa.delete(checkpoints))
    connection.execute(sa.delete(audit_head).where(audit_head.c.id != HEAD_ROW))
    values = {"seq": last, "hash": ""}
    if connection.execute(sa.update(audit_head).where(audit_head.c.id == HEAD_ROW).values(values)).rowcount != 1:
        connection.execute(sa.insert(audit_head).values(id=HEAD_ROW, **values))
    return last


def _begin(  # each is a part of the event
    connection: sa.Connection, at: int, order: Order, key: LogKey, found: Examined, doubted: int | None, *, number: int
) -> None:
    """Write the first event of the new log; ``doubted`` is how much has rows in doubt, None where nothing is."""
    follows = key.follows or Follows("", ())
    rows, digest = told_of(connection, number)
    root = base64.b64encode(found.root).decode()
    closed: dict[str, JSON] = {"size": found.size, "root": root, "checkpoint": found.text, **follows.to_json()}
    body: dict[str, JSON] = {
        "origin": key.origin,
        "keys": [str(one) for one in key.public],
        "closed": closed,
        "reason": order.reason,
        "by": f"reviewer:{order.by.name}",
        "in_doubt_from": None if doubted is None else found.doubted_from or found.last + 1,
        "changed": [list(pair) for pair in found.changed],
        "signed": found.signed,
        "rows_in_doubt": doubted or 0,
        "put_aside": {"rows": rows, "digest": digest},
    }
    audit.append(connection, at=at, kind=RESTARTED, subject=KEYS, body=body)


def _sign(store: Store, place: LogPlace, number: int) -> Sealed:
    """Do the rest of step 6."""
    place.keep_signed(number)
    return place.sealer(store).seal()


__all__ = ["Order", "Restarted", "restart"]
