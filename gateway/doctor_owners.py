"""Is it known whose the programs and tokens are? Who owns one asked for what it asks for, and approves none of it."""

from __future__ import annotations

from collections.abc import Iterator

from checkvalve.approvals.queue import Queue
from checkvalve.gateway.doctor import Finding, ok, warning
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.places import tokens_file
from checkvalve.gateway.settings import Settings

_SHOWN = 5


def tokens(settings: Settings) -> Iterator[Finding]:
    """Say which tokens of the HTTP API nobody owns."""
    try:
        known = ApiTokens(tokens_file(settings)).clients()
    except SettingsError:
        return  # no file of tokens is named, so the API is not served from here
    if not known:
        return
    loose = [f"{one.selector} of {one.name}" for one in known if not one.owner]
    if loose:
        text = f"{_named(loose)}: nobody owns the token, so whoever wrote the program may approve what it asks for"
        yield warning("owners of tokens", text, "checkvalve token owner SELECTOR NAME, with --program for a program's")
    else:
        programs = sum(one.program for one in known)
        yield ok("owners of tokens", f"each of {len(known)} tokens has an owner; programs hold {programs} of them")


def programs(queue: Queue, settings: Settings) -> Iterator[Finding]:
    """Say which accounts of programs nobody owns, and whose the agents are."""
    found = [one for one in queue.reviewers.accounts() if one.program and not one.disabled]
    if loose := [one.name for one in found if not one.owner]:
        yield warning("owners of programs", f"{_named(loose)}: nobody owns the program",
                      "checkvalve approvals reviewer program NAME --owner PERSON")  # fmt: skip
    elif found:
        yield ok("owners of programs", f"each of {len(found)} programs' accounts has an owner")
    if settings.agent_owners:
        yield ok("owner of the agents", f"{_named(list(settings.agent_owners))}: approves nothing that they ask for")
    elif not settings.single_user:
        yield ok("owner of the agents", "agent_owner is not set: who built the agents may approve what they ask for")


def _named(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


__all__ = ["programs", "tokens"]
