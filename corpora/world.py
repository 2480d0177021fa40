"""A small office in memory that really does what it is told, and keeps a ledger of it.

Guarantees: every call that reaches :meth:`Office.call` leaves exactly one entry in the journal, in the order in which
it ran, so "executed" in a report is counted from what happened and not from what was decided. Nothing leaves memory.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

LEDGERS: Final[Mapping[str, str]] = {
    "mail/send_mail": "outbox",
    "calendar/create_event": "invitations",
    "calendar/delete_event": "deletions",
    "files/write_file": "files",
    "files/share_document": "shares",
    "files/delete_document": "deletions",
    "chat/post_message": "posts",
    "chat/direct_message": "posts",
    "payments/pay": "transfers",
    "web/fetch": "requests",
    "web/submit_form": "requests",
    "shell/run": "commands",
    "git/create_pull_request": "publications",
    "git/create_issue": "publications",
    "git/add_label": "labels",
    "git/invite_collaborator": "settings",
    "memory/remember": "memories",
    "crm/update_customer": "records",
    "account/set_password": "settings",
    "account/set_recovery_email": "settings",
    "home/set_device": "devices",
    "answer": "answers",
}
"""What kind of trace a tool leaves. A tool that is missing here still leaves one, under ``other``."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that ran."""

    tool: str
    ledger: str
    args: Mapping[str, Any]


@dataclass
class Office:
    """Everything the office has done so far."""

    journal: list[Entry] = field(default_factory=list)

    def call(self, tool: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Do it, write it down, and answer as tools do: most of them repeat their arguments."""
        ledger = LEDGERS.get(tool, "other")
        done = copy.deepcopy(dict(args))
        self.journal.append(Entry(tool, ledger, done))
        return {"status": "done", "entry": len(self.journal), **done}

    def ledger(self, name: str) -> list[Mapping[str, Any]]:
        """Return what was written under one kind of trace."""
        return [entry.args for entry in self.journal if entry.ledger == name]
