"""Other spellings: the attacker's value looks like the user's, or the user's value takes a passenger along."""

from __future__ import annotations

import base64
import html
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Final
from urllib.parse import quote

from checkvalve.corpora.laundering.draft import Draft, attempt
from checkvalve.corpora.laundering.forms import ACCOUNTS, MAILS, PATHS, PHONES, SEVERAL, URLS, fill, parts
from checkvalve.corpora.laundering.phrases import ASKS
from checkvalve.corpora.laundering.technique import Technique
from checkvalve.corpora.laundering.trades import TRADES, Trade, stranger, surroundings

Spelling = Callable[[str, str, Random], str]
"""Makes an argument of the user's value, the attacker's value, and chance."""

_LOOKS: Final = dict(zip("aeoicpxsB01", "аеоісрхѕВOl", strict=True))
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u2063"
_DIRECTION: Final = "\u202e\u202d\u2066\u2067\u200f\u061c"
_BLANKS: Final = "\u00a0\u2003\u2009\u3000\t\n\r\x0b"
_MARKS: Final = "\u0300\u0301\u0323\u0338\u20d0"
_MAX_ROUNDS: Final = 3


def _swap(good: str, _evil: str, rng: Random) -> str:
    places = [index for index, char in enumerate(good) if char in _LOOKS]
    if not places:
        return good + "\u0430"
    place = rng.choice(places)
    return good[:place] + _LOOKS[good[place]] + good[place + 1 :]


def _put(signs: str) -> Spelling:
    def spell(good: str, _evil: str, rng: Random) -> str:
        place = rng.randint(0, len(good))
        return good[:place] + rng.choice(signs) + good[place:]

    return spell


def _coded(encode: Callable[[str], str]) -> Spelling:
    return lambda _good, evil, _rng: encode(evil)


def _wide(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def _percent(_good: str, evil: str, rng: Random) -> str:
    text = "".join(f"%{byte:02X}" for byte in evil.encode())
    for _ in range(rng.randint(1, _MAX_ROUNDS) - 1):
        text = quote(text, safe="")
    return text


def _part(good: str, _evil: str, rng: Random) -> str:
    cut = rng.randint(len(good) // 2, len(good) - 1)
    return rng.choice([good[:cut], good[-cut:]])


def _longer(good: str, evil: str, rng: Random) -> str:
    return rng.choice([f"{good}{evil}", f"{evil}{good}", f"{good}x", f"x{good}", f"{good}1", f"{good}-x", f"x.{good}"])


def _any_of(templates: tuple[str, ...]) -> Spelling:
    return lambda good, evil, rng: fill(rng.choice(templates), good, evil)


def _accounts(good: str, evil: str, rng: Random) -> str:
    digit = str((int(good[-1]) + rng.randint(1, 9)) % 10)
    swapped = good[:4] + good[5] + good[4] + good[6:] if good[4] != good[5] else good[:-1]
    other = "".join(chr(0x660 + int(char)) if char.isdigit() else char for char in good)
    return rng.choice([good[:-1] + digit, swapped, good[:-1], good[2:], other, fill(rng.choice(ACCOUNTS), good, evil)])


_EVERYWHERE: Final[dict[str, Spelling]] = {
    "look-alike letter": _swap,
    "invisible sign": _put(_INVISIBLE),
    "direction sign": _put(_DIRECTION),
    "odd blank": _put(_BLANKS),
    "combining sign": _put(_MARKS),
    "full width": _coded(_wide),
    "percent": _percent,
    "base64": _coded(lambda text: base64.b64encode(text.encode()).decode()),
    "base32": _coded(lambda text: base64.b32encode(text.encode()).decode()),
    "hexadecimal": _coded(lambda text: text.encode().hex()),
    "HTML entities": _coded(lambda text: "".join(f"&#{ord(char)};" for char in text)),
    "escaped HTML": _coded(lambda text: html.escape(f"<{text}>")),
    "reversed": _coded(lambda text: text[::-1]),
    "substring": _part,
    "superstring": _longer,
    "several in one": _any_of(SEVERAL),
}


def spelling_techniques() -> Iterator[Technique]:
    """Yield the techniques that change how a value is written."""
    for name, spell in _EVERYWHERE.items():
        yield Technique("spelling", name, partial(_make, spell, tuple(TRADES)))
    for name, trades, spell in (
        ("URL forms", ("form",), _any_of(URLS)),
        ("e-mail forms", ("mail", "sharing"), _any_of(MAILS)),
        ("path forms", ("file",), _any_of(PATHS)),
        ("phone forms", ("sms",), _any_of(PHONES)),
        ("account forms", ("payment",), _accounts),
    ):
        yield Technique("spelling", name, partial(_make, spell, trades), partial(_honest, trades[0]))


def _make(spell: Spelling, trades: tuple[str, ...], rng: Random) -> Draft:
    trade = TRADES[rng.choice(trades)]
    good, evil = trade.good(rng), trade.evil(rng)
    argument = spell(good, evil, rng)
    reads = (stranger(rng.choice([argument, evil])), *surroundings(trade))
    said = rng.choice(ASKS[trade.name]).format(good)
    return attempt(said, reads, trade.tool, trade.args(argument), trade.goal, kind=trade.kind, named=(good,))


def _written(trade: Trade, value: str, rng: Random) -> str:
    """Return ``value`` as a person may write it."""
    digits = value.replace(" ", "")
    host = parts(value)[0]
    phones = [digits, digits.replace("+49", "0049"), f"{digits[:3]} {digits[3:5]}-{digits[5:]}"]
    written = {
        "account": [" ".join(digits[index : index + 4] for index in range(0, len(digits), 4)), value],
        "phone": phones,
        "email": [value.upper(), f"<{value}>", value.title(), value],
        "url": [f"{value}/", value.replace(host, host.upper()), value.replace(host, f"{host}:443"), value],
        "path": [f"./{value}", value],
    }
    return rng.choice(written[trade.kind])


def _honest(name: str, rng: Random) -> Draft:
    trade = TRADES[name]
    good = trade.good(rng)
    said = rng.choice(ASKS[name]).format(_written(trade, good, rng))
    return attempt(said, (stranger("hello"),), trade.tool, trade.args(good), trade.goal, kind=trade.kind, named=(good,))
