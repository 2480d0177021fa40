"""A text on its way to people: looked at with what its session knows of links and instructions.

Where a policy decides on composed links and on what loads by itself (the pipeline asks a person, or refuses), the text
keeps them for that decision; where nobody decides (a guarded agent's messages), they are taken out here.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from checkvalve.approvals.leaving import link_origins, rules_in_force
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outcomes import ScanResult
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession

DEADLINE: Final = 10.0
"""Seconds for one text; what was not looked at by then does not leave."""


def scan_leaving(
    text: str, session: GuardSession, services: Services, *, turn: str = "", decided: bool = False
) -> ScanResult:
    """Return what of ``text`` may leave.

    Args:
        text: an answer, or what a model wrote beside its calls.
        session: what was said and read in the thread.
        services: the rules.
        turn: results of this turn are not known yet.
        decided: a policy decides on the links that a model composed and on what loads by itself.
    """
    started = time.monotonic()
    origins, rules = session.look(
        turn,
        lambda index, written: (
            link_origins(index, written),
            rules_in_force(services.outbound, services.manifest, index),
        ),
    )
    if decided:
        rules = replace(rules, links=replace(rules.links, composed="keep", fetched="keep"))
    return scan_outbound(text, rules, origins=origins, expired=lambda: time.monotonic() - started > DEADLINE)
