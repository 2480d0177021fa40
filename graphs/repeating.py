"""Whether a call of unknown end may still be tried again: what its tool promised then, the manifest has to say now.

The promise is part of the record, so a later manifest gives no call one. This is the other way round: a deployer who
finds out that a server does not know repeated calls takes it back, and nothing is sent a second time after that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from checkvalve.approvals.records import State
from checkvalve.approvals.verdicts import Deny, Verdict
from checkvalve.graphs import given
from checkvalve.graphs.calls import Call
from checkvalve.graphs.services import Services

_GONE: Final = Deny("promise-gone", "promise_gone", "look at the effect, then settle it: checkvalve approvals unknown")


def while_promised(services: Services, name: str, check: Callable[[], Verdict]) -> Callable[[], Verdict]:
    """Return the check right before the effect of a call: ``check``, and before another try what the manifest says."""

    def checked() -> Verdict:
        row = services.queue.get(name)
        if row.state is State.UNKNOWN:
            spec = services.manifest.find(row.tool, row.server)
            if given.idempotency(spec, Call(row.tool, {}, row.call_id, row.server)) is not row.idempotency:
                return _GONE
        return check()

    return checked


__all__ = ["while_promised"]
