# ruff: noqa: E501 - a pattern that is cut is harder to read than a long one
"""Signs by which a model's input is divided into roles, and fences around content: shown so that they divide nothing.

1. Tokens of chat templates are escaped wherever they stand; ``table[cls]`` in small letters is code, and none. 2. Tags
that agent software puts around tool results and reminders are escaped. 3. A tag that closes something which this text never opened is an attempt to step out: escaped,
and so is the next opening. 4. Turns of a conversation (``Human:`` and ``Assistant:`` at line starts, both) are escaped.
5. A message with a role as JSON is noted. Guarantees: escaping changes the brackets only, each for one look-alike, so what a person
reads stays the same; an escaped text has no token left to escape.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkvalve.filters.inbound.notes import Notes
from checkvalve.filters.inbound.views import View
from checkvalve.filters.linear import Pattern, PatternSet
from checkvalve.filters.normalise import is_invisible
from checkvalve.filters.outcomes import Severity

_SHOWN: Final = str.maketrans({"<": "‹", ">": "›", "[": "⟦", "]": "⟧", "|": "¦", "｜": "¦", "▁": "_"})
_MAX: Final = 200
_TEMPLATE: Final = (
    r"<\|[a-z_0-9/ ]{2,40}\|>|<[｜|][^｜|>\n]{2,40}[｜|]>|\[/?(?:inst|system_prompt|available_tools|tool_calls|tool_results)\]"
    r"|<</?sys>>|</?(?:start|end)_of_turn>|</?s>[ \n]{0,3}\[inst\]|<(?:bos|eos|pad|unk)>|\[(?:bos|eos|cls|sep)\]"
    r"|<\|?(?:end_of_text|begin_of_text|start_header_id|end_header_id|eot_id|eom_id|python_tag)\|?>"
)
_HARNESS: Final = (
    r"</?(?:antml:|ai:|llm:)?(?:tool[_-]?(?:results?|response|output|calls?|use|code)|function[_-]?(?:results?|calls?|call_result|output|response)"
    r"|system[_-](?:reminder|prompt|message|instructions?|note|override)|(?:untrusted|external|retrieved|user)[_-](?:content|data|input|query|message|document)"
    r"|search[_-]results?|assistant[_-](?:response|message|turn)|im_(?:start|end)|invoke|thinking|scratchpad|chain_of_thought)"
    r"(?: [^<>\n]{0,120})?/?>"
)
_FENCE: Final = (
    r"</?(?:system|assistant|human|user|instructions?|document|documents|context|prompt|content|email|message|webpage|output|result|response|input|query|data"
    r"|(?:un)?trusted|external|retriev(?:ed|al)|quoted|fetched|third[_-]?party|observations?|excerpts?|passages?|snippets?|chunks?|attachments?"
    r"|(?:untrusted|retrieved|external)[_-][a-z0-9_-]{1,40})(?:[ \t][^<>\n]{0,120})?>"
)
_LINES: Final = (
    r"(?m)^[ \t]*[-=_#*~<>\[({]{3,}[ \t]*(?:end|begin|start|stop|close)(?: of)?[ \t]+(?:\w+[ \t]+){0,3}"
    r"(?:document|session|conversation|context|content|data|input|e-?mail|message|tool (?:output|result|response)|untrusted\w*|external|user input|instructions?|prompt|output|result)\b[^\n]{0,40}$"
)
_HEADED: Final = (
    r"(?m)(?:^|[\n>\"'(])[ \t]*(?:\[|<|#{1,6} ?|\*{1,3} ?|={2,} ?|-{3,} ?|\(|<!-- ?|!{1,3} ?)+[ \t]*(?:begin |start |new |urgent |important |updated )?"
    r"(?:system|admin|administrator|developer|root|operator|moderator|assistant|ai|llm)[ _-]?"
    r"(?:message|note|prompt|instructions?|override|notice|alert|command|directive|reminder|update|notification)\b[^\n]{0,12}[\]>#*=)!:-]"
)
_TURN: Final = r"(?m)^[ \t>*#]{0,6}(?:human|user|assistant|system|ai|developer)[ \t*]{0,3}:"
_ROLE_JSON: Final = r"[\"']role[\"'][ ]?:[ ]?[\"'](?:system|assistant|developer|tool|function)[\"']"
_ONE: Final = {
    "role-token": Pattern(_TEMPLATE, ignore_case=True),
    "harness-tag": Pattern(_HARNESS, ignore_case=True),
    "fence": Pattern(_FENCE, ignore_case=True),
    "fence-line": Pattern(_LINES, ignore_case=True),
    "system-heading": Pattern(_HEADED, ignore_case=True),
    "turn": Pattern(_TURN, ignore_case=True),
    "role-json": Pattern(_ROLE_JSON, ignore_case=True),
}
_NAMES: Final = tuple(_ONE)
_ALSO_VARIABLES: Final = frozenset({"[bos]", "[eos]", "[cls]", "[sep]"})
"""Templates know these in capitals only, and programs have variables of these names: ``[cls]`` is a list of one."""
_ALL: Final = PatternSet((item.pattern for item in _ONE.values()), ignore_case=True, swift=True)
_NOTED: Final = {
    "fence-line": ("fake-boundary", Severity.MEDIUM),
    "system-heading": ("fake-system-note", Severity.LOW),
    "role-json": ("fake-turn", Severity.LOW),
}
_FENCED_KINDS: Final = frozenset({"markup"})
"""Kinds of text in which plain words stand in tags by right, so that fences are only looked at in their text."""


def look(view: View, notes: Notes, *, kind: str = "text") -> None:
    """Note role tokens and fences in ``view``, and how they are to be shown."""
    for number in _ALL.matching(view.text):
        name = _NAMES[number]
        if name in {"role-token", "harness-tag"}:
            _escape_all(name, view, notes)
        elif name == "fence" and kind not in _FENCED_KINDS:
            _fences(view, notes)
        elif name == "turn":
            _turns(view, notes)
        elif name in _NOTED:
            code, severity = _NOTED[name]
            for start, end in _places(name, view):
                notes.find(code, view, start, end, severity, detail=name)


def _places(name: str, view: View) -> Iterator[tuple[int, int]]:
    for count, found in enumerate(_ONE[name].finditer(view.text)):
        if count >= _MAX:
            return
        yield found.span()


def _escape_all(name: str, view: View, notes: Notes) -> None:
    """Escape every token. There is no bound here: what is left out would still divide."""
    places = (found.span() for found in _ONE[name].finditer(view.text))
    for count, (start, end) in enumerate(place for place in places if not _is_code(view.text, *place)):
        if count < _MAX:
            notes.find(name, view, start, end, Severity.MEDIUM if name == "role-token" else Severity.LOW, detail=name)
        token = "".join(char for char in view.text[start:end] if not is_invisible(char))
        notes.replace(view, start, end, token.translate(_SHOWN), name)


def _is_code(text: str, start: int, end: int) -> bool:
    """Say whether a token is an index or a list: in small letters, behind a name, a call or another index."""
    token = text[start:end]
    if not (token.startswith("[") and token.islower()) or token.startswith("[/"):
        return False
    before = text[start - 1 : start]
    return token in _ALSO_VARIABLES or before.isalnum() or before in {"_", ")", "]"}


def _fences(view: View, notes: Notes) -> None:
    """Escape a closing tag that closes nothing here, and whatever fence follows it."""
    open_tags: dict[str, int] = {}
    broken_out = False
    for found in _ONE["fence"].finditer(view.text):
        start, end = found.span()
        name = view.text[start:end].strip("<>/").split()[0].lower()
        if view.text[start + 1] != "/":
            open_tags[name] = open_tags.get(name, 0) + 1
        elif open_tags.get(name, 0) > 0:
            open_tags[name] -= 1
        else:
            broken_out = True
            notes.find("fake-boundary", view, start, end, Severity.MEDIUM, detail="fence")
        if broken_out:
            notes.replace(view, start, end, view.text[start:end].translate(_SHOWN), "fake-boundary")


def _turns(view: View, notes: Notes) -> None:
    """Escape turns where both sides of a conversation speak, or the system does."""
    turns = list(_ONE["turn"].finditer(view.text))
    names = {(found[0] or "").strip(" \t>*#:").lower() for found in turns}
    if not (names & {"human", "user"} and names & {"assistant", "ai"}) and "system" not in names:
        return
    for count, found in enumerate(turns):
        start, end = found.span()
        if count < _MAX:
            notes.find("fake-turn", view, start, end, Severity.LOW, detail="turn")
        notes.replace(view, end - 1, end, "\u2236", "fake-turn")  # the ratio sign, which looks like a colon
