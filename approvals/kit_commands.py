"""Lint the commands of a tool: shapes that allow more than they say, and tools that can run nothing or everything.

A shape is as narrow as the program that it names. Programs that run other programs (wrappers, interpreters, build
tools, whatever has an option for it) make a shape with free words as wide as a shell, so these are named.

Guarantees: pure; the lists below only warn, they allow nothing. A program that is not on them is not safe for that.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Final

from checkvalve.approvals.commandspec import CommandSpec
from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.approvals.kit_findings import Finding
from checkvalve.approvals.kit_names import Report
from checkvalve.approvals.toolspec import ToolSpec

RUNS_OTHERS: Final = frozenset(
    (  # noqa: SIM905  # the words read better than a column of them
        "env sudo doas su xargs nice nohup timeout setsid stdbuf time chroot unshare nsenter flock watch parallel ssh "
        "docker podman kubectl find fd git hg tar rsync scp vim vi ed less more man make ninja cmake npm npx yarn pnpm "
        "pip pipx uv uvx poetry cargo go mvn gradle bundle rake pytest tox nox strace ltrace gdb script expect busybox "
        "toybox systemd-run crontab at batch entr direnv just ansible"
    ).split()
)
"""Programs that start others, by their words, by their configuration, or by a file of the folder they run in."""
RUNS_TEXT: Final = frozenset(
    (  # noqa: SIM905  # the same
        "sh bash dash zsh ksh fish csh tcsh python python2 python3 perl ruby node deno bun php lua tclsh awk gawk mawk "
        "sed sqlite3 psql mysql osascript pwsh R Rscript ghci scala jshell jq"
    ).split()
)
"""Programs for which a word is code."""
_FREE: Final = ("text",)
_REACHES_OUT: Final = frozenset(
    "curl wget nc ncat netcat socat telnet ftp sftp nslookup dig host ping traceroute".split()  # noqa: SIM905
)


def check_commands(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    """Yield what is wrong with the commands of one tool."""
    yield from _tool(spec, report)
    for place, shape in enumerate(spec.commands):
        yield from _shape(spec, shape, place, report)


def _tool(spec: ToolSpec, report: Report) -> Iterator[Finding]:
    if spec.effect is not Effect.EXECUTE:
        if spec.sandbox is not None:
            yield report(
                "sandbox-unused", f"a `{spec.effect}` runs no code in a sandbox", "write `effect: execute`", "sandbox"
            )
        return
    if spec.sandbox is None:
        message, remedy = (
            "runs code and declares no sandbox, so every call is denied",
            "add `sandbox: {network: false}`",
        )
        yield report("no-sandbox", message, remedy, "effect", level="warning")
    if not spec.commands:
        message = "runs code and declares no shape of a command, so every call is denied"
        yield report(
            "no-commands", message, "add `commands:` with the shapes that it may run", "effect", level="warning"
        )
    elif not any(argument.role is Role.COMMAND for argument in spec.args.values()):
        message = "declares shapes, and no argument has the role `command`, so every call is denied"
        yield report("no-commands", message, "give the argument with the command the role `command`", "args")
    if spec.sandbox is not None and spec.sandbox.network:
        message = "has the network, so what it reads can leave, and a person is asked about every command"
        yield report("sandbox-network", message, "leave `network` out", "sandbox", level="warning")


def _shape(spec: ToolSpec, shape: CommandSpec, place: int, report: Report) -> Iterator[Finding]:
    program = posixpath.basename(shape.words[0])
    where = ("commands", place)
    free = [operand.kind for operand in shape.operands if not operand.one_of]
    free += [takes for takes in shape.options.values() if isinstance(takes, str) and takes != "flag"]
    if program in RUNS_TEXT and free:
        message = (
            f"`{program}` takes words for code, and the shape leaves words open: whoever chooses them runs anything"
        )
        yield report("runs-anything", message, "fix all of its words, or name the one script in `run`", *where)
    elif program in RUNS_TEXT:
        message = f"`{program}` runs code: all of its words are fixed, what it reads may not be"
        yield report("runs-others", message, "name a program that does the one thing", *where, level="warning")
    elif program in RUNS_OTHERS:
        open_words = any(kind in _FREE for kind in free)
        message = f"`{program}` starts other programs, by its words or by files of the work folder"
        yield report(
            "runs-anything" if open_words else "runs-others",
            message + (", and the shape leaves a free text open" if open_words else ""),
            "fix its words, and read which options and files make it start something",
            *where,
            level="error" if open_words else "warning",
        )
    if program in _REACHES_OUT and (spec.sandbox is None or not spec.sandbox.network):
        message = f"`{program}` needs a network, and the sandbox has none"
        yield report("sandbox-network", message, "remove the shape", *where, level="warning")
    if shape.reads_only and (len(shape.evidence.split()) < _WORDS or shape.evidence.strip().lower() == "todo"):
        message = "is said to only read, and the evidence says nothing"
        yield report("empty-evidence", message, "say what it does to which files", *where, "evidence")


_WORDS: Final = 3  # of an evidence that says something
