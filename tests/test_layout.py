"""How the repository is laid out: layers, lengths, names, and what may stand in which file."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("filters", "approvals", "graphs", "gateway", "corpora")
MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
MAX_LINES = 300
LONGER: dict[str, int] = {}  # a ratchet: path -> lines it may have; an entry only ever shrinks, and says why beside it
TESTS_MAX_LINES = 600  # a test module is a list
FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "misc"}
BENCHMARKS = re.compile(r"agentdojo|injecagent|asb\b|important_instructions|emma johnson|riverside view", re.IGNORECASE)
# written so that this file does not match itself
HOSTS = re.compile(r"py[p]i\.org|python[h]osted\.org|registry\.npm[j]s|deb\.deb[i]an|/w[o]rk/|/tmp/[b]ash_jobs")
TEXT_SUFFIXES = {
    "",
    ".py",
    ".md",
    ".toml",
    ".yaml",
    ".yml",
    ".json",
    ".cedar",
    ".cedarschema",
    ".sh",
    ".mako",
    ".cfg",
    ".ini",
}


def tracked() -> list[Path]:
    """Return the files of the repository, or every file outside hidden folders where git cannot tell."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not any(p.startswith(".") for p in path.parts)]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and full name of everything a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _module_of(name: str, known: set[str]) -> str:
    """Return the module an imported name comes from: the name itself, or what stands before its last dot."""
    return name if name in known else name.rpartition(".")[0]


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def test_the_import_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    monkeypatch.chdir(ROOT)
    assert lint_imports(config_filename="pyproject.toml", no_cache=True) == EXIT_STATUS_SUCCESS


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_import_cycles(folder: str) -> None:
    """Modules of a folder form a tree when they run: removing leaves in turn removes them all.

    Imports for annotations only (``if TYPE_CHECKING``) do not run.
    """
    names = {
        f"checkvalve.{relative(path).removesuffix('.py').removesuffix('/__init__').replace('/', '.')}": path
        for path in MODULES
        if relative(path).startswith(f"{folder}/")
    }
    needs = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        annotations = {line for node in tree.body if _is_type_checking(node) for line, _ in imports(node)}
        found = {_module_of(name_, set(names)) for line, name_ in imports(tree) if line not in annotations}
        needs[name] = (found & names.keys()) - {name}
    while leaves := [name for name, wanted in needs.items() if not wanted & needs.keys()]:
        for name in leaves:
            del needs[name]
    assert not needs, "a cycle runs through these"


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_a_module_stays_small(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LONGER.get(relative(path), MAX_LINES), "two ideas in one room: split it"


def test_the_list_of_longer_modules_only_shrinks() -> None:
    for name, limit in LONGER.items():
        lines = len((ROOT / name).read_text(encoding="utf-8").splitlines())
        assert MAX_LINES < lines <= limit, f"{name} has {lines} lines: lower or drop its entry"


def test_test_modules_stay_readable() -> None:
    long = {
        relative(p): n
        for p in (ROOT / "tests").rglob("*.py")
        if (n := len(p.read_text().splitlines())) > TESTS_MAX_LINES
    }
    assert not long


def test_no_module_is_a_drawer_for_everything() -> None:
    names = [path for path in [*MODULES, *(ROOT / "tests").rglob("*.py")] if path.stem in FORBIDDEN_STEMS]
    assert not [relative(path) for path in names], "name a module after what it does"


def test_every_module_says_what_it_guarantees() -> None:
    empty = [p for p in MODULES if p.read_text().strip() and not ast.get_docstring(ast.parse(p.read_text()))]
    assert not [relative(path) for path in empty]


@pytest.mark.parametrize("folder", FOLDERS)
def test_public_names_are_asserted(folder: str) -> None:
    module = importlib.import_module(f"checkvalve.{folder}")
    if not (ROOT / folder / "__init__.py").read_text(encoding="utf-8").strip():
        return  # nothing is public by that name yet; the modules are
    found = {**vars(module), **{name: getattr(module, name) for name in module.__all__}}  # some load when asked for
    public = {
        name
        for name, value in found.items()
        if not name.startswith("_") and not (type(value) is type(sys) and value.__name__.startswith("checkvalve"))
    }
    assert set(module.__all__) == public - {"annotations", "Any", "TYPE_CHECKING", "import_module"}
    assert list(module.__all__) == sorted(module.__all__)


def test_nobody_imports_a_bare_folder_name() -> None:
    wrong = []
    for path in [
        *MODULES,
        *(p for top in ("tests", "examples", "scripts", "benchmarks") for p in (ROOT / top).rglob("*.py")),
    ]:
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            if name.split(".")[0] in FOLDERS:
                wrong.append(f"{relative(path)}:{line}: {name}")
    assert not wrong, "import checkvalve.<folder>"


def test_only_the_settings_read_the_environment() -> None:
    readers = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            from_os = (
                isinstance(node, ast.ImportFrom)
                and node.module == "os"
                and {a.name for a in node.names} & {"environ", "getenv"}
            )
            if name in {"os.environ", "os.environb", "os.getenv"} or from_os:
                readers.append(relative(path))
    assert set(readers) <= {"gateway/settings.py"}


def test_product_code_names_no_benchmark() -> None:
    wrong = []
    for path in tracked():
        if (
            relative(path).split("/")[0] in {"filters", "approvals", "graphs", "gateway"}
            and path.suffix in TEXT_SUFFIXES
        ):
            lines = path.read_text(encoding="utf-8").splitlines()
            wrong += [f"{relative(path)}:{number}" for number, line in enumerate(lines, 1) if BENCHMARKS.search(line)]
    assert not wrong, "only corpora/ may know a benchmark"


def test_no_registry_hosts_and_no_paths_of_one_machine() -> None:
    wrong = []
    for path in tracked():
        if path.suffix in TEXT_SUFFIXES:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            wrong += [f"{relative(path)}:{number}" for number, line in enumerate(lines, 1) if HOSTS.search(line)]
    assert not wrong


def test_every_folder_is_typed() -> None:
    assert all((ROOT / folder / "py.typed").is_file() for folder in FOLDERS)


def test_every_ignored_lint_rule_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("[tool.ruff.lint]")[1].split("[tool.ruff.lint.per-file-ignores]")[0]
    entries = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert entries
    assert all("#" in line for line in entries)


def _wanted(names: list[str]) -> set[str]:
    return {re.split(r"[\[<>=!~ ]", name)[0].lower().replace("_", "-") for name in names}


def test_everything_imported_is_a_declared_dependency() -> None:
    """A package that another one happens to bring is missing on the day that one stops bringing it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core, extras = _wanted(project["dependencies"]), project["optional-dependencies"]
    core.add("pydantic-core")  # pydantic pins its exact version
    owners = packages_distributions()
    wrong = []
    for path in MODULES:
        allowed = set(core)
        if relative(path).startswith(("gateway/", "corpora/")):
            allowed |= _wanted(extras["langchain"])
        if relative(path) == "gateway/classifier.py":
            allowed |= _wanted(extras["classifier"])
        if relative(path) == "filters/inbound/pdf.py":
            allowed |= _wanted(extras["documents"])
        if relative(path) == "graphs/models.py":
            allowed |= _wanted(extras["langchain"])
        if relative(path) == "graphs/local_model.py":
            allowed |= _wanted(extras["localmodel"])
        if relative(path).startswith(("gateway/http_", "gateway/web_", "gateway/serve_command", "gateway/witness_")):
            allowed |= _wanted(extras["server"]) | {"starlette"}  # fastapi is made of starlette and shows it
        if relative(path).startswith("approvals/passkey"):
            allowed |= _wanted(extras["passkeys"])
        if relative(path).startswith("gateway/oidc"):
            allowed |= _wanted(extras["oidc"])
        if relative(path) == "approvals/anchor_s3.py":
            allowed |= _wanted(extras["anchors-s3"]) | {"botocore"}  # boto3 is made of it and shows it
        if relative(path) == "approvals/anchor_tsa.py":
            allowed |= _wanted(extras["anchors-tsa"])
        if relative(path) == "approvals/pkcs11_tokens.py":
            allowed |= _wanted(extras["pkcs11"])
        if relative(path) in {"approvals/postgres.py", "graphs/postgres_saver.py"}:
            allowed |= _wanted(extras["postgres"])
        if relative(path).startswith("corpora/agentdojo/"):
            allowed |= _wanted(extras["agentdojo"])
        for line, name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            top = name.split(".")[0]
            if top in sys.stdlib_module_names or top == "checkvalve":
                continue
            if not {owner.lower().replace("_", "-") for owner in owners.get(top, [top])} & allowed:
                wrong.append(f"{relative(path)}:{line}: {top}")
    assert not wrong


def test_extras_are_what_the_documentation_names() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in contributing for name in extras)
