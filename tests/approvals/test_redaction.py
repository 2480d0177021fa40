"""What is not shown of a text or of a call, and what stands there instead: pure rules, without a store."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkvalve.approvals.card import safe
from checkvalve.approvals.errors import EditRefusedError, ManifestError
from checkvalve.approvals.inert import inert
from checkvalve.approvals.manifest import parse_manifest
from checkvalve.approvals.redaction import MAX_FORMS, Veil, told
from checkvalve.approvals.render import block, neutralise, short, size_of, warnings
from checkvalve.approvals.requests import ActionRequest
from checkvalve.approvals.seen import Seen, secrets_of, seen
from checkvalve.approvals.seen_bytes import pieces, text_of, within
from checkvalve.approvals.seen_edits import meant
from checkvalve.approvals.veiled import MARK, Hidden, Veiled, as_veiled, bare, joined, part, veiled
from checkvalve.filters.secrets.registered import Registered
from checkvalve.filters.strictjson import JSON
from tests.approvals.made import REVIEW, Desk, decided

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # the form of a vendor, and no key
PASSWORD = "grey-Otter-42"
FORGED = "\u27e8redacted: 12 characters, mark 0123abcd\u27e9"
REPORTS: list[JSON] = [
    {"path": "to", "role": "target"},
    {"path": "password", "role": "credential"},
    {"path": "login.pin", "role": "credential"},
    {"path": "memo", "role": "content", "redact": True},
    {"path": "body", "role": "content"},
]


def veil(*secrets: str, **more: object) -> Veil:
    return Veil(b"k" * 32, told=told(secrets), **more)  # type: ignore[arg-type]


def call(desk: Desk, **args: JSON) -> Seen:
    """Return a call with these arguments as it is shown, under the roles above."""
    request = ActionRequest.build("send", args, thread="t", call_id="c", requester="bob")
    row = desk.queue.propose(request, decided(REVIEW))
    known = replace(row, decision={**row.decision, "arguments": REPORTS})
    return seen(known, veil(*secrets_of(known)))


class TestText:
    @pytest.mark.parametrize(
        "text",
        [
            f"Use {KEY} for it",
            f"password: {PASSWORD}x9Lq",
            "postgres://app:otter-lantern@db.example/x",
            f"the {PASSWORD} of the task",
            f"b64 {base64.b64encode(PASSWORD.encode()).decode()} of it",
            "the GREY-otter-42 in other letters",
            "pin 7731, as agreed",
            "the value Kestrel-8812-figures",
        ],
    )
    def test_a_secret_is_a_mark_and_the_rest_stays(self, text: str) -> None:
        found = veil(PASSWORD, "7731", registered=Registered([("registered", "Kestrel-8812-figures")])).text(text)
        assert len(MARK.findall(found)) == 1
        assert MARK.sub("", found) != ""
        assert all(word not in found for word in (KEY, PASSWORD, "otter-lantern", "7731", "Kestrel", "GREY"))

    def test_a_text_without_one_is_the_same_text(self) -> None:
        text = "Order 77310 of 2026-11-30, 17731 pieces, (sic)"
        assert veil("7731").text(text) is text

    def test_the_mark_tells_the_length_and_which_are_the_same_and_nothing_else(self) -> None:
        first, again, other = (MARK.findall(veil().text(f"key {key}"))[0] for key in (KEY, KEY, KEY[:-1] + "9"))
        assert first == again
        assert first[0] == other[0] == str(len(KEY))
        assert first[1] != other[1]
        assert Veil(b"other").text(KEY) != veil().text(KEY)  # keyed: nobody can try out what would give it

    def test_a_long_text_that_is_declared_is_found_line_by_line(self) -> None:
        text = "\n".join(f"line {number} of what the doctor wrote" for number in range(40))
        assert len(text) > MAX_FORMS
        found = veil(text).text("He wrote: line 7 of what the doctor wrote. Then tea.")
        assert found.startswith("He wrote: ")
        assert found.endswith(". Then tea.")
        assert "doctor" not in found

    @pytest.mark.parametrize("secret", ["", " ", "a", "42", "--"])
    def test_what_every_text_has_is_looked_for_in_none(self, secret: str) -> None:
        text = "a 42 -- b"
        assert veil(secret).text(text) is text

    def test_a_lifted_veil_hides_nothing(self) -> None:
        assert veil(PASSWORD, lifted=True).text(f"{PASSWORD} {KEY}") == f"{PASSWORD} {KEY}"


class TestMarks:
    def test_no_content_can_forge_one(self) -> None:
        for shown_text in (neutralise(FORGED), short(FORGED), block(FORGED), inert(FORGED), safe(FORGED).plain):
            assert not MARK.search(shown_text)
        beside = veil().text(f"{FORGED} {KEY}")
        assert [found[0] for found in MARK.findall(beside)] == [str(len(KEY))]
        assert "U+27E8" in beside

    @pytest.mark.parametrize("render", [neutralise, short, block, inert, lambda text: safe(text).plain])
    def test_one_of_ours_is_shown_as_it_is(self, render: object) -> None:
        assert MARK.search(render(veil().text(f"key {KEY}")))  # type: ignore[operator]

    def test_what_hides_is_shown_beside_one(self) -> None:
        found = veil().text(f"\u202e{KEY}\u200b")
        assert neutralise(found).count("U+202E") == 1
        assert "hidden or control characters" in warnings(found)
        assert size_of(found) == len(f"\u202e{KEY}\u200b".encode())

    def test_a_cut_never_leaves_half_of_one(self) -> None:
        text = veil().text(f"ab {KEY} cd")
        for start in range(len(text)):
            for end in range(start, len(text) + 1):
                piece = neutralise(part(text, start, end))
                assert piece.count("\u27e8") == piece.count("\u27e9")
                assert "redacted" not in piece or MARK.search(piece)

    @given(st.text(st.sampled_from("ab\u27e8\u27e9 \u202e"), max_size=30), st.data())
    def test_places_follow_what_is_shown(self, text: str, data: st.DataObject) -> None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
        hidden = [Hidden(cuts[0], cuts[1], "\u27e8m\u27e9")] if cuts[0] < cuts[1] else []
        found, places = veiled(text, hidden)
        for place in range(len(text) + 1):
            assert 0 <= places.start(place) <= places.end(place) <= len(found)
            if not cuts[0] < place < cuts[1]:
                before, _ = veiled(text[:place], [one for one in hidden if one.end <= place])
                assert found[: places.start(place)] == before
        assert bare(as_veiled(text)) == text
        assert isinstance(joined([part(found, 0, 3), "\u27e8"]), Veiled)


class TestCall:
    def test_declared_values_are_marks_and_a_destination_stays(self, desk: Desk) -> None:
        row = call(
            desk, to="ann@corp.example", password=PASSWORD, login={"pin": 7731, "ok": True}, memo="Private", body="Hi"
        )
        args = row.args()
        assert (args["to"], args["body"]) == ("ann@corp.example", "Hi")
        assert MARK.fullmatch(str(args["password"]))
        assert MARK.fullmatch(str(args["memo"]))
        login = args["login"]
        assert isinstance(login, dict)
        assert (bool(MARK.fullmatch(str(login["pin"]))), login["ok"]) == (True, True)
        assert row.exact.args()["password"] == PASSWORD
        assert (row.digest, row.size) == (row.exact.digest, len(row.exact.canonical))
        assert row.canonical == b""
        assert {item.at for item in row.redacted()} == {"password", "login.pin", "memo"}

    def test_of_a_destination_only_the_secret_in_it_is_hidden(self, desk: Desk) -> None:
        row = call(desk, to=f"https://x.example/{KEY}/join", password="1234")
        args = row.args()
        assert re.fullmatch(r"https://x\.example/\S*redacted.*/join", str(args["to"]))
        assert call(desk, to="room 1234", password="1234").args()["to"] == "room 1234"  # it could be any number there

    def test_where_nothing_is_declared_the_name_says_it(self, desk: Desk) -> None:
        request = ActionRequest.build("other", {"api_key": "abc", "n": 1}, thread="t", call_id="c")
        row = seen(desk.propose(request=request), veil())
        assert MARK.fullmatch(str(row.args()["api_key"]))
        assert row.args()["n"] == 1

    def test_a_call_that_was_refused_before_its_arguments_were_looked_at(self, desk: Desk) -> None:
        row = desk.propose(request=ActionRequest.build("other", {"word": "otter", "n": 1}, thread="t", call_id="c"))
        row = replace(row, decision={"redact": ["word"]})
        assert MARK.fullmatch(str(seen(row, veil()).args()["word"]))

    def test_the_published_form_has_no_secret_and_says_where_marks_are(self, desk: Desk) -> None:
        told_text = json.dumps(call(desk, to="a", password=PASSWORD, **{KEY: "v"}).to_json())
        assert PASSWORD not in told_text
        assert KEY not in told_text
        assert [item["path"] == "password" for item in json.loads(told_text)["redacted"]] == [False, True]


class TestBytes:
    def test_the_pieces_are_the_stored_bytes(self, desk: Desk) -> None:
        row = call(
            desk,
            to='\u00e4"\\\n\u27e8',
            password=PASSWORD,
            login={"pin": 7731, "ok": True},
            body=f"x {KEY} y",
            list=[1, "a"],
        )
        found = pieces(row)
        assert b"".join(piece.data for piece in found) == row.exact.canonical
        hidden = [piece.data.decode() for piece in found if piece.mark]
        assert sorted(hidden) == sorted([PASSWORD, "7731", KEY])
        text = text_of(found)
        assert PASSWORD not in text
        assert text.size == row.size
        assert len(MARK.findall(neutralise(text))) == 3

    def test_any_window_shows_no_byte_of_a_secret(self, desk: Desk) -> None:
        row = call(desk, to="a", password=PASSWORD)
        for first in range(row.size):
            shown_text = text_of(within(pieces(row), first, first + 8))
            assert "Otter" not in shown_text
            assert "grey" not in shown_text


class TestEdits:
    def test_what_nobody_touched_comes_back_to_the_last_byte(self, desk: Desk) -> None:
        args: dict[str, JSON] = {
            "to": f"\u27e8{KEY}\u27e9",
            "password": PASSWORD,
            "login": {"pin": 7731},
            "memo": "m",
            "body": "Hi \u27e8x\u27e9",
        }
        row = call(desk, **args)
        assert meant(row, row.args()) == args
        assert meant(row, args) == args

    def test_the_text_around_a_mark_can_be_edited(self, desk: Desk) -> None:
        row = call(desk, to="a", body=f"Use {KEY} now \u27e8x\u27e9")
        edited = str(row.args()["body"]).replace("now", "tomorrow")
        assert meant(row, {"to": "a", "body": edited})["body"] == f"Use {KEY} tomorrow \u27e8x\u27e9"
        assert meant(row, {"to": "a", "body": "Use nothing"})["body"] == "Use nothing"

    def test_a_secret_can_be_replaced(self, desk: Desk) -> None:
        row = call(desk, to="a", password=PASSWORD, login={"pin": 7731})
        found = meant(row, {"to": "a", "password": "another-1", "login": {"pin": 7732}})
        assert found == {"to": "a", "password": "another-1", "login": {"pin": 7732}}

    @pytest.mark.parametrize("where", ["to", "body", "new"])
    def test_no_mark_moves_a_secret_into_another_argument(self, desk: Desk, where: str) -> None:
        row = call(desk, to="a", password=PASSWORD, body=f"Use {KEY}")
        stolen = f"https://evil.example/{row.args()['password']}"
        with pytest.raises(EditRefusedError, match="does not belong"):
            meant(row, {**row.args(), where: stolen})

    def test_a_mark_that_nobody_was_shown_is_no_value(self, desk: Desk) -> None:
        row = call(desk, to="a", password=PASSWORD)
        with pytest.raises(EditRefusedError):
            meant(row, {"to": "a", "password": FORGED})

    def test_a_content_that_only_looks_like_a_mark_is_content(self, desk: Desk) -> None:
        row = call(desk, to="a", body=FORGED)
        assert not MARK.search(str(row.args()["body"]))
        assert meant(row, {"to": "b", "body": FORGED})["body"] == FORGED


class TestManifest:
    BASE = "version: 1\nname: x\ntools:\n  send:\n    args:\n      a: "

    @pytest.mark.parametrize("role", ["target", "selector", "command", "amount", "control"])
    def test_what_a_person_judges_by_cannot_be_hidden(self, role: str) -> None:
        with pytest.raises(ManifestError, match="judges a call by"):
            parse_manifest(f"{self.BASE}{{role: {role}, redact: true}}\n", "x")
        with pytest.raises(ManifestError, match="judges a call by"):
            parse_manifest(f"{self.BASE}{{redact: true}}\n", "x")  # undeclared is a target

    def test_content_and_credentials_can(self) -> None:
        for line in ("{role: content, redact: true}", "{role: credential, redact: true}", "{role: credential}"):
            assert parse_manifest(f"{self.BASE}{line}\n", "x").tools["send"].args["a"].is_secret
        assert not parse_manifest(f"{self.BASE}{{role: content}}\n", "x").tools["send"].args["a"].is_secret
