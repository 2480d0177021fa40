"""What a question says of itself in English: why somebody is asked, and where a value was found.

The names of sources are made by the gateway: ``user`` or ``user:ID`` for words of the user, ``tool:NAME/CALL#FIELD``
for what a tool returned. The pages say the same in their own languages, and a test holds the English words together.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

USER: Final = "user"
TOOL: Final = "tool:"
NO_SOURCE: Final = "none"
"""The source of a value that stands nowhere: the model made it up, and a person accepted it all the same."""
NOWHERE: Final = "nowhere: nobody is known to have said it"

WHY: Final[Mapping[str, str]] = {
    "untrusted-target": "An outsider, not the user, may have chosen where this goes.",
    "untrusted-selector": "An outsider, not the user, may have chosen the record.",
    "untrusted-command": "An outsider, not the user, may have written this command.",
    "untrusted-credential": "The credential does not come from the user.",
    "untrusted-amount": "An outsider, not the user, may have set the amount.",
    "untrusted-control": "An outsider, not the user, may have chosen this setting.",
    "unnamed-record": "A record would be changed for good that the user did not name.",
    "readers": "Data would go to somebody who may not read it.",
    "foreign-link": "There is a link or address in it that the user did not name.",
    "composed-link": "It contains a link that was put together and stands in no source.",
    "untrusted-memory": "The agent would remember something that an outsider wrote.",
    "over-limit": "It goes beyond a limit that was set for this tool.",
    "not-asked": "The user did not ask for this effect.",
    "repeated-effect": "The same was done in this task before.",
    "dictated-record": "Everything in this record was written by outsiders.",
    "execute": "Code would run that can reach the network.",
    "flagged-content": "It rests on content in which something was flagged.",
    "hidden-text": "It contains invisible or misleading characters.",
    "secret": "It contains what looks like a key or password.",
    "personal-data": "It contains personal data.",
    "unscanned": "It is too long to have been looked at to its end.",
    "no-user-words": "The host did not declare any words of the user, so nothing can be traced back to the user.",
    "undo": "Somebody wants to undo an effect. What the call says comes from the record, not from the user.",
    "edited": "A person changed this call: the changed call needs a decision of its own.",
    "refused-before": "A person refused exactly this call before, and the user has not asked again.",
}
"""By rule: why a person is asked."""


@dataclass(frozen=True, slots=True)
class Place:
    """A source by its parts. ``kind``: user, result, nowhere or other; ``name``: the tool, or another name whole."""

    kind: str
    name: str
    field: str = ""

    def in_words(self) -> str:
        """Return it for people; what is in it is content still, and has to be made safe."""
        said = {"user": "the user's words", "result": f"what {self.name} returned", "nowhere": NOWHERE}.get(
            self.kind, self.name
        )
        return f"{said}, field {self.field}" if self.field else said


def place_of(source: str) -> Place:
    """Return the parts of a recorded source; the id of the call is left out, since it says nothing to people."""
    if source.partition(":")[0] == USER:
        return Place("user", "")
    if source.startswith(TOOL):
        name, _, field = source.removeprefix(TOOL).partition("#")
        return Place("result", name.rpartition("/")[0] or name, field)
    return Place("nowhere", "") if source == NO_SOURCE else Place("other", source)


__all__ = ["NOWHERE", "NO_SOURCE", "TOOL", "USER", "WHY", "Place", "place_of"]
