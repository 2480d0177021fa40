"""What the name of an argument suggests that it does: role and kind, with how sure that is.

Guarantees: pure; a guess only ever makes a draft stricter or a lint louder. Nothing here decides over a call.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, TypeAlias

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_words import is_verb, parts

Guess: TypeAlias = tuple[Role, str, str]
"""Role, kind and confidence: ``high``, ``medium`` or ``low``."""

MAX_TYPE: Final = 60
"""Characters of a guessed type of ids."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_CREDENTIALS: Final = _set("password passwd passphrase secret token apikey credential credentials pin otp cvv")
_KEYS: Final = _set("ssh api public private secret gpg pgp signing encryption")
_COMMANDS: Final = _set("command cmd script sql shell argv program statement expression javascript")
_STATEMENTS: Final = _set("command cmd script sql shell argv statement javascript")
_RUN: Final = _set("query input manifest code args line expression text content source body")
"""What an executing tool takes under these names is what it runs."""
_AMOUNTS: Final = _set("amount price total sum cost fee salary budget tip")
_CONTROLS: Final = _set(
    "permission permissions visibility role access public private recurring force recursive overwrite mode scope "
    "enabled admin acl"
)
_PEOPLE: Final = _set(
    "email emails mail to cc bcc recipient recipients participant participants attendee attendees invitee invitees "
    "receiver assignees"
)
_TARGETS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (_PEOPLE, "email"),
    (_set("url uri link href webhook callback endpoint website"), "url"),
    (_set("host hostname domain server ip"), "host"),
    (_set("iban account payee beneficiary wallet bic"), "account"),
    (_set("phone mobile tel msisdn"), "phone"),
    (_set("channel channels room chat group topic"), "channel"),
    (_set("user users username assignee member members person people owner reviewer reviewers"), "user"),
)
_PATHS: Final = _set("path file filename filepath folder directory dir dest destination")
_TEXTS: Final = _set(
    "body text content message subject title description note notes comment html markdown summary caption query q "
    "question prompt snippet label labels tag tags keywords reason"
)
_VALUES: Final = _set("value values data payload documents entities memo thought fact resolution emoji reaction agenda")
"""Free content where a tool writes or sends; where it pays or configures, a value decides something."""
_DATES: Final = _set("date time start end day datetime deadline due until since from at when before after timestamp")
_PLACES: Final = _set("location place venue")
_MEETINGS: Final = _set("event events meeting meetings appointment appointments calendar")
_CHATS: Final = _set("dm direct chat channel slack message messages im")
_MAILS: Final = _set("email emails mail mails inbox")
_ADDRESSED: Final = _set(
    "channel chat room conversation group user member recipient receiver assignee account destination target to thread"
)
"""Records with an id that is an address as well: who posts into a chat sends to whoever is in it."""
_COUNTED: Final = _set("page line port version house")
_OWN_NUMBERS: Final = _set("phone mobile account card tel fax")


def guess_role(
    name: str,
    effect: Effect,
    kind_of_value: str = "",
    *,
    final: bool = False,
    tool: str = "",
    description: str = "",
) -> Guess:
    """Return role, kind and confidence for an argument, from its name, its tool's effect and its JSON type.

    ``final`` asks for what an argument looks like without any benefit of the doubt, as a lint does. The name of the
    ``tool`` and the ``description`` of the argument help to tell one kind from another.
    """
    words = parts(name)
    nouns = parts(tool.rsplit("/", 1)[-1])
    found = _authority(words, effect, nouns) or _place(words, effect, {*nouns, *parts(description.lower())})
    if found is not None:
        return found
    have = set(words)
    if kind_of_value == "boolean" or have & _CONTROLS:
        return Role.CONTROL, "text", "high" if kind_of_value == "boolean" else "medium"
    content = _content(words, effect, nouns)
    if content is not None:
        return content
    if final:
        return Role.CONTENT, "text", "low"
    if kind_of_value in {"integer", "number"}:
        return Role.CONTROL, "number", "low"
    if effect is Effect.EXECUTE:
        return Role.COMMAND, "text", "low"
    unknown = "name" if effect is Effect.PAY else "text"  # whom to pay is a name: it has to stand where names stand
    return (Role.SELECTOR, "text", "low") if effect is Effect.READ else (Role.TARGET, unknown, "low")


def is_statement(name: str) -> bool:
    """Say whether an argument of this name holds something that is run, whatever its tool is called."""
    return bool(set(parts(name)) & _STATEMENTS)


def _content(words: tuple[str, ...], effect: Effect, nouns: Collection[str]) -> Guess | None:
    have = set(words)
    if words and words[-1] in _TEXTS:
        return Role.CONTENT, "text", "high"
    if words and words[-1] in _VALUES and effect in {Effect.READ, Effect.WRITE, Effect.SEND, Effect.REMEMBER}:
        return Role.CONTENT, "text", "medium"
    if have & _PLACES and set(nouns) & _MEETINGS:
        return Role.CONTENT, "text", "medium"
    return (Role.CONTENT, "date", "medium") if have & _DATES else None


def _authority(words: tuple[str, ...], effect: Effect, nouns: Collection[str]) -> Guess | None:
    have = set(words)
    last = words[-1] if words else ""
    if have & _CREDENTIALS or {"api", "key"} <= have or (last == "key" and {*words[:-1], *nouns} & _KEYS):
        return (Role.SELECTOR, "id:key", "medium") if last in {"id", "name"} else (Role.CREDENTIAL, "text", "high")
    if last == "code" and effect in {Effect.CONFIGURE, Effect.DELETE, Effect.PAY} and len(words) == 1:
        return Role.CREDENTIAL, "text", "low"
    if last in {"id", "ids", "uuid", "key"} or _is_number(words):
        return _record(words, effect, nouns)
    if have & _AMOUNTS and not have & (_TEXTS | _VALUES):
        return Role.AMOUNT, "number", "high"
    if have & _COMMANDS and (effect is Effect.EXECUTE or last in _COMMANDS):
        return Role.COMMAND, "text", "medium"
    if effect is Effect.EXECUTE and last in _RUN:
        return Role.COMMAND, "text", "medium"
    return None


def _is_number(words: tuple[str, ...]) -> bool:
    return len(words) > 1 and words[-1] in {"number", "no"} and words[-2] not in _COUNTED | _OWN_NUMBERS


def _record(words: tuple[str, ...], effect: Effect, nouns: Collection[str]) -> Guess:
    """Return the guess for the id of a record; one that is an address as well is a target where something is sent."""
    kind = id_type(words, nouns)
    addressed = words[-1] in {"id", "ids"} and bool(set(words) & _ADDRESSED) and not set(words) & {"from", "source"}
    sends = effect in {Effect.SEND, Effect.WRITE, Effect.PAY, Effect.CONFIGURE}
    return (Role.TARGET if addressed and sends else Role.SELECTOR), f"id:{kind}" if kind else "text", "medium"


def id_type(words: tuple[str, ...], nouns: Collection[str] = ()) -> str:
    """Return what an id is the id of: ``event`` for ``event_id``, or the tool's last noun where it is only "id"."""
    if len(words) > 1:
        return words[-2][:MAX_TYPE]
    things = [word for word in nouns if not is_verb(word) and word not in {"by", "id", "to", "in", "of", "from", "for"}]
    return things[-1].removesuffix("s")[:MAX_TYPE] if things and words[:1] != ("key",) else ""


def _place(words: tuple[str, ...], effect: Effect, about: Collection[str]) -> Guess | None:
    have = set(words)
    for wanted, kind in _TARGETS:
        if words and (words[-1] in wanted or words[0] in wanted) and not have & _TEXTS:
            role = Role.SELECTOR if effect is Effect.READ and kind not in {"url", "host"} else Role.TARGET
            return role, _person(words, effect, set(about)) if kind == "email" else kind, "high"
    if have & _PATHS:
        return (Role.SELECTOR if effect is Effect.READ else Role.TARGET), "path", "medium"
    return None


def _person(words: tuple[str, ...], effect: Effect, about: set[str]) -> str:
    """Return how a person is addressed: an account where money goes, a user in a chat, a phone, else an e-mail."""
    if effect is Effect.PAY:
        return "account"
    if set(words) & _MAILS or about & _MAILS:
        return "email"
    if about & {"sms", "phone"}:
        return "phone"
    return "user" if about & _CHATS else "email"
