"""Can the right people decide, and nobody else: reviewers and quorum, self-approval, how they come in, from where."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from checkvalve.approvals.identities import Identities
from checkvalve.approvals.passkey_wire import has_extra
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.roles import Role
from checkvalve.approvals.stepup import Checks
from checkvalve.approvals.votes import reachable
from checkvalve.gateway.doctor import Finding, ok, problem, warning
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.oidc_rules import provider_of
from checkvalve.gateway.settings import REVIEWER_VARIABLE, Settings, refuse_reviewer_token
from checkvalve.gateway.web_door import site_of

_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_SHOWN: Final = 3


def quorum(queue: Queue) -> Iterator[Finding]:
    """Say whether the people who may decide can answer every question that the review rules can come to."""
    people: dict[str, set[Role]] = {}
    for account in queue.reviewers.accounts():
        if not account.disabled and not account.program:
            people.setdefault(account.person, set()).update(account.roles)
    if not people:
        yield problem("reviewers", "nobody may decide: every question will expire", "checkvalve serve prints a link")
        return
    lost = [name for name, plan, _ in queue.rules.every() if not reachable(plan, people)]
    if lost:
        more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
        text = f"nobody can answer questions of {', '.join(lost[:_SHOWN])}{more}: too few people have the roles"
        yield problem("reviewers", text, "give roles or invite people: checkvalve approvals reviewer --help")
    else:
        yield ok("reviewers", f"{len(people)} people, enough for every review rule")
    if sum(Role.ADMINISTRATOR in roles for roles in people.values()) == 1:
        yield warning("reviewers", "there is one administrator: who loses every way in has nobody to ask",
                      "let a second person be one")  # fmt: skip


def self_approval(settings: Settings) -> Iterator[Finding]:
    """Say whether people may approve what they asked for themselves."""
    if settings.single_user:
        yield warning("self-approval", "single_user is on: who asks may approve; every record says self_approved",
                      "turn it off as soon as a second person can decide")  # fmt: skip
    else:
        yield ok("self-approval", "who asked for a call does not approve it")


def ways_in(queue: Queue) -> Iterator[Finding]:
    """Say who would decide grave calls by a password or token alone."""
    checks, identities = Checks.of(queue.reviewers), Identities(queue.reviewers)
    names = [one.name for one in queue.reviewers.accounts() if not one.disabled and not one.program]
    without = [name for name in names if not checks.passkeys.of(name)]
    if any(plan.step_up for _, plan, _ in queue.rules.every()) and without:
        text = f"{len(without)} of {len(names)} accounts have no passkey: for them a step-up takes a password or token"
        yield warning("passkeys", text, "let everybody who decides grave calls add one, on the page of their account")
    linked = sum(bool(identities.of(name)) for name in names)
    yield ok("passkeys", f"{len(names) - len(without)} of {len(names)} accounts have a passkey, {linked} are linked")


def addresses(settings: Settings) -> Iterator[Finding]:
    """Say whether the pages are reached over TLS, under a name for which browsers make passkeys."""
    origin = settings.review_origin
    if settings.host not in _LOOPBACK and not origin.startswith("https://"):
        yield problem("address", f"the pages listen at {settings.host}, and review_origin is not https://",
                      "put TLS in front, and set review_origin")  # fmt: skip
    elif origin and not origin.startswith("https://") and urlsplit(origin).hostname not in _LOOPBACK:
        yield problem("address", f"review_origin is {origin}: passwords and cookies would go in the clear", "use https")
    else:
        yield ok("address", origin or f"this machine alone, port {settings.port}")
    if origin and (host := urlsplit(origin).hostname) and not _resolves(host):
        yield warning("address", f"the name {host} is not known here", "mend review_origin, or the name service")
    site = site_of(origin or f"http://localhost:{settings.port}")
    if site is not None:
        yield ok("passkey address", f"passkeys are for {site.id}, used at {site.origin}")
    elif not has_extra():
        yield ok("passkey address", "no passkeys here; to have them: pip install 'checkvalve[passkeys]'")
    else:
        why = "is an address of numbers" if _is_number(urlsplit(origin).hostname or "") else "is not over TLS"
        yield warning("passkey address", f"{origin} {why}: browsers make no passkeys for it", "use a name, with TLS")


def provider(settings: Settings) -> Iterator[Finding]:
    """Say whether the organisation's sign-in answers, and calls itself what the settings call it."""
    found = provider_of(settings, settings.review_origin or f"http://localhost:{settings.port}")
    if found is None:
        return
    url, _ = found.begin()
    yield ok("organisation's sign-in", f"{found.rules.issuer} answers; people go to {urlsplit(url).hostname}")
    if not settings.review_origin:
        yield warning("organisation's sign-in", "review_origin is not set: the issuer sends browsers back to localhost",
                      "set review_origin, and tell the issuer")  # fmt: skip


def environment() -> Iterator[Finding]:
    """Say whether a reviewer's credential is where tools could read it."""
    try:
        refuse_reviewer_token()
    except SettingsError:
        yield problem("environment", f"{REVIEWER_VARIABLE} is set here: whatever starts from here can decide",
                      f"unset it, and give --token-file to the command: env -u {REVIEWER_VARIABLE}")  # fmt: skip
    else:
        yield ok("environment", "no reviewer's credential is in it")


def _resolves(host: str) -> bool:
    try:
        return bool(socket.getaddrinfo(host, None))
    except OSError:
        return False


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


__all__ = ["addresses", "environment", "provider", "quorum", "self_approval", "ways_in"]
