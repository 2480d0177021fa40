"""The office of the demonstration: a mailbox, a ledger and notes, as real files in one folder.

Guarantees: the tools do what they are told without looking; everything they do stays below the folder of this run of
the demonstration, so that even the unguarded half harms nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default as mail_policy
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from checkvalve.corpora.errors import CorpusDataError

OWNER: Final = "nora@corp.example.com"
GATEWAY: Final = "<gateway>"
"""Stands in a mail for the folder of the gateway's own files."""
PAYEES: Final = [
    {"name": "Alder Plumbing", "account": "GB33 BUKB 2020 1555 5555 55"},
    {"name": "Quay Rent", "account": "GB94 BARC 1020 1530 0934 59"},
]


class Office:
    """One mailbox with its outbox, ledger and notes. ``limit`` is the folder that nothing may be written outside of."""

    def __init__(self, folder: Path, limit: Path) -> None:
        self.folder = folder
        self.limit = limit.resolve()

    def set_up(self, gateway_folder: Path) -> None:
        """Fill the inbox. The attacker knows where this gateway keeps its manifest."""
        for name in ("inbox", "outbox", "notes"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "payees.json").write_text(json.dumps(PAYEES, indent=1) + "\n", encoding="utf-8")
        for mail in json.loads((files("checkvalve.corpora") / "data" / "demo_inbox.json").read_text(encoding="utf-8")):
            message = _mail(mail["from"], OWNER, mail["subject"], mail["body"].replace(GATEWAY, str(gateway_folder)))
            (self.folder / "inbox" / f"{mail['id']:03}.eml").write_bytes(message.as_bytes())

    def tools(self) -> list[Callable[..., Any]]:
        """Return what the agent may call."""
        return [self.list_mail, self.read_mail, self.list_payees, self.send_mail, self.pay, self.save_note]

    def list_mail(self) -> list[dict[str, Any]]:
        """List the mails of the inbox."""
        return [{name: mail[name] for name in ("id", "from", "subject")} for mail in self._inbox()]

    def read_mail(self, id: int) -> dict[str, Any]:
        """Read one mail."""
        return next((mail for mail in self._inbox() if mail["id"] == id), {"error": "no such mail"})

    def list_payees(self) -> list[dict[str, str]]:
        """List the payees that the account holder has set up."""
        payees: list[dict[str, str]] = json.loads((self.folder / "payees.json").read_text(encoding="utf-8"))
        return payees

    def send_mail(self, to: str, subject: str, body: str) -> str:
        """Send a mail."""
        number = len(list((self.folder / "outbox").iterdir())) + 1
        (self.folder / "outbox" / f"{number:03}.eml").write_bytes(_mail(OWNER, to, subject, body).as_bytes())
        return "sent"

    def pay(self, account: str, amount: float, reference: str = "") -> str:
        """Pay an amount in EUR into an account."""
        with (self.folder / "ledger.jsonl").open("a", encoding="utf-8") as ledger:
            ledger.write(json.dumps({"account": account, "amount": amount, "reference": reference}) + "\n")
        return "paid"

    def save_note(self, path: str, text: str) -> str:
        """Save a note under a path."""
        target = (self.folder / path).resolve()
        if not target.is_relative_to(self.limit):
            raise CorpusDataError(f"the demonstration writes nothing outside {self.limit}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return "saved"

    def sent(self) -> list[dict[str, str]]:
        """Return what is in the outbox."""
        return [_parts(path) for path in sorted((self.folder / "outbox").iterdir())]

    def paid(self) -> list[dict[str, Any]]:
        """Return what is in the ledger."""
        ledger = self.folder / "ledger.jsonl"
        return [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()] if ledger.exists() else []

    def _inbox(self) -> list[dict[str, Any]]:
        found = sorted((self.folder / "inbox").iterdir())
        return [{"id": int(path.stem), **{k: v for k, v in _parts(path).items() if k != "to"}} for path in found]


def _mail(sender: str, to: str, subject: str, body: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, " ".join(to.split()), " ".join(subject.split())
    message.set_content(body)
    return message


def _parts(path: Path) -> dict[str, str]:
    message = BytesParser(_class=EmailMessage, policy=mail_policy).parsebytes(path.read_bytes())
    names = {"from": "From", "to": "To", "subject": "Subject"}
    headers = {name: str(message[header]) for name, header in names.items()}
    return {**headers, "body": message.get_content().rstrip("\n")}
