"""The sequencer: gives committed events their places in the tree, and signs what it has become.

Events are numbered as they commit (:mod:`audit`), and event ``n`` is leaf ``n - 1``; in a log that follows a closed one
the leaves are counted from its own first event (:mod:`closedlogs`). Sealing follows right behind:

1. Read in one snapshot: the newest checkpoint, and the stored bytes of every event after it.
2. The newest checkpoint must be ours and fit the tree. Each event must be whole and follow the one before.
3. Add the leaves. The file of what was last signed, which lies outside the database, must fit this tree: its size is
   not larger, and its root is the tree's root at that size. So an older database that was put back is seen here.
4. Sign, with a key that no event in the log replaced (:mod:`keychange`). Write the file first, then tiles and
   checkpoint, if nobody else was faster; then tell the anchors.

Guarantees: nothing is signed that contradicts what was signed here before; of several sealers on one database one wins
each round, and all of them sign the same tree; an effect never waits for a signature, since its event is committed
before it as ever. Where 2 or 3 fail, nothing is signed and :class:`LogTamperedError` says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from checkvalve.approvals import audit
from checkvalve.approvals.anchors import Anchor, WitnessAnchor
from checkvalve.approvals.checkpoints import Checkpoint, Opened, sign
from checkvalve.approvals.clock import Clock, system_clock
from checkvalve.approvals.closedlogs import base_of, require_first
from checkvalve.approvals.errors import LogError, LogTamperedError
from checkvalve.approvals.judge import KEYS, ROTATED
from checkvalve.approvals.keychange import Known, followed, is_out, require_told, signers, told
from checkvalve.approvals.lastsigned import alone, newest, opened, parse_size, read_signed, whole, write_signed
from checkvalve.approvals.logkeys import LogKey
from checkvalve.approvals.merkle import consistency_proof, leaf_hash
from checkvalve.approvals.notes import Note
from checkvalve.approvals.signers import Signer
from checkvalve.approvals.store import Store
from checkvalve.approvals.tables import audit_head, checkpoints, events
from checkvalve.approvals.tiles import Tiles
from checkvalve.filters.strictjson import JSON

HEARTBEAT: Final = 60
"""Seconds without an event after which a heartbeat is written: a longer silence is one of the gateway's, and seen."""
_ROUNDS: Final = 50  # of a race that others win; each loss means that one of them has signed
_SECOND: Final = 1_000_000
_REMEDY: Final = "nothing was signed; verify the audit log: checkvalve audit verify"


@dataclass(frozen=True, slots=True)
class Sealed:
    """What one round did: the newest checkpoint, how many events it added, and which anchors did not take it."""

    note: Note
    checkpoint: Checkpoint
    added: int
    failed: dict[str, str] = field(default_factory=dict)


class Sealer:
    """Signs the log of one store. Safe beside others, in this process and elsewhere."""

    def __init__(
        self,
        store: Store,
        key: LogKey,
        signed: Path,
        *,
        clock: Clock = system_clock,
        anchors: Sequence[Anchor] = (),
        heartbeat: int = HEARTBEAT,
        known: Known = tuple,
    ) -> None:
        """``signed`` is the file of what was last signed: keep it outside the database and its backups.

        ``known`` reads the keys that are here now; it is asked when the log says that ``key`` was replaced.
        """
        self._store = store
        self._key = key
        self._signed = signed
        self._clock = clock
        # witnesses first, so that what the others keep has their cosignatures
        self._anchors = tuple(sorted(anchors, key=lambda one: not isinstance(one, WitnessAnchor)))
        # anchors that have not taken the newest checkpoint: at first all, since a witness may know a newer one than we
        self._late = {anchor.name for anchor in self._anchors}
        self._heartbeat = heartbeat
        self._known = known
        self._lock = threading.Lock()

    @property
    def public(self) -> tuple[str, ...]:
        """The public keys, as verifiers get them."""
        return tuple(str(key) for key in self._key.public)

    def start(self) -> Sealed:
        """Say in the log that it is watched from now on, and seal what an earlier process left unsealed."""
        with self._store.read() as connection:
            found = newest(connection)
            count = self._count(connection)
        left = count - (parse_size(found) if found else 0)
        self._note("log.started", {"every": self._heartbeat, "sealed_after_restart": left})
        return self.seal()

    def stop(self) -> Sealed:
        """Say in the log that it is not watched any more: the silence that follows is meant."""
        self._note("log.stopped", {})
        return self.seal()

    def beat(self) -> Sealed | None:
        """Write a heartbeat where nothing else was written for long enough, and seal what there is to seal."""
        due = self._clock() - self._heartbeat * _SECOND
        with self._store.read() as connection:
            last = connection.execute(sa.select(events.c.at).order_by(events.c.seq.desc()).limit(1)).scalar()
            found = newest(connection)
            count = self._count(connection)
        if last is None or last <= due:
            self._note("log.heartbeat", {"every": self._heartbeat}, unless_after=due)
        elif found is not None and parse_size(found) == count and not self._late:
            return None
        return self.seal()

    def rotate(
        self, save: Callable[[LogKey], None], settle: Callable[[], None] = lambda: None, held: Signer | None = None
    ) -> Sealed:
        """Replace the keys: the old ones sign the new ones, and both sign the checkpoint that says so.

        ``save`` keeps the new key beside the old one, before anything says that there is one; ``settle`` puts it in
        the old one's place, when the event is in the log. ``held`` is one of the new keys, where it is held elsewhere.

        Raises:
            LogError: one of the keys does not sign, or somebody else replaced the keys meanwhile.
        """
        self.seal()
        with self._store.write() as connection:
            if is_out(self._key, told(connection, base_of(connection))):
                raise LogError("the keys were replaced a moment ago by somebody else", remedy="do it again, if need be")
            size = self._count(connection) + 1
            key = self._key.rotated(size, held)
            body: dict[str, JSON] = {"rotation": key.rotations[-1].to_json()}
            audit.append(connection, at=self._clock(), kind=ROTATED, subject=KEYS, body=body)
            save(key)
        self._key = key
        settle()
        sealed = self.seal()
        self._key = replace(self._key, previous=())
        return sealed

    def seal(self) -> Sealed:
        """Seal what is committed; see the module.

        Raises:
            LogTamperedError: the database is not what was signed before.
            LogError: a file cannot be written, or the log is of another name.
        """
        with self._lock, alone(self._signed):
            for _ in range(_ROUNDS):
                done = self._round()
                if done is not None:
                    return self._publish(done)
        raise LogError("other sealers were faster each time", remedy="nothing is lost: they have signed the log")

    @staticmethod
    def _count(connection: sa.Connection) -> int:
        """Return how many events the log has; those of a closed one are not among them."""
        seq = connection.execute(sa.select(audit_head.c.seq)).scalar() or 0
        return whole(seq, "the end of the log") - base_of(connection)

    def _round(self) -> Sealed | None:
        """Do one round; None where another sealer was faster."""
        with self._store.read() as connection:
            tiles = Tiles(connection)
            base = require_first(connection, self._key)
            changes = told(connection, base)
            self._key = followed(self._key, changes, self._known)
            before = self._before(connection, tiles)
            signed = before.checkpoint.size if before else 0
            size = tiles.extend(signed, self._leaves(connection, base, signed))
            root = tiles.root(size)
            kept = self._compare(tiles, size)
            require_told(self._key, changes)
        if before is not None and before.checkpoint.size == size:
            if kept < size:  # another machine has signed it: from now on an older database is seen here, too
                write_signed(self._signed, before.note)
            return Sealed(before.note, before.checkpoint, 0)
        checkpoint = Checkpoint(self._key.origin, size, root)
        now = self._clock()
        note = sign(checkpoint, signers(self._key, signed, size, self._known), now=now // _SECOND)
        write_signed(self._signed, note)
        with self._store.write() as connection:
            if is_out(self._key, told(connection, base)) or not self._swap(connection, signed, size, note, now):
                return None
            tiles.save(connection)
        return Sealed(note, checkpoint, size - signed)

    def _swap(self, connection: sa.Connection, old: int, size: int, note: Note, now: int) -> bool:
        values = {"size": size, "note": str(note), "signed_at": now}
        row = checkpoints.c
        found = connection.execute(sa.select(row.size)).scalar()
        if found is None and old == 0:
            connection.execute(sa.insert(checkpoints).values(origin=self._key.origin, **values))
            return True
        changed = sa.update(checkpoints).where(row.origin == self._key.origin, row.size == old).values(values)
        return connection.execute(changed).rowcount == 1

    def _before(self, connection: sa.Connection, tiles: Tiles) -> Opened | None:
        """Do the first half of step 2."""
        text = newest(connection)
        if text is None:
            return None
        found = opened(text, self._key.trust, self._key.origin)
        if tiles.root(found.checkpoint.size) != found.checkpoint.root:
            raise LogTamperedError("the tree in the database is not the one that was signed", remedy=_REMEDY)
        return found

    def _leaves(self, connection: sa.Connection, base: int, signed: int) -> Iterator[bytes]:
        """Yield the leaves after the newest checkpoint, computed from the stored bytes."""
        last = base + signed
        query = sa.select(events.c.hash).where(events.c.seq == last)
        prev = connection.execute(query).scalar() if signed else ""
        with closing(audit.read_events(connection, after=last)) as found:
            for event in found:
                if event.seq != last + 1 or event.prev != prev or not event.is_whole:
                    raise LogTamperedError(f"event {event.seq} is not what was written", remedy=_REMEDY)
                last, prev = event.seq, event.hash
                yield leaf_hash(event.form)
        if last != connection.execute(sa.select(audit_head.c.seq)).scalar():
            raise LogTamperedError(f"the log ends at event {last}, and its head is elsewhere", remedy=_REMEDY)

    def _compare(self, tiles: Tiles, size: int) -> int:
        """Do the second half of step 3, and return the size in the file; -1 where there is none."""
        text = read_signed(self._signed)
        if text is None:
            return -1
        last = opened(text, self._key.trust, self._key.origin).checkpoint
        if last.size > size:
            raise LogTamperedError(
                f"{last.size} events were signed, and the database has {size}: an older one was put back",
                remedy=_REMEDY,
            )
        if tiles.root(last.size) != last.root:
            raise LogTamperedError(f"the first {last.size} events are not those that were signed", remedy=_REMEDY)
        return last.size

    def _publish(self, done: Sealed) -> Sealed:
        """Tell the anchors of a new checkpoint, and those again that missed the last one."""
        due = [anchor for anchor in self._anchors if done.added or anchor.name in self._late]
        failed: dict[str, str] = {}
        note = done.note
        for anchor in due:
            try:
                added = anchor.publish(note, done.checkpoint, lambda old: self._prove(old, done.checkpoint.size))
                known = {(one.name, one.key_id) for one in note.signatures}
                more = tuple(one for one in added if (one.name, one.key_id) not in known)
                note = Note(note.text, (*note.signatures, *more))
                self._late.discard(anchor.name)
            except LogTamperedError:
                raise
            except LogError as error:
                failed[anchor.name] = str(error)
                self._late.add(anchor.name)
        if note is not done.note:
            write_signed(self._signed, note)
            with self._store.write() as connection:
                same = sa.update(checkpoints).where(checkpoints.c.size == done.checkpoint.size)
                connection.execute(same.values(note=str(note)))
        return replace(done, note=note, failed=failed)

    def _prove(self, old: int, size: int) -> list[bytes]:
        with self._store.read() as connection:
            return consistency_proof(old, size, Tiles(connection).subtree)

    def _note(self, kind: str, body: dict[str, JSON], *, unless_after: int | None = None) -> None:
        with self._store.write() as connection:
            last = connection.execute(sa.select(events.c.at).order_by(events.c.seq.desc()).limit(1)).scalar()
            if unless_after is None or last is None or last <= unless_after:  # another replica may have been faster
                audit.append(connection, at=self._clock(), kind=kind, body=body)
