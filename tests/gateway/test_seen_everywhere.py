"""No module shows a call as it is stored: what reads the exact arguments is on a list, with what it needs them for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted([*(ROOT / "approvals").glob("*.py"), *(ROOT / "gateway").glob("*.py")])
TAKES = {
    "approvals/records.py": "it is the record",
    "approvals/seen.py": "it makes of the record what is shown",
    "approvals/seen_bytes.py": "it makes of the stored bytes what is shown",
    "approvals/seen_edits.py": "it puts secrets back in their places",
    "approvals/snapshot.py": "deciding looks at the earlier calls of a task",
    "approvals/claims.py": "what runs gets the exact arguments",
    "approvals/executor.py": "what runs gets the exact arguments",
    "approvals/edits.py": "an edited call is decided and stored",
    "approvals/answer_command.py": "arguments that nobody changes are kept; what is printed is shown under the veil",
    "approvals/batching.py": "which calls are alike is compared, and no value of it shown",
    "approvals/standing_draft.py": "a standing rule names exact values; its words are shown under the veil",
    "approvals/pins_shown.py": "versions are looked up for the record, and shown under the veil",
    "approvals/previews.py": "a preview is looked up for the record",
    "approvals/searching.py": "a search gives records back",
    "approvals/showing.py": "what stands around a call is looked up for the record",
    "approvals/story.py": "what it is compared with is looked up for the record",
    "gateway/web_card.py": "where the parts of a value come from is looked up in the exact one",
    "gateway/web_edit.py": "arguments that nobody changes are kept",
    "gateway/web_item.py": "what stands around a call is looked up for the record",
    "gateway/web_quorum_view.py": "what stands around a call is looked up for the record",
    "gateway/web_reveal_view.py": "the right to reveal is looked up for the record",
    "gateway/http_approvals.py": "what stands around a call is looked up for the record",
    "gateway/http_edits.py": "an edit is of what is shown; a value that was not changed comes back as it was shown",
    "gateway/late_result.py": "what the agent proposed is compared with what is shown of the edit",
    "gateway/web_seed_items.py": "what stands around a call is looked up for the record",
}
"""Modules that take the exact arguments or bytes of a stored call. A new one that shows calls does not belong here."""
SHOWS = {
    "gateway/edit_notice.py", "gateway/http_approval_views.py", "gateway/http_interrupts.py",
    "gateway/policykit_explain.py",
}  # fmt: skip
"""Modules whose ``args()`` is that of a call as it is shown: their types say so."""


def taken(path: Path) -> Iterator[str]:
    """Yield what a module takes of a record."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in {"exact", "canonical"} and isinstance(node.ctx, ast.Load):
            yield node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "args":
            yield "args()"


def test_whatever_takes_the_exact_call_says_what_for() -> None:
    kit = {path for path in MODULES if path.name.startswith("kit_")}  # `exact` of a formula
    found = {path.relative_to(ROOT).as_posix() for path in MODULES if path not in kit and [*taken(path)]}
    assert found - SHOWS - set(TAKES) == set()
    assert [name for name in (*TAKES, *SHOWS) if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("name", sorted(SHOWS))
def test_what_shows_calls_takes_them_as_they_are_shown(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "Seen" in text or ".veiling.seen(" in text
    assert ".exact" not in text


def test_the_rule_finds_a_module_that_forgets(tmp_path: Path) -> None:
    new = tmp_path / "web_new.py"
    new.write_text("def page(row):\n    return shown(str(row.args()))\n")
    assert [*taken(new)] == ["args()"]
