"""What the names of tools, arguments and fields suggest: guesses for drafting, and suspicions for linting.

Guarantees: pure; a guess only ever makes a draft stricter or a lint louder. Nothing here decides over a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from checkvalve.approvals.toolspec import Effect, Role

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


VERBS: Final[tuple[tuple[Effect, frozenset[str]], ...]] = (
    (Effect.PAY, _set("pay transfer charge refund purchase buy checkout withdraw wire payout donate tip")),
    (
        Effect.DELETE,
        _set("delete remove drop purge erase destroy cancel trash wipe unlink truncate clear"),
    ),
    (Effect.EXECUTE, _set("execute exec run eval shell bash spawn compile invoke python terminal")),
    (
        Effect.SEND,
        _set(
            "send email mail post publish share forward reply tweet message notify invite upload submit dm broadcast "
            "announce comment push webhook sms call"
        ),
    ),
    (Effect.REMEMBER, _set("remember memorize memorise memory")),
    (
        Effect.CONFIGURE,
        _set("configure grant revoke enable disable permission permissions password role setting settings"),
    ),
    (
        Effect.WRITE,
        _set(
            "create add write update edit append insert modify rename move copy save put patch set reschedule schedule "
            "book reserve merge assign close archive label upsert replace commit"
        ),
    ),
    (
        Effect.READ,
        _set(
            "get list read find search show view query lookup look fetch browse check count describe download open "
            "scan retrieve load inspect summarize summarise status stat head tail grep ls cat exists whoami navigate "
            "visit select recall"
        ),
    ),
)
"""What the first verb of a name says the tool does; the strictest reading of a verb comes first."""

RANK: Final = {
    Effect.READ: 0,
    Effect.REMEMBER: 1,
    Effect.WRITE: 1,
    Effect.CONFIGURE: 2,
    Effect.SEND: 2,
    Effect.DELETE: 3,
    Effect.PAY: 3,
    Effect.EXECUTE: 3,
}
"""How strong an effect is; a declaration below what the name says is a finding."""

MAX_TYPE: Final = 60
"""Characters of a guessed type of ids."""

_MONEY: Final = _set("money payment payments invoice bill funds transaction salary")
_OUTSIDE: Final = _set(
    "fetch browse http https url webpage website web internet crawl scrape navigate visit dns curl wget"
)
_CREDENTIALS: Final = _set("password passwd passphrase secret token apikey credential credentials pin otp cvv")
_COMMANDS: Final = _set("command cmd script code sql shell argv program statement expression")
_AMOUNTS: Final = _set("amount price total sum cost fee salary budget tip")
_CONTROLS: Final = _set(
    "permission permissions visibility role access public private recurring force recursive overwrite mode scope "
    "enabled admin acl"
)
_TARGETS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (
        _set("email emails mail to cc bcc recipient recipients participant participants attendee attendees")
        | _set("invitee invitees receiver"),
        "email",
    ),
    (_set("url uri link href webhook callback endpoint"), "url"),
    (_set("host hostname domain server ip"), "host"),
    (_set("iban account payee beneficiary wallet bic"), "account"),
    (_set("phone mobile tel msisdn"), "phone"),
    (_set("channel channels room chat group topic"), "channel"),
    (_set("user users username assignee member members person people owner reviewer reviewers"), "user"),
)
_PATHS: Final = _set("path file filename filepath folder directory dir dest destination")
_CONTENT: Final = _set(
    "body text content message subject title description note notes comment html markdown summary caption query q "
    "question prompt snippet label tags keywords reason"
)
_DATES: Final = _set("date time start end day datetime deadline due until since from at when before after")
STRANGERS: Final = _set(
    "body text content html review reviews comment comments message messages snippet transcript feedback bio "
    "webpage page attachment attachments"
)
"""Fields whose value somebody else wrote, whatever a database says about who numbered it."""
MAYBE_STRANGERS: Final = _set("subject description sender author from displayname nickname note notes")
"""Fields that are often an outsider's: trusting them deserves a second look."""

_ASKS: Final = {
    "send": ("send", "write", "mail", "message"),
    "delete": ("delete", "remove", "erase"),
    "remove": ("remove", "delete"),
    "cancel": ("cancel", "call off"),
    "create": ("create", "make", "add", "new"),
    "add": ("add", "put", "include"),
    "pay": ("pay", "transfer", "send"),
    "transfer": ("transfer", "pay", "send"),
    "share": ("share", "give", "send"),
    "invite": ("invite", "add"),
    "post": ("post", "write", "publish", "send"),
    "update": ("update", "change", "edit", "set"),
    "reschedule": ("reschedule", "move", "postpone"),
    "schedule": ("schedule", "plan", "set up"),
    "book": ("book", "reserve"),
    "reserve": ("reserve", "book"),
    "run": ("run", "execute"),
    "execute": ("execute", "run"),
    "append": ("append", "add", "write"),
}


def parts(name: str) -> tuple[str, ...]:
    """Return the words of a name, in small letters: ``sendEmail``, ``send_email`` and ``send-email`` alike."""
    return tuple(word.lower() for word in _PART.findall(name))


def guess_effect(name: str) -> tuple[Effect, str]:
    """Return what a tool of this name does and how sure that is: ``high``, ``medium`` or ``low``.

    1. The first word that is a verb decides. 2. "send money" pays. 3. No verb at all is a ``send``, not sure.
    """
    words = parts(name.rsplit("/", 1)[-1])
    for place, word in enumerate(words):
        for effect, verbs in VERBS:
            if word not in verbs:
                continue
            if effect in {Effect.SEND, Effect.WRITE} and _MONEY & set(words[place + 1 :]):
                return Effect.PAY, "medium"
            if effect is Effect.WRITE and words[-1] in {"password", "permissions", "permission", "settings"}:
                return Effect.CONFIGURE, "medium"
            return effect, "high" if place == 0 else "medium"
    return Effect.SEND, "low"


def leaves_domain(name: str, arguments: Sequence[str] = ()) -> bool:
    """Say whether a read of this name carries its arguments outside: a web search, a fetch, a look-up of hosts."""
    words = set(parts(name.rsplit("/", 1)[-1]))
    asked = {word for argument in arguments for word in parts(argument)}
    return bool(words & _OUTSIDE) or bool(asked & {"url", "uri", "href", "hostname"})


def guess_role(name: str, effect: Effect, kind_of_value: str = "", *, final: bool = False) -> tuple[Role, str, str]:
    """Return role, kind and confidence for an argument, from its name, its tool's effect and its JSON type.

    ``final`` asks for what an argument looks like without any benefit of the doubt, as a lint does.
    """
    words = parts(name)
    found = _authority(words, effect) or _place(words, effect)
    if found is not None:
        return found
    have = set(words)
    if kind_of_value == "boolean" or have & _CONTROLS:
        return Role.CONTROL, "text", "high" if kind_of_value == "boolean" else "medium"
    if words and words[-1] in _CONTENT:
        return Role.CONTENT, "text", "high"
    if have & _DATES:
        return Role.CONTENT, "date", "medium"
    if final:
        return Role.CONTENT, "text", "low"
    if kind_of_value in {"integer", "number"}:
        return Role.CONTROL, "number", "low"
    return (Role.SELECTOR, "text", "low") if effect is Effect.READ else (Role.TARGET, "text", "low")


def _authority(words: tuple[str, ...], effect: Effect) -> tuple[Role, str, str] | None:
    have = set(words)
    if have & _CREDENTIALS or {"api", "key"} <= have:
        return Role.CREDENTIAL, "text", "high"
    if words and words[-1] in {"id", "ids", "uuid", "key"}:
        return Role.SELECTOR, f"id:{words[-2][:MAX_TYPE]}" if len(words) > 1 else "text", "medium"
    if have & _AMOUNTS and not have & _CONTENT:
        return Role.AMOUNT, "number", "high"
    if have & _COMMANDS and (effect is Effect.EXECUTE or words[-1] in _COMMANDS):
        return Role.COMMAND, "text", "medium"
    return None


def _place(words: tuple[str, ...], effect: Effect) -> tuple[Role, str, str] | None:
    have = set(words)
    for wanted, kind in _TARGETS:
        if words and (words[-1] in wanted or words[0] in wanted) and not have & _CONTENT:
            role = Role.SELECTOR if effect is Effect.READ and kind not in {"url", "host"} else Role.TARGET
            return role, "account" if kind == "email" and effect is Effect.PAY else kind, "high"
    if have & _PATHS:
        return (Role.SELECTOR if effect is Effect.READ else Role.TARGET), "path", "medium"
    return None


def asks_for_name(name: str) -> tuple[str, ...]:
    """Return words of a user that ask for a tool of this name."""
    known = {verb for _, verbs in VERBS for verb in verbs}
    found: list[str] = []
    for word in parts(name):
        if word in known:
            found += (word, *_ASKS.get(word, ()))
    return tuple(dict.fromkeys(found or parts(name)[:1]))
