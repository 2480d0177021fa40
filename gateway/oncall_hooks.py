"""The hooks of the file of on-call: read again when the file changes, asked within bounds, and loud when they fail.

1. The file is looked at again at each question; where it has changed, it is read anew. 2. A schedule answers by itself.
3. A service is asked over TLS, under the rules of outgoing webhooks, within :data:`WITHIN` seconds; its answer is kept
for as long as the file says, a failure for :data:`FAILED_FOR` seconds. 4. A program is an installed entry point.

Guarantees: a file that cannot be used answers nothing, whatever it said before: an old schedule would call the wrong
person in silence; each failure is logged once until it changes.
"""

from __future__ import annotations

import importlib.metadata
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from checkvalve.approvals.clock import Clock, rfc3339
from checkvalve.approvals.moments import micros_of, moment
from checkvalve.approvals.oncall import (
    AHEAD,
    BAD_ANSWER,
    NO_HOOK,
    NOBODY,
    Bounded,
    Hook,
    OnCall,
    OnDuty,
    answered,
)
from checkvalve.filters.errors import HostileInputError
from checkvalve.filters.strictjson import parse_strict
from checkvalve.gateway.channel_secrets import signing_secrets
from checkvalve.gateway.errors import ChannelError, OnCallError
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.oncall_file import OnCallFile, ProgramEntry, Service, load_oncall
from checkvalve.gateway.oncall_schedule import Schedule
from checkvalve.gateway.safe_post import post
from checkvalve.gateway.webhook_signature import headers
from checkvalve.gateway.working_folder import without_working_folder

WITHIN: Final = 10.0
"""Seconds in which a service has to answer."""
FAILED_FOR: Final = 15.0
"""Seconds for which a service that failed is not asked again."""
MAX_ANSWER: Final = 16_384
"""Bytes of an answer."""
GROUP: Final = "checkvalve.oncall"
"""The group of entry points."""
BAD_FILE: Final = "bad_file"
_SECOND: Final = 1_000_000


class FileOnCall(OnCall):
    """The hooks of a file, beside those that a program adds."""

    def __init__(self, file: Path | None, clock: Clock) -> None:
        """Read nothing yet: a file that cannot be used keeps nobody from deciding."""
        super().__init__()
        self._file, self._clock = file, clock
        self._lock = threading.Lock()
        self._mark: object = None
        self._read: dict[str, Hook] = {}
        self._problem: OnCallError | None = None
        self._said: dict[str, str] = {}

    def load(self) -> None:
        """Read the file now, for who starts something.

        Raises:
            OnCallError: it cannot be used.
        """
        with self._lock:
            self._refresh(loud=False)
            problem = self._problem
        if problem is not None:
            raise problem

    def names(self) -> frozenset[str]:
        """Return the names that can be asked for; without those of a file that cannot be used."""
        with self._lock:
            self._refresh()
            return frozenset({*self.hooks, *self._read})

    def who(self, name: str, at: int) -> OnDuty:
        """Return who is on call; see :class:`OnCall`."""
        if name in self.hooks:
            return self._loud(name, super().who(name, at))
        with self._lock:
            self._refresh()
            hook, problem = self._read.get(name), self._problem
        if problem is not None:
            return self._loud(name, OnDuty(failed=BAD_FILE))
        return self._loud(name, OnCall({name: hook}).who(name, at) if hook else OnDuty(failed=NO_HOOK))

    def _refresh(self, *, loud: bool = True) -> None:
        if self._file is None:
            return
        try:
            found = self._file.stat()
            mark: object = (found.st_mtime_ns, found.st_size, found.st_ino)
        except OSError as error:
            mark = type(error).__name__
        if mark == self._mark:
            return
        self._mark, self._read, self._problem = mark, {}, None
        try:
            self._read = hooks_of(load_oncall(self._file, self._clock()))
        except OnCallError as error:
            self._problem = error
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not look like a file without entries
            self._problem = OnCallError(f"{self._file} cannot be used ({type(error).__name__})", "mend the file")
        if self._problem is not None and loud:
            get_logger().error("the file of on-call schedules cannot be used", problem=str(self._problem))

    def _loud(self, name: str, duty: OnDuty) -> OnDuty:
        if duty.failed != self._said.get(name, ""):
            self._said[name] = duty.failed
            log = get_logger()
            if duty.failed:
                log.error("nobody is known to be on call", where=name, code=duty.failed)
            else:
                log.info("it is known again who is on call", where=name)
        return duty


def hooks_of(file: OnCallFile) -> dict[str, Hook]:
    """Return a hook for every entry of a file.

    Raises:
        OnCallError: there is no such entry point.
    """
    found: dict[str, Hook] = {entry.name: _of_schedule(entry.made()) for entry in file.schedule}
    found |= {entry.name: Asked(entry, file.private_hosts) for entry in file.service}
    return found | {entry.name: _of_program(entry) for entry in file.program}


def _of_schedule(schedule: Schedule) -> Hook:
    def ask(_name: str, at: int) -> OnDuty:
        cover = schedule.at(moment(at))
        return OnDuty(failed=NOBODY) if cover is None else OnDuty(cover.people, until=micros_of(cover.end))

    return ask


def _of_program(entry: ProgramEntry) -> Hook:
    listed = [one for one in importlib.metadata.entry_points(group=GROUP) if one.name == entry.entry]
    if len(listed) != 1:
        said = "there is no" if not listed else "there are several"
        raise OnCallError(f"{entry.name}: {said} entry point {entry.entry!r} of the group {GROUP}", "install it once")
    try:
        with without_working_folder():
            program: Any = listed[0].load()
    except Exception as error:
        raise OnCallError(
            f"{entry.name}: {entry.entry} cannot be loaded ({type(error).__name__})", "mend it"
        ) from error
    if not callable(program):
        raise OnCallError(f"{entry.name}: {entry.entry} is no function", "name a function of (name, moment)")
    return Bounded(program)


@dataclass(slots=True)
class Asked:
    """One service, and what it said last."""

    service: Service
    private_hosts: list[str]
    now: Callable[[], float] = time.monotonic
    _kept: OnDuty | None = None
    _until: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, name: str, at: int) -> OnDuty:
        """Return what it says, or said a moment ago."""
        with self._lock:
            if self._kept is None or self.now() >= self._until or _is_over(self._kept, at):
                self._kept = self._ask(name, at)
                self._until = self.now() + (FAILED_FOR if self._kept.failed else self.service.cache)
            return self._kept

    def _ask(self, name: str, at: int) -> OnDuty:
        service = self.service
        body = json.dumps({"oncall": name, "at": rfc3339(at)}, separators=(",", ":")).encode()
        told = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            if service.secret_file is not None:
                message = f"msg_{secrets.token_hex(16)}"
                told |= headers(message, at // _SECOND, body, signing_secrets(service.secret_file))
            else:
                told["Authorization"] = f"Bearer {service.bearer()}"
        except ChannelError:
            return OnDuty(failed="no_secret")
        answer = post(
            service.url,
            body,
            told,
            private_hosts=self.private_hosts,
            ca_file=service.ca_file,
            keep=MAX_ANSWER,
            deadline=WITHIN,
        )
        duty = read_answer(answer.body) if answer.ok else OnDuty(failed=answer.word)
        return OnDuty(failed=BAD_ANSWER) if _is_over(duty, at) or _is_far(duty, at) else duty


def read_answer(body: bytes) -> OnDuty:
    """Return what a service says: ``{"people": ["NAME"], "until": "2026-12-01T09:00:00Z"}``.

    ``until`` is optional; whether it is in time is judged by who asked, at most :data:`AHEAD` from then.
    """
    try:
        found = parse_strict(body)
    except HostileInputError:
        return OnDuty(failed=BAD_ANSWER)
    if (
        not isinstance(found, dict)
        or not found.keys() <= {"people", "until"}
        or not isinstance(found.get("people"), list)
    ):
        return OnDuty(failed=BAD_ANSWER)
    until = found.get("until")
    try:
        when = None if until is None else micros_of(datetime.fromisoformat(str(until)))
    except (ValueError, TypeError, OverflowError):
        return OnDuty(failed=BAD_ANSWER)
    people = found["people"]
    return answered(people if isinstance(people, list) else [], when)


def _is_over(duty: OnDuty, at: int) -> bool:
    return duty.until is not None and duty.until <= at


def _is_far(duty: OnDuty, at: int) -> bool:
    return duty.until is not None and duty.until > at + AHEAD


__all__ = ["FAILED_FOR", "GROUP", "MAX_ANSWER", "WITHIN", "Asked", "FileOnCall", "hooks_of", "read_answer"]
