"""Who can sign the log here: where its keys are, whether what holds them answers, and whether this process needs them.

1. A log that another process signs: nothing of its keys should be readable here, and nothing is opened.
2. Else each key that is held elsewhere signs one line, which is no checkpoint and no change of keys, and its signature
   is checked as every other one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from checkvalve.approvals.errors import LogError
from checkvalve.approvals.notes import KINDS
from checkvalve.approvals.signers import HeldKey, signature_of
from checkvalve.gateway.doctor import Finding, ok, problem, warning
from checkvalve.gateway.log_keeper import log_place
from checkvalve.gateway.settings import Settings

_CHECK: Final = "signing key"
_LINE: Final = b"checkvalve doctor: does this key sign 1\n"
"""What is signed to see whether a key signs: one line, and a checkpoint has three."""


def signing_key(settings: Settings) -> Iterator[Finding]:
    """Say where the keys are, and whether they sign."""
    place = log_place(settings)
    if settings.audit_sealer == "apart":
        yield from _apart(settings, place.key)
        return
    if not place.has_key:
        return  # the check of the log says so
    for key in place.load().keys:
        kind = KINDS[key.kind]
        if not isinstance(key, HeldKey):
            yield ok(_CHECK, f"{kind} {key.public.id.hex()} is in the key file")
            continue
        where = f"{kind} {key.public.id.hex()} is held by {key.signer}, key {key.label}"
        began = time.perf_counter()
        try:
            signature_of(key, _LINE)
        except LogError as error:
            yield problem(_CHECK, f"{where}, and does not sign: {error.message}", error.remedy)
        else:
            yield ok(_CHECK, f"{where}, and signs (in {(time.perf_counter() - began) * 1_000:.0f} ms)")
    if settings.audit_pkcs11_pin is not None:
        yield warning(
            _CHECK, "the PIN of the token is in a variable: every tool of a gateway could read it there",
            "put it into a file for its owner alone (audit_pkcs11_pin_file), or let another process sign",
        )  # fmt: skip


def _apart(settings: Settings, key: Path | None) -> Iterator[Finding]:
    """Do step 1. Root reads everything, so what it can read says nothing of the gateway's user."""
    near = [path for path in (key, settings.audit_pkcs11_pin_file) if path is not None and os.access(path, os.R_OK)]
    if near and os.geteuid() != 0:
        yield warning(
            _CHECK, f"another process signs, and who looks here can read {', '.join(map(str, near))}",
            "give the files to the user of that process, unless you are that user",
        )  # fmt: skip
    else:
        yield ok(_CHECK, "another process signs: nothing was opened here")


__all__ = ["signing_key"]
