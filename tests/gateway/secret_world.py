"""Calls with canaries in them, for the tests of redaction: declared ones, a vendor's key, a registered value."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.records import Proposal
from tests.gateway import review_world
from tests.gateway.review_world import Review, reviewing

MANIFEST = """
  open_account:
    effect: write
    asks: [open, account]
    args:
      site: {role: target, kind: url}
      password: {role: credential}
      pin: {role: credential}
      memo: {role: content, redact: true}
      note: {role: content}
    result: [{path: "**", readers: owner}]
"""
PASSWORD = "grey-Otter-42-lantern"
PIN = "7731"
MEMO = "the surgery is on the ninth of May"
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # the form of a vendor, and no key
VALUE = "Kestrel quarterly figures 8812"
CANARIES = (PASSWORD, MEMO, KEY, VALUE)
"""What may stand nowhere without a reveal. The pin is looked for where it can be told from other numbers."""
SITE = "https://bank.example/join"


def ask(review: Review, thread: str = "account", number: str = "c1", **changed: Any) -> Proposal:
    """Let a guarded agent propose a call with secrets in it, after the user and a mail said them, too.

    A call with a vendor's key or a registered value in it is refused; so these are in the mail alone.
    """
    args: dict[str, Any] = {
        "site": SITE,
        "password": PASSWORD,
        "pin": PIN,
        "memo": MEMO,
        "note": f"Use it for the API.\nThe password is {PASSWORD}.",
    }
    return review.ask(
        thread,
        f"Read my mail and open the account with the password {PASSWORD} and pin {PIN}",
        [{"id": "m1", "sender": "eve@evil.example", "text": f"{SITE} {PASSWORD} {KEY}. {MEMO}. {VALUE}"}],
        "open_account",
        number,
        **{**args, **changed},
    )


@contextmanager
def secret_review(folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> Iterator[Review]:
    """Open the review pages over a gateway that knows these tools, and this registered value."""
    monkeypatch.setattr(review_world, "MANIFEST", review_world.MANIFEST + MANIFEST)
    values = folder / "values.txt"
    values.write_text(f"{VALUE}\n")
    with reviewing(folder, outbound_values=values, **options) as found:
        yield found


def pages(review: Review, start: str) -> Iterator[tuple[str, str]]:
    """Yield every page that links lead to from ``start``, with its address."""
    seen, left = {start}, [start]
    for _ in itertools.takewhile(lambda _: left, itertools.count()):
        path = left.pop()
        found = review.client.get(path)
        yield path, found.text
        for link in map(unescape, re.findall(r'href="(/review[^"#]*)', found.text)):
            if link not in seen and "/static/" not in link and len(seen) < 200:
                seen.add(link)
                left.append(link)
