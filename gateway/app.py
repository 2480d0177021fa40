"""The composition root: from settings to the one set of parts that every surface of this process shares."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self

from checkvalve.approvals.afterlooks import Glass
from checkvalve.approvals.content import SqlContentStore
from checkvalve.approvals.executor import Executor
from checkvalve.approvals.facts import PROFILES
from checkvalve.approvals.manifest import manifest_digest
from checkvalve.approvals.policy import Policy
from checkvalve.approvals.queue import Queue
from checkvalve.approvals.store import Store
from checkvalve.approvals.toolspec import Manifest
from checkvalve.approvals.turns import SUFFIX
from checkvalve.filters.outbound.rules import OutboundRules
from checkvalve.gateway.channel_file import channel_names
from checkvalve.gateway.errors import SettingsError
from checkvalve.gateway.inbound import inbound_of
from checkvalve.gateway.log_keeper import LogKeeper, keeper_of
from checkvalve.gateway.logs import configure_logs, get_logger
from checkvalve.gateway.oncall_hooks import FileOnCall
from checkvalve.gateway.outbound import outbound_rules, registered_values
from checkvalve.gateway.places import own_files, refuse_agent_folder
from checkvalve.gateway.rulefiles import deciding_settings, load_adopted, review_file, rule_files
from checkvalve.gateway.sandboxes import sandbox_of
from checkvalve.gateway.settings import LoadedSettings, Settings, load_settings, refuse_reviewer_token
from checkvalve.graphs.inbound import Inbound
from checkvalve.graphs.services import Services
from checkvalve.graphs.session import GuardSession

MAX_SESSIONS: Final = 256
"""Threads whose index is kept in memory; a further one is rebuilt from the store when it comes back."""


@dataclass(frozen=True)
class Gateway:
    """Everything a surface needs. Make one with :func:`build` or :func:`open_gateway`, and close it."""

    settings: Settings
    manifest: Manifest
    policy: Policy
    store: Store
    queue: Queue
    executor: Executor
    content: SqlContentStore
    manifest_digest: str
    protected: tuple[str, ...]
    settings_file: Path | None = None
    inbound: Inbound = field(default_factory=Inbound)
    outbound: OutboundRules = field(default_factory=OutboundRules, repr=False)
    keeper: LogKeeper | None = field(default=None, repr=False)
    _sessions: OrderedDict[tuple[str, str], GuardSession] = field(default_factory=OrderedDict, repr=False)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def observing(self) -> bool:
        """Say whether everything is decided and recorded, and nothing enforced."""
        return self.settings.mode == "observe"

    @property
    def services(self) -> Services:
        """Return the parts that sessions and pipelines work with."""
        return Services(
            manifest=self.manifest,
            policy=self.policy,
            queue=self.queue,
            executor=self.executor,
            content=self.content,
            mode=self.settings.mode,
            profile=self.settings.profile,
            protected=self.protected,
            max_questions=self.settings.max_questions,
            sandbox=self.settings.sandbox != "off",
            inbound=self.inbound,
            outbound=self.outbound,
        )

    def session(self, thread: str, requester: str = "") -> GuardSession:
        """Return the session of ``thread``, the same one while it is kept in memory."""
        with self._lock:
            session = self._sessions.pop((thread, requester), None) or GuardSession(self.services, thread, requester)
            self._sessions[thread, requester] = session
            while len(self._sessions) > MAX_SESSIONS:
                self._sessions.popitem(last=False)
            return session

    def close(self) -> None:
        """Sign what is left to sign, and let go of the database."""
        if self.keeper is not None:
            self.keeper.stop()
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_queue(settings: Settings, *, create: bool = True) -> Queue:
    """Open the store and return its queue: all that a reviewer's commands need."""
    if not settings.database_url:
        raise SettingsError("no database_url is set", "use load_settings(), which knows the default, or set it")
    registered = registered_values(settings)  # nobody is shown these
    rules, text = review_file(settings.review_rules)  # before anything is opened: a mistake in it changes nothing
    queue = Queue(
        Store.open(settings.database_url, create=create),
        decide_within=timedelta(seconds=settings.decide_within),
        execute_within=timedelta(seconds=settings.execute_within),
        endorsed_for=timedelta(seconds=settings.endorsed_for),
        single_user=settings.single_user,
        tenant=settings.tenant,
        budget=settings.review_budget,
        rules=rules,
        glass=Glass(enabled=settings.break_glass, max_open=settings.break_glass_open),
    )
    queue.owners.agents = settings.agent_owners
    queue.oncall = FileOnCall(settings.oncall, queue.clock)
    queue.channels = channel_names(settings.channels)
    queue.standing_rules.mode = settings.standing_rules
    queue.veiling.registered = registered
    queue.adopted.required = settings.require_adoption
    queue.adopted.load([text, deciding_settings(settings)])
    return queue


def build(
    settings: Settings, *, settings_file: Path | None = None, on_step: Callable[[str], None] | None = None
) -> Gateway:
    """Build the gateway that ``settings`` describe.

    Args:
        settings: from :func:`load_settings`, or made by hand with at least ``manifest`` and ``database_url``.
        settings_file: where they came from, so that no tool may touch the file.
        on_step: called with the executor's steps, for tests that die there.

    Raises:
        SettingsError: no manifest is named, the profile does not exist, one of our files lies in ``agent_workdir``,
            or a reviewer's credential is in the environment.
        SandboxError: a tool is declared to run code in the sandbox that is configured, and there is none here.
        ApprovalError: manifest, policy, database or the log's key cannot be used, or the audit log is not what was
            signed, or people adopted other rules than these; the error says which and what to do.
    """
    if settings.manifest is None:
        raise SettingsError("no manifest is set", "name the YAML file that declares the agent's tools: manifest = ...")
    if settings.profile not in PROFILES:
        raise SettingsError(f"there is no profile {settings.profile!r}", f"use one of: {', '.join(PROFILES)}")
    refuse_reviewer_token()
    refuse_agent_folder(settings, settings_file)  # again: a command or a program may have changed what was loaded
    configure_logs(settings)
    rules = rule_files(settings)
    manifest, policy = rules.manifest, rules.policy
    if settings.sandbox != "off" and any(spec.sandbox is not None for spec in manifest.tools.values()):
        sandbox_of(settings, settings_file).check()  # now, not when the first command is waited for
    queue = open_queue(settings)
    with _kept_open(queue.store):
        load_adopted(queue.adopted, queue.store, queue.clock(), rules.texts)
    gateway = Gateway(
        settings=settings,
        manifest=manifest,
        policy=policy,
        store=queue.store,
        queue=queue,
        executor=Executor(queue, on_step=on_step),
        content=SqlContentStore(queue.store),
        manifest_digest=manifest_digest(manifest),
        protected=own_paths(settings, settings_file),
        settings_file=settings_file,
        inbound=inbound_of(settings, (outbound := outbound_rules(settings)).registered),
        outbound=outbound,
        keeper=_kept(settings, queue.store),
    )
    _announce(gateway)
    _recover(gateway)
    return gateway


def _kept(settings: Settings, store: Store) -> LogKeeper | None:
    """Begin to sign the log; where it is not what was signed, nothing begins."""
    with _kept_open(store):
        return keeper_of(settings, store)


@contextmanager
def _kept_open(store: Store) -> Iterator[None]:
    """Let go of the database where something fails."""
    try:
        yield
    except BaseException:
        store.close()
        raise


def open_gateway(config: Path | None = None) -> Gateway:
    """Load the settings (file and environment) and build the gateway they describe."""
    loaded: LoadedSettings = load_settings(config)
    return build(loaded.settings, settings_file=loaded.file)


def own_paths(settings: Settings, settings_file: Path | None) -> tuple[str, ...]:
    """Return what no tool may touch: every file this gateway reads its rules from or keeps its records in."""
    files = own_files(settings, settings_file)
    databases = [files[name] for name in ("database", "runs") if name in files]
    beside = [path.with_name(path.name + suffix) for path in databases for suffix in ("-wal", "-shm", SUFFIX)]
    ours = [*files.values(), *beside]
    found = {str(path) for path in ours} | {str(path.resolve()) for path in ours}
    return tuple(sorted(found))


def _announce(gateway: Gateway) -> None:
    log = get_logger()
    known = {"mode": gateway.settings.mode, "profile": gateway.settings.profile}
    if gateway.observing:
        log.warning("OBSERVE MODE: calls are decided and recorded, and NOTHING IS STOPPED", **known)
    else:
        log.info("gateway ready", **known)
    log.debug("gateway rules", policy=gateway.policy.digest, manifest=gateway.manifest_digest)


def _recover(gateway: Gateway) -> None:
    """Find calls whose process died in the middle: nobody knows how they ended, so a person has to look."""
    for proposal in gateway.executor.recover():
        get_logger().warning(
            "a call was cut off by a crash: look at its effect, then settle it: checkvalve approvals unknown",
            approval=proposal.id,
            tool=proposal.tool,
            thread=proposal.thread,
        )
