"""The measurement as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from checkvalve.corpora.texts.measure import HALVES, Share, TextsReport


def tables(report: TextsReport) -> Iterator[Table]:
    """Yield the tables: attacks by corpus, harmless texts by kind, techniques."""
    if report.attacks:
        yield _attacks(report)
    if report.harmless:
        yield _harmless(report)
    yield _techniques(report)


def in_words(share: Share) -> str:
    """Return a share with its interval, in per cent."""
    if not share.groups:
        return "-"
    low, high = share.interval()
    return f"{share.flagged:.1%} ({low:.0%}-{high:.0%})"


def _attacks(report: TextsReport) -> Table:
    table = Table(title="attacks flagged, mean over groups (95 % interval)", title_justify="left")
    for name in ("corpus", "groups", "rows", "dev half", "held-out half", "changed", "unscanned"):
        table.add_column(name, justify="left" if name == "corpus" else "right", overflow="fold")
    for corpus in report.corpora():
        dev, held = (report.attacks[corpus, half] for half in HALVES)
        table.add_row(
            corpus,
            str(len(dev.groups) + len(held.groups)),
            f"{dev.rows + held.rows:,}",
            in_words(dev),
            in_words(held),
            str(dev.statuses["changed"] + held.statuses["changed"]),
            str(dev.statuses["unscanned"] + held.statuses["unscanned"]),
        )
    return table


def _harmless(report: TextsReport) -> Table:
    table = Table(title="harmless texts flagged, by kind", title_justify="left")
    for name in ("corpus", "kind", "rows", "flagged", "share", "changed", "unscanned"):
        table.add_column(name, justify="left" if name in {"corpus", "kind"} else "right", overflow="fold")
    for corpus, kind in report.kinds():
        share = report.harmless[corpus, kind]
        numbers = (
            share.statuses["flagged"],
            f"{share.flagged:.1%}",
            share.statuses["changed"],
            share.statuses["unscanned"],
        )
        table.add_row(corpus, kind, f"{share.rows:,}", *map(str, numbers))
    return table


def _techniques(report: TextsReport) -> Table:
    caught = [item for item in report.techniques if item.status == "flagged"]
    table = Table(title=f"techniques: {len(caught)} of {len(report.techniques)} flagged", title_justify="left")
    for name in ("technique", "attack", "harmless twin"):
        table.add_column(name)
    for item in report.techniques:
        if item.status != "flagged" or item.twin in {"flagged", "unscanned"}:
            table.add_row(item.technique, item.status, item.twin)
    table.caption = "shown are the techniques that were not flagged, and those whose harmless twin was"
    return table
