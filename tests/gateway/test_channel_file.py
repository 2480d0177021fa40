"""The file of channels: what it may say, and what is wrong in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkvalve.gateway.channel_file import Channels, Webhook, load_channels, secret_files, secrets_of
from checkvalve.gateway.channel_secrets import MAX_FILE, secret_text
from checkvalve.gateway.errors import ChannelError
from tests.gateway.hook_secrets import SECRET, secret_file

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class TestFile:
    def load(self, folder: Path, text: str) -> Channels:
        secret_file(folder)
        (folder / "url").write_text("https://hooks.chat.example/T/B/x\n")
        (folder / "url").chmod(0o600)
        file = folder / "channels.toml"
        file.write_text(text)
        return load_channels(file)

    def test_a_file_says_who_is_told_what(self, tmp_path: Path) -> None:
        found = self.load(
            tmp_path,
            """
            [[webhook]]
            name = "ops"
            url = "https://hooks.corp.example/checkvalve"
            secret_file = "hook.secret"

            [[slack]]
            name = "chat"
            url_file = "url"
            tiers = ["low", "medium"]

            [[mail]]
            name = "mail"
            host = "mail.corp.example"
            from = "gate@corp.example"
            to = ["ops@corp.example"]
            tiers = ["high", "critical"]
            values = ["high"]
            """,
        )
        assert [channel.name for channel in found.all()] == ["ops", "chat", "mail"]
        assert found.webhook[0].secret_file == tmp_path / "hook.secret"
        assert found.slack[0].values == []
        assert set(secret_files(tmp_path / "channels.toml")) == {tmp_path / "hook.secret", tmp_path / "url"}

    def test_the_example_loads(self, tmp_path: Path) -> None:
        kept = {"ops.secret": SECRET, "chat.url": "https://hooks.example/T", "mail.password": "x"}
        kept |= {"teams.url": "https://flows.example/T", "teams.token": "b" * 43 + "="}
        for name, text in kept.items():
            (tmp_path / name).write_text(text)
            (tmp_path / name).chmod(0o600)
        file = tmp_path / "channels.toml"
        file.write_text((EXAMPLES / "channels.toml").read_text())
        names = [channel.name for channel in load_channels(file).all()]
        assert names == ["ops", "team-chat", "review-team", "on-call"]

    @pytest.mark.claim("C9")
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ('url = "http://hooks.example/"', "https://"),
            ('url = "https://user:pw@hooks.example/"', "no user"),
            ('url = "https://hooks.example/#x"', "fragment"),
            ('url = "https://h\u00f6oks.example/"', "https://"),
            ('url = "https://hooks.example:99999/"', "ort"),
            ('tiers = ["huge"]', "tiers"),
            ('events = ["asked", "sometimes"]', "sometimes"),
            ('secret = "whsec_x"', "secret"),
            ('name = "Ops Team"', "name"),
            ('secret_file = "missing"', "cannot be read"),
            ('secret_file = "~nobody-is-called-this/x"', "no path of a file"),
            ('secret_file = "a\\u0000b"', "no path of a file"),
            ('secret_file = "."', "cannot be read"),
            ('secret_file = "/dev/zero"', "no regular file"),
        ],
    )
    def test_what_is_wrong_is_named(self, change: str, said: str, tmp_path: Path) -> None:
        lines = {
            "name": 'name = "ops"',
            "url": 'url = "https://h.example/"',
            "secret_file": 'secret_file = "hook.secret"',
        }
        lines[change.split(" ", 1)[0]] = change
        with pytest.raises(ChannelError) as caught:
            self.load(tmp_path, "[[webhook]]\n" + "\n".join(lines.values()))
        assert said in str(caught.value)
        assert caught.value.remedy

    @pytest.mark.parametrize("lines", [("",), ("whsec_x",), ("x" * 40,), (SECRET,) * 5, ("whsec_" + "A" * 8,)])
    def test_a_secret_that_is_none_is_refused(self, lines: tuple[str, ...], tmp_path: Path) -> None:
        channel = Webhook(name="ops", url="https://h.example/", secret_file=secret_file(tmp_path, *lines))
        with pytest.raises(ChannelError):
            secrets_of(channel)

    def test_a_secret_that_others_may_read_is_refused(self, tmp_path: Path) -> None:
        file = secret_file(tmp_path)
        file.chmod(0o644)
        with pytest.raises(ChannelError, match="read by others"):
            secrets_of(Webhook(name="ops", url="https://h.example/", secret_file=file))

    @pytest.mark.claim("C9")
    def test_a_secret_that_is_endless_or_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        """No more of a file is read than a secret may have, and of what is no file nothing."""
        file, pipe = tmp_path / "long", tmp_path / "pipe"
        file.write_bytes(b"x" * (MAX_FILE + 1))
        file.chmod(0o600)
        os.mkfifo(pipe, 0o600)
        with pytest.raises(ChannelError, match="holds no secret"):
            secret_text(file)
        with pytest.raises(ChannelError, match="no regular file"):
            secret_text(pipe)
        with pytest.raises(ChannelError, match="cannot be read"):
            secret_text(tmp_path / "a\0b")

    def test_a_password_needs_tls_and_two_names_differ(self, tmp_path: Path) -> None:
        mail = '[[mail]]\nname = "m"\nhost = "h"\nfrom = "a@b.example"\nto = ["c@d.example"]\n'
        with pytest.raises(ChannelError, match="without TLS"):
            self.load(tmp_path, mail + 'tls = "none"\nusername = "x"\npassword_file = "hook.secret"')
        with pytest.raises(ChannelError, match="two channels"):
            self.load(tmp_path, mail + mail)
        for bad in ('to = ["A <a@b.example>"]', 'to = ["a@b.example\\nBcc: x@y.example"]', "to = []"):
            with pytest.raises(ChannelError, match="to"):
                self.load(tmp_path, mail.replace('to = ["c@d.example"]', bad))
