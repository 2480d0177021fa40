"""Whether the rules that this process loaded are those that people adopted; asked before each decision and each effect.

1. Nothing was loaded here: nothing is decided here either. 2. Nothing was ever adopted: the files count as they are,
unless the settings want rules to be adopted first. 3. All loaded parts are those of one set of rules that is in force.
4. Anything else is an error, and nothing is decided or run.
5. A permit that rests on a setting is used only while a set in force has that setting, whoever took the yes.

Guarantees: what is in force is compared with the log when it is read; while nothing about it changes, asking costs one
short query. A set that was put together of parts of two others is not in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import sqlalchemy as sa

from checkvalve.approvals.doubts import is_doubted
from checkvalve.approvals.errors import NotAdoptedError
from checkvalve.approvals.review_tables import rule_changes
from checkvalve.approvals.ruleset_store import ADOPTED, RuleChange, read_changes, read_text, subject_of
from checkvalve.approvals.rulesets import NAMES, RuleText, setting_in

_row = rule_changes.c
_MARK: Final = (
    sa.select(_row.id, _row.digest, _row.version, _row.until)
    .where(_row.tenant == sa.bindparam("tenant"), _row.state == ADOPTED)
    .order_by(_row.id)
)
_REMEDY: Final = (
    "where the file is the adopted one by now, start this process again; else propose it (checkvalve rules propose) "
    "and let another administrator confirm it (checkvalve rules confirm ID), or put back what was adopted "
    "(checkvalve rules text PART)"
)


@dataclass(frozen=True, slots=True)
class _Known:
    """What was read: a mark to notice a change by, every set that was ever adopted, and whether that is in doubt."""

    mark: Sequence[Any]
    sets: Sequence[RuleChange]
    doubted: bool


class Adopted:
    """The guard of one queue. ``required`` says that nothing runs before the first adoption."""

    def __init__(self, tenant: str = "") -> None:
        """Nothing is loaded yet."""
        self.required = False
        self._tenant = tenant
        self._loaded: dict[tuple[str, str], RuleText] = {}
        self._known: _Known | None = None

    def load(self, texts: Iterable[RuleText]) -> None:
        """Note what this process decides by from now on; a part that is loaded twice has to be the same both times."""
        self._loaded |= {(item.part, item.digest): item for item in texts}

    def require(self, connection: sa.Connection, at: int) -> None:
        """Make sure that what was loaded is in force at a moment.

        Raises:
            NotAdoptedError: it is not; the error names the file and both digests.
            StoreCorruptError: the record of what was adopted is not what the log says.
        """
        if not self._loaded:
            return
        sets = self._sets(connection, at)
        if not sets:
            self._require_none()
            return
        if any(self._loaded.keys() <= set(item.parts.items()) for item in _counting(sets, at)):
            return
        raise self._differs(next((item for item in sets if item.is_current), sets[-1]))

    def has(self, connection: sa.Connection, at: int, setting: str) -> bool:
        """Say whether a set that is in force switches a setting on; where nothing was ever adopted, nothing forbids it.

        It is asked of the adopted texts and not of what is loaded here: another process may have taken the yes.

        Raises:
            StoreCorruptError: the record of what was adopted is not what the log says.
        """
        sets = self._sets(connection, at)
        texts = (read_text(connection, item.parts["settings"]) for item in _counting(sets, at))
        return not sets or any(setting_in(text, setting) is True for text in texts)

    def _require_none(self) -> None:
        """Refuse files that nobody adopted where somebody wants that, or where rules had been adopted before."""
        remedy = "adopt the present files: checkvalve rules propose"
        if self._known is not None and self._known.doubted:
            raise NotAdoptedError(
                "which rules were adopted is in doubt since the log that says so was closed", remedy=remedy
            )
        if self.required:
            raise NotAdoptedError(
                "the settings want rules that people have adopted, and nothing was adopted yet", remedy=remedy
            )

    def _sets(self, connection: sa.Connection, at: int) -> Sequence[RuleChange]:
        mark = connection.execute(_MARK, {"tenant": self._tenant}).all()
        known = self._known
        if known is None or known.mark != mark:
            found = [item for item in read_changes(connection, self._tenant, at) if item.stored == ADOPTED]
            known = self._known = _Known(mark, found, is_doubted(connection, subject_of(self._tenant)))
        return known.sets

    def _differs(self, current: RuleChange) -> NotAdoptedError:
        other = [item for (part, digest), item in self._loaded.items() if current.parts.get(part) != digest]
        named = "; ".join(
            f"{NAMES[item.part]} {item.file}: {item.digest} is loaded, and {current.parts.get(item.part)} was adopted"
            for item in other
        )
        return NotAdoptedError(f"nothing runs under rules that nobody adopted: {named}", remedy=_REMEDY)


def _counting(sets: Sequence[RuleChange], at: int) -> list[RuleChange]:
    """Return those that count at a moment."""
    return [found for item in sets if (found := replace(item, at=at)).counts]


__all__ = ["Adopted"]
