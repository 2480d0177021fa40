"""Which open questions may be answered as one table: those that differ in nothing but the values of their columns.

1. Candidates are open calls with one tool, one server, one rule and the same data to accept, in whatever task; nothing
critical. 2. Two of them are alike when everything else that decides, and that a table of values would not show, is the
same: every rule that asked, every fact, who asks, how it is to be answered, the tool as declared, which arguments there
are, of which role, kind and type, whether their origins suffice, what was flagged, and what a reader is warned of.
3. A call that a table cannot show whole is alike to none, and neither is one that takes a proof of its own.
4. The largest group is the table, at most 20 calls of it; every other call is split out, to be looked at by itself.

Guarantees: reads only; nothing is decided here: each call of a table keeps its own record, digest and vote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from checkvalve.approvals import plans
from checkvalve.approvals.argument_leaves import leaves
from checkvalve.approvals.canonical import digest
from checkvalve.approvals.equal import equal_to, same_data
from checkvalve.approvals.fieldspec import Role
from checkvalve.approvals.pages_data import MAX_BATCH
from checkvalve.approvals.plans import Plan
from checkvalve.approvals.records import Proposal
from checkvalve.approvals.render import warnings
from checkvalve.approvals.risk import Tier
from checkvalve.approvals.store import Store
from checkvalve.filters.strictjson import JSON

MAX_SHOWN: Final = 65_536
"""Bytes of one value that a page can hold from end to end; a longer one is on the page of its own call."""
CANDIDATES: Final = 100
"""Calls that are compared: more of one kind in one task than that is a flood, and paused."""
_OWN: Final = ("server", "tool", "rule", "requester", "mode")
_DECIDED: Final = ("action", "rules", "facts", "schema_digest", "tool_digest", "profile", "policy_digest")


@dataclass(frozen=True, slots=True)
class Batch:
    """The calls of a table, and those that ask the same and are not alike."""

    rows: tuple[Proposal, ...] = ()
    odd: tuple[Proposal, ...] = ()


def batch_of(store: Store, proposal: Proposal) -> Batch:
    """Return the table that a question belongs to, itself first where it is in it."""
    found = equal_to(store, proposal, limit=CANDIDATES)
    if not found:
        return Batch()
    with store.read() as connection:
        known = plans.read_all(connection, [row.id for row in found])
    return split(found, known)


def split(rows: Sequence[Proposal], known: Mapping[str, Plan]) -> Batch:
    """Return the largest group of calls that are alike, of equally large ones that of the first call, and the rest."""
    groups: dict[str, list[Proposal]] = {}
    for row in rows:
        groups.setdefault(likeness(row, known[row.id]), []).append(row)
    chosen = max(groups.values(), key=len)  # the first of equally large ones
    kept = chosen[:MAX_BATCH]
    names = {row.id for row in chosen}
    return Batch(tuple(kept), tuple(row for row in rows if row.id not in names))


def likeness(row: Proposal, plan: Plan) -> str:
    """Return what two calls of one table have in common; nothing else has it where a table cannot show the call.

    Raises:
        StoreCorruptError: the stored bytes are not what was decided.
    """
    columns = list(_columns(row))
    paths = [path for path, _ in leaves(row.args())]
    hidden = len(set(paths)) != len(paths) or any(_size(value) > MAX_SHOWN for _, value in leaves(row.args()))
    if hidden or plan.step_up or plan.tier is Tier.CRITICAL:
        return row.id
    wanted: dict[str, JSON] = {name: value for name, value in plan.to_json().items() if name != "amount"}
    own: dict[str, Any] = {name: getattr(row, name) for name in _OWN}
    decided: dict[str, Any] = {name: row.decision.get(name) for name in _DECIDED}
    return digest({"own": own, "data": same_data(row), "decided": decided, "plan": wanted, "columns": columns})


def _columns(row: Proposal) -> Iterator[JSON]:
    """Yield each argument without its value: what a column of the table stands for, and what is odd about it."""
    reports = row.decision.get("arguments")
    listed = [item for item in reports if isinstance(item, dict)] if isinstance(reports, list) else []
    known = {str(item.get("path")): item for item in listed}
    for path, value in sorted(leaves(row.args())):
        report = known.pop(path, {})
        said: list[JSON] = [report.get("role"), report.get("kind"), _suffices(report)]
        beware: list[JSON] = [*warnings(value)] if isinstance(value, str) else []
        yield [path, _type(value), *said, _flags(report), beware]
    for path, report in sorted(known.items()):  # keys that carry data
        yield [path, "key", report.get("role"), _suffices(report)]


def _suffices(report: Mapping[str, JSON]) -> JSON:
    """Return whether the origins of a value suffice; content needs nobody's word."""
    return report.get("role") == Role.CONTENT.value or report.get("sufficient")


def _type(value: JSON) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if number else type(value).__name__


def _flags(report: Mapping[str, JSON]) -> JSON:
    origins = report.get("origins")
    listed = [item for item in origins if isinstance(item, dict)] if isinstance(origins, list) else []
    found = {str(flag) for item in listed for flag in _listed(item.get("flags"))}
    return [*sorted(found)]


def _listed(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _size(value: JSON) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0


__all__ = ["CANDIDATES", "MAX_SHOWN", "Batch", "batch_of", "likeness", "split"]
