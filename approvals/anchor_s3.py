"""An anchor in an object store with a retention lock: a checkpoint is an object that nobody removes before its time.

``s3:BUCKET/PREFIX 365d`` or, for a store of one's own, ``s3:BUCKET/PREFIX 365d https://host``. Needs the extra
``anchors-s3`` and a bucket with Object Lock. Credentials are those that boto3 finds; they need to put, read and list,
and no right to remove anything.

1. An object is named by the size of its checkpoint, and put only where there is none of that name, locked in the mode
COMPLIANCE: not even the owner of the account shortens it. 2. Where there is one, it must be of the same tree; where
that is of another log, as of one that was closed, this log has a folder of its own. 3. The
lock is read back: a store that takes the object and ignores the lock is no anchor. 4. At most one a minute, since a
busy log signs every second; what is left out follows with the next checkpoint or heartbeat.

Guarantees: for reading, every version counts, so an object that was hidden or overlaid is still compared.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.notes import Note, Signature

if TYPE_CHECKING:
    from checkvalve.approvals.checkpoints import Checkpoint

EVERY: Final = 60.0
"""Seconds between two objects at least."""
MAX_READ: Final = 200
"""Objects that are read to verify, the newest: each covers everything before it."""
_MAX_NOTE: Final = 65_536
_SECONDS: Final = 10
_PLACE: Final = re.compile(r"([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9][A-Za-z0-9._=-]{0,99}){0,8})/?")
_DAYS: Final = re.compile(r"([1-9][0-9]{0,4})d")
_SUFFIX: Final = ".note"
_THERE: Final = frozenset({"PreconditionFailed", "ConditionalRequestConflict"})
_HELP: Final = "write s3:BUCKET/PREFIX 365d, and an address https://host after it for a store of your own"
EXTRA: Final = 'pip install "checkvalve[anchors-s3]"'


@dataclass(slots=True)
class S3Anchor:
    """One bucket. ``clock`` gives the present time, ``every`` the seconds between two objects."""

    bucket: str
    prefix: str
    days: int
    endpoint: str = ""
    every: float = EVERY
    clock: Callable[[], datetime] = field(default=lambda: datetime.now(UTC), repr=False)
    _told: float = field(default=float("-inf"), repr=False)
    _client: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """What people call it."""
        return f"s3:{self.bucket}/{self.prefix}"

    def publish(
        self,
        note: Note,
        checkpoint: Checkpoint,
        prove: Callable[[int], list[bytes]],  # noqa: ARG002  # an anchor's signature
    ) -> Sequence[Signature]:
        """Do steps 1 to 4; a store gives no signatures.

        Raises:
            LogError: it cannot be reached, or does not lock.
            LogTamperedError: another tree of this size is kept there.
        """
        now = time.monotonic()
        if now - self._told < self.every:  # 4.
            return ()
        size = f"{checkpoint.size:020d}{_SUFFIX}"
        key = f"{self.prefix}/{size}".lstrip("/")
        with _told_of(self):
            if not self._put(key, str(note)):  # 2.
                if not self._read(key).startswith(f"{checkpoint.origin}\n"):
                    key = f"{self.prefix}/{_folder(checkpoint.origin)}/{size}".lstrip("/")
                if not self._put(key, str(note)):
                    self._compare(key, note)
            self._require_lock(key)  # 3.
        self._told = now
        return ()

    def kept(self) -> Iterator[str]:
        """Yield the newest checkpoints that are kept there, whatever hides them.

        Raises:
            LogError: it cannot be read.
        """
        start = f"{self.prefix}/".lstrip("/")
        with _told_of(self):
            pages = self._s3.get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=start)
            found = [(one["Key"], one["VersionId"]) for page in pages for one in page.get("Versions", ())]
            folders: dict[str, list[tuple[str, str]]] = {}
            for key, version in sorted(one for one in found if one[0].endswith(_SUFFIX)):
                folders.setdefault(key.rpartition("/")[0], []).append((key, version))
            for key, version in (one for listed in folders.values() for one in listed[-MAX_READ:]):
                yield self._read(key, VersionId=version)

    @property
    def _s3(self) -> Any:
        if self._client is None:
            import boto3  # noqa: PLC0415  # an extra
            from botocore.config import Config  # noqa: PLC0415  # the same

            config = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": 2})
            self._client = boto3.client("s3", endpoint_url=self.endpoint or None, config=config)
        return self._client

    def _put(self, key: str, text: str) -> bool:
        """Do step 1; say whether there was none of that name."""
        from botocore.exceptions import ClientError  # noqa: PLC0415  # an extra

        until = self.clock() + timedelta(days=self.days)
        lock = {"ObjectLockMode": "COMPLIANCE", "ObjectLockRetainUntilDate": until}
        try:
            self._s3.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=text.encode(),
                ContentType="text/plain; charset=utf-8",
                ChecksumAlgorithm="SHA256",
                IfNoneMatch="*",
                **lock,
            )
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _THERE:
                return False
            raise
        return True

    def _compare(self, key: str, note: Note) -> None:
        if self._read(key).partition("\n\n")[0] != note.text.rstrip("\n"):
            raise LogTamperedError(
                f"the anchor {self.name} keeps another history of this log",
                remedy="nothing more is signed; verify the audit log: checkvalve audit verify",
            )

    def _require_lock(self, key: str) -> None:
        head = self._s3.head_object(Bucket=self.bucket, Key=key)
        until = head.get("ObjectLockRetainUntilDate")
        if head.get("ObjectLockMode") != "COMPLIANCE" or until is None or until <= self.clock():
            raise LogError(
                f"the anchor {self.name} does not lock what it keeps",
                remedy="take a bucket that was made with Object Lock",
            )

    def _read(self, key: str, **version: str) -> str:
        with self._s3.get_object(Bucket=self.bucket, Key=key, **version)["Body"] as body:
            return str(body.read(_MAX_NOTE).decode("utf-8", "replace"))


def _folder(origin: str) -> str:
    """Return the name of the folder of a log, which is no other one's."""
    return hashlib.sha256(origin.encode()).hexdigest()[:32]


@contextmanager
def _told_of(anchor: S3Anchor) -> Iterator[None]:
    """Turn what the library raises into errors of the log; a credential never stands in them."""
    try:
        yield
    except LogError:
        raise
    except Exception as error:
        response = getattr(error, "response", None)
        code = response.get("Error", {}).get("Code", "") if isinstance(response, dict) else type(error).__name__
        remedy = "check its address, the credentials and the bucket's Object Lock"
        raise LogError(f"the anchor {anchor.name} cannot be used ({code})", remedy=remedy) from error


def parse_s3(text: str) -> S3Anchor:
    """Return the anchor in what stands after ``s3:``.

    Raises:
        ValueError: it is none, or the extra is not installed.
    """
    words = text.split()
    place = _PLACE.fullmatch(words[0]) if words else None
    days = _DAYS.fullmatch(words[1]) if len(words) > 1 else None
    address = words[2] if len(words) > 2 else ""  # noqa: PLR2004  # the third word
    if place is None or days is None or len(words) > 3 or (address and not address.startswith(("https://", "http://"))):  # noqa: PLR2004
        raise ValueError(f"{text!r} is no object store: {_HELP}")
    if importlib.util.find_spec("boto3") is None:
        raise ValueError(f"an anchor in an object store needs boto3: {EXTRA}")
    return S3Anchor(place[1], place[2].strip("/"), int(days[1]), address)


__all__ = ["EVERY", "MAX_READ", "S3Anchor", "parse_s3"]
