"""What protects the door of the review pages before anybody is known: counted tries, and seals of this store's servers.

Guarantees: sign-ins are counted before they cost a slow hash; a form of the sign-in page counts only from the browser
that it was shown to. Sessions themselves are in the store: ``checkvalve.approvals.sessions``.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from checkvalve.approvals.sessions import sealed

MAX_FAILURES: Final = 5
"""Failed sign-ins from one address within :data:`WINDOW`, before further ones are refused unlooked at."""
MAX_TRIES: Final = 60
"""Sign-ins from everywhere within :data:`WINDOW`: each costs a slow hash."""
WINDOW: Final = 60.0
"""Seconds over which sign-ins are counted."""
MIN_LOOK: Final = 0.7
"""Seconds between showing a question and taking its answer: nobody reads faster, and a stray click is no answer."""
_MAX_ADDRESSES: Final = 10_000


class Throttle:
    """Counts sign-ins from browsers that nobody knows, so that nobody can try tokens or burn the processor with them.

    One process counts for itself: it protects its own processor. What is counted for an account is in the store
    (``checkvalve.approvals.tries``).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Count nothing yet."""
        self._clock = clock
        self._lock = threading.Lock()
        self._all: deque[float] = deque()
        self._failed: OrderedDict[str, deque[float]] = OrderedDict()

    def may_try(self, address: str) -> bool:
        """Count one try, and say whether it may be looked at."""
        now = self._clock()
        with self._lock:
            _forget(self._all, now)
            failed = self._failed.get(address, deque())
            _forget(failed, now)
            if len(failed) >= MAX_FAILURES or len(self._all) >= MAX_TRIES:
                return False
            self._all.append(now)
            return True

    def failed(self, address: str) -> None:
        """Note that a try from this address did not get in."""
        with self._lock:
            self._failed.setdefault(address, deque()).append(self._clock())
            self._failed.move_to_end(address)
            while len(self._failed) > _MAX_ADDRESSES:
                self._failed.popitem(last=False)


def _forget(times: deque[float], now: float) -> None:
    while times and now - times[0] >= WINDOW:
        times.popleft()


class PageKey:
    """The key for forms that are shown before anybody has signed in; every server on the store has the same."""

    def __init__(self, key: bytes) -> None:
        """Seal with ``key``."""
        self._key = key

    def seal(self, *parts: str) -> str:
        """Return the seal of these parts; the first one is a browser's random name."""
        return sealed(self._key, "before", *parts)

    def is_sealed(self, seal: str, *parts: str) -> bool:
        """Say whether the seal is that of the parts, and the browser has a name."""
        good = hmac.compare_digest(self.seal(*parts).encode(), seal.encode("utf-8", "replace"))
        return bool(parts and parts[0]) and good


__all__ = ["MIN_LOOK", "PageKey", "Throttle"]
