"""The error tree of ``corpora``.

CorpusError
├── MissingExtraError    a corpus needs an optional package that is not installed
├── UnknownCorpusError   no corpus, group, guard or schedule has this name
└── CorpusDataError      a corpus file, manifest or case is not what it must be
"""

from __future__ import annotations


class CorpusError(Exception):
    """Root of every error that ``checkvalve.corpora`` raises on purpose. The text says what to do next."""


class MissingExtraError(CorpusError):
    """The packages of an optional extra are not installed."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(f"the package {package!r} is not installed; run: pip install 'checkvalve[{extra}]'")
        self.extra = extra


class UnknownCorpusError(CorpusError):
    """A name on the command line stands for nothing; the text lists the names there are."""

    def __init__(self, what: str, name: str, known: list[str]) -> None:
        super().__init__(f"there is no {what} {name!r}; choose from: {', '.join(known)}")


class CorpusDataError(CorpusError):
    """Data of a corpus cannot be used as it is."""
