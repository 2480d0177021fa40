"""An anchor in time: an authority of RFC 3161 signs that a checkpoint existed at a moment; a file keeps the stamps.

``tsa:https://tsa.example/tsr /var/lib/log/stamps.jsonl /etc/log/tsa-root.pem``. Needs the extra ``anchors-tsa``.

1. The digest of the signed note goes to the authority, and nothing else of it. 2. The answer is checked with the
authority's root certificate before it counts. 3. Note and stamp are appended to the file, on disk. 4. At most one an
hour: authorities are shared, and each stamp covers everything before it. For reading, each stamp is checked again.

Guarantees: whoever has the file and the root certificate can show when the log was so, and needs us for no part of it.
What it does not show: that the file is complete. Keep it where a line cannot be taken out.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
import json
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from cryptography import x509

from checkvalve.approvals.durable import append_line
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.notes import Note, Signature

if TYPE_CHECKING:
    from checkvalve.approvals.checkpoints import Checkpoint

EVERY: Final = 3_600.0
"""Seconds between two stamps at least."""
MAX_READ: Final = 200
"""Stamps that are checked to verify, the newest: each covers everything before it."""
EXTRA: Final = 'pip install "checkvalve[anchors-tsa]"'
_HELP: Final = "write tsa:https://host/path /folder/stamps.jsonl /folder/root.pem"
_SECONDS: Final = 20
_MAX_ANSWER: Final = 131_072
_MAX_FILE: Final = 1 << 28
_WORDS: Final = 3


@dataclass(slots=True)
class TimestampAnchor:
    """One authority, the file of its stamps, and the certificate that they are checked with."""

    url: str
    file: Path
    root: Path
    every: float = EVERY
    _told: float = field(default=float("-inf"), repr=False)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"tsa:{self.url}"

    def publish(
        self,
        note: Note,
        checkpoint: Checkpoint,
        prove: Callable[[int], list[bytes]],  # noqa: ARG002  # an anchor's signature
    ) -> Sequence[Signature]:
        """Do steps 1 to 4; a stamp is no signature of the note.

        Raises:
            LogError: the authority cannot be reached, or its answer is no stamp of this checkpoint.
        """
        now = time.monotonic()
        if now - self._told < self.every:  # 4.
            return ()
        text = str(note)
        answer = self._ask(text.encode())
        self._check(answer, text.encode())
        stamp = base64.b64encode(answer).decode()
        self._keep(json.dumps({"size": checkpoint.size, "note": text, "stamp": stamp}) + "\n")
        self._told = now
        return ()

    def kept(self) -> Iterator[str]:
        """Yield the newest checkpoints in the file, each with a good stamp.

        Raises:
            LogError: the file or the certificate cannot be read.
            LogTamperedError: a stamp is none of its checkpoint.
        """
        try:
            if self.file.stat().st_size > _MAX_FILE:
                raise LogError(f"the stamps in {self.file} are too many", remedy="give their newest part")
            lines = self.file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        except (OSError, UnicodeError) as error:
            raise LogError(f"the stamps in {self.file} cannot be read", remedy="check the path") from error
        for number, line in list(enumerate(lines, 1))[-MAX_READ:]:
            try:
                found = json.loads(line)
                note, stamp = str(found["note"]), base64.b64decode(found["stamp"], validate=True)
                self._check(stamp, note.encode())
            except (ValueError, KeyError, TypeError, binascii.Error, LogError) as error:
                raise LogTamperedError(
                    f"line {number} of {self.file} is no stamp of a checkpoint",
                    remedy="restore the file from a copy",
                ) from error
            yield note

    def _ask(self, message: bytes) -> bytes:
        from rfc3161_client import HashAlgorithm, TimestampRequestBuilder  # noqa: PLC0415  # an extra

        builder: Any = TimestampRequestBuilder().data(message).hash_algorithm(HashAlgorithm.SHA256)
        asked = builder.cert_request(cert_request=True).nonce(nonce=True).build().as_bytes()
        kind = {"Content-Type": "application/timestamp-query"}
        request = urllib.request.Request(self.url, asked, kind, method="POST")  # noqa: S310  # parse_tsa looked
        try:
            with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310  # the same
                return bytes(answer.read(_MAX_ANSWER))
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise LogError(f"the timestamp authority {self.url} cannot be reached ({reason})") from error

    def _check(self, answer: bytes, message: bytes) -> None:
        """Do step 2.

        Raises:
            LogError: it is no stamp of this message by that authority.
        """
        from rfc3161_client import VerifierBuilder, decode_timestamp_response  # noqa: PLC0415  # an extra

        try:
            roots = x509.load_pem_x509_certificates(self.root.read_bytes())
        except (OSError, ValueError) as error:
            raise LogError(f"the certificate {self.root} cannot be read", remedy="give a PEM file") from error
        try:
            VerifierBuilder(roots=roots).build().verify_message(decode_timestamp_response(answer), message)
        except Exception as error:  # the library raises several kinds
            raise LogError(f"the answer of {self.url} is no stamp that {self.root} vouches for") from error

    def _keep(self, line: str) -> None:
        try:
            append_line(self.file, line)
        except OSError as error:
            raise LogError(f"the stamps in {self.file} cannot be written: {error.strerror}") from error


def parse_tsa(text: str) -> TimestampAnchor:
    """Return the anchor in what stands after ``tsa:``.

    Raises:
        ValueError: it is none, or the extra is not installed.
    """
    words = text.split()
    files = [Path(word) for word in words[1:]]
    secure = bool(words) and words[0].startswith(("https://", "http://"))
    if len(words) != _WORDS or not secure or not all(file.is_absolute() for file in files):
        raise ValueError(f"{text!r} is no timestamp authority: {_HELP}")
    if importlib.util.find_spec("rfc3161_client") is None:
        raise ValueError(f"stamps of a timestamp authority need rfc3161-client: {EXTRA}")
    return TimestampAnchor(words[0], files[0], files[1])


__all__ = ["EVERY", "MAX_READ", "TimestampAnchor", "parse_tsa"]
