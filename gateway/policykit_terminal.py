"""What the commands of the policy kit share: reading what a person names, printing lines, and the exit code of a no."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.kit_schemas import ToolSchema, read_tools
from checkvalve.approvals.strictyaml import MAX_YAML_BYTES
from checkvalve.gateway.logs import printable
from checkvalve.gateway.policykit_cases import read_document

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_NO: Final = 1  # a clear no
_LINE: Final = 2_000


def say(text: str) -> None:
    """Print one line that may repeat words of a file: nothing in it can move a terminal."""
    typer.echo(printable(text, _LINE))


def counted(number: int, what: str) -> str:
    """Return "1 error", "2 errors"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def finish(*, good: bool) -> None:
    """End with the exit code of a clear no, unless all is good."""
    if not good:
        raise typer.Exit(_NO)


def text_of(path: Path, limit: int = MAX_YAML_BYTES) -> str:
    """Return the text of a file that a person names.

    Raises:
        ConfigError: it cannot be read as UTF-8, or is too large.
    """
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise ConfigError(f"larger than {limit} bytes", file=str(path), remedy="split it")
        return content.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8, or not a usable path"
        raise ConfigError(f"cannot be read: {reason}", file=str(path), remedy="give a readable file") from None


def packaged(name: str) -> str:
    """Return the text of a file that ships with the package, such as the default policy."""
    return importlib.resources.files("checkvalve.approvals").joinpath(name).read_text("utf-8")


def packaged_path(name: str) -> Path:
    """Return where a file that ships with the package lies: for files that name others beside them."""
    return Path(str(importlib.resources.files("checkvalve.approvals").joinpath(name)))


def tools_of(path: Path | None) -> Sequence[ToolSchema]:
    """Return the tool schemas in a file; none without a file."""
    return () if path is None else read_tools(read_document(path), str(path))
