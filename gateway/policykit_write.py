"""``checkvalve policy draft`` and ``pin``: from tool schemas to a manifest, and from a manifest to a pinned one.

Guarantees: a file that is there is never overwritten without ``--write`` (pin) or ``--force`` (draft), and then as a
whole or not at all.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.kit_draft import draft
from checkvalve.approvals.kit_pin import Pin, pins
from checkvalve.approvals.kit_schemas import ToolSchema, read_tools
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.gateway.policykit_cases import read_document, tools_beside
from checkvalve.gateway.policykit_terminal import AsJson, finish, say, text_of, tools_of
from checkvalve.gateway.tool_modules import load_tools

_STATES: Final = {"pinned": "not pinned yet", "changed": "changed, the pin does not fit any more"}
"""What a state means as long as nothing is written."""


def draft_(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Tool schemas: MCP `tools/list`, OpenAI tools or OpenAPI (JSON, YAML).")
    ] = None,
    *,
    langchain: Annotated[
        str, typer.Option(help="LangChain tools: an installed module, or ./FILE.py; its code runs.")
    ] = "",
    server: Annotated[str, typer.Option(help="The server's identity, where tools are told apart by it.")] = "",
    name: Annotated[str, typer.Option(help="The manifest's name.")] = "drafted",
    out: Annotated[Path | None, typer.Option(help="Write it to this file, not to standard output.")] = None,
    force: Annotated[bool, typer.Option(help="Overwrite the file.")] = False,
) -> None:
    """Write a manifest from tool schemas, with how sure each line is. Results stay untrusted, but for ids."""
    tools: list[ToolSchema] = []
    for file in files or ():
        tools += read_tools(read_document(file), str(file))
    if langchain:
        tools += langchain_tools(langchain)
    if not tools:
        raise ConfigError("no tools to draft from", remedy="give a file of tool schemas, or --langchain MODULE")
    seen: dict[str, ToolSchema] = {}
    for tool in tools:
        if seen.setdefault(tool.name, tool) is not tool:
            raise ConfigError(
                f"two tools are called {tool.name!r}", remedy="draft each server by itself, with --server"
            )
    text = draft(tools, name, server=server)
    parse_manifest(text, "the draft")  # what is printed loads
    if out is None:
        typer.echo(text, nl=False)
        return
    if out.exists() and not force:
        raise ConfigError(f"{out} is there already", remedy="give another name, or --force")
    save(out, text)
    typer.echo(f"{out}: {len(tools)} tools; read every line marked `low`, then run")
    given = "".join(f" --tools {file}" for file in (files or [])[:1])
    typer.echo(f"   checkvalve policy lint {out}{given}")


def langchain_tools(spec: str) -> list[ToolSchema]:
    """Return the schemas of LangChain tools, as a model would be given them."""
    from langchain_core.utils.function_calling import convert_to_openai_tool  # noqa: PLC0415  # slow, and rarely needed

    return list(read_tools([convert_to_openai_tool(tool) for tool in load_tools(spec)], spec))


def pin(
    manifest: Annotated[Path, typer.Argument(help="The manifest (YAML).")],
    *,
    tools: Annotated[
        Path | None, typer.Option(help="The tool schemas to pin (JSON, YAML); default: NAME.tools.json beside it.")
    ] = None,
    langchain: Annotated[str, typer.Option(help="Or LangChain tools: a module, or ./FILE.py; its code runs.")] = "",
    before: Annotated[Path | None, typer.Option(help="The schemas as they were, to show what changed.")] = None,
    write: Annotated[bool, typer.Option(help="Write the pins into the manifest.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare a manifest's pins with tool schemas, show what changed in meaning and in wording, and write new pins.

    Without --write nothing is written, and the exit code is 1 when a pin is missing or does not fit.
    """
    schemas = langchain_tools(langchain) if langchain else list(tools_of(tools or tools_beside(manifest)))
    if not schemas:
        raise ConfigError("no tool schemas to pin", remedy="give --tools FILE, or --langchain MODULE")
    text = text_of(manifest)
    found, new = pins(text, str(manifest), schemas, tools_of(before))
    if as_json:
        typer.echo(json.dumps([item.to_json() for item in found], indent=2))
    else:
        for item in found:
            _show(item, _STATES.get(item.state, item.state) if not write else item.state)
        if not write and new != text:
            typer.echo("nothing is written; with --write these pins go into the file")
    if write and new != text:
        save(manifest, new)
    open_ = {"missing", "unusable"} if write else {"missing", "unusable", "pinned", "changed"}
    finish(good=not any(item.state in open_ for item in found))


def _show(item: Pin, state: str) -> None:
    say(f"{item.tool}: {state}{f' ({item.problem})' if item.problem else ''}")
    changes: Sequence[tuple[str, tuple[str, ...]]] = (("meaning", item.semantic), ("wording", item.wording))
    for kind, lines in changes:
        for line in lines:
            say(f"   {kind}: {line}")


def _new_mode() -> int:
    """Return the mode that a new file of this process has."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def save(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader sees the old text or the new one.

    Raises:
        ConfigError: it cannot be written.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else _new_mode())
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise ConfigError(f"cannot be written: {error.strerror}", file=str(path), remedy="check the folder") from None
