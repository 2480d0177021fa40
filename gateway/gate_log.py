"""What the gate in front of an agent's tools says in the log: how each call was decided, and that it failed itself.

Guarantees: names, codes and ids, and nothing of a call's values; in observe mode it says loudly what was not stopped.
"""

from __future__ import annotations

from structlog.typing import FilteringBoundLogger

from checkvalve.gateway.ticket import Ticket, has_started


def say_decided(log: FilteringBoundLogger, ticket: Ticket, *, observing: bool) -> None:
    """Say how a call was decided."""
    proposal = ticket.proposal
    found = {"verdict": proposal.verdict_name, "rule": proposal.rule, "state": proposal.state.value}
    if observing and proposal.verdict_name != "allow":
        would = "waited for a person" if proposal.verdict_name == "review" else "been refused"
        text = f"OBSERVE MODE: this call runs, and would have {would}"
        log.warning(text, **found, **ticket.names())
    else:
        log.info("call.decided", **found, **ticket.names())


def stays_shut(log: FilteringBoundLogger, name: str, ticket: object, error: Exception, *, observing: bool) -> bool:
    """Log a crash of the gate; say whether the call is refused, which only observe mode does not do."""
    kind = type(error).__name__
    if observing and not has_started(ticket):
        log.error("OBSERVE MODE: this call runs UNRECORDED, the gate failed", tool=name, error=kind)
        return False
    log.error("gate.failed", tool=name, error=kind, remedy=getattr(error, "remedy", ""))
    return True


__all__ = ["say_decided", "stays_shut"]
