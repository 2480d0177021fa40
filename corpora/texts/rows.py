"""The rows of text corpora: read from a folder of JSON lines, never shipped, and split in two halves by group.

Guarantees: a row is counted under its group (what stands before ``#`` in its id), because rows of one group repeat one
another; the half of a group is drawn from its name alone, so nobody can choose it; nothing in a row is ever followed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from checkvalve.corpora.errors import CorpusDataError

Half = Literal["dev", "held-out"]

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "corpora"
"""Where the corpora lie beside a clone of the repository."""
_SEED: Final = "checkvalve-dev:"
_MIDDLE: Final = 128


@dataclass(frozen=True, slots=True)
class Row:
    """One labelled text."""

    corpus: str
    group: str
    content: str
    attack: bool
    carrier: str
    kind: str
    acts: bool

    @property
    def half(self) -> Half:
        """Which half the group belongs to. Only the first one was looked at while patterns were written."""
        return "dev" if hashlib.sha256((_SEED + self.group).encode()).digest()[0] < _MIDDLE else "held-out"


def corpora_in(folder: Path) -> list[str]:
    """Return the names of the corpora in ``folder``.

    Raises:
        CorpusDataError: there are none.
    """
    names = sorted(path.stem for path in folder.glob("*.jsonl"))
    if not names:
        raise CorpusDataError(f"no corpus (*.jsonl) lies in {folder.name!r}; name the folder with --data FOLDER")
    return names


def rows(folder: Path, names: list[str]) -> Iterator[Row]:
    """Yield the rows of the named corpora.

    Raises:
        CorpusDataError: a line is not a row.
    """
    for name in names:
        with (folder / f"{name}.jsonl").open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield _row(name, json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    raise CorpusDataError(f"{name}.jsonl, line {number} is not a row: {type(error).__name__}") from None


def _row(corpus: str, data: dict[str, object]) -> Row:
    meta = data.get("meta")
    hard = meta.get("hard_type") if isinstance(meta, dict) else None
    return Row(
        corpus=corpus,
        group=str(data["id"]).partition("#")[0],
        content=str(data["content"]),
        attack=data["label"] == 1,
        carrier=str(data["carrier"]),
        kind=str(hard or data["kind"]),
        acts=data.get("injected_action") is not None,
    )
