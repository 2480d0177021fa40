"""How text is drawn on a page of a PDF file: whether somebody who looks at the page sees it.

Hidden is text that is drawn without paint, in white on no ground of another colour, too small to be read, or outside
the page. Guarantees: one step for each operator, bounded memory; the two texts of a page together hold every character
that is drawn. What covers text, and text that was made one with a layer that is off, is not told apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

Box: TypeAlias = tuple[float, float, float, float]
Matrix: TypeAlias = tuple[float, ...]

_UNPAINTED: Final = frozenset({3, 7})  # text rendering modes that draw nothing
_OUTLINED: Final = frozenset({1, 5})
_SMALLEST: Final = 2.0  # points
_EVEN: Final = 0.02  # no eye tells a colour so near white from it
_CONTRAST: Final = 0.2
_MAX_GROUNDS: Final = 200  # the newest; a page with more is a drawing
_MAX_SAVED: Final = 500
_FILL: Final = {b"g": 1.0, b"rg": 1.0, b"sc": 1.0, b"scn": 1.0, b"k": 0.0, b"cs": 0.0}
"""Operators that choose the colour of areas, with the number that is white in it; ``cs`` starts with black."""
_STROKE: Final = {b"G": 1.0, b"RG": 1.0, b"SC": 1.0, b"SCN": 1.0, b"K": 0.0, b"CS": 0.0}
_PAINTS: Final = frozenset({b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"})
_ENDS: Final = frozenset({b"n", b"S", b"s"})
_POINTS: Final = {b"m": 2, b"l": 2, b"c": 6, b"v": 4, b"y": 4}

CHANGES: Final = frozenset({b"Tr", b"Q", b"Do", *_FILL, *_STROKE})
"""Operators after which text may be drawn in another way: what was drawn before them is a piece of its own."""


@dataclass(frozen=True, slots=True)
class _State:
    """What ``q`` saves: the rendering mode, and how far from white both colours are (None is white for certain)."""

    mode: int = 0
    fill: float = 1.0
    stroke: float = 1.0


@dataclass(slots=True)
class Sheet:
    """One page or form on which is drawn, with what was drawn on it so far."""

    box: Box | None = None
    state: _State = field(default_factory=_State)
    _saved: list[_State] = field(default_factory=list)
    _grounds: list[Box] = field(default_factory=list)
    _path: list[tuple[float, float]] = field(default_factory=list)

    def inner(self) -> Sheet:
        """Return the sheet of a form that is drawn now: it begins with the same colours and has places of its own."""
        return Sheet(None, self.state)

    def take(self, operator: bytes, operands: list[Any], matrix: Any) -> None:
        """Follow one operator."""
        if operator == b"q" and len(self._saved) < _MAX_SAVED:
            self._saved.append(self.state)
        elif operator == b"Q" and self._saved:
            self.state = self._saved.pop()
        elif operator == b"Tr":
            self.state = replace(self.state, mode=int(next(iter(_numbers(operands)), 0)))
        elif operator in _FILL:
            self.state = replace(self.state, fill=_from_white(operands, _FILL[operator]))
        elif operator in _STROKE:
            self.state = replace(self.state, stroke=_from_white(operands, _STROKE[operator]))
        else:
            self._draw(operator, operands, matrix)

    def _draw(self, operator: bytes, operands: list[Any], matrix: Any) -> None:
        if operator == b"re" and len(numbers := _numbers(operands)) == 4:  # noqa: PLR2004  # a corner and two sides
            left, bottom, width, height = numbers
            self._add([(left, bottom), (left + width, bottom + height)], matrix)
        elif operator in _POINTS and len(numbers := _numbers(operands)) == _POINTS[operator]:
            self._add(list(zip(numbers[0::2], numbers[1::2], strict=True)), matrix)
        elif operator in _PAINTS or operator in _ENDS:
            if operator in _PAINTS and self._path and self.state.fill > _CONTRAST:
                self._ground(self._path)
            self._path = []
        elif operator == b"sh":
            self._grounds.append((float("-inf"), float("-inf"), float("inf"), float("inf")))

    def picture(self, matrix: Any) -> None:
        """Take in a picture: it fills the unit square."""
        self._ground([_moved((0.0, 0.0), matrix), _moved((1.0, 1.0), matrix)])

    def _add(self, points: list[tuple[float, float]], matrix: Any) -> None:
        moved = [_moved(point, matrix) for point in points]
        if len(self._path) < _MAX_GROUNDS:
            self._path += moved

    def _ground(self, points: list[tuple[float, float]]) -> None:
        across, up = zip(*points, strict=True)
        self._grounds.append((min(across), min(up), max(across), max(up)))
        del self._grounds[:-_MAX_GROUNDS]

    def hides(self, matrix: Any, text_matrix: Any, size: float) -> bool:
        """Say whether text that is drawn here and now is not seen."""
        state = self.state
        if state.mode in _UNPAINTED:
            return True
        scale = _scale(text_matrix) * _scale(matrix)
        if 0 < abs(size) * scale < _SMALLEST:
            return True
        at = _moved((float(text_matrix[4]), float(text_matrix[5])), matrix)
        if self.box is not None and not _near(at, self.box):
            return True
        paint = state.stroke if state.mode in _OUTLINED else state.fill
        return paint < _EVEN and not any(
            left <= at[0] <= right and bottom <= at[1] <= top for left, bottom, right, top in self._grounds
        )


@dataclass(slots=True)
class Drawn:
    """The text of one page in two pieces: what is seen and what is not."""

    seen: list[str] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)

    def add(self, text: str, *, hidden: bool) -> None:
        """Take a piece in. Blanks at its ends part words of the other text too."""
        own, other = (self.unseen, self.seen) if hidden else (self.seen, self.unseen)
        own.append(text)
        if text != text.strip():
            other.append(" ")


def _numbers(operands: list[Any]) -> list[float]:
    return [float(item) for item in operands if isinstance(item, int | float)]


def _from_white(operands: list[Any], white: float) -> float:
    """Return how far a colour is from white; a pattern or a name alone is far."""
    numbers = _numbers(operands)
    return max((abs(number - white) for number in numbers), default=1.0)


def _moved(point: tuple[float, float], matrix: Any) -> tuple[float, float]:
    across, up = point
    return (
        across * float(matrix[0]) + up * float(matrix[2]) + float(matrix[4]),
        across * float(matrix[1]) + up * float(matrix[3]) + float(matrix[5]),
    )


def _scale(matrix: Any) -> float:
    return float((float(matrix[2]) ** 2 + float(matrix[3]) ** 2) ** 0.5)


def _near(at: tuple[float, float], box: Box) -> bool:
    """Say whether text that starts here can reach the page: it runs to the right."""
    left, bottom, right, top = box
    return left - (right - left) <= at[0] <= right and bottom - 2 * _SMALLEST <= at[1] <= top


__all__ = ["CHANGES", "Box", "Drawn", "Sheet"]
