"""Places that a sentence speaks of beside the one that it asks for: compared with, copied from, or told what they did.

Guarantees: pure; only ever takes authority from a mention. "Write a file *like* notes.txt", "save the first line *of*
notes.txt" and "create the file *that replaced* notes.txt" ask for no change of notes.txt.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.filters.mentions import MASK, Mention
from checkvalve.filters.vocabulary import DESTINATION_MARKERS
from checkvalve.filters.words import stem, tokens

_LIKING: Final = "".join(
    rf"(?<!{word} )" for word in ("would", "'d", "should", "might", "do", "i", "you", "we", "they")
)
_QUOTE: Final = "['\"\u2018\u201c]?\\s*$"
_FILE: Final = rf"\s+(?:(?:the|a|an|der|die|das|le|la|el) )?(?:(?:file|document|datei|fichier|archivo) )?{_QUOTE}"
_COMPARED: Final = re.compile(
    rf"(?:{_LIKING}\blike|\b(?:unlike|resembling|matching|than|instead of|in place of|different from|such as|same as)"
    r"|\b(?:similar|identical|equal|close|comparable|next|related|compared|links?|linking|points?|pointing|refers?"
    r"|referring|belongs?|belonging|corresponds?|corresponding) to|\b(?:modelled|modeled|based|patterned) (?:on|after)"
    rf"|\b(?:wie|statt|anders als|comme|au lieu de|similaire à|como|similar a|en lugar de)){_FILE}"
)
"""What stands before a thing that something is only compared with. "I would like notes.txt ..." compares nothing."""
_RELATIVE: Final = re.compile(r"\b(?:that|which|who|whose)((?: [\w'\u2019-]+){1,4}) " + _QUOTE)
_NAMING: Final = frozenset({"called", "named", "titled", "labelled", "labeled", "is", "be", "as", "reads"})
_COPYING: Final = frozenset(map(stem, ("save", "write", "copy", "store", "put", "append", "add", "insert", "export")))
_MAKING: Final = _COPYING | frozenset(map(stem, ("create", "make", "generate", "draft", "compose", "produce")))
_OF: Final = re.compile(rf"\b(?:of|from|aus|von|de|del|du){_FILE}")
_ABOUT: Final = re.compile(
    rf"\b(?:of|from|for|about|regarding|concerning|aus|von|für|über|de|del|du|pour|para|sobre){_FILE}"
)
"""What stands before a file that a text is about: "write a test *for* app.py" asks for no change of app.py."""
_ELSEWHERE: Final = re.compile(
    rf"\b(?:to|into|onto|as) ['\"]?(?:{MASK}+|[^\s'\"]*[./][^\s'\"]*)['\"]?\s.*\b(?:in|inside|within){_FILE}"
)
"""Another file was named as the destination already: "write *to out.txt* everything *in* it"."""
_BESIDES: Final = re.compile(rf"{MASK}.*(?:\bwith\b.*\b(?:in|inside|within)|\b(?P<doing>\w{{2,20}}ing)){_FILE}")
"""Another file stands before: "write it *with* the text *in* this one", "create it, *calling* this one"."""


def is_spoken_of(seen: Mention, *, file: bool = False) -> bool:
    """Say whether a place, or with ``file`` a file, is only spoken of beside what is asked for.

    1. Something is compared with it. 2. It is the object of a relative clause that gives it no name: "the file that
    *replaced* it". 3. A part of it is copied: "save the first line *of* it". 4. Of a file: what is made is about it,
    or comes from it to another file.
    """
    before = f"{seen.before.rstrip()} "
    if _COMPARED.search(before):
        return True
    if (told := _RELATIVE.search(before)) is not None:
        last = told[1].split()[-1].lower()
        if last not in DESTINATION_MARKERS and last not in _NAMING:
            return True
    verbs = [stem(word) for word, *_ in tokens(before)]
    if file and (_ELSEWHERE.search(before) or (_ABOUT.search(before) and not _MAKING.isdisjoint(verbs[:3]))):
        return True
    if file and (other := _BESIDES.search(before)) and stem(other["doing"] or "") not in _MAKING:
        return True
    return bool(_OF.search(before)) and any(verb in _COPYING for verb in verbs[:3])


__all__ = ["is_spoken_of"]
