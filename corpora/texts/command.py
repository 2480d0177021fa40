"""``checkvalve corpus run texts``: the inbound filters over labelled texts, as tables, a page and JSON.

Guarantees: whatever is wrong with the request is said before anything is measured; the exit code is 0, or 1 when one of
our own techniques got through, which is a regression and not a finding about attackers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from checkvalve.corpora.errors import CorpusDataError, UnknownCorpusError
from checkvalve.corpora.texts.measure import measure
from checkvalve.corpora.texts.page import page
from checkvalve.corpora.texts.rows import DATA, corpora_in, rows
from checkvalve.corpora.texts.tables import tables

TEXTS: Final = "texts"
_FIELDS: Final = "name a folder of *.jsonl with --data FOLDER (fields: id, content, label, carrier, kind)"
_NOT_THERE: Final = f"the text corpora are not part of the package; {_FIELDS}"


def about_texts() -> str:
    """Return the entry of the list of corpora."""
    found = ", ".join(corpora_in(DATA)) if DATA.is_dir() else "name a folder with --data"
    return f"{TEXTS}: the inbound filters over labelled texts, which are not part of the package\n    groups: {found}"


def run_texts(
    console: Console, *, data: Path | None, only: Sequence[str], html: Path | None, json_file: Path | None
) -> int:
    """Measure, show and write; return the exit code.

    Raises:
        CorpusError: there is nothing to measure, a name is unknown, or a file cannot be written.
    """
    folder = data or DATA
    if not folder.is_dir():
        raise CorpusDataError(f"there is no folder {data.name!r}; {_FIELDS}" if data else _NOT_THERE)
    known = corpora_in(folder)
    for name in only:
        if name not in known:
            raise UnknownCorpusError("text corpus", name, known)
    for path in (html, json_file):
        if path is not None:
            _write(path, "")
    report = measure(rows(folder, list(only) or known))
    for table in tables(report):
        console.print(table)
    if html is not None:
        _write(html, page(report))
        console.print(f"page: {html}", markup=False, highlight=False)
    if json_file is not None:
        _write(json_file, json.dumps(report.to_json(), indent=1, ensure_ascii=False) + "\n")
    return int(any(item.status not in {"flagged", "changed"} for item in report.techniques))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CorpusDataError(
            f"{path} cannot be written: {error.strerror}; choose a file in a folder that exists"
        ) from error
