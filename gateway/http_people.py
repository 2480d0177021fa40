"""Who is behind a request of the HTTP API: the person or program that holds the token, and everybody they act for."""

from __future__ import annotations

from collections.abc import Sequence

from checkvalve.approvals.asked_by import FOR, TOKEN, Behind, once
from checkvalve.approvals.causes import Cause
from checkvalve.approvals.people import OURS, RULE, folded, is_ours, is_usable
from checkvalve.gateway.http_problems import Problem
from checkvalve.gateway.http_tokens import Client


def behind_run(client: Client, on_behalf_of: str = "") -> tuple[Behind, ...]:
    """Return who asked for a run beside the name of its token: the person it is for, and the owner of the token.

    Raises:
        Problem: the person it is for has no usable name.
    """
    if on_behalf_of and not is_usable(on_behalf_of):
        raise Problem(422, "no_such_person", f"on_behalf_of is no name of a person: {RULE}", "name the person")
    if is_ours(on_behalf_of):
        raise Problem(422, "no_such_person", f"on_behalf_of is {OURS}", "name the person, without such a word")
    return once(client.name, (Behind(FOR, folded(on_behalf_of)), Behind(TOKEN, client.owner)))


def require_a_person(client: Client, given: Sequence[object] = (None,)) -> None:
    """Make sure that a person holds a token with which something is given.

    Raises:
        Problem: a program does, and there is something.
    """
    if client.program and given:
        raise Problem(
            403,
            "not_a_person",
            "a program grants no mandate: this token is one's",
            "let a person give it, with a token of their own or as a reviewer",
            cause=Cause.NOT_A_PERSON,
        )


__all__ = ["behind_run", "require_a_person"]
