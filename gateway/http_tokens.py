"""Who may use the HTTP API: tokens with a name and scopes, of which the file keeps argon2 hashes.

Guarantees: a token is shown once and kept nowhere; the file is written whole or not at all, and for its owner alone; a
changed file counts from the next request on, and two who change it at once both get their way. A token says in whose
name runs are made, whether a person or a program holds it, and who owns it; it decides no approval, and what is a
program's never becomes a person's.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import argon2

from checkvalve.approvals.durable import one_at_a_time
from checkvalve.approvals.people import OURS, RULE, folded, is_ours, is_usable
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict
from checkvalve.gateway.errors import TokenError

SCOPES: Final = ("run", "read")
"""``run`` may start and continue runs, ``read`` may look at them. Both only at those of the token's own name."""
MAX_DAYS: Final = 3_650
"""Days for which a token may be good."""
_DAY: Final = 86_400  # seconds
_PREFIX: Final = "cvt"  # recognisable, so that secret scanners can find a lost one
_MAX_TOKEN: Final = 200  # nothing longer was ever issued
_MAX_KNOWN: Final = 1_000  # verified tokens that are remembered: argon2 is slow on purpose
_FORM: Final = "make one with `checkvalve token add NAME`"


@dataclass(frozen=True, slots=True)
class Client:
    """Whose request this is."""

    name: str
    selector: str
    scopes: frozenset[str]
    until: int = 0  # seconds since 1970; 0: until it is taken back
    program: bool = False  # a program holds it, and no person
    owner: str = ""  # who answers for it; empty: nobody said, or it was made before tokens had owners


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    selector: str
    hash: str
    scopes: list[str]
    until: int = 0
    program: bool = False
    owner: str = ""

    def is_over(self, now: float) -> bool:
        """Say whether its time is over."""
        return self.until != 0 and now >= self.until


class ApiTokens:
    """The tokens in one file."""

    def __init__(self, file: Path, hasher: argon2.PasswordHasher | None = None) -> None:
        """Use ``hasher`` only to make tests fast; the default costs what argon2 recommends."""
        self.file = file
        self.clock: Callable[[], float] = time.time
        self._hasher = hasher or argon2.PasswordHasher()
        self._lock = threading.Lock()  # one hash at a time: each takes tens of megabytes
        self._stamp: tuple[int, int] = (0, 0)
        self._entries: dict[str, _Entry] = {}
        self._known: dict[str, str] = {}  # digest of a token that was accepted → its selector

    def add(
        self, name: str, scopes: Sequence[str] = SCOPES, *, days: int = 0, program: bool = False, owner: str = ""
    ) -> str:
        """Add a token for ``name`` and return it; it is good for ``days``, or where that is 0 until it is taken back.

        ``program`` says that no person holds it; ``owner`` is who answers for it, by default the person who holds it.

        Raises:
            TokenError: a name or a scope is unusable, or the file cannot be written.
        """
        person = folded(name)
        if not is_usable(name):
            raise TokenError(f"a token needs a printable name: {RULE}", "use the name or address of who will use it")
        if is_ours(name):
            raise TokenError(f"the name of a token cannot be {OURS}", "use the name or address of who will use it")
        if not scopes or not set(scopes) <= set(SCOPES):
            raise TokenError("there is no such scope", f"use one or more of: {', '.join(SCOPES)}")
        selector, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        if not 0 <= days <= MAX_DAYS:
            raise TokenError(f"a token is good for 1 to {MAX_DAYS} days", "give a number of days, or none")
        until = int(self.clock()) + days * _DAY if days else 0
        whose = _owner(owner) or ("" if program else person)
        entry = _Entry(person, selector, self._hasher.hash(secret), sorted(set(scopes)), until, program, whose)
        with self._changing():
            self._write([*self._entries.values(), entry])
        return f"{_PREFIX}_{selector}_{secret}"

    def remove(self, selector: str) -> None:
        """Take a token back.

        Raises:
            TokenError: there is none of this selector.
        """
        with self._changing():
            if selector not in self._entries:
                raise TokenError("there is no such token", "see `checkvalve token list`")
            self._write([entry for entry in self._entries.values() if entry.selector != selector])

    def give_to(self, selector: str, owner: str, *, program: bool = False) -> None:
        """Say whose a token is, and with ``program`` that a program holds it, which it does for ever then.

        Raises:
            TokenError: there is none of this selector, or the owner is no name of a person.
        """
        if not (whose := _owner(owner)):
            raise TokenError("a token belongs to somebody", "name the person who answers for it")
        with self._changing():
            if selector not in self._entries:
                raise TokenError("there is no such token", "see `checkvalve token list`")
            found = self._entries[selector]
            changed = replace(found, owner=whose, program=found.program or program)
            self._write([changed if entry is found else entry for entry in self._entries.values()])

    def clients(self) -> list[Client]:
        """Return the tokens, without what would let anybody in."""
        with self._lock:
            self._refresh()
            return [_client(entry) for entry in self._entries.values()]

    def holds(self, client: Client) -> bool:
        """Say whether the token that ``client`` came with still is one, with all its scopes."""
        try:
            with self._lock:
                self._refresh()
                entry = self._entries.get(client.selector)
        except TokenError:
            return False
        return entry is not None and _client(entry) == client and not entry.is_over(self.clock())

    def authenticate(self, token: str) -> Client:
        """Return whose token this is.

        Raises:
            TokenError: nobody's, or the file cannot be used.
        """
        prefix, _, rest = token.partition("_")
        selector, _, secret = rest.partition("_")
        if prefix != _PREFIX or not secret or len(token) > _MAX_TOKEN or not token.isascii():
            raise TokenError("this is no token of this API", _FORM)
        digest = hashlib.sha256(token.encode()).hexdigest()
        with self._lock:
            self._refresh()
            entry = self._entries.get(selector)
            if (
                entry is None
                or entry.is_over(self.clock())
                or not (self._known.get(digest) == selector or self._proved(entry, secret))
            ):
                raise TokenError("the token was not accepted", _FORM)
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            self._known[digest] = selector
        return _client(entry)

    def _proved(self, entry: _Entry, secret: str) -> bool:
        try:
            return self._hasher.verify(entry.hash, secret)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the right to change the file, among threads and processes, over what it says now."""
        with self._lock, ExitStack() as inside:
            try:
                inside.enter_context(one_at_a_time(self.file))
            except OSError as error:
                raise TokenError(f"{self.file} cannot be written: {error.strerror}", "check the folder") from error
            self._stamp = (0, 0)
            self._refresh()
            yield

    def _refresh(self) -> None:
        try:
            found = self.file.stat()
        except FileNotFoundError:
            self._entries, self._known, self._stamp = {}, {}, (0, 0)
            return
        except OSError as error:
            raise self._unusable() from error
        stamp = (found.st_mtime_ns, found.st_ino)
        if stamp != self._stamp:
            self._entries = {entry.selector: entry for entry in self._read()}
            self._known, self._stamp = {}, stamp

    def _read(self) -> list[_Entry]:
        try:
            data: Any = parse_strict(self.file.read_bytes())
            return [_Entry(**entry) for entry in data["tokens"]]
        except (OSError, HostileInputError, KeyError, TypeError) as error:
            raise self._unusable() from error

    def _unusable(self) -> TokenError:
        return TokenError(
            f"the tokens in {self.file} cannot be read", "restore the file, or remove it and add tokens anew"
        )

    def _write(self, entries: Sequence[_Entry]) -> None:
        text = json.dumps({"tokens": [asdict(entry) for entry in entries]}, indent=1)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.file.parent, prefix=".tokens-")  # for its owner alone
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.file)
        except OSError as error:
            raise TokenError(f"{self.file} cannot be written: {error.strerror}", "check the folder") from error


def _client(entry: _Entry) -> Client:
    return Client(entry.name, entry.selector, frozenset(entry.scopes), entry.until, entry.program, entry.owner)


def _owner(name: str) -> str:
    if name and not is_usable(name):
        raise TokenError(f"an owner has a printable name: {RULE}", "use the name or address of a person")
    if is_ours(name):
        raise TokenError(f"an owner cannot be {OURS}", "use the name or address of a person, without such a word")
    return folded(name)
