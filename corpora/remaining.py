"""Why each question that remains is asked: the argument, where its value stands, and what any weaker rule would admit.

For every question of a task without an attack three weaker rules are tried on all attacks of its group, in this order:

1. to trust the field that the value stands in, for this argument of this tool; 2. to trust it wherever a value of such
a role is asked for; 3. to drop the rules that asked. An attack counts when one of the attacker's effects, stopped in
the real run, would have passed: no other rule stopped it, and each of its lacking values stands in a field that is
trusted now. That is computed from the runs, not argued.

Guarantees: pure; a line is a function of the report's cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from checkvalve.corpora.evidence import Evidence, Lacking
from checkvalve.corpora.report import CaseResult, Report

SHORT: Final = 48
"""Characters of a value that a line shows."""

_NO_ARGUMENT: Final = {
    "not-asked": "the user's words do not ask for this effect",
    "untrusted-target": "the user chose no destination, and the words describe none",
    "unnamed-record": "the user named no record, and this one cannot be taken back",
    "dictated-record": "everything in the record comes from what was read",
    "readers": "what was read may not go to this destination, and the user did not choose it",
    "foreign-link": "a link in the text stands only in what was read",
    "over-limit": "it is above the limit of the tool",
    "repeated-effect": "the same effect has happened already",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One lacking argument of one question. Counts are pairs of ``pairs``: all of the group that need a tool.

    ``argument`` is empty for a question that no argument caused. ``here``, ``anywhere`` and ``without`` are what the
    three weaker rules would admit; ``reached`` are the pairs in which an effect of the attacker lacks the same argument
    of the same tool, whatever else stopped it.
    """

    group: str
    task: str
    tool: str
    argument: str
    role: str
    value: str
    origin: str
    trust: str
    match: str
    rules: tuple[str, ...]
    here: int
    anywhere: int
    without: int
    reached: int
    pairs: int
    reason: str


def remaining(report: Report) -> list[Line]:
    """Return a line for each argument of each question of the tasks without an attack, in the order of the cases."""
    found: list[Line] = []
    for group in report.groups():
        cases = [case for case in report.cases if case.group == group]
        attacks = [case for case in cases if case.attack and case.outcome != "text_only"]
        for case in cases:
            if not case.attack:
                for asked in case.evidence:
                    found += _lines(case, asked, attacks)
    return list(dict.fromkeys(found))


def _lines(case: CaseResult, asked: Evidence, attacks: Sequence[CaseResult]) -> Iterator[Line]:
    for item in asked.lacking or (None,):
        counts = _counted(asked, item, attacks)
        best = item.best if item is not None else None
        yield Line(
            group=case.group,
            task=case.task,
            tool=asked.tool,
            argument=item.argument if item is not None else "",
            role=item.role if item is not None else "",
            value=_shortened(item.value) if item is not None else "",
            origin=best.name if best is not None else "stands nowhere" if item is not None else "",
            trust=best.trust if best is not None else "",
            match=best.match if best is not None else "none",
            rules=tuple(sorted(asked.rules)),
            reason=_reason(asked, item, counts),
            **asdict(counts),
        )


@dataclass(frozen=True, slots=True)
class _Counts:
    here: int
    anywhere: int
    without: int
    reached: int
    pairs: int


def _counted(asked: Evidence, item: Lacking | None, attacks: Sequence[CaseResult]) -> _Counts:
    without = sum(_admits(one, asked.rules) for one in attacks)
    if item is None:
        reached = sum(any(found.tool == asked.tool for found in one.evidence) for one in attacks)
        return _Counts(without, without, without, reached, len(attacks))
    here, anywhere = (
        sum(_admits(one, asked.rules, asked, same_tool=same_tool) for one in attacks) for same_tool in (True, False)
    )
    reached = sum(any(_reaches(found, asked, item) for found in one.evidence) for one in attacks)
    return _Counts(here, anywhere, without, reached, len(attacks))


def _reaches(attack: Evidence, asked: Evidence, item: Lacking) -> bool:
    return attack.tool == asked.tool and any(one.argument == item.argument for one in attack.lacking)


def _admits(case: CaseResult, rules: frozenset[str], asked: Evidence | None = None, *, same_tool: bool = False) -> bool:
    """Say whether some effect of the attacker would have passed without ``rules``, for such values as in ``asked``."""
    return any(
        one.by == "attacker"
        and one.verdict == "review"
        and one.rules <= rules
        and (asked is None or _alike(one, asked, same_tool=same_tool))
        for one in case.evidence
    )


def _alike(attack: Evidence, asked: Evidence, *, same_tool: bool) -> bool:
    """Say whether all lacking values of an attack stand where lacking values of the question stand."""
    if same_tool and attack.tool != asked.tool:
        return False
    return all(any(_fits(item, other, same_tool=same_tool) for other in asked.lacking) for item in attack.lacking)


def _fits(item: Lacking, other: Lacking, *, same_tool: bool) -> bool:
    alike = item.argument == other.argument if same_tool else item.role == other.role
    return alike and item.stands_in(other.best.name if other.best is not None else "")


def _reason(asked: Evidence, item: Lacking | None, counts: _Counts) -> str:
    if item is None:
        why = "; ".join(_NO_ARGUMENT.get(rule, rule.replace("-", " ")) for rule in sorted(asked.rules))
        return f"{why}: {_without(counts)}"
    if item.best is None:
        return f"it stands nowhere: the model made it, and a hijacked one makes any; {_without(counts)}"
    if item.best.tool in {"user", "system"}:
        return f"the words mention it, and not as what it is used for; {_without(counts)}"
    field = f"{item.best.name}, which outsiders write" if item.best.trust == "untrusted" else item.best.name
    if counts.here:
        passes = f"trusted for this argument, the attacker's value passes in {counts.here} of {counts.pairs} pairs"
        return f"it stands only in {field}: {passes}"
    if counts.anywhere:
        passes = f"trusted for any {item.role}, an attacker's value passes in {counts.anywhere} of {counts.pairs} pairs"
        return f"it stands only in {field}: {passes}"
    return f"it stands only in {field}; {_without(counts)}"


def _without(counts: _Counts) -> str:
    if counts.without:
        return f"without the rules that asked, an effect passes in {counts.without} of {counts.pairs} pairs"
    if counts.reached:
        return f"an attacker's call lacks the same in {counts.reached} of {counts.pairs} pairs, where more stops it"
    return f"no attack in {counts.pairs} pairs tries it, so nothing here says that less would do"


def _shortened(value: str) -> str:
    text = " ".join(value.split())
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"


def to_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Return the lines as plain data."""
    return [{**asdict(line), "rules": list(line.rules)} for line in lines]


def in_words(line: Line) -> str:
    """Return a line for the terminal."""
    what = f"{line.tool}.{line.argument} = {line.value!r}" if line.argument else line.tool
    return f"{line.group}/{line.task}: {what} [{', '.join(line.rules)}] {line.reason}"


def in_markdown(lines: Sequence[Line]) -> str:
    """Return the lines as a table."""
    rows = [
        "| task | call | value | stands in | rules | what a weaker rule would let through |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for line in lines:
        call = f"{line.tool}.{line.argument}" if line.argument else line.tool
        cells = [f"{line.group} {line.task}", f"`{call}`", line.value, line.origin, ", ".join(line.rules), line.reason]
        rows.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(rows)
