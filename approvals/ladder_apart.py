"""Leaving one question alone that cannot be looked at, so that its trouble holds up no other one.

1. What was changed beside the log is ``damaged``, as ever. 2. A store that does not answer ends the look: it is the
trouble of all. 3. Whatever else goes wrong with one question is noted under its id, and the look goes on.

Guarantees: what is left alone is named, never forgotten; a store that cannot be trusted is not taken for something
smaller.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import sqlalchemy as sa

from checkvalve.approvals.errors import LogTamperedError, StoreCorruptError, StoreError


@dataclass(slots=True)
class Apart:
    """What one look left alone: ids of what was changed beside the log, and of what failed, with the error's name."""

    damaged: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Look at one question, or at one thing that is called ``name``.

        Raises:
            StoreError: the store does not answer.
            LogTamperedError: the log is not what was signed.
        """
        try:
            yield
        except StoreCorruptError:
            if name not in self.damaged:
                self.damaged.append(name)
        except (StoreError, LogTamperedError, sa.exc.SQLAlchemyError):
            raise  # of a statement that failed, the transaction that several questions share is over
        except Exception as error:  # noqa: BLE001  # whatever it is, the clocks of the others go on
            self.failed.setdefault(name, type(error).__name__)

    def __contains__(self, name: object) -> bool:
        """Say whether something was left alone."""
        return name in self.damaged or name in self.failed


__all__ = ["Apart"]
