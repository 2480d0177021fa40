"""What no tool may touch: the gateway's own paths and hosts and the deployer's, in every form that a value may have.

Guarantees: pure; a path counts at any depth and in every form (``~``, ``..``, ``//``, percent-encoding), a host in
every spelling that a client accepts, and every word of a command counts.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from checkvalve.filters.values import canonical, url_host

_PIECES: Final = re.compile(r"[\s=:,;'\"<>|&()]+")
_PROCESS_PATH: Final = re.compile(r"/proc/[^/]+/(?:root|cwd|fd|task)|/dev/fd")
_DOORS: Final = ("proc", "dev")
_HOME: Final = re.compile(r"^~[^/]*")
_ASCENT: Final = re.compile(r"^(?:\.\./|~[^/]*/)+")
_MAX_DECODINGS: Final = 3


@dataclass(frozen=True, slots=True)
class _Path:
    """A protected path: its clean form, that form without the home it starts in, and the last step."""

    form: str
    tail: str
    last: str


def is_guarded(value: str, protected: Sequence[str]) -> bool:
    """Say whether a value, or a word of it, points into one of the ``protected`` paths or names one of the hosts."""
    hosts, paths = _guards(tuple(protected))
    small, plain = value.lower(), _decoded(value).lower()
    # No spelling in ASCII hides a name's letters, but for a host that is a number: most values are done with here.
    hosts = frozenset(host for host in hosts if host in small or host[-1:].isdecimal() or not value.isascii())
    if plain.isascii() and not any(name in plain for name in (*_DOORS, *(path.last for path in paths))):
        paths = ()
    if not hosts and not paths:
        return False
    pieces = {piece for piece in (value, *_PIECES.split(value)) if piece}
    if hosts and any(url_host(piece) in hosts for piece in pieces):
        return True
    return bool(paths) and any(_leads_into(_clean(piece), paths) for piece in pieces)


@lru_cache(maxsize=64)
def _guards(protected: tuple[str, ...]) -> tuple[frozenset[str], tuple[_Path, ...]]:
    hosts = frozenset(guard.casefold() for guard in protected if "/" not in guard and "." in guard)
    forms = (_clean(guard) for guard in protected if "/" in guard or "." not in guard)
    tails = ((form, _HOME.sub("", form)) for form in forms)
    return hosts, tuple(_Path(form, tail, tail.rpartition("/")[2]) for form, tail in tails)


def _leads_into(form: str, paths: Sequence[_Path]) -> bool:
    # a process path is a door to every file by another name
    return bool(_PROCESS_PATH.match(form)) or any(_covers(path, form) for path in paths)


def _covers(path: _Path, form: str) -> bool:
    if not form.startswith("/"):
        # Where it starts is not known here, so its end decides: "../../etc/agent" may well be "/etc/agent".
        detour = form.startswith("../")
        form = "/" + _ASCENT.sub("", f"{form}/").rstrip("/")
        if detour and path.form.startswith("~/"):
            return f"{path.tail}/" in f"{form}/"  # out of one home and into another one by its name
        return f"{form}/".startswith(f"{path.tail}/")
    if path.form.startswith("~/"):
        return f"{path.tail}/" in f"{form}/"
    return form == path.form or form.startswith(path.form.rstrip("/") + "/")


@lru_cache(maxsize=1024)
def _clean(text: str) -> str:
    form = canonical("path", _decoded(text)) or ""
    form = re.sub(r"^file:(?:/{3,}|//?(?:localhost/)?)", "/", form)
    form = re.sub(r"^\$\{?home\}?", "~", form)
    # Some file systems do not tell cases apart, so case is folded by the canonical form.
    return posixpath.normpath(form) if form else ""


def _decoded(text: str) -> str:
    for _ in range(_MAX_DECODINGS):
        if "%" not in text:
            break
        text = unquote(text)
    return text
