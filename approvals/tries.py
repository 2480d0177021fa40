"""How often passwords may be tried: counts in the store, and the browsers that a person signed in with before.

1. A browser that somebody signed in with is known by a random cookie, of which the store has the hash. It has a count
of its own. 2. All others share one count for the account they name, whether or not there is one. So an attacker who
tries passwords for a name uses up the strangers' count alone: the person signs in with a browser of theirs, with a
passkey or with a token as before. 3. A try is counted before it is looked at, so that parallel ones do not slip
through, and given back when it was good.
"""

from __future__ import annotations

import secrets
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals.account_tables import devices, page_keys, tries
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.people import folded
from checkvalve.approvals.sessions import hashed
from checkvalve.approvals.store import Store

SPAN: Final = 900_000_000
"""Microseconds over which tries are counted: a quarter of an hour."""
MAX_TRIES: Final = 10
"""Failed passwords within :data:`SPAN`, for one account from strange browsers, or from one known browser."""
MAX_DEVICES: Final = 20
"""Browsers that are known of one person; of more, the one that was not used longest is forgotten."""
_KEY_BYTES: Final = 32


class Tries:
    """The counts of one store. Safe to use from several servers at once."""

    def __init__(self, store: Store, clock: Clock = system_clock) -> None:
        """Count in ``store``."""
        self._store = store
        self._clock = clock

    def may_try(self, name: str, device: str = "") -> bool:
        """Count one try at the password of ``name`` from the browser ``device``, and say whether to look at it."""
        now = self._clock()
        since = now - now % SPAN
        with self._store.write() as connection:
            key = _key(connection, name, device)
            connection.execute(sa.delete(tries).where(tries.c.since < since))
            row = sa.and_(tries.c.key == key, tries.c.since == since)
            count = connection.execute(sa.select(tries.c.count).where(row)).scalar()
            if count is None:
                connection.execute(sa.insert(tries).values(key=key, since=since, count=1))
            elif count >= MAX_TRIES:
                return False
            else:
                connection.execute(sa.update(tries).where(row).values(count=count + 1))
        return True

    def was_good(self, name: str, device: str = "") -> None:
        """Give a try back that was right."""
        with self._store.write() as connection:
            mine = sa.and_(tries.c.key == _key(connection, name, device), tries.c.count > 0)
            connection.execute(sa.update(tries).where(mine).values(count=tries.c.count - 1))

    def is_known(self, device: str) -> bool:
        """Say whether somebody signed in with this browser before."""
        with self._store.read() as connection:
            return _owner(connection, device) is not None

    def remember(self, name: str, device: str = "") -> str:
        """Note that ``name`` signed in with a browser, and return what the browser is to hold from now on."""
        now, held = self._clock(), device
        with self._store.write() as connection:
            if _owner(connection, device) != name:
                held = secrets.token_urlsafe(_KEY_BYTES)
                connection.execute(sa.insert(devices).values(key=hashed(held), name=name, seen_at=now))
            else:
                connection.execute(sa.update(devices).where(devices.c.key == hashed(device)).values(seen_at=now))
            query = sa.select(devices.c.key).where(devices.c.name == name).order_by(devices.c.seen_at.desc())
            too_many = connection.execute(query).scalars().all()[MAX_DEVICES:]
            connection.execute(sa.delete(devices).where(devices.c.key.in_(too_many)))
        return held


def page_key(store: Store, clock: Clock = system_clock) -> bytes:
    """Return the key with which every server on this store seals what it shows to people who have not signed in yet."""
    with store.read() as connection:
        found = connection.execute(sa.select(page_keys.c.secret)).scalar()
    if found is None:
        with store.write() as connection:
            found = connection.execute(sa.select(page_keys.c.secret)).scalar()
            if found is None:
                found = secrets.token_bytes(_KEY_BYTES)
                connection.execute(sa.insert(page_keys).values(id=1, secret=found, made_at=clock()))
    return bytes(found)


def _owner(connection: sa.Connection, device: str) -> str | None:
    if not device:
        return None
    query = sa.select(devices.c.name).where(devices.c.key == hashed(device))
    found = connection.execute(query).scalar()
    return None if found is None else str(found)


def _key(connection: sa.Connection, name: str, device: str) -> str:
    person = folded(name)
    return hashed(f"device {device}" if _owner(connection, device) == person else f"account {person}")


__all__ = ["MAX_DEVICES", "MAX_TRIES", "SPAN", "Tries", "page_key"]
