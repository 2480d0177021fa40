"""The error tree of ``filters``.

FilterError
├── LabelError         a label, source or reference was built wrongly (the caller must fix the code)
├── HostileInputError  input that cannot be handled safely (too long, too deep, not one value); fail closed
└── UnknownReferenceError  a reference that the content store does not hold
"""

from __future__ import annotations


class FilterError(Exception):
    """Root of every error that ``checkvalve.filters`` raises on purpose."""


class LabelError(FilterError):
    """A label, source or tainted value was built or used wrongly."""


class HostileInputError(FilterError):
    """Input that is refused as a whole: ``code`` is stable, and the text repeats none of the input."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnknownReferenceError(FilterError):
    """A reference names nothing in this content store."""
