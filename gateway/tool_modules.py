"""The agent's tools by name: LangChain tools of an installed module, or of a file that a person names.

Guarantees: a module is never taken from the working folder, where an agent may be able to write; a file is read only
when it is named as one (``./tools.py``). Loading runs its code: name only what you would run yourself.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from langchain_core.tools import BaseTool

from checkvalve.gateway.errors import ToolsError
from checkvalve.gateway.logs import printable
from checkvalve.gateway.places import TOOLS_FILE, is_manifest
from checkvalve.gateway.working_folder import without_working_folder

_NAMES: Final = ("TOOLS", "tools")
_FORM: Final = "name a module such as --tools mypackage.tools, a list in it with :NAME, or a file as --tools ./tools.py"


def load_tools(spec: str) -> list[BaseTool]:
    """Return the tools that ``spec`` names.

    1. A manifest holds no code. 2. ``FILE.py`` is run as a file, ``MODULE`` is imported, not from the working folder.
    3. ``:NAME`` is a tool or a list of tools; without it, ``TOOLS`` is, or else every tool that the module defines.

    Raises:
        ToolsError: there is no such module or name, its code fails, or it holds no tools.
    """
    if is_manifest(spec):  # 1.
        raise ToolsError(f"{printable(spec)} declares tools and does not bring them", f"give the code too: {_FORM}")
    if (file := TOOLS_FILE.fullmatch(spec)) is not None:  # 2.
        module, name = _run(Path(file[1]).expanduser()), (file[2] or "")[1:]
    else:
        dotted, _, name = spec.partition(":")
        module = _imported(dotted)
    found = _named(module, name, spec) if name else _unnamed(module)  # 3.
    if not found:
        raise ToolsError(f"{printable(spec)} holds no LangChain tools", "decorate functions with langchain's @tool")
    return found


def _run(file: Path) -> ModuleType:
    name = f"checkvalve_tools_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise ToolsError(f"there is no file {file}", _FORM)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickles look their module up there
    with _told(str(file)):
        spec.loader.exec_module(module)
    return module


def _imported(dotted: str) -> ModuleType:
    if not dotted or not all(part.isidentifier() for part in dotted.split(".")):
        raise ToolsError(f"{printable(dotted)!r} is no name of a module", _FORM)
    with _told(dotted), without_working_folder():
        return importlib.import_module(dotted)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Turn whatever somebody's module raises into one error of ours."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = printable(str(error.name or what))
        remedy = "install it; a file of the working folder has to be named as one: --tools ./tools.py"
        raise ToolsError(f"{printable(what)} cannot be loaded: there is no module {missing}", remedy) from error
    except Exception as error:
        reason = printable(f"{type(error).__name__}: {error}")
        raise ToolsError(f"{printable(what)} cannot be loaded ({reason})", "mend the module; its code runs") from error


def _named(module: ModuleType, name: str, spec: str) -> list[BaseTool]:
    if not hasattr(module, name):
        raise ToolsError(f"{printable(spec)}: there is no {printable(name)} in the module", _FORM)
    return _tools(getattr(module, name), spec)


def _unnamed(module: ModuleType) -> list[BaseTool]:
    for name in _NAMES:
        if isinstance(getattr(module, name, None), Sequence):
            return _tools(getattr(module, name), name)
    return [value for value in vars(module).values() if isinstance(value, BaseTool)]


def _tools(value: Any, place: str) -> list[BaseTool]:
    values = list(value) if isinstance(value, Sequence) else [value]
    for item in values:
        if not isinstance(item, BaseTool):
            raise ToolsError(f"{printable(place)} holds something that is no LangChain tool", "make it one with @tool")
    return values
