"""What the handlers of the review pages share: the store's parts, sessions, templates; and who is looking.

Guarantees: every page but sign-in and set-up needs a session whose reviewer still is one; a form counts only with the
seal of the session for exactly that address; templates escape everything, and an unknown name in one is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, cast
from urllib.parse import parse_qsl, quote, urlencode

import jinja2
from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from checkvalve.approvals.causes import Cause
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.logplace import LogPlace
from checkvalve.approvals.passkey_wire import Site
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.render import code_point, is_deceptive, neutralise
from checkvalve.approvals.reviewers import Reviewer
from checkvalve.approvals.sessions import Session, Sessions
from checkvalve.filters.strictjson import JSON
from checkvalve.gateway.redeciding import Deciding
from checkvalve.gateway.rule_impact import Place
from checkvalve.gateway.undo_point import UndoPoint
from checkvalve.gateway.web_door import Door
from checkvalve.gateway.web_moments import Moments
from checkvalve.gateway.web_words import LANGUAGES, Words, chosen

HOME: Final = "/review"
LANGUAGE_COOKIE: Final = "checkvalve_language"
BEFORE_COOKIE: Final = "checkvalve_before"
DEVICE_COOKIE: Final = "checkvalve_device"
_FOLDER: Final = Path(__file__).parent / "web"
_MAX_FIELDS: Final = 200
STATIC_FOLDER: Final = _FOLDER / "static"
Form: TypeAlias = dict[str, list[str]]


class Stop(Exception):  # noqa: N818  # it is an answer, not a fault
    """A page that says why nothing was done."""

    def __init__(
        self, status: int, code: str, detail: str = "", *, back: str = HOME, cause: Cause | None = None
    ) -> None:
        """``code`` is a word of the catalogues (``stop.CODE``), ``detail`` what our own code says, made safe here.

        ``cause`` is for programs: by default what the pages themselves refuse for this ``code``.
        """
        super().__init__(code)
        self.cause = cause or _CAUSES.get(code)
        self.status, self.code, self.detail, self.back = status, code, neutralise(detail), back


_CAUSES: Final = {
    "budget": Cause.BUDGET_USED_UP,
    "digest": Cause.WRONG_DIGEST,
    "fast": Cause.INERT,
    "missing": Cause.UNKNOWN,
    "moved": Cause.STALE,
    "own": Cause.OWN_CALL,
    "prove": Cause.STEP_UP_NEEDED,
    "reason": Cause.NOTE_NEEDED,
    "stale": Cause.NOT_SHOWN,
}
"""The causes of what the pages refuse before the queue is asked."""


class SignIn(Exception):  # noqa: N818  # it is an answer, not a fault
    """Somebody has to sign in first, and comes back to ``path`` then."""

    def __init__(self, path: str = "", *, again: bool = False) -> None:
        super().__init__("sign in")
        self.path, self.again = path, again


@dataclass
class Desk:
    """The shared parts. ``secure`` says that browsers come over TLS, so that cookies are for TLS only."""

    queue: Queue
    content: SqlContentStore
    sessions: Sessions
    door: Door
    unpack: Callable[[JSON], str]
    decide: Deciding
    origin: str = ""
    single_user: bool = False
    secure: bool = False
    log: LogPlace = field(default_factory=LogPlace)
    undo: UndoPoint | None = None
    rules: Place | None = None
    seeded_items: int = 0
    streams: int = 0

    def __post_init__(self) -> None:
        """Open the templates, which escape everything."""
        self.executor = Executor(self.queue)
        loader = jinja2.FileSystemLoader(_FOLDER / "templates")
        self.templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return "__Host-checkvalve" if self.secure else "checkvalve_review"

    def named(self, cookie: str) -> str:
        """Return the name of a cookie: over TLS one that only this host can have set."""
        return f"__Host-{cookie}" if self.secure else cookie

    def page(self, template: str, words: Words, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page. A character that misleads, and that a template let through all the same, is made visible."""
        text = self.templates.get_template(template).render(
            t=words,
            languages=LANGUAGES,
            home=HOME,
            link=link,
            when=Moments(words, self.queue.clock()),
            **{"visit": None, "notice": "", **values},
        )
        return HTMLResponse("".join(code_point(char) if _hidden(char) else char for char in text), status)

    def set_cookie(self, response: Response, name: str, value: str, *, age: int | None = None) -> None:
        """Set a cookie that no script reads and no other site sends."""
        response.set_cookie(name, value, max_age=age, path="/", secure=self.secure, httponly=True, samesite="strict")


def _hidden(character: str) -> bool:
    """Say whether a character may not be on any page: a last net under the rule that content comes as `Shown`."""
    if character.isascii():
        return not character.isprintable() and character != "\n"
    return is_deceptive(character) and character not in "\u27e8\u27e9"


def link(path: str, **query: object) -> str:
    """Return an address of these pages, with everything in it quoted."""
    given = {name: value for name, value in query.items() if value not in ("", None)}
    return f"{HOME}{quote(path)}" + (f"?{urlencode(given, errors='surrogatepass')}" if given else "")


@dataclass(frozen=True)
class Visit:
    """One request of somebody who is signed in."""

    desk: Desk
    session: Session
    words: Words
    path: str
    host: str = ""
    problem: tuple[str, str] | None = None
    """What stood in the way of the form that this page shows once more: a word of the catalogues, and a detail."""
    typed: tuple[str, Form] = ("", {})
    """What was typed into that form, after the address it was sent to."""

    def kept(self, path: str, name: str, preset: str = "") -> str:
        """Return what was typed into a field of the form for ``path``, else what stands there at first."""
        where, form = self.typed
        return form.get(name, [""])[-1] if where == path else preset

    def all_kept(self, path: str, name: str) -> list[str]:
        """Return every value of a field that may be there several times."""
        where, form = self.typed
        return form.get(name, []) if where == path else []

    def was_sent(self, path: str) -> bool:
        """Say whether this page shows the form for ``path`` once more."""
        return self.typed[0] == path

    @property
    def site(self) -> Site | None:
        """The pages as passkeys know them, where they are looked at under that name."""
        found = self.desk.door.site
        return found if found is not None and found.id == self.host else None

    @property
    def reviewer(self) -> Reviewer:
        """Who is looking."""
        return self.session.reviewer

    def seal(self, path: str) -> str:
        """Return the seal that a form sent to ``path`` needs."""
        return self.session.seal("form", path)

    def page(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a page for this person."""
        return self.desk.page(template, self.words, status, **{"visit": self, **values})


@dataclass(frozen=True)
class Posted:
    """A form of somebody who is signed in, whose seal was checked."""

    visit: Visit
    form: Form

    def get(self, name: str) -> str:
        """Return the one value of a field, empty when it is not there."""
        found = self.form.get(name, [""])
        return found[-1]


def desk_of(request: Request) -> Desk:
    """Return the desk of this application."""
    return cast(Desk, request.app.state.desk)


def words_of(request: Request) -> Words:
    """Return the catalogue for this browser."""
    return chosen(request.cookies.get(LANGUAGE_COOKIE, ""), request.headers.get("accept-language", ""))


def session_of(request: Request, *, touch: bool = True) -> Session | None:
    """Return the session of a request whose reviewer still is one."""
    desk = desk_of(request)
    return desk.sessions.find(request.cookies.get(desk.cookie, ""), touch=touch)


def visit_of(request: Request) -> Visit:
    """Return who is looking.

    Raises:
        SignIn: nobody is signed in. A link on another site does not bring the cookie along: then the page is asked for
            once more, from here.
    """
    session = session_of(request)
    if session is None:
        query = f"?{request.url.query}" if request.url.query else ""
        elsewhere = request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site"
        raise SignIn(request.url.path + query if request.method == "GET" else HOME, again=elsewhere)
    return Visit(desk_of(request), session, words_of(request), request.url.path, request.url.hostname or "")


async def form_of(request: Request) -> Form:
    """Return the fields of a form; its size was bounded before.

    Raises:
        Stop: it is not one.
    """
    try:
        pairs = parse_qsl(
            (await request.body()).decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError:
        raise Stop(400, "form") from None
    found: Form = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def posted_of(request: Request, form: Annotated[Form, Depends(form_of)]) -> Posted:
    """Return a form whose seal is that of this session and this address.

    Raises:
        SignIn, Stop: nobody is signed in; the seal is missing or another one's.
    """
    visit = visit_of(request)
    if not visit.session.is_sealed(form.get("seal", [""])[-1], "form", request.url.path):
        raise Stop(403, "seal")
    request.state.sealed_form = form  # for the page that is shown again where something stands in the way
    return Posted(visit, form)


def back(path: str) -> RedirectResponse:
    """Go on with a page after a form: loading it again sends nothing twice."""
    return RedirectResponse(path, 303)


Looking: TypeAlias = Annotated[Visit, Depends(visit_of)]
Sent: TypeAlias = Annotated[Posted, Depends(posted_of)]
Fields: TypeAlias = Annotated[Form, Depends(form_of)]

__all__ = [
    "BEFORE_COOKIE", "DEVICE_COOKIE", "HOME", "LANGUAGE_COOKIE", "STATIC_FOLDER", "Desk", "Fields", "Form", "Looking",
    "Posted", "Sent", "SignIn", "Stop", "Visit", "back", "desk_of", "link", "session_of", "words_of",
]  # fmt: skip
