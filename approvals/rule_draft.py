"""What somebody proposes as the rules of a gateway, before it is stored. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from checkvalve.approvals.errors import QueueError
from checkvalve.approvals.rulesets import NAMES, PARTS, text_digest
from checkvalve.approvals.spoken import kept
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES
from checkvalve.filters.strictjson import JSON

MAX_OVERLAP: Final = 86_400
"""Seconds for which what is replaced may stay in force."""
MAX_NOTE: Final = 2_000
"""Characters of a reason or an answer."""
MAX_TEXT: Final = MAX_YAML_BYTES
"""Bytes of one part: no part may be longer than the longest file that is read."""


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """What somebody proposes: every part as a text, the change it was compared with, and what it would have changed."""

    texts: Mapping[str, str]
    base: str = ""
    impact: Mapping[str, JSON] = field(default_factory=dict)
    note: str = ""
    overlap: int = 0

    @property
    def parts(self) -> dict[str, str]:
        """The digest of each part."""
        return {part: text_digest(text) for part, text in self.texts.items()}


def check_draft(draft: RuleDraft) -> None:
    """Make sure that a draft can be stored.

    Raises:
        QueueError: a part is missing, a text cannot be kept, or the time is none.
    """
    if set(draft.texts) != set(PARTS):
        raise QueueError("a set of rules has all of its parts", remedy=f"give {', '.join(PARTS)}")
    if not 0 <= draft.overlap <= MAX_OVERLAP:
        raise QueueError(
            "what is replaced may stay in force for a day at most", remedy=f"give up to {MAX_OVERLAP} seconds"
        )
    words_kept(draft.note)
    for part, text in draft.texts.items():
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise QueueError(f"the {NAMES[part]} is no text", remedy="save the file as UTF-8") from None
        if size > MAX_TEXT:
            raise QueueError(f"the {NAMES[part]} has more than {MAX_TEXT} bytes", remedy="give a shorter one")


def words_kept(text: str) -> str:
    """Return a reason or an answer as it is.

    Raises:
        QueueError: it is too long, or no database keeps it.
    """
    if len(text) > MAX_NOTE:
        raise QueueError(f"a reason has at most {MAX_NOTE} characters", remedy="say it in fewer words")
    return kept(text)


__all__ = ["MAX_NOTE", "MAX_OVERLAP", "RuleDraft", "check_draft", "words_kept"]
