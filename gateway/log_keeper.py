"""The thread that signs the log behind the gateway's commits, and what happens when it is not the log it signed.

1. At the start the log is sealed once, so a database that was put back or changed is found before anything runs.
2. Every second: what was committed is sealed; after a silence a heartbeat is written; a piece of what was written long
   ago is looked at again (:mod:`checkvalve.approvals.logwatch`).
3. Where the log is not what was signed, the store takes no change any more: nothing is approved, and nothing runs.
   Anything else that goes wrong (a disk, a database) is logged and tried again; no event is lost by it.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Final

from checkvalve.approvals.anchors import parse_anchors
from checkvalve.approvals.errors import ApprovalError, LogTamperedError
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.logwatch import LogWatch
from checkvalve.approvals.sealer import Sealed, Sealer
from checkvalve.approvals.store import Store
from checkvalve.gateway.audit_signers import holders_of
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.logs import get_logger
from checkvalve.gateway.places import audit_key_file
from checkvalve.gateway.settings import Settings

EVERY: Final = 1.0
"""Seconds between looks: how long a committed event may be without a signature."""


def log_place(settings: Settings) -> LogPlace:
    """Return where the log of these settings keeps its things."""
    return LogPlace(
        key=audit_key_file(settings),
        signed=settings.audit_signed,
        anchors=parse_anchors(settings.audit_anchors),
        heartbeat=settings.audit_heartbeat_seconds,
        policy_file=settings.audit_policy,
        signer=settings.audit_signer,
        holders=holders_of(settings),
    )


class LogKeeper:
    """Signs the log of one store in a thread of this process, or only looks at it where another process signs."""

    def __init__(self, store: Store, sealer: Sealer | None, *, every: float = EVERY) -> None:
        """Seal with ``sealer``, if this process is the one that signs; :meth:`start` begins."""
        self._store = store
        self._sealer = sealer
        self._again = LogWatch(store)
        self._every = every
        self._stop = threading.Event()
        self._said = ""  # a failure that lasts is logged once
        self._thread = threading.Thread(target=self._watch, name="checkvalve-log", daemon=True)

    def start(self) -> None:
        """Seal what there is, and begin to watch.

        Raises:
            LogTamperedError: the log is not what was signed.
            LogError: the key does not fit, or a file cannot be written.
        """
        if self._sealer is not None:
            self._tell(self._sealer.start())
        self._thread.start()

    def stop(self) -> None:
        """Stop watching, and say so in the log. Killing the process instead leaves a silence, which is seen."""
        self._stop.set()
        if self._thread.ident is None:
            return
        self._thread.join()
        if self._sealer is None:
            return
        try:
            self._sealer.stop()
        except ApprovalError as error:
            get_logger().error("the audit log could not be signed at the end", reason=str(error))

    def _watch(self) -> None:
        while not self._stop.wait(self._every):
            try:
                sealed = None if self._sealer is None else self._sealer.beat()
                self._again.step()
            except LogTamperedError as error:
                self._store.refuse(error.message)
                with suppress(OSError, ValueError):  # where nobody listens any more, the store refuses all the same
                    get_logger().error("THE AUDIT LOG IS NOT WHAT WAS SIGNED: nothing runs any more", reason=str(error))
                return
            except Exception as error:  # noqa: BLE001  # a database that does not answer now may do so in a second
                self._complain("the audit log cannot be signed now", type(error).__name__, str(error))
            else:
                if sealed is not None:
                    self._tell(sealed)

    def _tell(self, sealed: Sealed) -> None:
        if sealed.failed:
            for name, reason in sealed.failed.items():
                self._complain("an anchor was not told of a checkpoint", name, reason)
        else:
            self._said = ""

    def _complain(self, text: str, what: str, reason: str) -> None:
        if self._said != text + what:
            self._said = text + what
            with suppress(OSError, ValueError):  # a closed output must not end the thread that signs
                get_logger().warning(text, what=what, reason=reason)


def keeper_of(settings: Settings, store: Store) -> LogKeeper | None:
    """Return what signs the log, started; where another process does, what looks at it; None where there is no key yet.

    Raises:
        SettingsError: a key is named, and there is none.
        LogError: the key cannot be used, or the log is not what was signed.
    """
    place = log_place(settings)
    if settings.audit_sealer == "apart":
        if settings.audit_pkcs11_pin is not None:
            raise SettingsError(
                "another process signs the audit log, and this one was given the PIN of its token",
                "unset CHECKVALVE_AUDIT_PKCS11_PIN here; give it to `checkvalve audit seal --watch` only",
            )
        looking = LogKeeper(store, None)
        looking.start()
        return looking
    if not place.has_key:
        if settings.audit_key is not None:
            raise SettingsError(
                f"there is no key of the audit log in {settings.audit_key}", "make one: checkvalve audit key create"
            )
        return None
    keeper = LogKeeper(store, place.sealer(store))
    keeper.start()
    return keeper


__all__ = ["EVERY", "LogKeeper", "keeper_of", "log_place"]
