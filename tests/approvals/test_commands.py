"""A command has a declared shape, or it has none: letter by letter, and nothing left over."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from checkvalve.approvals.commandline import CommandLineError
from checkvalve.approvals.commands import match
from checkvalve.approvals.commandspec import CommandSpec

pytestmark = pytest.mark.claim("C9")

SHAPES = tuple(
    CommandSpec.model_validate(shape)
    for shape in [
        {"run": "git status", "options": {"--short": "flag"}},
        {"run": "git log", "options": {"-n": "number", "--format=": ["%H", "%s"], "--author": "name"},
         "operands": [{"kind": "path", "many": True, "optional": True}]},
        {"run": "cat", "operands": [{"kind": "path", "many": True}]},
        {"run": "ls", "operands": [{"kind": "folder", "optional": True}]},
        {"run": "cp", "operands": [{"kind": "path"}, {"kind": "path"}]},
        {"run": "make", "operands": [{"kind": "name", "one_of": ["test", "build"]}]},
        {"run": "grep", "options": {"-r": "flag", "--include=": "text"},
         "operands": [{"kind": "text"}, {"kind": "folder"}]},
        {"run": "/opt/tools/fmt", "operands": [{"kind": "path"}]},
        {"run": "python3 -m unittest"},
    ]
)  # fmt: skip


@pytest.mark.parametrize(
    ("command", "chosen"),
    [
        ("git status", ""),
        ("git status --short", ""),
        (["git", "status"], ""),
        ("git log", ""),
        ("git log -n 5", "5"),
        ("git log --format=%H a/b.txt c", "--format=%H a/b.txt c"),
        ("git log --author ann -- src", "ann src"),
        ("cat README.md", "README.md"),
        ("cat .env", ".env"),
        ("cat 'a b.txt' x/../y", "a b.txt x/../y"),
        ("cat /task/a", "/task/a"),
        (["cat", "naïve.txt"], "naïve.txt"),
        ("ls", ""),
        ("ls .", "."),
        ("ls /task", "/task"),
        ("cp a b", "a b"),
        ("make test", "test"),
        ("grep -r 'a;b|c' src", "a;b|c src"),
        ("grep -r --include='*.py' x .", "--include=*.py x ."),
        ("/opt/tools/fmt a", "a"),
        ("python3 -m unittest", ""),
    ],
)
def test_a_declared_shape_is_found_with_the_words_that_were_chosen(command: object, chosen: str) -> None:
    found = match(command, SHAPES)
    assert found is not None
    assert " ".join(found.words[place] for place in found.chosen) == chosen


@pytest.mark.parametrize(
    "command",
    [
        # Another program, or the same by another way.
        "git push", "GIT status", "./git status", "/usr/bin/git status", "bin/git status", "../git status", "fmt a",
        "/opt/tools/../tools/fmt a", "/opt//tools/fmt a", "git", "git statusx", "gitstatus", ["git status"], "cat",
        # A wrapper around an allowed program.
        "env git status", "env A=1 git status", "/usr/bin/env git status", "sudo git status", "nice git status",
        "xargs git status", "timeout 5 git status", "sh -c 'git status'", "bash -c 'git status'", "busybox cat a",
        "python3 -c 'import os'", "python3 -m http.server", "nohup cat a", "command cat a", "exec cat a", "eval cat a",
        # An allowed program that is told to run another one.
        "git -c core.pager=sh status", "git -c alias.status='!sh' status", "git --exec-path=/task status",
        "git -C /root status", "git --git-dir=/task/x status", "git status -c x", "git log --output=/task/x",
        "git log --ext-diff", "git log -p", "git st", "find . -exec sh x", "tar xf a --to-command=sh",
        "tar --checkpoint=1 --checkpoint-action=exec=sh", "ssh -o ProxyCommand=sh host", "npm run x", "pip install x",
        "awk 'BEGIN{system(\"id\")}'", "sed -e '1e id' x", "make -f x test", "make SHELL=/task/x test", "make deploy",
        "cat a --files0-from=x", "ls -l", "grep -f /task/x a .", "vim -c '!sh'", "less a",
        # Options that are not spelled as declared: abbreviated, bundled, attached, without or with a value.
        "git status --shor", "git status --short=1", "git log -n5", "git log -n=5", "git log --format %H", "git log -n",
        "git log -n -- 5", "git log -n -5", "git log -n five", "git log --format=%x00", "git log --author=ann",
        "git log --author 'a b'", "git log --author -x", "git status -s", "grep -rn x .",
        # Operands of the wrong kind or number.
        "cat /etc/passwd", "cat ../x", "cat a/../../x", "cat ~/x", "cat -", "cat -- -", "cat -- -x", "cat ''", "cat .",
        "cat /task", "cat /taskforce/x", "cat host:x", "cat @args", "cat +x", "cat ':(top)x'", "cat 'a\nb'",
        "cat '*.py'",
        "cat 'a?b'", "cat %61", "cat 'a;b'", "cat file:///etc/passwd", "cat a ../b", "ls a b", "ls ..", "cp a",
        "cp a b c", "cp a -b", "make", "make test build", "make 'test '", "grep x", "grep -r -- x -y", "git status x",
        "git status -- x",
    ],
    ids=str,
)  # fmt: skip
def test_anything_else_has_no_shape(command: object) -> None:
    try:
        found = match(command, SHAPES)
    except CommandLineError:
        return
    assert found is None


@pytest.mark.parametrize(
    "words", [["cat", "~/x"], ["cat", "$HOME"], ["cat", "a*"], ["cat", "a\nb"], ["cat", "a\u202eb"], ["cat", "", "a"]]
)
def test_a_list_is_held_to_the_kinds_too(words: list[str]) -> None:
    assert match(words, SHAPES) is None


def test_what_cannot_be_read_is_an_error_and_no_shape() -> None:
    with pytest.raises(CommandLineError):
        match("cat README.md | sh", SHAPES)


def test_without_shapes_nothing_fits() -> None:
    assert match("git status", ()) is None


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ({"run": "./git status"}, "neither a plain name nor an absolute path"),
        ({"run": "bin/git"}, "neither a plain name nor an absolute path"),
        ({"run": "git status; id"}, "operator"),
        ({"run": "git $X"}, "shell would replace"),
        ({"run": "A=1 git"}, "variable"),
        ({"run": "git", "options": {"status": "flag"}}, "no spelling of an option"),
        ({"run": "git", "options": {"--": "flag"}}, "no spelling of an option"),
        ({"run": "git", "options": {"-": "flag"}}, "no spelling of an option"),
        ({"run": "git", "options": {"--format=": "flag"}}, "takes a value"),
        ({"run": "git", "options": {"--format=": []}}, "at least 1 item"),
        ({"run": "git", "options": {"--format=": "anything"}}, "options"),
        ({"run": "cp", "operands": [{"kind": "path", "many": True}, {"kind": "path"}]}, "only the last operand"),
        ({"run": "cp", "operands": [{"kind": "path", "optional": True}, {"kind": "path"}]}, "only the last operand"),
        ({"run": "cat", "reads_only": True}, "evidence"),
        ({"run": "cat", "reads_only": True, "evidence": "prints files only", "review": True}, "cannot both"),
        ({"run": "cat", "operand": []}, "Extra inputs"),
    ],
)
def test_a_shape_that_means_two_things_or_nothing_is_refused(shape: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        CommandSpec.model_validate(shape)
