"""Secrets that only their surroundings give away: a name such as ``api_key`` before a value that no person would write.

Guarantees: pure and linear; a value counts only behind such a name *and* when it looks made by a machine. Digests,
commit ids, UUIDs, order numbers and paths are not secrets by themselves, and a variable (``${TOKEN}``,
``os.environ[...]``) is none at all. A parameter of an address is not looked at: whoever judges the address does that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkvalve.filters.secrets.vendors import SecretHit, entropy, is_example

MIN_ENTROPY: Final = 3.3
"""Bits per sign: below the 3.5 of the literature, since sixteen hexadecimal signs cannot have more than 4."""
MIN_LENGTH: Final = 12
MAX_LENGTH: Final = 256

_NAMES: Final = (
    r"(?:api|access|secret|private|auth|client|encryption|signing|service|account|master|session|bearer|refresh|deploy|"
    r"webhook|shared)[ _-]?(?:key|token|secret|password)s?|(?:pass(?:word|wd|phrase)|pwd|secret|token|credentials?|"
    r"apikey|passwort|kennwort|contraseña|mot de passe)"
)
_ASSIGNED: Final = re.compile(
    rf"(?i)(?<![A-Za-z0-9_.?&-])(?P<name>(?:[A-Za-z0-9]{{1,20}}[_.-]){{0,4}}(?:{_NAMES}))"
    r"(?P<link>[\"']?\s{0,3}(?::=|=>|[:=]|\bis\b|\blautet\b|\best\b|\bes\b)\s{0,3}[\"'`]?|\s{1,3}[\"'`])"
    rf"(?P<secret>[^\s\"'`<>,;(){{}}\u3000-\u9fff\uac00-\ud7af]{{{MIN_LENGTH},{MAX_LENGTH}}})"
)
_HEADER: Final = re.compile(
    rf"(?i)\b(?:proxy-)?authorization\s{{0,3}}[:=]\s{{0,3}}[\"']?(?:basic|bearer|token)\s{{1,3}}"
    rf"(?P<secret>[A-Za-z0-9+/=._~-]{{{MIN_LENGTH},4096}})"
)
_OPEN: Final = re.compile(
    rf"(?i)(?:(?<![A-Za-z0-9])(?:{_NAMES})[\"']?\s{{0,3}}(?::=|=>|[:=]|is|lautet|est|es)?\s{{0,3}}[\"'`]?"
    r"|authorization\s{0,3}[:=]\s{0,3}[\"']?(?:basic|bearer|token)?\s{0,3})$"
)
_CODE: Final = re.compile(
    r"[$%][{(A-Za-z]|\.(?:get|environ|getenv)\b|\w\(|^[A-Za-z_]+(?:\.[A-Za-z_]+)+$|://|^/|^\./|\\\\"
)
_TAIL: Final = 96  # characters before a cut in which an unfinished assignment may stand


def context_secrets(text: str) -> Iterator[SecretHit]:
    """Yield values that a name before them calls a secret and that look like one."""
    lowered = text.casefold()
    if not any(word in lowered for word in _HINTS):
        return
    for pattern, code in ((_ASSIGNED, "named-secret"), (_HEADER, "authorization")):
        for match in pattern.finditer(text):
            if looks_made(match["secret"].rstrip(".:?")) and not _is_in_address(text, match.start()):
                start = match.start("secret")
                yield SecretHit(start, start + len(match["secret"].rstrip(".:?")), code)


def _is_in_address(text: str, place: int) -> bool:
    """Say whether ``place`` is in the middle of an address: a scheme or a host stands before it in the same word."""
    before = _WORD_START.split(text[max(0, place - _MAX_ADDRESS) : place])[-1]
    return "//" in before or before.lower().startswith("www.")


_WORD_START: Final = re.compile(r"[\s\"'`<>{}|,()]")
_MAX_ADDRESS: Final = 2048
_HINTS: Final = ("key", "token", "secret", "pass", "pwd", "credential", "authorization", "kennwort", "contraseña")


def looks_made(value: str) -> bool:
    """Say whether a machine made ``value``: no variable, no example, mixed signs, and enough entropy."""
    if len(value) < MIN_LENGTH or is_example(value) or _CODE.search(value):
        return False
    mixed = sum(any(test(char) for char in value) for test in (str.islower, str.isupper, str.isdigit, _is_sign))
    return mixed >= 2 and any(map(str.isdigit, value)) and entropy(value) >= MIN_ENTROPY  # noqa: PLR2004


def names_a_secret(text: str) -> bool:
    """Say whether ``text`` ends in the name of a secret whose value is still to come."""
    tail = text[-_TAIL:]
    lowered = tail.lower()
    if tail.isascii() and not any(word in lowered for word in _HINTS):
        return False
    return bool(_OPEN.search(tail))


def _is_sign(char: str) -> bool:
    return not char.isalnum()
