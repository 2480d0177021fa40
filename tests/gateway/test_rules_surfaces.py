"""Changes of the rules in the terminal, over HTTP and on the pages: the same thing in the same words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from checkvalve.approvals.rulesets import difference
from checkvalve.gateway import http_rules
from checkvalve.gateway.adoption_settings import DECIDING, SIGN_IN
from checkvalve.gateway.doctor_command import look
from checkvalve.gateway.http_problems import Bounds, add_handlers
from checkvalve.gateway.http_tokens import ApiTokens
from checkvalve.gateway.oidc_rules import provider_of
from checkvalve.gateway.rulefiles import deciding_settings, sign_in_counts
from checkvalve.gateway.rules_command import rules_app
from checkvalve.gateway.settings import LoadedSettings, Settings
from checkvalve.gateway.web_pages import open_desk
from tests.approvals.rules_world import change
from tests.approvals.standing_world import MANIFEST, PARTNER, World, standing_world
from tests.gateway.review_world import Review, reviewing, sign_in

FORGED = '    # \u202e</pre><script>alert("in force")</script>\x1b[2J'


class Terminal:
    """A terminal beside a world: every command opens the database anew."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.loaded = LoadedSettings(world.gateway.settings, None, {})
        for name, token in world.tokens.items():
            (folder / name).write_text(token)

    def __call__(self, *words: str, who: str = "") -> tuple[int, str]:
        token = ["--token-file", str(self.folder / who)] if who else []
        app = rules_app(lambda: self.loaded)
        result = CliRunner(env={"COLUMNS": "160"}).invoke(app, [*words, *token])
        return result.exit_code, result.output

    def json(self, *words: str, who: str = "", code: int = 0) -> Any:
        found, out = self(*words, "--json", who=who)
        assert found == code, out
        return json.loads(out)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with standing_world(tmp_path) as world:
        yield Terminal(world, tmp_path)


@pytest.mark.claim("C4")
def test_the_way_of_a_change_in_the_terminal(terminal: Terminal) -> None:
    manifest = terminal.folder / "manifest.yaml"
    terminal.world.ask(to=PARTNER, body="x")
    code, out = terminal("status")
    assert (code, "the files count as they are" in out) == (0, True)
    code, out = terminal("propose", who="ann")
    assert (code, "adopted by ann alone, since nothing was in force before" in out) == (0, True)
    assert "2 lines" not in terminal("status")[1]
    change(manifest, "asks: [send, mail, write, reply]", "asks: [write]")
    code, out = terminal("status")
    assert (code, "a gateway would refuse to start" in out, "manifest.yaml" in out) == (1, True, True)
    code, out = terminal("propose", "--dry-run")
    assert (code, "+     asks: [write]" in out, "nothing was stored" in out) == (0, True, True)
    code, out = terminal("propose", "--note", "less", "--overlap", "60", who="ann")
    assert (code, "-     asks: [send, mail, write, reply]" in out) == (0, True)
    assert "would have been decided otherwise: none" in out
    (row,) = [item for item in terminal.json("list") if item["state"] == "waiting"]
    assert row["note"] == "less"
    assert terminal("propose", who="ben")[0] == 1
    code, out = terminal("confirm", row["id"][:8], who="ann")
    assert (code, "another person who is an administrator has to confirm it" in out) == (1, True)
    assert terminal("confirm", row["id"][:8], "--digest", "sha256:0", who="ben")[0] == 1
    code, out = terminal("confirm", row["id"][:8], who="ben")
    assert (code, "stays in force for 60 seconds" in out, "confirmed by ben" in out) == (0, True, True)
    assert terminal("confirm", row["id"][:8], who="ben")[0] == 1
    code, out = terminal("status")
    assert (code, "the files here are what was adopted" in out) == (0, True)
    assert "rules.adopted" in terminal("show", row["id"][:8])[1]
    lines = terminal.json("show", row["id"])["differences"]["manifest"]
    assert {"kind": "added", "text": "    asks: [write]"} in lines
    manifest.write_bytes(terminal("text", "manifest")[1].encode())
    assert terminal("status")[0] == 0


@pytest.mark.claim("C4")
def test_one_part_of_another_file_is_proposed_and_refused(terminal: Terminal) -> None:
    terminal("propose", who="ann")
    other = terminal.folder / "other.yaml"
    other.write_text("everywhere: {approve: [{approver: 2}]}\n")
    code, out = terminal("propose", "--review-rules", str(other), who="ann")
    assert (code, "review rules: lines +1 -0" in out) == (0, True)
    (row,) = [item for item in terminal.json("list") if item["state"] == "waiting"]
    code, out = terminal("refuse", row["id"][:8], "--note", "why two?", who="ben")
    assert (code, "refused by ben" in out, "why two?" in out) == (0, True, True)
    assert terminal("propose", "--part", "nothing")[0] == 1
    assert [item["state"] for item in terminal.json("list", "--all")] in (
        ["in force", "refused"],
        ["refused", "in force"],
    )
    other.write_text("everywhere: {nothing: 2}\n")
    code, out = terminal("propose", "--review-rules", str(other), who="ann")
    assert (code, "other.yaml:1" in out) == (2, True)


def test_what_a_text_holds_draws_nothing_on_the_terminal(terminal: Terminal) -> None:
    terminal("propose", who="ann")
    policy = terminal.folder / "policy.cedar"
    policy.write_text('// \u202e\u2066 \x1b[2J\n@id("x")\n@decision("review")\npermit (principal, action, resource);\n')
    code, out = terminal("propose", "--policy", str(policy), "--dry-run")
    assert code == 0, out
    assert "\u202e" not in out
    assert "\x1b" not in out
    assert "\u27e8U+202E\u27e9" in out


class Api:
    """The API over a world, for people with a token."""

    def __init__(self, world: World, client: TestClient) -> None:
        self.world, self.client = world, client

    def send(self, method: str, path: str, who: str = "ann", body: Any = None) -> tuple[int, Any]:
        token = self.world.tokens.get(who, "")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        response = self.client.request(method, path, headers=headers, json=body)
        return response.status_code, response.json() if "json" in response.headers["content-type"] else response.text


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    with standing_world(tmp_path) as world:
        app = FastAPI()
        app.state.server = SimpleNamespace(gateway=world.gateway)
        app.state.tokens = ApiTokens(tmp_path / "tokens")
        app.include_router(http_rules.router)
        add_handlers(app)
        app.add_middleware(Bounds)
        with TestClient(app, raise_server_exceptions=False) as client:
            yield Api(world, client)


@pytest.mark.claim("C4")
def test_the_way_of_a_change_over_http(api: Api) -> None:
    assert api.send("GET", "/rules")[1] == {"in_force": None, "files_that_differ": [], "adoption_required": False}
    status, first = api.send("POST", "/rule-changes", body={})
    assert (status, first["state"], first["adopted_alone"]) == (201, "in force", "first")
    text = MANIFEST.replace("asks: [pay]", "asks: [pay, transfer]")
    status, made = api.send("POST", "/rule-changes", body={"texts": {"manifest": text}, "note": "n"})
    assert (status, made["state"], list(made["differences"])) == (201, "waiting", ["manifest"])
    assert {"kind": "added", "text": "    asks: [pay, transfer]"} in made["differences"]["manifest"]
    where = f"/rule-changes/{made['id']}"
    assert api.send("POST", f"{where}/confirm", body={"digest": made["digest"]})[0] == 403
    assert api.send("POST", f"{where}/confirm", "ben", body={"digest": first["digest"]})[1]["code"] == "digest"
    assert api.send("POST", f"{where}/confirm", "ben", body={})[0] == 422
    assert api.send("GET", f"{where}/texts/manifest", "ben") == (200, text)
    status, done = api.send("POST", f"{where}/confirm", "ben", body={"digest": made["digest"]})
    assert (status, done["state"], done["decided_by"]) == (200, "in force", "ben")
    assert api.send("POST", f"{where}/confirm", "cleo", body={"digest": made["digest"]})[0] == 410
    assert [item["part"] for item in api.send("GET", "/rules")[1]["files_that_differ"]] == ["manifest"]
    assert api.send("POST", f"{where}/refuse", "ben", body={})[0] == 410
    assert api.send("GET", f"/rule-changes/{'0' * 36}")[0] == 404
    assert len(api.send("GET", "/rule-changes")[1]) == 2
    assert api.send("POST", "/rule-changes", body={"texts": {"manifest": "tools: ["}})[1]["code"] == "unusable"
    for path in ("/rules", "/rule-changes", where):
        assert api.send("GET", path, "nobody")[0] == 401


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[Review]:
    with reviewing(tmp_path) as review:
        yield review


def send(review: Review, path: str, at: str = "", **values: str) -> Any:
    """Send a form as it stands on its page, after looking as long as one has to."""
    fields = review.fields(review.get(at or "/review/rules"), path)
    review.wait()
    return review.client.post(path, data={**fields, **values})


@pytest.mark.claim("C4")
def test_the_way_of_a_change_on_the_pages(pages: Review) -> None:
    queue, manifest = pages.gateway.queue, pages.gateway.settings.manifest
    assert manifest is not None
    ben = queue.reviewers.add("ben", by=queue.reviewers.authenticate(pages.token))
    assert send(pages, "/review/rules/propose").headers["location"].endswith("done=rules.adopted")
    with manifest.open("a", encoding="utf-8") as file:
        file.write(FORGED.replace("\x1b", "").replace("    ", "") + "\n")
    assert "not what was adopted" in pages.get("/review/rules")
    where = send(pages, "/review/rules/propose", note="<b>fine</b>").headers["location"].partition("?")[0]
    page = pages.get(where)
    assert "<script>alert" not in page
    assert "<b>fine</b>" not in page
    assert "&lt;script&gt;alert" in page
    assert "\u202e" not in page
    assert f'action="{where}/confirm"' not in page  # for the author there is no such form
    stolen = pages.client.post(f"{where}/confirm", data={"seal": "x", "digest": "y", "shown": "1.z"})
    assert stolen.status_code == 403
    assert sign_in(pages.client, ben).status_code == 303
    assert "wait for a second person: 1" in pages.get("/review")
    fast = pages.client.post(f"{where}/confirm", data=pages.fields(pages.get(where), f"{where}/confirm"))
    assert fast.status_code == 425
    fields = pages.fields(pages.get(where), f"{where}/confirm")
    pages.wait()
    assert pages.client.post(f"{where}/confirm", data={**fields, "digest": "sha256:" + "0" * 64}).status_code == 409
    assert pages.client.post(f"{where}/confirm", data=fields).headers["location"].endswith("done=rules.adopted")
    assert pages.client.post(f"{where}/confirm", data=fields).status_code == 409
    for path in (where, f"{where}/text/manifest", "/review/rules"):
        for language in ("en", "de", "zh"):
            pages.client.cookies.set("checkvalve_language", language)
            text = pages.client.get(path).text
            assert "rules." not in text.replace("rules.yaml", "").replace("done=rules.", ""), (path, language)


@pytest.mark.claim("C4")
def test_a_proof_that_is_old_changes_no_rules(pages: Review) -> None:
    queue = pages.gateway.queue
    fields = pages.fields(pages.get("/review/rules"), "/review/rules/propose")
    now = queue.clock()
    queue.clock = lambda: now + 301_000_000
    assert "prove" in pages.client.post("/review/rules/propose", data=fields).text
    assert queue.rule_changes.list() == []


def test_the_doctor_says_whether_a_gateway_would_start(terminal: Terminal) -> None:
    def said() -> dict[str, str]:
        return {one.text: one.state.value for one in look(terminal.loaded) if one.check == "rules"}

    (before,) = said().items()
    assert (before[1], "whoever writes a file" in before[0]) == ("warning", True)
    terminal("propose", who="ann")
    assert [state for text, state in said().items() if "by one person alone" in text] == ["ok"]
    change(terminal.folder / "manifest.yaml", "asks: [pay]", "asks: [pay, x]")
    assert "problem" in said().values()
    terminal("propose", who="ann")
    assert any("wait for a second person: 1" in text for text in said())


def test_the_settings_that_decide_are_adopted_and_an_own_sign_in_lets_nobody_in(terminal: Terminal) -> None:
    """Whoever can write the settings would be anybody by naming a sign-in of their own."""
    settings = terminal.world.gateway.settings
    assert set(SIGN_IN) <= set(DECIDING) <= set(Settings.model_fields)
    assert deciding_settings(settings).text == ""
    mine = settings.model_copy(update={"single_user": True, "oidc_issuer": "https://evil.example", "port": 1})
    assert deciding_settings(mine).text == 'oidc_issuer = "https://evil.example"\nsingle_user = true\n'
    queue = terminal.world.gateway.queue
    assert sign_in_counts(queue, mine)  # nothing is in force yet
    terminal("propose", who="ann")
    assert (sign_in_counts(queue, mine), sign_in_counts(queue, settings)) == (False, True)
    secret = terminal.folder / "secret"
    secret.write_text("s" * 32)
    secret.chmod(0o600)
    named = mine.model_copy(update={"oidc_client_id": "c", "oidc_client_secret": secret})
    assert provider_of(named, "http://localhost") is not None
    assert open_desk(queue, named).door.provider is None


def test_a_difference_shows_every_line_and_how_it_ends() -> None:
    assert difference("same\n", "same\n") == []
    (gone, new) = difference("x", "x\n")
    assert (gone.kind, gone.unended, new.kind, new.unended) == ("removed", True, "added", False)
    kinds = [line.kind for line in difference("a\r\n", "a\n")]
    assert kinds == ["removed", "added"]
    long = "".join(f"{number}\n" for number in range(9_000))
    whole = difference(long, "".join(f"{number}!\n" for number in range(9_000)))
    assert [sum(line.kind == kind for line in whole) for kind in ("removed", "added")] == [9_000, 9_000]
    one = difference(long, long.replace("4500\n", "new\n"))
    same = ["same", "same", "same"]
    assert [line.kind for line in one] == ["skipped", *same, "removed", "added", *same, "skipped"]
