"""``checkvalve policy gallery list|show|copy``: tested manifests to start from, each with tool schemas and cases.

Guarantees: what is copied is what ships, and it is tested with the packaged policy; no file is overwritten unasked.
"""

from __future__ import annotations

import importlib.resources
import json
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Final

import typer

from checkvalve.approvals.errors import ConfigError
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.strictyaml import nearest
from checkvalve.gateway.policykit_cases import TOOLS_SUFFIX, read_cases
from checkvalve.gateway.policykit_terminal import AsJson
from checkvalve.gateway.policykit_write import save

PARTS: Final = {"manifest": ".yaml", "cases": ".cases.yaml", "tools": TOOLS_SUFFIX}
"""What there is of each: the manifest, its cases, and the tool schemas that it was written for."""

gallery: Final = typer.Typer(help="Tested manifests to start from.", no_args_is_help=True)
Name = Annotated[str, typer.Argument(help="Which one; `gallery list` names them.")]


def names() -> list[str]:
    """Return the names of the manifests that ship."""
    files = [item.name for item in _folder().iterdir()]
    return sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml") and name.count(".") == 1)


def text_in_gallery(name: str, part: str = "manifest") -> str:
    """Return the text of one part of what ships under ``name``; ``part`` is one of :data:`PARTS`.

    Raises:
        ConfigError: there is nothing of this name.
    """
    if name not in names():
        raise ConfigError(f"there is no {name!r} in the gallery", remedy=nearest(name, names()))
    return _folder().joinpath(f"{name}{PARTS[part]}").read_text("utf-8")


def _folder() -> Traversable:
    return importlib.resources.files("checkvalve.approvals").joinpath("gallery")


@gallery.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """Name the manifests, with what they are for."""
    found = [{"name": name, **_described(name)} for name in names()]
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    for item in found:
        typer.echo(f"{item['name']:<12} {item['tools']:>2} tools, {item['cases']:>2} cases   {item['description']}")


def _described(name: str) -> dict[str, object]:
    manifest = parse_manifest(text_in_gallery(name), name)
    with importlib.resources.as_file(_folder().joinpath(f"{name}{PARTS['cases']}")) as path:
        cases = len(read_cases(path).cases)
    return {"description": manifest.description, "tools": len(manifest.tools), "cases": cases}


@gallery.command("show")
def show(
    name: Name,
    *,
    part: Annotated[str, typer.Option(help="Which part: manifest, cases or tools.")] = "manifest",
) -> None:
    """Print a manifest, its cases, or the tool schemas that it was written for."""
    if part not in PARTS:
        raise ConfigError(f"there is no part {part!r}", remedy=f"use one of: {', '.join(PARTS)}")
    typer.echo(text_in_gallery(name, part), nl=False)


@gallery.command("copy")
def copy(
    name: Name,
    folder: Annotated[Path, typer.Argument(help="Where to; it is made if it is not there.")],
    *,
    force: Annotated[bool, typer.Option(help="Overwrite files of the same names.")] = False,
) -> None:
    """Copy a manifest with its cases and tool schemas into a folder, to be made your own."""
    texts = {folder / f"{name}{suffix}": text_in_gallery(name, part) for part, suffix in PARTS.items()}
    there = [path for path in texts if path.exists()]
    if there and not force:
        raise ConfigError(f"{there[0]} is there already", remedy="give another folder, or --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot be made: {error.strerror}", file=str(folder), remedy="give another folder") from None
    for path, text in texts.items():
        save(path, text)
        typer.echo(path)
    manifest, cases, tools = texts
    typer.echo("Next:")
    typer.echo(f"  1. Put the `tools/list` answer of your own server into {tools.name}, and your addresses into")
    typer.echo(f"     {manifest.name}. `checkvalve policy lint {manifest}` names every difference.")
    typer.echo("  2. Read each line with `evidence`. Where it is not true of your server, remove `writable_by`.")
    typer.echo(f"  3. `checkvalve policy test {cases}` says whether it still does what it should.")
