"""Which words of a user ask for a tool, drafted from its name: verbs with what people say instead, and nouns.

Guarantees: pure; the words can only make a verdict stricter, since no word authorises a value. A noun that is not in
the table is left out: people may well call it something else.
"""

from __future__ import annotations

from typing import Final

from checkvalve.approvals.fieldspec import Effect
from checkvalve.approvals.kit_words import is_verb, parts

_VERBS: Final = {
    "send": ("send", "write", "mail", "message", "tell", "notify", "inform", "forward"),
    "email": ("email", "mail", "send", "write"),
    "message": ("message", "send", "write", "tell"),
    "delete": ("delete", "remove", "erase", "discard"),
    "remove": ("remove", "delete", "take out"),
    "cancel": ("cancel", "call off", "delete", "drop"),
    "create": ("create", "make", "add", "new", "set up", "write"),
    "add": ("add", "put", "include", "invite"),
    "invite": ("invite", "add"),
    "share": ("share", "give", "grant", "send"),
    "post": ("post", "write", "publish", "send", "share", "announce"),
    "publish": ("publish", "post", "write"),
    "upload": ("upload", "put", "save", "post"),
    "reply": ("reply", "answer", "respond", "write"),
    "forward": ("forward", "send", "pass on"),
    "update": ("update", "change", "edit", "set", "adjust", "correct", "modify"),
    "set": ("set", "change", "update", "make"),
    "change": ("change", "set", "update"),
    "edit": ("edit", "change", "update", "correct"),
    "reschedule": ("reschedule", "move", "postpone", "shift", "delay"),
    "schedule": ("schedule", "plan", "set up", "create"),
    "append": ("append", "add", "write", "put", "insert"),
    "insert": ("insert", "add", "put", "write"),
    "write": ("write", "save", "put", "create"),
    "move": ("move", "put", "rename"),
    "rename": ("rename", "call", "name"),
    "run": ("run", "execute", "start"),
    "execute": ("execute", "run"),
    "close": ("close", "resolve", "finish"),
    "merge": ("merge", "join"),
    "grant": ("grant", "give", "allow"),
    "pay": ("pay", "transfer", "send", "settle"),
    "transfer": ("transfer", "pay", "send", "move"),
    "refund": ("refund", "pay back", "return", "give back"),
    "book": ("book", "reserve", "booking", "reservation"),
    "reserve": ("reserve", "book", "reservation", "booking"),
    "rent": ("rent", "hire", "book"),
    "buy": ("buy", "order", "purchase", "get"),
    "order": ("order", "buy", "purchase"),
}
_PAYING: Final = ("pay", "transfer", "send", "wire", "refund", "reimburse", "return", "repay")
_MESSAGING: Final = ("message", "write", "tell", "reply", "post", "answer", "ask")
_PLAIN_ENOUGH: Final = frozenset(
    {"reschedule", "invite", "refund", "reply", "forward", "merge", "restart", "unsubscribe"}
)
"""Verbs that people use without the noun: to reschedule a check-up needs no word for events."""
_EVENT: Final = ("event", "meeting", "appointment", "calendar", "invitation", "reminder", "entry")
_MEETING: Final = ("schedule", "book", "plan", "put", "enter", "invite", "remind")
_PAYMENT: Final = (
    "money payment bill invoice transfer transaction amount refund rent fee share cost sum difference order".split()  # noqa: SIM905
)
_NOUNS: Final[dict[str, tuple[str, ...]]] = {
    "event": _EVENT,
    "meeting": _EVENT,
    "appointment": _EVENT,
    "reminder": ("reminder", "alarm", "note"),
    "email": ("email", "mail", "message", "note", "reply", "summary", "letter"),
    "mail": ("email", "mail", "message", "note", "reply", "summary", "letter"),
    "file": ("file", "document", "list", "sheet", "note", "text", "folder"),
    "document": ("document", "file", "page", "text", "sheet", "list"),
    "folder": ("folder", "directory", "files", "documents"),
    "issue": ("issue", "bug", "ticket", "task"),
    "ticket": ("ticket", "issue", "case", "request"),
    "task": ("task", "todo", "ticket", "entry", "list"),
    "password": ("password", "passphrase"),
    "payment": tuple(_PAYMENT),
    "money": tuple(_PAYMENT),
    "transaction": tuple(_PAYMENT),
    "invoice": ("invoice", "bill"),
    "channel": ("channel",),
    "contact": ("contact", "person", "customer", "address"),
    "webpage": ("page", "webpage", "website", "web", "site", "blog"),
    "website": ("page", "webpage", "website", "web", "site", "blog"),
}


def asks_for_name(name: str, effect: Effect | None = None) -> tuple[str, ...]:
    """Return words of a user that ask for a tool of this name, with what people say instead."""
    words = parts(name.rsplit("/", 1)[-1])
    verbs = [
        word
        for place, word in enumerate(words)
        if is_verb(word) and (not any(map(is_verb, words[:place])) or words[place - 1] in {"and", "or"})
    ]
    found = [said for verb in verbs for said in (verb, *_VERBS.get(verb, ()))]
    if effect is Effect.PAY and set(words) & {"money", "payment", "transaction", "funds", "bill", "invoice"}:
        found += _PAYING
    if set(words) & {"event", "meeting", "appointment"} and set(verbs) & {"create", "add", "schedule", "make"}:
        found += _MEETING
    if set(words) & {"message", "dm", "chat"} and set(verbs) & {"send", "post", "create"}:
        found += _MESSAGING
    return tuple(dict.fromkeys(found or words[:1]))


def nouns_for_name(name: str) -> tuple[str, ...]:
    """Return nouns for what a tool of this name is about; none where people call it by too many names."""
    words = parts(name.rsplit("/", 1)[-1])
    known = [word if word in _NOUNS else word.removesuffix("s") for word in words]
    listed = [word for word in known if word in _NOUNS]
    if not listed or set(words) & {"message", "direct", "chat", "dm"} or set(words[:1]) & _PLAIN_ENOUGH:
        return ()
    return tuple(dict.fromkeys(noun for word in listed for noun in _NOUNS[word]))
