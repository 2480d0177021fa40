"""Read a command line as the words it stands for, and write words as a command line.

Guarantees: pure, linear, no shell. What is read is the part of the POSIX shell language in which every character
stands for itself: plain words, quotes and backslashes. Everything that a shell would *do* something for (expansion,
substitution, redirection, pipe, list, pattern, comment, here-document, assignment, keyword) is refused with a code,
never guessed at. On what is accepted, ``sh -c`` sees the very same words; a test compares the two.

A parser library would accept more and hand over a tree to search for danger, which fails open with every construct
that the search forgets. ``shlex`` splits ``$(a)`` and ``a>b`` into words without a complaint. So this is a reader of
our own, which knows what is harmless and refuses the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from checkvalve.approvals.errors import ApprovalError

MAX_LINE: Final = 32_768
"""Characters of a command line, and of one word. A longer one is a document, not a command."""
MAX_WORDS: Final = 1_024

CODES: Final = {
    "no-command": "there is no command",
    "too-long": "the command is too long",
    "control": "a line break or a control character",
    "expansion": "something that a shell would replace: $, a backquote or ~",
    "operator": "an operator of the shell: a pipe, list, redirection, group or background job",
    "pattern": "a pattern of file names: *, ?, [ or {",
    "comment": "a comment",
    "unclosed": "a quote or backslash without its end",
    "assignment": "a variable that is set before the command",
    "keyword": "a keyword of the shell in the place of a program",
    "unquoted": "a character that stands for itself only in quotes",
    "not-words": "neither a text nor a list of words",
}
"""Why a command is not read, in words that repeat nothing of it."""

_TOKEN: Final = re.compile(
    r"(?P<gap>[ \t]+)"
    r"|(?P<plain>[A-Za-z0-9_./:=@%+,-]+)"  # stands for itself in every shell and in every place
    r"|'(?P<single>[^']*)'"
    r'|"(?P<double>(?:[^"\\$`]|\\[\s\S])*)"'
    r"|\\(?P<escaped>[^\n])"
)
_REFUSED: Final = (
    ("expansion", "$`~"),
    ("operator", "|&;<>()"),
    ("pattern", "*?[]{}!^"),
    ("comment", "#"),
    ("unclosed", "'\"\\"),
    ("control", "\n\r\x00"),
)
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_KEYWORDS: Final = frozenset(
    (  # noqa: SIM905  # the words read better than a column of them
        "if then else elif fi for while until do done case esac in select function time coproc"
    ).split()
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")  # a tab and a line feed may stand in a quoted text
_BARE: Final = re.compile(r"[A-Za-z0-9_./:@%+,-]+")  # without "=": quoting it keeps an assignment a word


class CommandLineError(ApprovalError):
    """A command that does not stand for exactly one list of words. ``code`` is one of :data:`CODES`."""

    def __init__(self, code: str) -> None:
        """Keep the code; nothing of the command gets into the message."""
        super().__init__(CODES[code], remedy="give the program and its words, as a list or quoted, and nothing else")
        self.code = code


def words_of(value: object) -> tuple[str, ...]:
    """Return the words of a command argument: a list of words as it is, or a text that is read by :func:`split`.

    Raises:
        CommandLineError: it is neither, or it does not stand for exactly one list of words.
    """
    if isinstance(value, str):
        return split(value)
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise CommandLineError("not-words")
    return _checked(value)


def split(line: str) -> tuple[str, ...]:
    """Return the words of a command line.

    Raises:
        CommandLineError: it is empty or too long, or a shell would do more than split it and take quotes away.
    """
    if len(line) > MAX_LINE:
        raise CommandLineError("too-long")
    words: list[str] = []
    pieces: list[str] = []
    opened = bare = False  # inside a word; nothing of it was quoted so far
    at = 0
    while at < len(line):
        found = _TOKEN.match(line, at)
        if found is None:
            raise CommandLineError(_why(line[at:]))
        at = found.end()
        if found["gap"] is None:
            bare = found["plain"] is not None and (bare or not opened)
            opened = True
            pieces.append(_literal(found))
            if not words:
                _refuse_first("".join(pieces), bare=bare, ended=at == len(line) or line[at] in " \t")
        elif opened:
            words.append("".join(pieces))
            pieces, opened = [], False
    return _checked([*words, "".join(pieces)] if opened else words)


def join(words: Sequence[str]) -> str:
    """Return a command line that stands for ``words``, in this module's reading and in that of every POSIX shell.

    Raises:
        CommandLineError: these words are no command.
    """
    return " ".join(_quote(word, first=not at) for at, word in enumerate(_checked(words)))


def _why(rest: str) -> str:
    """Return why the text that starts here is refused."""
    if rest.startswith('"'):
        inner = re.match(r'"(?:[^"\\$`]|\\[\s\S])*([$`])?', rest)
        return "expansion" if inner is not None and inner[1] else "unclosed"
    return next((code for code, characters in _REFUSED if rest[0] in characters), "unquoted")


def _literal(found: re.Match[str]) -> str:
    if found["double"] is None:
        return found["plain"] or found["single"] or found["escaped"] or ""
    # a backslash stands for itself unless something special follows; before a line break it takes both away
    return re.sub(r'\\(["\\$`])|\\\n', lambda seen: seen[1] or "", found["double"])


def _refuse_first(word: str, *, bare: bool, ended: bool) -> None:
    """Refuse a first word that a shell would not take for a program."""
    if bare and _ASSIGNMENT.match(word):
        raise CommandLineError("assignment")
    if bare and ended and word in _KEYWORDS:
        raise CommandLineError("keyword")


def _checked(words: Sequence[str]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise CommandLineError("no-command")
    if len(words) > MAX_WORDS or sum(len(word) for word in words) > MAX_LINE:
        raise CommandLineError("too-long")
    if any(_CONTROL.search(word) for word in words):
        raise CommandLineError("control")
    return tuple(words)


def _quote(word: str, *, first: bool) -> str:
    if _BARE.fullmatch(word) and not (first and word in _KEYWORDS):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


__all__ = ["CODES", "MAX_LINE", "MAX_WORDS", "CommandLineError", "join", "split", "words_of"]
