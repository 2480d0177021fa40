"""Write the parts of the documentation that are made from code, or with ``--check`` say which are out of date.

- ``docs/claims.md``, from ``tests/requirements.py``, and ``docs/cli.md``, from the commands themselves;
- in README and docs, what stands between ``<!-- made: NAME -->`` and ``<!-- /made -->``: ``security`` (from
  ``tests/requirements.py``), ``settings``, ``manifest``, ``reasons`` and ``gallery`` (from the code), or ``file PATH``
  (the file, or its parts between ``# [docs]`` and ``# [/docs]`` where it has some).
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

ROOT = Path(__file__).resolve().parent.parent
NOTICE = "<!-- made by scripts/generate_docs.py; change the source it names, not this page -->"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".cedar": "text", ".json": "json"}


def _requirements() -> Any:
    spec = importlib.util.spec_from_file_location("requirements", ROOT / "tests" / "requirements.py")
    if spec is None or spec.loader is None:
        raise SystemExit("tests/requirements.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules["requirements"] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def claims_page() -> str:
    """Return the page of claims with the table of claim by surface."""
    known = _requirements()
    lines = [NOTICE.replace("the source it names", "tests/requirements.py"), "", "# Claims", ""]
    lines += [
        "Each claim is tied to tests both ways: a claim that is held has tests that carry its id, and every test in"
    ]
    lines += ["`tests/attacks` names its claim. `grep -rn 'claim(\"C2\"' tests` shows the tests of one claim.", ""]
    for claim in known.CLAIMS:
        lines += [f"## {claim.id} {claim.name}: {claim.status.value}", "", _wrapped(claim.sentence), ""]
        lines += [_wrapped(f"*{claim.status.value.capitalize()}*: {claim.note}."), ""] if claim.note else []
        links = ", ".join(f"[{source}]({source.removeprefix('docs/')})" for source in claim.source.split(", "))
        lines += [f"More: {links}", ""]
    lines += ["## Where a claim holds", ""]
    lines += ["| surface | " + " | ".join(claim.id for claim in known.CLAIMS) + " |"]
    lines += ["| --- |" + " --- |" * len(known.CLAIMS)]
    for key, name in known.SURFACES.items():
        cells = (claim.surfaces.get(key, "no") for claim in known.CLAIMS)
        lines += [f"| {name} | " + " | ".join(cells) + " |"]
    lines += [
        "",
        "*yes*: as written above. *no*: not covered there. *-*: does not apply. *not yet*: planned, not built.",
        "",
    ]
    lines += ["## Not claimed", "", *(f"- {sentence}" for sentence in known.NOT_CLAIMED), ""]
    lines += ["The [threat model](threat-model.md) says more about each.", ""]
    return "\n".join(lines)


def security_section() -> str:
    """Return the README's security section."""
    known = _requirements()
    lines = ["", "| claim | what it says | today |", "| --- | --- | --- |"]
    for claim in known.CLAIMS:
        today = f"{claim.status.value}: {claim.note}" if claim.note else claim.status.value
        lines += [f"| {claim.id} {claim.name} | {claim.sentence} | {today} |"]
    lines += ["", _wrapped("**Not claimed.** " + " ".join(known.NOT_CLAIMED)), ""]
    return "\n".join(lines)


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and everything below it, with what plug-ins bring."""
    yield path, command
    if hasattr(command, "list_commands"):
        context = command.make_context(path[-1], [], resilient_parsing=True)
        for name in sorted(command.list_commands(context)):
            yield from _commands(command.get_command(context, name), (*path, name))


def _parameter(parameter: Any) -> str:
    is_option = parameter.param_type_name == "option"
    name = ", ".join([*parameter.opts, *parameter.secondary_opts]) if is_option else parameter.name.upper()
    words = [(getattr(parameter, "help", None) or "").rstrip(".") + "."]
    if parameter.required:
        words.append("Required.")
    envvar = getattr(parameter, "envvar", None)
    if envvar:
        words.append(f"Environment: `{envvar}`.")
    text = " ".join(" ".join(words).split())
    return f"| `{name}` | {text.replace('|', chr(92) + '|')} |"


def cli_page() -> str:
    """Return the page of commands, with the words of their ``--help``."""
    import typer.main  # noqa: PLC0415  # the other pages need no installed package

    from checkvalve.gateway.cli import app  # noqa: PLC0415

    lines = [NOTICE.replace("the source it names", "the command"), "", "# The command line", ""]
    lines += ["`checkvalve COMMAND --help` prints the same. Exit code 0 means done, 1 a clear no,"]
    lines += ["2 that nothing was done because the call, a file or the database is wrong, missing or damaged."]
    lines += ["`decide` exits with 0 whatever its verdict: the verdict is in what it prints. What it reads and"]
    lines += ["prints is described [on its own page](decide.md); `run` and `serve` [on theirs](running.md).", ""]
    for path, command in _commands(typer.main.get_command(app), ("checkvalve",)):
        if getattr(command, "hidden", False):
            continue
        lines += [f"{'#' * min(len(path) + 1, 4)} `{' '.join(path)}`", "", (command.help or "").strip(), ""]
        shown = [item for item in command.params if item.name != "help" and not getattr(item, "hidden", False)]
        if shown:
            lines += ["| parameter | meaning |", "| --- | --- |", *map(_parameter, shown), ""]
    return "\n".join(lines)


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split()).replace("``", "`")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _default(field: Any) -> str:
    """Return a field's default as one would write it in a file; nothing where the default is to say nothing."""
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    value = getattr(value, "value", value)
    if value in ("", (), None, {}) or hasattr(value, "model_dump"):
        return ""
    text = json.dumps(value)
    return f"`{text.strip(chr(34))}`"


def _fields(model: Any, names: Callable[[str], str] = lambda name: name) -> list[str]:
    """Return the rows of a table of a pydantic model's fields."""
    rows = ["| field | default | meaning |", "| --- | --- | --- |"]
    for name, field in model.model_fields.items():
        choices = [item for item in get_args(field.annotation) if isinstance(item, str)]
        one_of = f"one of {', '.join(choices)}" if choices and not field.description else ""
        rows.append(f"| `{names(name)}` | {_cell(_default(field))} | {_cell(field.description or one_of)} |")
    return rows


def settings_table() -> str:
    """Return the table of settings."""
    from checkvalve.gateway.settings import PREFIX, Settings  # noqa: PLC0415

    return "\n".join(["", *_fields(Settings, lambda name: f"{name}` / `{PREFIX}{name.upper()}"), ""])


def manifest_tables() -> str:
    """Return the tables of everything that a manifest may say."""
    from checkvalve.approvals import commandspec as commands  # noqa: PLC0415
    from checkvalve.approvals import fieldspec as fields  # noqa: PLC0415
    from checkvalve.approvals import limits, pinspec, probespec, variants  # noqa: PLC0415
    from checkvalve.approvals import toolspec as spec  # noqa: PLC0415
    from checkvalve.approvals import undospec as undo  # noqa: PLC0415

    lines: list[str] = []
    for title, model in (
        ("The file", spec.Manifest),
        ("`principal`", spec.Principal),
        ("A tool", spec.ToolSpec),
        ("An argument (`args`)", fields.ArgumentSpec),
        ("A result field (`result`)", fields.ResultField),
        ("`limits`", limits.Limits),
        ("A form (`variants`)", variants.VariantSpec),
        ("Undoing (`undo_with`)", undo.UndoSpec),
        ("A value of it (`args`)", undo.UndoValue),
        ("What is read before (`before`)", undo.BeforeSpec),
        ("What may change (`pin`)", pinspec.PinSpec),
        ("What shows the effect (`probe_with`)", probespec.ProbeSpec),
        ("A value of it (`args`)", probespec.ProbeValue),
        ("A condition (`done_when`, `not_done_when`)", probespec.ProbeWhen),
        ("A command (`commands`)", commands.CommandSpec),
        ("An operand (`operands`)", commands.OperandSpec),
        ("`sandbox`", commands.SandboxSpec),
    ):
        lines += ["", f"### {title}", "", _first_sentence(model.__doc__), "", *_fields(model)]
    listed = ("Effects", fields.Effect), ("Roles", fields.Role), ("Who can write a field", fields.WritableBy)
    for title, words in listed:
        lines += ["", f"### {title}", "", _first_sentence(words.__doc__), "", ", ".join(f"`{word}`" for word in words)]
    return "\n".join([*lines, ""])


def reasons_table() -> str:
    """Return the table of coded reasons with their remedies."""
    from checkvalve.approvals.reasons import REMEDIES  # noqa: PLC0415

    rows = (f"| `{code}` | {_cell(remedy)} |" for code, remedy in REMEDIES.items())
    return "\n".join(["", "| reason | what would make it unnecessary |", "| --- | --- |", *rows, ""])


def gallery_tables() -> str:
    """Return what ships in the gallery: each manifest, its tools, and the attacks that its cases hold it against."""
    from checkvalve.approvals.manifest import parse_manifest  # noqa: PLC0415
    from checkvalve.gateway.policykit_cases import read_cases  # noqa: PLC0415
    from checkvalve.gateway.policykit_gallery import names, text_in_gallery  # noqa: PLC0415

    overview = ["", "| name | for | tools | cases |", "| --- | --- | --- | --- |"]
    parts: list[str] = []
    for name in names():
        manifest = parse_manifest(text_in_gallery(name), name)
        cases = read_cases(ROOT / "approvals" / "gallery" / f"{name}.cases.yaml").cases
        overview.append(f"| [`{name}`](#{name}) | {manifest.description} | {len(manifest.tools)} | {len(cases)} |")
        tools = ", ".join(f"`{key}` ({spec.effect})" for key, spec in manifest.tools.items())
        parts += ["", f"### {name}", "", _wrapped(tools), "", "| what an attack tries | verdict |", "| --- | --- |"]
        attacks = (item for item, _ in cases if item.name.startswith("attack: "))
        parts += [f"| {_cell(item.name.removeprefix('attack: '))} | {item.verdict} |" for item in attacks]
    return "\n".join([*overview, *parts, ""])


def _file(name: str) -> str:
    if not (ROOT / name).is_file():
        raise SystemExit(f"{name} is missing: a page shows it")
    text = (ROOT / name).read_text(encoding="utf-8")
    parts = re.findall(r"^ *# \[docs\]\n(.*?)^ *# \[/docs\]", text, re.DOTALL | re.MULTILINE)
    shown = [textwrap.dedent(part).strip("\n") for part in parts or [text]]
    body = "\n\n".join(f"\n{part}" if part.startswith(("def ", "class ")) else part for part in shown).lstrip("\n")
    return f"\n```{LANGUAGES.get(Path(name).suffix, 'text')}\n{body}\n```\n"


BLOCKS: dict[str, Callable[[], str]] = {
    "security": security_section,
    "settings": settings_table,
    "manifest": manifest_tables,
    "reasons": reasons_table,
    "gallery": gallery_tables,
}


def _block(found: re.Match[str]) -> str:
    name = found["name"]
    made = _file(name.removeprefix("file ")) if name.startswith("file ") else BLOCKS[name]()
    return f"<!-- made: {name} -->\n{made}\n<!-- /made -->"


def with_blocks(text: str) -> str:
    """Return ``text`` with every generated block made anew."""
    return re.sub(r"<!-- made: (?P<name>[^>]+?) -->\n.*?<!-- /made -->", _block, text, flags=re.DOTALL)


def make(name: str) -> str:
    """Return what the page ``name`` should be."""
    if name == "docs/claims.md":
        return claims_page()
    if name == "docs/cli.md":
        return cli_page()
    return with_blocks((ROOT / name).read_text(encoding="utf-8"))


def main(arguments: list[str]) -> int:
    """Write the pages, or check the named ones."""
    check = "--check" in arguments
    others = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))
    pages = [name for name in arguments if name != "--check"] or ["README.md", "docs/claims.md", "docs/cli.md", *others]
    stale = []
    for name in dict.fromkeys(pages):
        page, wanted = ROOT / name, make(name)
        if page.exists() and page.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(name)
        if not check:
            page.write_text(wanted, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'is out of date' if check else 'written'}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
