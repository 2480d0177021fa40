"""A text that leaves while it is being written, and the calls that are written beside it.

Guarantees: the pieces, and so every outcome, are those of the whole text, however the stream is cut; no more is held
back than :data:`checkvalve.filters.outbound.units.HARD` characters, mostly a line, and a private key as a whole; not a
character of a call is handed out before :meth:`OutboundStream.close`, when its gate can decide on all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from checkvalve.filters.outbound.judge import Origins, nobody
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.filters.outbound.scan import RULES, Expired, Scanner, never
from checkvalve.filters.outbound.units import Cutter
from checkvalve.filters.outcomes import ScanResult


@dataclass(slots=True)
class HeldCall:
    """A call as far as it was written: its name and the text of its arguments, which nobody has parsed yet."""

    name: str = ""
    args: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Closed:
    """The end of a stream: the rest of its text, what the scan says of all of it, and the calls, in order."""

    text: str
    result: ScanResult
    calls: tuple[HeldCall, ...] = ()


@dataclass(slots=True)
class OutboundStream:
    """Takes a stream in and hands out what may leave of it."""

    rules: OutboundRules = RULES
    origins: Origins = nobody
    expired: Expired = never
    _scanner: Scanner = field(init=False, repr=False)
    _cutter: Cutter = field(init=False, repr=False)
    _calls: dict[int | str, HeldCall] = field(init=False, repr=False, default_factory=dict)
    _whole: list[str] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        self._scanner = Scanner(self.rules, self.origins, self.expired)
        self._cutter = Cutter(self.rules.registered.open_from)

    @property
    def held(self) -> int:
        """How many characters of text are held back."""
        return self._cutter.held

    def text(self, chunk: str) -> str:
        """Take in more text, and return what may leave now; mostly nothing until a line is complete."""
        self._whole.append(chunk)
        return "".join(self._scanner.piece(piece) for piece in self._cutter.feed(chunk))

    def call(self, index: int | str, *, name: str = "", args: str = "", id: str = "") -> None:
        """Take in more of the call ``index``; nothing of it leaves here."""
        held = self._calls.setdefault(index, HeldCall())
        held.name += name
        held.args += args
        held.id = held.id or id

    def close(self) -> Closed:
        """Return the rest of the text, and the calls for their gate."""
        rest = "".join(self._scanner.piece(piece) for piece in self._cutter.close())
        return Closed(rest, self._scanner.result("".join(self._whole)), tuple(self._calls.values()))
