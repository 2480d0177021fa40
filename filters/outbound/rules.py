"""What may leave, as the deployer sets it: one frozen value that every surface shares."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from checkvalve.filters.outbound.judge import LinkRules
from checkvalve.filters.outbound.prompts import NO_PROMPT, PromptText
from checkvalve.filters.secrets.registered import NOTHING, Registered

CANARY: Final = "canary"
"""The code that canaries are registered under: one in a text proves that instructions leak, and withholds all of it."""


@dataclass(frozen=True, slots=True)
class OutboundRules:
    """Links, values and kinds of data that may not leave.

    ``registered`` are exact values (secrets, canaries, private values), ``prompts`` the instructions whose wording is
    protected, ``secrets`` looks for keys by their form, ``pii`` names kinds of personal data that are masked; empty
    means none, since an answer goes to the person whose data it mostly is. ``withhold`` are the codes that hold back
    the whole text.
    """

    links: LinkRules = field(default_factory=LinkRules)
    registered: Registered = NOTHING
    prompts: PromptText = NO_PROMPT
    secrets: bool = True
    pii: frozenset[str] = frozenset()
    withhold: frozenset[str] = frozenset({CANARY})
    max_chars: int = 1_000_000
