"""The false positive side: ordinary documents, code, tool output, mail in many languages."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from checkvalve.filters.outbound.judge import LinkOrigin
from checkvalve.filters.outbound.scan import scan_outbound
from checkvalve.filters.outcomes import ContentOutcome
from checkvalve.filters.pii.detect import find_pii
from checkvalve.filters.secrets.scan import find_secrets

CORPORA = Path(__file__).resolve().parents[3] / "shared" / "corpora"
NAMES = ("agent_files", "detection_rules", "docs", "email", "i18n", "security_docs", "tool_desc", "tool_output")
SAMPLE = 60  # of each corpus, spread over it

pytestmark = pytest.mark.skipif(not CORPORA.is_dir(), reason="the third-party corpora are not beside this repository")


def texts(name: str) -> list[str]:
    lines = (CORPORA / f"benign_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    chosen = lines[:: max(1, len(lines) // SAMPLE)]
    found = (json.loads(line)["content"] for line in chosen)
    return [(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False))[:12_000] for item in found]


def named(_target: str) -> LinkOrigin:
    return LinkOrigin.NAMED


@pytest.mark.parametrize("name", NAMES)
def test_where_every_link_is_named_only_pictures_and_passwords_are_taken_out(name: str) -> None:
    found: Counter[str] = Counter()
    for text in texts(name):
        result = scan_outbound(text, origins=named)
        found.update(finding.code for finding in result.findings)
        assert result.outcome is not ContentOutcome.WITHHOLD
    assert found.pop("unusable-link", 0) <= 1, "one tutorial has the address of a file"
    assert found.pop("invisible", 0) <= 1, "one text has a zero-width blank"
    if name == "docs":  # a definition serves pictures as well: it stays readable, and is none any more
        found.pop("definition", None)
    assert set(found) <= {"auto-fetch", "secret"}, found


@pytest.mark.parametrize("name", NAMES)
def test_secrets_in_benign_texts_are_passwords_and_the_one_example_token(name: str) -> None:
    """Tool output of the corpus has made-up passwords in fields of that name, and one tutorial the token of jwt.io."""
    codes = Counter(hit.code for text in texts(name) for hit in find_secrets(text))
    if name not in {"tool_output", "i18n"}:
        assert not codes
    assert set(codes) <= {"named-secret", "jwt"}


@pytest.mark.parametrize("name", NAMES)
def test_personal_data_in_benign_texts_is_what_it_says(name: str) -> None:
    found = [(hit.kind, text[hit.start : hit.end]) for text in texts(name) for hit in find_pii(text)]
    assert not [item for item in found if item[0] in {"national-id", "iban", "crypto"}], found
    assert all(" " in value for kind, value in found if kind == "card"), "a bare number without a label"
