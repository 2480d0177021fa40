"""What must hold of the AgentDojo corpus without the benchmark installed: clear errors, and honest manifests."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from checkvalve.approvals.fieldspec import Effect, Role
from checkvalve.corpora.agentdojo import SUITES, adapter, run_agentdojo
from checkvalve.corpora.agentdojo.profiles import packaged_manifest
from checkvalve.corpora.errors import CorpusDataError, MissingExtraError, UnknownCorpusError

OUTSIDERS = {  # (suite, tool, path): what a stranger writes: at most trusted in records of the user's own
    ("workspace", "search_emails", "sender"),
    ("workspace", "search_emails", "subject"),
    ("workspace", "search_emails", "body"),
    ("workspace", "search_emails", "recipients.*"),
    ("workspace", "search_calendar_events", "title"),
    ("workspace", "search_calendar_events", "description"),
    ("workspace", "search_calendar_events", "participants.*"),
    ("workspace", "list_files", "filename"),
    ("workspace", "list_files", "content"),
    ("travel", "get_rating_reviews_for_hotels", "**"),
    ("banking", "get_most_recent_transactions", "sender"),
    ("banking", "get_most_recent_transactions", "recipient"),
    ("banking", "get_most_recent_transactions", "subject"),
    ("banking", "read_file", "$"),
    ("slack", "read_channel_messages", "body"),
    ("slack", "read_inbox", "body"),
    ("slack", "get_webpage", "$"),
}


@pytest.fixture
def without_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def refuse(name: str, package: str | None = None) -> Any:
        if name.startswith("agentdojo"):
            raise ModuleNotFoundError("No module named 'agentdojo'", name="agentdojo")
        return real(name, package)

    monkeypatch.setattr("importlib.import_module", refuse)
    adapter._package.cache_clear()
    adapter.load_suite.cache_clear()


@pytest.mark.usefixtures("without_benchmark")
def test_a_missing_extra_says_what_to_install() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'checkvalve\[agentdojo\]'"):
        run_agentdojo()


@pytest.mark.parametrize("wrong", [{"guard": "nobody"}, {"schedule": "never"}, {"suites": ["moon"]}])
def test_an_unknown_name_lists_the_names_there_are(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnknownCorpusError, match="choose from"):
        run_agentdojo(**wrong)


@pytest.mark.agentdojo
def test_a_folder_without_a_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusDataError, match=r"banking\.yaml"):
        run_agentdojo(suites=["banking"], manifest_dir=tmp_path, limit=1, processes=1)


@pytest.mark.parametrize("suite", SUITES)
def test_what_an_outsider_writes_is_not_trusted(suite: str) -> None:
    manifest = packaged_manifest(suite)
    for _, tool, path in sorted(item for item in OUTSIDERS if item[0] == suite):
        declared = [field for field in manifest.tools[tool].result if field.path == path]
        assert declared
        assert all(field.when or not field.trusted for field in declared), (tool, path)


@pytest.mark.parametrize("suite", SUITES)
def test_every_effect_names_what_asks_for_it_and_every_read_does_not_change_anything(suite: str) -> None:
    for spec in packaged_manifest(suite).tools.values():
        if spec.effect is not Effect.READ:
            assert spec.asks, spec.name
            assert spec.args, spec.name
        for argument in spec.args.values():
            assert not argument.safe_values or argument.role is Role.CONTROL, spec.name


@pytest.mark.agentdojo
@pytest.mark.parametrize("suite", SUITES)
def test_the_manifest_declares_exactly_the_tools_and_arguments_there_are(suite: str) -> None:
    declared = {name: set(spec.args) for name, spec in packaged_manifest(suite).tools.items()}
    assert declared == adapter.load_suite("v1.2.2", suite).signatures()
