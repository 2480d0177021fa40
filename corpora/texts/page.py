"""The measurement as one HTML page with plots of our own: no script, nothing from elsewhere, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from checkvalve.corpora.texts.measure import HALVES, Share, TextsReport, worst_first

_WIDTH: Final = 420
_ROW: Final = 22
_LEFT: Final = 390
_STYLE: Final = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c2733}
table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .7rem;border-bottom:1px solid #dde3ea;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}svg text{font:12px system-ui,sans-serif;fill:#1c2733}
.note{color:#55606d}
"""
_NOTE: Final = (
    "<p class=note>Each bar is one corpus: the mean over its groups of the share of flagged texts, and a line for its "
    "95 % interval. The patterns were written while looking at the dev half only. There is no pooled number, and no "
    "filter is a boundary: the premise of the gateway is that all of this has been evaded.</p>"
)
_COLOURS: Final = {"dev": "#9db7d5", "held-out": "#2f6db5", "harmless": "#c2622d"}


def page(report: TextsReport) -> str:
    """Return the page."""
    parts = [
        "<h1>What the inbound filters see</h1>",
        _NOTE,
        "<h2>Attacks</h2>",
        _plot(_attack_bars(report)),
        "<h2>Harmless texts, by kind</h2>",
        _plot(_harmless_bars(report)),
        "<h2>Techniques</h2>",
        _techniques(report),
    ]
    title = "<title>Inbound filters, measured</title>"
    head = f"<!doctype html><html lang=en><meta charset=utf-8>{title}<style>{_STYLE}</style>"
    return head + "\n".join(parts) + "</html>\n"


def _attack_bars(report: TextsReport) -> Iterator[tuple[str, str, Share]]:
    for corpus in report.corpora():
        for half in HALVES:
            share = report.attacks[corpus, half]
            if share.rows:
                yield f"{corpus}, {half} ({share.rows:,} texts, {len(share.groups)} groups)", half, share


def _harmless_bars(report: TextsReport) -> Iterator[tuple[str, str, Share]]:
    for corpus, kind in worst_first(report.harmless):
        share = report.harmless[corpus, kind]
        yield f"{corpus}: {kind} ({share.rows:,})", "harmless", share


def _plot(bars: Iterable[tuple[str, str, Share]]) -> str:
    """Return bars with intervals as SVG."""
    rows = list(bars)
    height = _ROW * len(rows) + 30
    marks = [f'<svg role=img width={_LEFT + _WIDTH + 60} height={height} viewBox="0 0 {_LEFT + _WIDTH + 60} {height}">']
    for tenth in range(0, 11, 2):
        x = _LEFT + _WIDTH * tenth / 10
        marks.append(
            f'<line x1={x} x2={x} y1=0 y2={height - 22} stroke="#dde3ea"/>'
            f"<text x={x} y={height - 6} text-anchor=middle>{tenth * 10} %</text>"
        )
    for number, (name, colour, share) in enumerate(rows):
        y, (low, high) = number * _ROW + 4, share.interval()
        marks.append(
            f"<text x={_LEFT - 8} y={y + 11} text-anchor=end>{escape(name)}</text>"
            f'<rect x={_LEFT} y={y} width={_WIDTH * share.flagged:.1f} height=14 fill="{_COLOURS[colour]}"/>'
            f"<line x1={_LEFT + _WIDTH * low:.1f} x2={_LEFT + _WIDTH * high:.1f} y1={y + 7} y2={y + 7} "
            'stroke="#1c2733"/>'
            f"<text x={_LEFT + _WIDTH * max(share.flagged, high) + 6:.1f} y={y + 11}>{share.flagged:.1%}</text>"
        )
    return "\n".join([*marks, "</svg>"])


def _techniques(report: TextsReport) -> str:
    rows = "\n".join(
        f"<tr><td>{escape(item.technique)}<td>{escape(item.status)}<td>{escape(item.twin)}</tr>"
        for item in report.techniques
    )
    caught = sum(item.status == "flagged" for item in report.techniques)
    return (
        f"<p>{caught} of {len(report.techniques)} ways to write our own attack are flagged. The patterns were written "
        "with this list at hand, so the number says that nothing is broken, not what an attacker meets.</p>"
        f"<table><tr><th>technique<th>attack<th>harmless twin</tr>{rows}</table>"
    )
