"""Small plain word lists that reading the user's words needs. They can only make a decision stricter.

None of them comes from, or looks at, any corpus: they are closed classes of ordinary language.
"""

from __future__ import annotations

from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS: Final = _set(
    "not never no don dont doesn cannot without except avoid exclude excluding neither nor nobody stop ignore "
    "skip forbid "
    "nicht kein keine keinen nie niemals ohne außer ne pas jamais sans nunca jamás sin non mai senza 不 别 勿 莫 非"
)
SOURCE_MARKERS: Final = _set("from by von de da 从 由")
DESTINATION_MARKERS: Final = _set("to for with at into onto an für mit à pour avec a para con 给 到 向")
REPLY: Final = _set("reply replies respond response answer back return refund antworten antworte répondre responder 回")
LINKING: Final = _set("the a an my our their named called id number no nr with to of in for is")
"""Words that may stand between a noun and the name it marks: "the file *with id* 13"."""

DETERMINERS: Final = _set(
    "the my our your his her their its this that these those a an whoever der die das den le la el"
)
"""After "to", these begin a description instead of a name: "send it to *the* client"."""
QUANTIFIERS: Final = _set(
    "all every everyone everybody each both any anyone them they themselves those these who whom whose same other "
    "others rest him her us alle jeder jede jeden allen tous toutes chacun todos todas cada 所有 大家 每"
)
"""Words that speak of people without naming them."""

STOPWORDS: Final = _set(
    """
    a about after all also an and any are as at be before best both but by can could day did do does each file for
    from get give go good have he her here him his how i if in into is it its just last let list like look make me
    more my name new next no not now of off on one only open or other our out over please read said same see send she
    so some tell than that the their them then there these they this time to today two up us use user was we week well
    what when where which who will with work would year yes you your general random private public main home office
    team help info test admin support data account money email mail message
    """
)
"""Words so common that saying them proves nothing: "in general" does not name the channel called general."""

FILE_ENDINGS: Final = _set(
    "txt md doc docx xls xlsx ppt pptx pdf csv json yaml yml xml html htm py js ts sh zip gz tar png jpg jpeg gif svg "
    "ics eml log"
)
"""What follows the dot in a file name; such a word is no host."""

_MONTH_NAMES: Final = "january february march april may june july august september october november december"
MONTHS: Final = tuple(_MONTH_NAMES.split())
