"""Who did something reads like a name in a message, and no name becomes markup, a link or an emoji there."""

from __future__ import annotations

import pytest

from checkvalve.approvals.inert import inert, inert_by


@pytest.mark.parametrize(
    ("by", "shown"),
    [
        ("reviewer:ann", "reviewer:ann"),
        ("breakglass:eve", "breakglass:eve"),
        ("clock", "clock"),
        ("reviewer:ann@corp.example", "reviewer:ann⟨U+0040⟩corp⟨U+002E⟩example"),
        ("reviewer:smile:", "reviewer:smile⟨U+003A⟩"),
        ("reviewer:*all*", "reviewer:⟨U+002A⟩all⟨U+002A⟩"),
        ("reviewer:", "reviewer:"),
    ],
)
def test_the_word_for_what_somebody_is_stays_and_the_name_is_inert(by: str, shown: str) -> None:
    assert inert_by(by) == shown


@pytest.mark.claim("C9")
@pytest.mark.parametrize(
    "by", ["https://evil.example", "javascript:alert(1)", "mailto:eve", "x:reviewer:ann", ":smile:"]
)
def test_no_other_word_before_a_colon_is_trusted(by: str) -> None:
    assert inert_by(by) == inert(by)
    assert ":" not in inert_by(by).rstrip(":")
