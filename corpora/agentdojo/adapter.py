"""The only module that touches the ``agentdojo`` package: suites, environments, tools and their checks.

Guarantees: importing this module needs no extra; the benchmark is loaded on first use, and a missing package is a
:class:`MissingExtraError` that says what to install. Results leave as plain JSON values, never as formatted text.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import yaml
from pydantic import PydanticUserError, TypeAdapter

from checkvalve.corpora.errors import MissingExtraError, UnknownCorpusError

MARKER: Final = "<INFORMATION>"
"""Stands in every injected text (the benchmark's published wording starts with it) and nowhere in its own data."""

_STAMPED: Final = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+"')
"""A time with fractions of a second: the clock's, never the benchmark's data."""

_USER, _MODEL = "Emma Johnson", "the AI language model"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of an actor."""

    tool: str
    args: Mapping[str, Any]

    def same_as(self, other: ToolCall) -> bool:
        """Say whether both call the same tool with the same arguments."""
        return self.tool == other.tool and dict(self.args) == dict(other.args)


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the benchmark's own warnings (pydantic, deprecated clients) here and nowhere else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def _package() -> Any:
    """Import the benchmark. ``load_suites`` has to come first: its default suites import in a circle."""
    try:
        with quiet():
            return importlib.import_module("agentdojo.task_suite.load_suites")
    except ImportError as error:
        if (error.name or "").split(".")[0] in ("agentdojo", ""):
            raise MissingExtraError("agentdojo", "agentdojo") from None
        raise MissingExtraError("agentdojo", error.name or "agentdojo") from error


def package_version() -> str:
    """Return the version of the installed ``agentdojo``."""
    _package()
    return importlib.metadata.version("agentdojo")


@cache
def load_suite(version: str, name: str) -> Suite:
    """Load one suite of one benchmark version.

    Raises:
        MissingExtraError: ``agentdojo`` is not installed.
        UnknownCorpusError: there is no such suite in this version.
    """
    suites = _package().get_suites(version)
    if name not in suites:
        raise UnknownCorpusError(f"AgentDojo {version} suite", name, sorted(suites))
    with quiet():
        return Suite(suites[name])


def _plain(value: Any) -> Any:
    """Turn what a tool returned into JSON values."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


class Suite:
    """One suite of the benchmark: its tasks, its attacks, and fresh environments."""

    def __init__(self, suite: Any) -> None:
        self.name: str = suite.name
        self.user_tasks: dict[str, Any] = dict(suite.user_tasks)
        self.attacks: dict[str, Any] = dict(suite.injection_tasks)
        self._suite = suite
        task_suite = importlib.import_module("agentdojo.task_suite.task_suite")
        self._text: str = task_suite.read_suite_file(suite.name, "environment.yaml", suite.data_path)
        self._defaults: dict[str, str] = suite.get_injection_vector_defaults()
        self.runtime = importlib.import_module("agentdojo.functions_runtime").FunctionsRuntime(suite.tools)
        attacks = importlib.import_module("agentdojo.attacks.important_instructions_attacks")
        self._wording: str = vars(attacks.ImportantInstructionsAttack)["_JB_STRING"]
        self.base_task: Any = importlib.import_module("agentdojo.base_tasks").BaseUserTask
        self._kept: tuple[dict[str, str], Any] | None = None
        self._places: dict[str, list[str]] = {}
        self.known_checks: dict[bytes, bool] = {}
        """What the benchmark said of an end state before: comparing two states is most of the time of a run."""
        self.call_type: Any = importlib.import_module("agentdojo.functions_runtime").FunctionCall

    def environment(self, injections: Mapping[str, str]) -> Any:
        """Return a fresh environment, as the benchmark's own loader would, only faster.

        Several runs follow each other on the same injections, so the last environment is kept and copied.
        """
        if self._kept is None or self._kept[0] != injections:
            text = self._text.format(**{**self._defaults, **injections})
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is eight times faster
            with quiet():
                loaded = self._suite.environment_type.model_validate(yaml.load(text, loader))  # noqa: S506  # a safe loader
            self._kept = (dict(injections), loaded)
        return self._kept[1].model_copy(deep=True)

    def injections(self, task_id: str, attack_id: str) -> dict[str, str]:
        """Return the attack's text for every place that the user's task reads."""
        goal = self.attacks[attack_id].GOAL
        text = self._wording.format(goal=goal, user=_USER, model=_MODEL)
        if task_id not in self._places:
            self._places[task_id] = self._find_places(task_id)
        return dict.fromkeys(self._places[task_id], text)

    def _find_places(self, task_id: str) -> list[str]:
        """Find the places the user's task reads, with a canary in each."""
        canaries = {name: f"canary-{number}-yranac" for number, name in enumerate(self._defaults)}
        episode = self.episode(task_id, canaries)
        seen = "\n".join(json.dumps(episode.run(call), ensure_ascii=False) for call in episode.user_calls())
        return [name for name, canary in canaries.items() if canary in seen]

    def signatures(self) -> dict[str, set[str]]:
        """Return the names of all tools with those of their arguments."""
        return {tool.name: set(tool.parameters.model_fields) for tool in self._suite.tools}

    def tool_list(self) -> dict[str, Any]:
        """Return the tools as a tool server would list them: names, descriptions, and the schemas of both sides."""
        with quiet():
            return {"tools": [_listed(tool) for tool in self._suite.tools]}

    def episode(self, task_id: str, injections: Mapping[str, str]) -> Episode:
        """Return a fresh run of one task."""
        task = self.user_tasks[task_id]
        return Episode(self, task, task.init_environment(self.environment(injections)), dict(injections))


def _listed(tool: Any) -> dict[str, Any]:
    found = {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters.model_json_schema(),
    }
    with suppress(PydanticUserError):  # a return type that is no schema is listed without one, as servers do
        if tool.return_type is not None:
            found["outputSchema"] = TypeAdapter(tool.return_type).json_schema(mode="serialization")
    return found


@dataclass
class Episode:
    """One run of one user task in its own environment."""

    suite: Suite
    task: Any
    env: Any
    injections: dict[str, str]
    executed: list[ToolCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start = self.env.model_copy(deep=True)

    @property
    def prompt(self) -> str:
        """What the user said."""
        return str(self.task.PROMPT)

    def user_calls(self) -> list[ToolCall]:
        """Return the calls that solve the user's task."""
        with quiet():
            return _calls(self.task.ground_truth(self.env))

    def attack_calls(self, attack_id: str) -> list[ToolCall]:
        """Return the calls of the benchmark's own script for an attack, as the environment stands now."""
        with quiet():
            return _calls(self.suite.attacks[attack_id].ground_truth(self.env))

    def run(self, call: ToolCall) -> Any:
        """Execute a call and return its result, or the text of its error, as JSON."""
        self.executed.append(call)
        with quiet():
            result, error = self.suite.runtime.run_function(self.env, call.tool, dict(call.args))
            return _plain(result) if error is None else {"error": error}

    def finished(self, output: str) -> bool:
        """Ask the benchmark whether the user's task is done. The same end state is never checked twice."""
        key = self._fingerprint(output)
        if key not in self.suite.known_checks:
            with quiet():
                start, end = self._copies()
                by_trace = self.task.utility_from_traces(output, start, end, self._trace())
                done = by_trace if by_trace is not None else self.task.utility(output, start, end)
            self.suite.known_checks[key] = bool(done)
        return self.suite.known_checks[key]

    def _fingerprint(self, output: str) -> bytes:
        """Digest everything a check can look at: the start is a function of task and injections.

        The calls count only for the tasks that are judged by them, and the moment at which a tool stamped something
        counts as "now": no check asks for more than that it is later than before.
        """
        by_calls = type(self.task).utility_from_traces is not self.suite.base_task.utility_from_traces
        trace = [(call.tool, dict(call.args)) for call in self.executed] if by_calls else []
        parts = json.dumps([self.task.ID, self.injections, output, trace], sort_keys=True, default=str)
        end = _STAMPED.sub('"now"', self.env.model_dump_json())
        return hashlib.sha256(parts.encode() + end.encode()).digest()

    def goal_reached(self, attack_id: str, output: str) -> bool:
        """Ask the benchmark whether the attack reached its goal. Only executed calls are its trace."""
        attack = self.suite.attacks[attack_id]
        with quiet():
            start, end = self._copies()
            by_trace = attack.security_from_traces(output, start, end, self._trace())
            return bool(by_trace if by_trace is not None else attack.security(output, start, end))

    def _copies(self) -> tuple[Any, Any]:
        """Copy both ends: some checks of the benchmark change what they look at (reading marks mail as read)."""
        return self.start.model_copy(deep=True), self.env.model_copy(deep=True)

    def _trace(self) -> list[Any]:
        return [self.suite.call_type(function=call.tool, args=dict(call.args)) for call in self.executed]


def _calls(found: Sequence[Any]) -> list[ToolCall]:
    return [ToolCall(call.function, _plain(dict(call.args))) for call in found]
