"""What ``checkvalve doctor`` says of on-call: whether the file can be used, and whether what rules ask for is there."""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.approvals.clock import system_clock
from checkvalve.approvals.review_rules import ReviewRules
from checkvalve.gateway.doctor import Finding, ok, problem
from checkvalve.gateway.errors import OnCallError
from checkvalve.gateway.oncall_hooks import FileOnCall
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.step_channels import lost_hooks


def oncall_findings(settings: Settings, rules: ReviewRules) -> Iterator[Finding]:
    """Yield what there is to say; nobody is asked who is on call, since that may call a service."""
    known = FileOnCall(settings.oncall, system_clock)
    if settings.oncall is not None:
        try:
            known.load()
        except OnCallError as error:
            yield problem("on call", str(error), error.remedy)
        else:
            yield ok("on call", f"{settings.oncall} can be used")
    for name in lost_hooks(rules, known):
        text = f"a review rule asks oncall:{name}, and nothing answers for it"
        yield problem("on call", text, "add it to the file of on-call schedules, or correct the rule")


__all__ = ["oncall_findings"]
