"""A process of its own that counts what really happened: it is told over a socket, answers each line, and never dies.

Whoever is killed after the answer has had its effect, whoever is killed before it may have had it: the witness knows.
As a program: ``witness.py SOCKET FILE`` writes every line it is told to FILE, in the order they came.
"""

from __future__ import annotations

import selectors
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self


class Teller:
    """The side of a process that tells the witness; each line is answered before ``tell`` returns."""

    def __init__(self, address: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(address)

    def tell(self, *words: object) -> None:
        self._socket.sendall((" ".join(map(str, words)) + "\n").encode())
        if self._socket.recv(1) != b".":
            raise ConnectionError("the witness is gone")


class Witness:
    """The side of a test: starts the process, and reads what it has heard."""

    def __init__(self, folder: Path) -> None:
        self.address, self.file = str(folder / "witness"), folder / "witnessed"
        command = [sys.executable, __file__, self.address, str(self.file)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def heard(self) -> list[list[str]]:
        return [line.split() for line in self.file.read_text().splitlines()]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()


def main(address: str, file: str) -> None:
    """Listen, write down, answer."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door,
        Path(file).open("ab", buffering=0) as book,
        selectors.DefaultSelector() as waiting,
    ):
        door.bind(address)
        door.listen(256)
        waiting.register(door, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        parts: dict[socket.socket, bytes] = {}
        while True:
            for key, _ in waiting.select():
                found = key.fileobj
                assert isinstance(found, socket.socket)
                if found is door:
                    guest, _ = door.accept()
                    parts[guest] = b""
                    waiting.register(guest, selectors.EVENT_READ)
                    continue
                try:
                    said = found.recv(65_536)
                except ConnectionError:
                    said = b""
                if not said:
                    waiting.unregister(found)
                    parts.pop(found)
                    found.close()
                    continue
                *lines, parts[found] = (parts[found] + said).split(b"\n")
                for line in lines:
                    book.write(line + b"\n")
                    try:
                        found.sendall(b".")
                    except ConnectionError:  # killed while it waited for the answer: it was heard all the same
                        break


if __name__ == "__main__":
    main(*sys.argv[1:])
