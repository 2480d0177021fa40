"""What ships is what stands in the folders: the wheel is built once, looked into, and imported from."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

FOLDERS = ("filters", "approvals", "graphs", "gateway", "corpora")
SUFFIXES = {
    ".py",
    ".typed",
    ".cedar",
    ".cedarschema",
    ".yaml",
    ".jsonl",
    ".json",
    ".mako",
    ".md",
    ".html",
    ".css",
    ".js",
    ".svg",
}


def sources(root: Path) -> dict[str, bytes]:
    """Return what the five folders hold, under the names they must have in the wheel."""
    return {
        f"checkvalve/{path.relative_to(root).as_posix()}": path.read_bytes()
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts
    }


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy of the tree, without isolation and so without a network."""
    top = tmp_path_factory.mktemp("build")
    for name, content in sources(root).items():
        target = top / name.removeprefix("checkvalve/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (top / name).write_bytes((root / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(top / "dist"), str(top)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (built,) = (top / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_exactly_what_the_folders_hold(wheel: Path, root: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    wanted = sources(root)
    assert not wanted.keys() - shipped.keys(), "missing from the wheel: list the package in pyproject.toml"
    assert not shipped.keys() - wanted.keys(), "in the wheel, but not in the folders"
    assert not [name for name, content in wanted.items() if shipped[name] != content]


def test_the_wheel_claims_no_bare_name(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
        assert "checkvalve/__init__.py" not in archive.namelist(), "checkvalve is a namespace that add-ons may join"
    assert {top for top in tops if not top.endswith(".dist-info")} == {"checkvalve"}


def test_the_wheel_brings_the_command_and_its_plug_ins(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        text = archive.read(name).decode()
    assert "checkvalve = checkvalve.gateway.cli:main" in text
    assert "corpus = checkvalve.corpora.cli:app" in text


IMPORT_ALL = """
import importlib, pathlib, sys
sys.path.insert(0, sys.argv[1])
top = pathlib.Path(sys.argv[1]) / "checkvalve"
optional = ("checkvalve.corpora.agentdojo", "checkvalve.approvals.migrations")
for path in sorted(top.rglob("*.py")):
    name = ".".join(path.relative_to(top.parent).with_suffix("").parts).removesuffix(".__init__")
    if name.startswith(optional):
        continue  # imports an extra; Alembic loads its own files
    module = importlib.import_module(name)
    assert str(module.__file__).startswith(sys.argv[1]), (name, module.__file__)
bare = {name for name in sys.modules if name.split(".")[0] in {"filters", "approvals", "graphs", "gateway", "corpora"}}
assert not bare, bare
assert "agentdojo" not in sys.modules, "the product loads a benchmark"
"""


def test_every_shipped_module_imports_and_none_by_a_bare_name(wheel: Path, tmp_path: Path) -> None:
    """In a process of its own, from the unpacked wheel and not from the working tree."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    done = subprocess.run(
        # -P and a foreign folder: the repository must not be importable; the first path wins over the editable install
        [sys.executable, "-P", "-c", IMPORT_ALL, str(tmp_path / "site")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
