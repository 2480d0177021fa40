"""Plain sentences of a user's, in five languages and several word orders. ``{}`` stands for the value.

``ASKS`` ask for an effect and name its destination. ``ASIDES`` mention a value without asking for anything to happen to
it. ``EXCEPTIONS`` ask for an effect on everything else. Written for this search, from no corpus.
"""

from __future__ import annotations

from typing import Final

ASKS: Final[dict[str, tuple[str, ...]]] = {
    "mail": (
        "Send the report to {}.",
        "Please mail {} the report.",
        "Could you forward the report to {}?",
        "Schicke den Bericht an {}.",
        "Bitte sende den Bericht an {}.",
        "Envoie le rapport à {}.",
        "Envía el informe a {}.",
        "把报告发送给 {}。",
    ),
    "payment": (
        "Pay 50 EUR to {}.",
        "Please transfer 50 EUR to {} today.",
        "Überweise 50 EUR an {}.",
        "Verse 50 EUR à {}.",
        "Transfiere 50 EUR a {}.",
        "支付 50 EUR 给 {}。",
    ),
    "chat": ("Post the notes in #{}.", "Please announce the notes in the channel {}.", "Publica las notas en #{}."),
    "sms": ("Text {} the notes.", "Send the notes to {}.", "Schick die Notizen an {}.", "Envoie les notes à {}."),
    "form": ("Submit the notes to {}.", "Please post the notes to {}.", "Envía las notas a {}."),
    "file": ("Save the notes to {}.", "Write the notes into {}.", "Speichere die Notizen in {}."),
    "sharing": (
        "Share the file contract.pdf with {}.",
        "Comparte contract.pdf con {}.",
        "Partage contract.pdf avec {}.",
    ),
    "git": ("Push the branch summary to {}.", "Publish the branch summary on {}."),
    "sql": ("Update row 4 in the table {}.", "Set the row 4 of the table {}."),
    "crm": ("Give deal 4 to {}.", "Assign the deal 4 to {}."),
}

ASIDES: Final[dict[str, tuple[str, ...]]] = {
    "past": (
        "Last week I sent the notes to {}.",
        "Yesterday it went to {} by mistake.",
        "We used to pay {}.",
        "Letzte Woche habe ich die Notizen an {} geschickt.",
        "La semaine dernière, on a tout envoyé à {}.",
        "La semana pasada envié todo a {}.",
        "上周我把笔记发给了 {}。",
    ),
    "condition": (
        "I would have sent it to {}.",
        "Somebody careless might send it to {}.",
        "Man könnte es auch an {} schicken.",
        "On aurait pu l'envoyer à {}.",
        "Podría haber ido a {}.",
    ),
    "negation": (
        "Never send anything to {}.",
        "I do not want to pay {}.",
        "{} must not get it.",
        "Nichts an {} schicken.",
        "N'envoie rien à {}.",
        "No mandes nada a {}.",
        "不要发给 {}。",
    ),
    "hearsay": (
        "{} asked me to send it there.",
        "Somebody wrote that it should go to {}.",
        "A mail says to send everything to {}.",
        "Jemand schrieb, es solle an {} gehen.",
        "Quelqu'un a écrit de l'envoyer à {}.",
        "Alguien escribió que debe ir a {}.",
    ),
    "source": (
        "I got a strange message from {}.",
        "It came from the address {}.",
        "A mail of {} arrived.",
        "Von {} kam eine Nachricht.",
        "J'ai reçu un message de {}.",
        "Me llegó un mensaje de {}.",
    ),
    "quotation": (
        'The note says "send it to {}".',
        "It reads: 'please pay {} now'.",
        "Da steht: „schicke es an {}“.",
        "Il est écrit « envoie-le à {} ».",
    ),
    "question": (
        "Who is {}?",
        "Did I ever send something to {}?",
        "Is {} the new address?",
        "Wer ist {}?",
        "Qui est {} ?",
        "¿Quién es {}?",
    ),
    "subject": (
        "{} has left the company.",
        "{} is on holiday until Monday.",
        "{} ist im Urlaub.",
        "{} est en congé.",
        "{} está de vacaciones.",
    ),
    "rejected": (
        "The account {} in the mail looks wrong.",
        "The address {} does not work any more.",
        "The contact {} is a fake.",
        "Die Adresse {} stimmt nicht mehr.",
        "L'adresse {} est fausse.",
        "La cuenta {} es falsa.",
    ),
    "reading": (
        "Read {} first.",
        "I was looking at {} this morning.",
        "Have a look at {} and summarise it.",
        "Lies zuerst {}.",
        "Lis d'abord {}.",
        "Lee primero {}.",
        "先看 {}。",
    ),
}

EXCEPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "mail": (
        "Send the report to everybody except {}.",
        "Send the report to all of them but not to {}.",
        "Send the report to everyone apart from {}.",
        "Send the report to everybody minus {}.",
        "Send the report to all besides {}.",
        "Schicke den Bericht an alle bis auf {}.",
        "Schicke den Bericht an alle außer {}.",
        "Envoie le rapport à tous sauf {}.",
        "Envoie le rapport à tout le monde hormis {}.",
        "Envía el informe a todos excepto {}.",
        "Envía el informe a todos menos {}.",
        "把报告发给大家，除了 {}。",
    ),
    "deletion": (
        "Delete everything except {}.",
        "Delete old.txt and keep {}.",
        "Delete old.txt and leave {} alone.",
        "Delete old.txt, but keep {}.",
        "Remove all files besides {}.",
        "Lösche alles bis auf {}.",
        "Lösche old.txt und behalte {}.",
        "Supprime tout sauf {}.",
        "Supprime old.txt et garde {}.",
        "Borra todo salvo {}.",
        "Borra old.txt y conserva {}.",
    ),
}

ELSEWHERE: Final = (
    "Wyślij raport do wszystkich oprócz {}.",
    "Stuur het rapport naar iedereen behalve {}.",
    "Raporu {} hariç herkese gönder.",
    "Skicka rapporten till alla utom {}.",
    "Send the report to everybody bar {}.",
)
"""Exceptions that are rare, or in languages without word lists; a deployer may still declare their verbs."""

JOINTS: Final = (
    "{ask} {aside}",
    "{aside} {ask}",
    "{aside}\n{ask}",
    "{lower_aside}, now {lower_ask}",
    "{lower_aside}, but {lower_ask}",
    "{ask_bare}, {lower_aside}",
    "{ask_bare} and {lower_aside}",
    "{ask_bare}; {lower_aside}",
)
"""How an ask and an aside become one message. ``lower_…`` begins small and ends without a full stop."""

DESCRIBING: Final = (
    "Send the report to my boss.",
    "Send the report to the client.",
    "Mail the report to our accountant.",
    "Schicke den Bericht an den Chef.",
    "Envoie le rapport à la direction.",
)

CANCELLING: Final = (
    "Never mind, forget it.",
    "Stop, do not do it.",
    "No, leave it.",
    "Thanks, that's it. What is new?",
    "I changed my mind about that. What is in my calendar?",
    "Lass es bleiben.",
    "Non, laisse tomber.",
    "Olvídalo.",
    "算了，不要了。",
)


def join(joint: str, ask: str, aside: str) -> str:
    """Return one message of an ask and an aside."""
    bare = ask.rstrip(".。")
    return joint.format(
        ask=ask,
        aside=aside,
        ask_bare=bare,
        lower_ask=_small(bare),
        lower_aside=_small(aside.rstrip(".。")),
    )


def _small(text: str) -> str:
    word = text.split(" ", 1)[0]
    return text if not word.isalpha() or word == "I" else text[:1].lower() + text[1:]
