"""One-time links: the first reviewer after the first start, and people whom an administrator invited.

Guarantees: no page makes a reviewer but the one behind the link of a start without any; looking at a link uses nothing
up, as a scanner of mail might; what follows is one transaction that uses the link up.
"""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from checkvalve.approvals.errors import CredentialError, QueueError
from checkvalve.approvals.passwords import WeakPasswordError
from checkvalve.gateway.web_account import before, check_before, enter
from checkvalve.gateway.web_desk import HOME, Desk, Fields, Form, Stop, back, desk_of, words_of
from checkvalve.gateway.web_text import line

Code = Annotated[str, Path(max_length=100)]
router: Final = APIRouter()


def chosen_password(form: Form) -> tuple[str, str]:
    """Return the password of a form that asks for it twice, and what is wrong when the two differ."""
    one, two = form.get("password", [""])[-1], form.get("again", [""])[-1]
    return one, "" if one == two else "differ"


@router.get("/setup/{code}")
def setup_page(request: Request, code: Code) -> Response:
    """Show the form of the first start."""
    _check(desk_of(request), code, first=True)
    return before(request, "setup.html", code=code, token="", problem="")


@router.post("/setup/{code}")
def setup(request: Request, code: Code, form: Fields) -> Response:
    """Add the first reviewer, sign in, and show the token, once."""
    desk = desk_of(request)
    check_before(request, form)
    _check(desk, code, first=True)
    password, problem = chosen_password(form)
    if problem:
        return before(request, "setup.html", 422, code=code, token="", problem=problem)
    try:
        proof, token = desk.door.invitations.accept_first(code, form.get("name", [""])[-1], password)
    except WeakPasswordError as error:
        return before(request, "setup.html", 422, code=code, token="", problem=error.problem)
    except CredentialError:  # somebody was faster, in a terminal
        raise Stop(409, "setup", back=f"{HOME}/signin") from None
    except QueueError:
        return before(request, "setup.html", 422, code=code, token="", problem="bad_name")
    page = desk.page(
        "setup.html", words_of(request), code="", token=token, problem="", seal="", nonce="", nonce_seal=""
    )
    return enter(request, proof, page)


@router.get("/join/{code}")
def join_page(request: Request, code: Code) -> Response:
    """Show somebody who was invited whose account the link opens."""
    name = _check(desk_of(request), code)
    return before(request, "join.html", code=code, name=line(name), problem="")


@router.post("/join/{code}")
def join(request: Request, code: Code, form: Fields) -> Response:
    """Use the link up with a password, or without one, and go on at the account's page."""
    desk = desk_of(request)
    check_before(request, form)
    name = _check(desk, code)
    password, problem = chosen_password(form)
    if form.get("without", [""])[-1]:
        password = problem = ""
    elif not password:
        problem = problem or "short"
    if not problem:
        try:
            proof = desk.door.invitations.accept(code, password)
        except WeakPasswordError as error:
            problem = error.problem
        else:
            return enter(request, proof, back(f"{HOME}/me?done=joined"))
    return before(request, "join.html", 422, code=code, name=line(name), problem=problem)


def _check(desk: Desk, code: str, *, first: bool = False) -> str:
    """Return whose account a link opens, empty for the first reviewer's.

    Raises:
        Stop: it is not good.
    """
    found = desk.door.invitations.look(code)
    if found is None or bool(found.name) is first:
        raise Stop(410, "setup" if first else "link", back=f"{HOME}/signin")
    return found.name


__all__ = ["chosen_password", "router"]
