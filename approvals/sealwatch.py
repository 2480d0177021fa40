"""``checkvalve audit seal --watch``: signs the log in a process of its own, until it is told to stop.

1. At the start the log is sealed once. What fails then ends the process: a key that is not there, a log that is not
   what was signed.
2. Every second it signs what there is to sign, and looks again at a piece of what was signed long ago.
3. A failure later is said once and tried again in the next round: a database that does not answer, a token that was
   taken out. No event is lost by it. Only a log that is not what was signed ends the process.
4. SIGINT and SIGTERM end it: the log then says that it is not watched any more.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from checkvalve.approvals.audit_words import explain_sealed, say
from checkvalve.approvals.errors import ApprovalError, LogTamperedError
from checkvalve.approvals.logwatch import LogWatch
from checkvalve.approvals.sealer import Sealer
from checkvalve.approvals.store import Store

_EVERY: Final = 1.0  # seconds between looks
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)


def watch(sealer: Sealer, store: Store, *, every: float = _EVERY) -> None:
    """Sign until a signal comes; see the module.

    Raises:
        LogTamperedError: the log is not what was signed.
        ApprovalError: it cannot be signed at the start or at the end.
    """
    with _told_to_stop() as stopped:
        explain_sealed(sealer.start())
        again, said = LogWatch(store), ""
        while not stopped(every):
            try:
                sealed = sealer.beat()
                again.step()
            except LogTamperedError:
                raise
            except Exception as error:  # noqa: BLE001  # a database that does not answer now may do so in a second
                text = str(error) if isinstance(error, ApprovalError) else type(error).__name__
                if text != said:  # one that lasts is said once
                    say(f"not signed: {text}")
                said = text
                continue
            if said:
                say("the log is signed again")
            said = ""
            if sealed is not None:
                explain_sealed(sealed)
        explain_sealed(sealer.stop())


@contextmanager
def _told_to_stop() -> Iterator[Callable[[float], bool]]:
    """Give what waits for so many seconds, and says whether a signal has come meanwhile."""
    stop = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {one: signal.signal(one, end) for one in _ENDS}
    try:
        yield stop.wait
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


__all__ = ["watch"]
