"""Checkpoints that cannot run code: LangGraph's msgpack with a closed list of types, and the savers over it.

Guarantees: whatever the environment says, nothing is imported or called on loading but the types of :data:`TYPES` and
those the caller names; a row that holds anything else is refused as a whole (the library would hand on its raw data);
the same check runs on writing, so that a run stops before it saves what it could not read again. The list is closed:
a graph's own state types are not added behind the caller's back.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import ormsgpack
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from checkvalve.graphs.errors import CheckpointError
from checkvalve.graphs.in_threads import InThreads

_MESSAGES: Final = {
    "ai": ("AIMessage", "AIMessageChunk"),
    "chat": ("ChatMessage",),
    "human": ("HumanMessage",),
    "modifier": ("RemoveMessage",),
    "system": ("SystemMessage",),
    "tool": ("ToolMessage",),
}

TYPES: Final = frozenset(
    {(f"langchain_core.messages.{module}", name) for module, names in _MESSAGES.items() for name in names}
    | {("langgraph.types", name) for name in ("Command", "Interrupt", "Overwrite", "Send")}
    | {("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")}
    | {("builtins", "set"), ("builtins", "frozenset"), ("collections", "deque")}
    | {("uuid", "UUID"), ("decimal", "Decimal"), ("langchain_core.documents.base", "Document")}
)
"""Plain data and the containers of graph state. No paths, no patterns, nothing whose constructor does work."""

_METHODS: Final = frozenset({("datetime", "datetime", "fromisoformat")})
_FORMATS: Final = frozenset({"null", "bytes", "bytearray", "msgpack"})

# The extension codes of langgraph.checkpoint.serde.jsonplus; the test for each of them fails when they move.
_CONSTRUCTORS: Final = frozenset({0, 1, 2, 4, 5})
_METHOD: Final = 3
_SNAPSHOT: Final = 7

_PRIVATE: Final = 0o600
_OTHERS: Final = 0o077

MAX_DEPTH: Final = 64  # extensions inside extensions: real state needs about five


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer, limited to :data:`TYPES` and ``extra`` (module, name) pairs."""

    def __init__(self, extra: Iterable[tuple[str, str]] = ()) -> None:
        self._types = TYPES | frozenset(extra)
        super().__init__(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=tuple(self._types))

    def with_msgpack_allowlist(
        self,
        extra_allowlist: Iterable[tuple[str, ...] | type],  # noqa: ARG002  # the library's signature
    ) -> JsonPlusSerializer:
        """Return the same serializer: the list is closed, name further types on construction."""
        return self

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialise ``obj``.

        Raises:
            CheckpointError: it could not be read again, because it holds a type that is not on the list.
        """
        try:
            kind, data = super().dumps_typed(obj)
        except (TypeError, ValueError, RecursionError) as error:
            raise CheckpointError(f"state cannot be saved: {type(error).__name__}; keep plain data in it") from error
        self._check(kind, data)
        return kind, data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Rebuild a value that :meth:`dumps_typed` wrote.

        Raises:
            CheckpointError: the row holds another format or type, or is damaged. Nothing of it was rebuilt.
        """
        self._check(*data)
        return super().loads_typed(data)

    def _check(self, kind: str, data: bytes) -> None:
        if kind not in _FORMATS:
            raise CheckpointError(f"a checkpoint in the format {kind!r} is refused: only strict msgpack is read")
        if kind == "msgpack":
            self._inspect(data, 0)

    def _inspect(self, data: bytes, depth: int) -> Any:
        """Walk packed ``data`` without building anything from it."""
        if depth > MAX_DEPTH:
            raise CheckpointError("a checkpoint nested too deeply is refused")
        found: list[tuple[int, bytes]] = []

        def note(code: int, inner: bytes) -> str:
            found.append((code, inner))
            return "extension"  # hashable, so that an extension may be a key

        try:
            value = ormsgpack.unpackb(data, ext_hook=note, option=ormsgpack.OPT_NON_STR_KEYS)
        except (ValueError, TypeError, RecursionError) as error:
            raise CheckpointError("a damaged checkpoint is refused: it is not msgpack") from error
        for code, inner in found:
            self._inspect_extension(code, inner, depth + 1)
        return value

    def _inspect_extension(self, code: int, data: bytes, depth: int) -> None:
        value = self._inspect(data, depth)
        if code == _SNAPSHOT:
            return
        match value:
            case [str(module), str(name), *_] if code in _CONSTRUCTORS and (module, name) in self._types:
                return
            case [str(module), str(name), _, str(method)] if code == _METHOD and (module, name, method) in _METHODS:
                return
            case [str(module), str(name), *_]:
                named = f"{module}.{name}"
            case _:
                named = f"extension {code}"
        raise CheckpointError(f"a checkpoint with {named!r} is refused: the type is not on the closed list")


class FileSaver(InThreads, SqliteSaver):
    """LangGraph's SQLite saver, for runs that are awaited and those that are not."""


@contextmanager
def sqlite_checkpointer(path: Path, extra: Iterable[tuple[str, str]] = ()) -> Iterator[SqliteSaver]:
    """Open a checkpointer on the SQLite file ``path``, which must not be the database of approvals.

    Whoever can write this file can change a pending call. That is harmless to approvals, which bind to what was
    decided, but it is why the two are kept apart. Run graphs with ``durability="sync"``.

    Args:
        path: the file, which is made for this user only; its folder must exist.
        extra: further (module, name) pairs that the graph's state needs.

    Raises:
        CheckpointError: the file cannot be opened.
    """
    try:
        _keep_private(path)
        connection = sqlite3.connect(path, check_same_thread=False, timeout=10.0)
    except (OSError, sqlite3.Error) as error:
        raise CheckpointError(f"cannot open {path}: {error}; check the folder and its permissions") from error
    with closing(connection):
        connection.execute("PRAGMA busy_timeout = 10000")  # several processes may resume; the saver sets none itself
        yield FileSaver(connection, serde=StrictSerializer(extra))


def _keep_private(path: Path) -> None:
    """Make the file if it is missing, and see to it that nobody else can read it, nor what SQLite puts beside it.

    An existing file is not opened: to close it again would drop the locks that this process holds on it.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, _PRIVATE))
    for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))):
        with suppress(FileNotFoundError):  # SQLite makes and removes those beside it, with the mode of the first one
            status = file.stat()
            if status.st_mode & _OTHERS and status.st_uid == os.geteuid():
                file.chmod(_PRIVATE)


@contextmanager
def postgres_checkpointer(dsn: str, extra: Iterable[tuple[str, str]] = ()) -> Iterator[BaseCheckpointSaver[str]]:
    """Open a checkpointer on a PostgreSQL database, which must not be the one of approvals.

    Args:
        dsn: ``postgresql://user@host/database``, or what libpq takes; SQLAlchemy's ``postgresql+psycopg://`` too.
        extra: further (module, name) pairs that the graph's state needs.

    Raises:
        CheckpointError: the extra ``postgres`` is not installed, or the database cannot be used.
    """
    try:
        from checkvalve.graphs.postgres_saver import open_saver  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise CheckpointError(
            f"{error.name or 'psycopg'} is not installed; pip install 'checkvalve[postgres]'"
        ) from error
    with open_saver(dsn.replace("postgresql+psycopg://", "postgresql://", 1), StrictSerializer(extra)) as saver:
        yield saver
