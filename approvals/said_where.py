"""Whether a yes may be said on a channel at all: the plan of the question names those that take one. Pure."""

from __future__ import annotations

from checkvalve.approvals import plans
from checkvalve.approvals.errors import OtherChannelError
from checkvalve.approvals.plans import Plan


def require_channel(plan: Plan, channel: str) -> None:
    """Check that a yes may be said here; a program that names no channel counts as all of them.

    Raises:
        OtherChannelError: it may not; the remedy says where it may.
    """
    allowed = set(plan.channels)
    if channel not in allowed and not (channel == "" and allowed == set(plans.CHANNELS)):
        where = ", ".join(name for name in plans.CHANNELS if name in allowed)
        raise OtherChannelError(
            f"a yes to this call is not taken {f'by {channel}' if channel else 'without a channel'}",
            remedy=f"say it by: {where}",
        )


__all__ = ["require_channel"]
