"""What the name and the description of a tool suggest that it does: guesses for drafting, suspicions for linting.

Guarantees: pure; a guess only ever makes a draft stricter or a lint louder. A description can raise what the name
says, and never lowers it. Nothing here decides over a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from checkvalve.approvals.fieldspec import Effect

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


VERBS: Final[tuple[tuple[Effect, frozenset[str]], ...]] = (
    (
        Effect.PAY,
        _set(
            "pay transfer charge refund purchase buy sell checkout withdraw wire payout donate tip book reserve rent "
            "subscribe bid invest trade reimburse"
        ),
    ),
    (
        Effect.DELETE,
        _set(
            "delete remove drop purge erase destroy cancel trash wipe unlink truncate clear rm del kick ban expel "
            "evict uninstall terminate discard flush prune reset unsubscribe"
        ),
    ),
    (
        Effect.EXECUTE,
        _set(
            "execute exec run eval evaluate shell bash spawn compile invoke python terminal start stop restart launch "
            "kill deploy install apply trigger click press"
        ),
    ),
    (
        Effect.SEND,
        _set(
            "send email mail post publish share forward reply tweet message notify invite upload submit dm broadcast "
            "announce comment push webhook sms call respond answer dispatch deliver fax ping request export"
        ),
    ),
    (Effect.REMEMBER, _set("remember memorize memorise memory")),
    (
        Effect.CONFIGURE,
        _set(
            "configure grant revoke enable disable permission permissions password role setting settings lock unlock "
            "activate deactivate toggle turn switch rotate authorize authorise approve block unblock scale"
        ),
    ),
    (
        Effect.WRITE,
        _set(
            "create add write update edit append insert modify rename move copy save put patch set reschedule schedule "
            "merge assign close archive label upsert replace commit change draft mark log place snooze complete "
            "resolve transition import sync make fill"
        ),
    ),
    (
        Effect.READ,
        _set(
            "get list read find search show view query lookup look fetch browse check count describe download open "
            "scan retrieve load inspect summarize summarise status stat head tail grep ls cat exists whoami navigate "
            "visit recall crawl screenshot calculate compare validate"
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

_MONEY: Final = _set(
    "money payment payments invoice bill funds transaction transactions salary order orders payout booking reservation "
    "subscription donation bid bet stake"
)
_TELLS: Final = _set(
    "comment comments message messages reply email mail mails invite invitation invitations post tweet notification "
    "attendee attendees participant participants guest guests webhook link links share sharing public review gist "
    "call calls alert dialog"
)
"""What is written here is sent to somebody."""
_RIGHTS: Final = _set(
    "password passwords permission permissions setting settings config configuration role roles user users account "
    "accounts profile key keys secret secrets token tokens credential credentials policy rule rules filter acl access "
    "collaborator collaborators member members hook hooks env environment variable firewall visibility job jobs "
    "workflow cron trigger script plugin extension startup"
)
"""What is written here changes who may do what."""
_OPENED: Final = _set("file page url link document folder tab browser website webpage image email mail message")
"""Things that are read by opening them; to open anything else (a ticket, a door, a position) makes something happen."""
_SHOWN: Final = _set("notification message alert dialog")
_RECALLED: Final = _set("message email mail")
_LOADED: Final = _set("plugin extension module script driver")
_ALWAYS: Final = _set(
    "add update set delete remove create insert edit replace append write upsert send execute restart enable disable "
    "cancel move rename merge grant revoke destroy reset in out off"
)
"""Behind a word that reads, these say what really happens: "list_add", "status_update", "check_in"."""
_SAVED: Final = _set("output save out local")
_OUTSIDE: Final = _set(
    "fetch browse http https url webpage website web internet crawl scrape navigate visit dns curl wget"
)
_OUTSIDE_SAID: Final = _set("internet web website websites online")
_ADDRESSES: Final = _set("url uri href hostname website")
_NOUNS_TOO: Final = _set(
    "email mail message post comment call share book order charge transfer refund run start stop push request answer "
    "tip wire trade bid rent press click clear drop reset"
)
"""Verbs that are nouns as often: at the start of a sentence they count only in front of an object."""
_OBJECTS: Final = _set("a an the this that your new all any another one somebody everybody someone to")
_LEADS: Final = _set("also will then automatically and")
_WRITING: Final = _set("create add write update edit append insert modify save replace rename upsert")
"""What a description says counts as a write by these verbs only: "resolve a host" and "open a page" read."""
_DONE: Final = {
    "sent": Effect.SEND,
    "emailed": Effect.SEND,
    "mailed": Effect.SEND,
    "notified": Effect.SEND,
    "told": Effect.SEND,
    "invited": Effect.SEND,
    "published": Effect.SEND,
    "charged": Effect.PAY,
    "deleted": Effect.DELETE,
    "removed": Effect.DELETE,
    "overwritten": Effect.DELETE,
    "executed": Effect.EXECUTE,
}
_QUIET: Final = _set("draft label archive mark log snooze")
"""Writing verbs that tell nobody, whatever they are done to."""
_VERB_EFFECT: Final = {verb: effect for effect, verbs in reversed(VERBS) for verb in verbs}
_BY_EFFECT: Final = dict(VERBS)
_STRONGER_WITH: Final = (
    ({"load"}, _LOADED, Effect.EXECUTE),
    ({"show"}, _SHOWN, Effect.SEND),
    ({"recall"}, _RECALLED, Effect.DELETE),
    (_BY_EFFECT[Effect.WRITE], {"trash"}, Effect.DELETE),
    (_BY_EFFECT[Effect.WRITE] | _BY_EFFECT[Effect.SEND], _MONEY, Effect.PAY),
    (_BY_EFFECT[Effect.WRITE], {"memory"}, Effect.REMEMBER),
    (_BY_EFFECT[Effect.WRITE], _RIGHTS, Effect.CONFIGURE),
    (_BY_EFFECT[Effect.WRITE] - _QUIET, _TELLS, Effect.SEND),
)
"""Verbs that become something else by what they are done to; the first line that fits counts."""
STRANGERS: Final = _set(
    "body text content html review reviews comment comments message messages snippet transcript feedback bio "
    "webpage page attachment attachments"
)
"""Fields whose value somebody else wrote, whatever a database says about who numbered it."""
MAYBE_STRANGERS: Final = _set("subject description sender author from displayname nickname note notes")
"""Fields that are often an outsider's: trusting them deserves a second look."""


def parts(name: str) -> tuple[str, ...]:
    """Return the words of a name, in small letters: ``sendEmail``, ``send_email`` and ``send-email`` alike."""
    return tuple(word.lower() for word in _PART.findall(name))


def is_verb(word: str) -> bool:
    """Say whether a word of a name says what a tool does."""
    return word in _VERB_EFFECT or word == "order"


def guess_effect(name: str) -> tuple[Effect, str]:
    """Return what a tool of this name does and how sure that is: ``high``, ``medium`` or ``low``.

    1. The first word that is a verb decides; a verb behind "and" or "or" counts as well, and the stronger one wins.
    2. What it is done to can make it stronger: to send money is to pay, to add a comment is to send, to set a role is
    to configure. 3. No verb at all is a ``send``, not sure.
    """
    words = parts(name.rsplit("/", 1)[-1])
    for place, word in enumerate(words):
        if word == "order" and place == 0:
            return Effect.PAY, "medium"
        if word not in _VERB_EFFECT:
            continue
        effect, sure = _with_object(word, words[place + 1 :])
        after = words[place + 1] if place + 1 < len(words) else ""
        if effect is Effect.READ and word != "get" and after in _ALWAYS:
            return _VERB_EFFECT.get(after, Effect.WRITE), "medium"
        also = [
            _with_object(words[at], words[at + 1 :])[0]
            for at in range(place + 1, len(words))
            if words[at - 1] in {"and", "or"} and words[at] in _VERB_EFFECT
        ]
        stronger = max((effect, *also), key=RANK.__getitem__)
        if stronger is not effect:
            return stronger, "medium"
        return effect, "high" if place == 0 and sure else "medium"
    return Effect.SEND, "low"


def _with_object(verb: str, rest: Sequence[str]) -> tuple[Effect, bool]:
    """Return what a verb does to the words behind it, and whether the verb alone says so."""
    effect, things = _VERB_EFFECT[verb], set(rest)
    if verb == "open" and things and not things & _OPENED:
        return Effect.WRITE, False
    for words, objects, stronger in _STRONGER_WITH:
        if verb in words and things & objects:
            return stronger, False
    return effect, True


def told_effect(description: str, named: Effect) -> Effect | None:
    """Return an effect that a description tells of and that is stronger than the one the name gives, or None.

    What counts: the verb that begins a sentence; one behind "also", "will" or "then"; and for what is no read, that
    something "is sent" or "will be deleted".
    """
    told = [effect for effect in _told(description, passive=named is not Effect.READ) if RANK[effect] > RANK[named]]
    return max(told, key=RANK.__getitem__, default=None)


def _told(description: str, *, passive: bool) -> Iterator[Effect]:
    for sentence in re.split(r"[.;:!?\n]+", description.lower()):
        said = re.findall(r"[a-z]+|`", sentence)
        for place, word in enumerate(said):
            verb = _verb(word)
            following = said[place + 1] if place + 1 < len(said) else ""
            leads = place == 0 or said[place - 1] in _LEADS
            if verb and leads and (verb not in _NOUNS_TOO or following in _OBJECTS):
                effect = _with_object(verb, said[place + 1 : place + 4])[0]
                if _VERB_EFFECT[verb] not in {Effect.READ, Effect.WRITE} or verb in _WRITING:
                    yield effect
            if passive and word in _DONE and place and said[place - 1] in {"is", "are", "be"}:
                yield _DONE[word]


def _verb(word: str) -> str:
    """Return the verb that a word of a description is a form of: "sends" and "notifies"."""
    forms = (word, word.removesuffix("s"), word.removesuffix("es"), re.sub(r"ies$", "y", word))
    return next((form for form in forms if form in _VERB_EFFECT), "")


def saves(argument: str) -> bool:
    """Say whether an argument of a read says where its result is written to: ``output_path``, ``save_as``."""
    words = parts(argument)
    return bool(set(words[:1]) & _SAVED) and bool(
        set(words) & {"path", "file", "as", "to", "folder", "dir", "filename"}
    )


def leaves_domain(name: str, arguments: Sequence[str] = (), description: str = "") -> bool:
    """Say whether a read of this name carries its arguments outside: a web search, a fetch, a look-up of hosts."""
    words = set(parts(name.rsplit("/", 1)[-1]))
    asked = {word for argument in arguments for word in parts(argument)}
    return bool(words & _OUTSIDE or asked & _ADDRESSES or set(parts(description.lower())) & _OUTSIDE_SAID)
