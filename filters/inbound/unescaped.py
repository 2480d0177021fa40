"""A whole text with the escapes of strings undone: what a text in JSON, YAML or code says, whether it is whole or not.

Programs cut results, and a string that was cut is no JSON any more; others show a string as it was written. Guarantees:
linear, places are kept, and the reading is about as long as the text.
"""

from __future__ import annotations

import re
from typing import Final

from checkvalve.filters.inbound.canonical import canonical
from checkvalve.filters.inbound.views import Builder, View
from checkvalve.filters.outcomes import Channel

NOTE: Final = "unescaped"
_ESCAPE: Final = re.compile(
    r"\\{1,4}(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})"
    r"|([0-3][0-7]{2})|([nrtvf_LNP]|\r?\n[ \t]*)|([\"'/]))"
)


def unescaped(view: View) -> View:
    """Return the canonical form of ``view`` with its escapes undone; those of blanks and line ends are blanks."""
    builder = Builder(view)
    builder.undone(_ESCAPE, _meant, 0, len(view.text))
    return canonical(builder.view(Channel.DECODED, NOTE))


def _meant(found: re.Match[str]) -> str:
    if found[6] is not None:
        return " "
    if found[7] is not None:
        return found[7]
    digits = next((group for group in found.groups()[:4] if group), None)
    code = int(found[5], 8) if digits is None else int(digits, 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"  # noqa: PLR2004  # Unicode's own limits
