"""Who is signed in at the review pages, and the seals that tie a form to the person, the place and what was shown.

Guarantees: a browser holds a random name and nothing else; sessions live in this process, end when idle, end at an
absolute age, and end at once when their reviewer is disabled; a seal is good for one session and one purpose. A
restart signs everybody out, and nothing that was decided is lost.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.reviewers import Reviewer

MAX_SESSIONS: Final = 1_000
"""Sessions that are kept; of more, the one that was idle longest ends."""
MAX_FAILURES: Final = 5
"""Failed sign-ins from one address within :data:`WINDOW`, before further ones are refused unlooked at."""
MAX_TRIES: Final = 60
"""Sign-ins from everywhere within :data:`WINDOW`: each costs a slow hash."""
WINDOW: Final = 60.0
"""Seconds over which sign-ins are counted."""
MIN_LOOK: Final = 0.7
"""Seconds between showing a question and taking its answer: nobody reads faster, and a stray click is no answer."""
SETUP_FOR: Final = 3_600.0
"""Seconds for which the link of the first start is good."""
_BYTES: Final = 32
_MAX_ADDRESSES: Final = 10_000


@dataclass(slots=True)
class Session:
    """One browser in which one reviewer is signed in."""

    reviewer: Reviewer
    started: float
    seen: float
    key: bytes = field(default_factory=lambda: secrets.token_bytes(_BYTES), repr=False)

    def seal(self, *parts: str) -> str:
        """Return a seal over ``parts`` that only this session can make and check."""
        return _mac(self.key, *parts)

    def is_sealed(self, seal: str, *parts: str) -> bool:
        """Say whether ``seal`` is that of ``parts``."""
        return hmac.compare_digest(self.seal(*parts).encode(), seal.encode("utf-8", "replace"))


class Sessions:
    """The sessions of one process. Safe to use from several threads."""

    def __init__(self, *, idle: float, absolute: float, clock: Callable[[], float] = time.monotonic) -> None:
        """``idle`` and ``absolute`` are seconds; ``clock`` counts seconds and never goes back."""
        self.clock = clock
        self._idle, self._absolute = idle, absolute
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Session] = OrderedDict()

    def start(self, reviewer: Reviewer) -> str:
        """Sign in and return the new session's name; it is drawn here, so nobody can have known it before."""
        name, now = secrets.token_urlsafe(_BYTES), self.clock()
        with self._lock:
            self._known[_hashed(name)] = Session(reviewer, now, now)
            while len(self._known) > MAX_SESSIONS:
                self._known.popitem(last=False)
        return name

    def find(self, name: str, *, touch: bool = True) -> Session | None:
        """Return the session of this name while it lasts. ``touch`` is false for what a page does by itself."""
        key, now = _hashed(name), self.clock()
        with self._lock:
            found = self._known.get(key)
            if found is None:
                return None
            if now - found.seen >= self._idle or now - found.started >= self._absolute:
                del self._known[key]
                return None
            if touch:
                found.seen = now
                self._known.move_to_end(key)
            return found

    def end(self, name: str) -> None:
        """Sign out."""
        with self._lock:
            self._known.pop(_hashed(name), None)


class Throttle:
    """Counts sign-ins, so that nobody can try tokens or burn the processor with them."""

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


class Setup:
    """The one-time code of the first start. Looking at its page uses nothing up; making the reviewer does."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """There is no code before one is drawn."""
        self._clock = clock
        self._lock = threading.Lock()
        self._digest = ""
        self._until = 0.0

    def draw(self) -> str:
        """Return a new code; an older one is worth nothing any more."""
        code = secrets.token_urlsafe(_BYTES)
        with self._lock:
            self._digest, self._until = _hashed(code), self._clock() + SETUP_FOR
        return code

    def holds(self, code: str) -> bool:
        """Say whether this is the code, and its time is not over."""
        with self._lock:
            good = hmac.compare_digest(_hashed(code), self._digest or "-")
            return good and self._clock() < self._until

    def use_up(self) -> None:
        """Make the code worthless."""
        with self._lock:
            self._digest = ""


def _forget(times: deque[float], now: float) -> None:
    while times and now - times[0] >= WINDOW:
        times.popleft()


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _mac(key: bytes, *parts: str) -> str:
    """Return a MAC over a list of texts; each is preceded by its length, so that no two lists look alike."""
    form = b"".join(b"%d:%b" % (len(data), data) for data in (p.encode("utf-8", "surrogatepass") for p in parts))
    return hmac.new(key, form, hashlib.sha256).hexdigest()


class PageKey:
    """The key of this process for forms that are shown before anybody has signed in."""

    def __init__(self) -> None:
        """Draw the key."""
        self._key = secrets.token_bytes(_BYTES)

    def seal(self, nonce: str) -> str:
        """Return the seal of a browser's random name."""
        return _mac(self._key, "before", nonce)

    def is_sealed(self, seal: str, nonce: str) -> bool:
        """Say whether the seal is that of the name, and there is a name."""
        return bool(nonce) and hmac.compare_digest(self.seal(nonce).encode(), seal.encode("utf-8", "replace"))


__all__ = ["MIN_LOOK", "PageKey", "Session", "Sessions", "Setup", "Throttle"]
