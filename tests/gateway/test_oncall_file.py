"""The file of on-call: schedules over zones and changes of the clock, gaps and overlaps, and mistakes in a file."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkvalve.approvals.moments import micros_of
from checkvalve.gateway.errors import OnCallError, SettingsError
from checkvalve.gateway.oncall_file import load_oncall
from checkvalve.gateway.oncall_hooks import FileOnCall
from checkvalve.gateway.places import refuse_agent_folder
from checkvalve.gateway.settings import Settings

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
WEEKS = """
[[schedule]]
name = "payments"
zone = "Europe/Berlin"

[[schedule.rotation]]
people = ["ann", ["ben", "cem"]]
start = 2026-11-30T09:00:00
every = "1w"
"""
SERVICE = '[[service]]\nname = "x"\nurl = "https://a.example"\n'


def unread(tmp_path: Path, text: str) -> FileOnCall:
    """Return the hooks of a file that nobody has looked at yet."""
    (tmp_path / "oncall.toml").write_text(text)
    return FileOnCall(tmp_path / "oncall.toml", lambda: micros_of(NOW))


def hooks(tmp_path: Path, text: str) -> FileOnCall:
    found = unread(tmp_path, text)
    found.load()
    return found


def who(found: FileOnCall, when: datetime, name: str = "payments") -> tuple[str, ...]:
    duty = found.who(name, micros_of(when))
    return duty.people or (duty.failed,)


def says_it_is_broken(found: FileOnCall, said: str) -> None:
    """Check that it says so however often it is asked, and at the start."""
    assert [who(found, NOW) for _ in range(2)] == [("bad_file",)] * 2
    with pytest.raises(OnCallError, match=said):
        found.load()


def test_turns_go_round_and_change_at_the_same_local_time_all_year(tmp_path: Path) -> None:
    found = hooks(tmp_path, WEEKS)
    assert who(found, datetime(2026, 12, 7, 7, 59, 59, tzinfo=UTC)) == ("ann",)  # 08:59:59 in Berlin
    assert who(found, datetime(2026, 12, 7, 8, 0, tzinfo=UTC)) == ("ben", "cem")
    summer = datetime(2027, 6, 28, 7, 0, tzinfo=UTC)  # 09:00 in Berlin, 30 weeks later
    assert who(found, summer) == ("ann",)
    assert who(found, summer - timedelta(seconds=1)) == ("ben", "cem")
    duty = found.who("payments", micros_of(summer))
    assert duty.until == micros_of(datetime(2027, 7, 5, 7, 0, tzinfo=UTC))


def test_an_override_goes_before_the_turns_and_ends(tmp_path: Path) -> None:
    text = WEEKS + '[[schedule.override]]\npeople = "dora"\nfrom = 2026-12-01T18:00:00\nto = 2026-12-02T08:00:00\n'
    found = hooks(tmp_path, text)
    assert who(found, datetime(2026, 12, 1, 16, 59, tzinfo=UTC)) == ("ann",)
    assert who(found, datetime(2026, 12, 1, 17, 0, tzinfo=UTC)) == ("dora",)
    assert who(found, datetime(2026, 12, 2, 7, 0, tzinfo=UTC)) == ("ann",)


SUN = """
[[schedule]]
name = "payments"
zone = "UTC"
gaps = "{gaps}"

[[schedule.rotation]]
people = ["ann"]
start = 2026-11-30T00:00:00
every = "1d"
hours = "09:00-21:00"
zone = "Europe/Berlin"

[[schedule.rotation]]
people = ["bo"]
start = 2026-11-29T00:00:00
every = "1d"
hours = "{hours}"
zone = "{zone}"
"""


def test_two_places_share_the_day_and_a_gap_or_an_overlap_is_said_with_its_time(tmp_path: Path) -> None:
    fits = SUN.format(gaps="error", hours="21:00-09:00", zone="Europe/Berlin")
    found = hooks(tmp_path, fits)
    assert who(found, datetime(2027, 7, 1, 6, 59, tzinfo=UTC)) == ("bo",)
    assert who(found, datetime(2027, 7, 1, 7, 0, tzinfo=UTC)) == ("ann",)
    with pytest.raises(
        OnCallError, match=r"nobody is on call from 2026-11-30 20:00 to 2026-11-30 21:00 .UTC.* times more"
    ):
        hooks(tmp_path, SUN.format(gaps="error", hours="22:00-09:00", zone="Europe/Berlin"))
    with pytest.raises(
        OnCallError, match=r"entries cover the time from 2026-11-30 19:00 to 2026-11-30 20:00 .UTC.: ann"
    ):
        hooks(tmp_path, SUN.format(gaps="allowed", hours="20:00-09:00", zone="Europe/Berlin"))


def test_a_gap_that_only_a_change_of_the_clock_makes_is_found_a_year_ahead(tmp_path: Path) -> None:
    """Tokyo has no summer time: what fits in winter leaves an hour open from March on."""
    winter = SUN.format(gaps="error", hours="05:00-17:00", zone="Asia/Tokyo")  # 21:00 to 09:00 in Berlin, in winter
    with pytest.raises(OnCallError, match=r"on call from 2027-03-28|cover the time from 2027-03-2[78]"):
        hooks(tmp_path, winter)


def test_where_gaps_are_allowed_nobody_is_on_call_in_one(tmp_path: Path) -> None:
    found = hooks(tmp_path, SUN.format(gaps="allowed", hours="22:00-09:00", zone="Europe/Berlin"))
    assert who(found, datetime(2026, 11, 30, 20, 30, tzinfo=UTC)) == ("nobody",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WEEKS.replace("Europe/Berlin", "Europe/Atlantis"), "no time zone 'Europe/Atlantis'"),
        (WEEKS.replace("2026-11-30T09:00:00", "2026-11-30T09:00:00Z"), "local date and time"),
        (WEEKS.replace('"1w"', '"36h"'), "whole days or weeks"),
        (WEEKS.replace("every", "evry"), "schedule.0.rotation.0"),
        (WEEKS.replace('"ann"', '"\\u200b"'), "a person is"),
        (WEEKS + WEEKS, "two entries are called 'payments'"),
        (WEEKS + 'hours = "9-17"\n', "hours are two times"),
        ('[[schedule]]\nname = "x"\nzone = "UTC"\n', "a schedule needs"),
        (SERVICE.replace("https", "http"), "begins with https"),
        (SERVICE, "one of them"),
        (SERVICE + 'token_file = "none"\n', "cannot be read"),
        (SERVICE + 'token_file = "/dev/zero"\n', "no regular file"),
        (SERVICE + 'token_file = "a\\u0000b"\n', "no path of a file"),
        (SERVICE + 'secret_file = "~no-such-user/x"\n', "no path of a file"),
        ('[[program]]\nname = "x"\nentry = "nobody-has-installed-this"\n', "there is no entry point"),
        ("[[schedule]", "not valid TOML"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_the_place_and_what_to_do(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(OnCallError, match=said):
        hooks(tmp_path, text)


def test_a_span_that_ends_before_it_begins_and_two_at_once_are_refused(tmp_path: Path) -> None:
    head = '[[schedule]]\nname = "payments"\nzone = "UTC"\n'
    span = '[[schedule.span]]\npeople = ["{}"]\nfrom = 2026-12-{:02}T00:00:00\nto = 2026-12-{:02}T00:00:00\n'
    with pytest.raises(OnCallError, match="has to lie after"):
        hooks(tmp_path, head + span.format("ann", 5, 5))
    with pytest.raises(OnCallError, match=r"2026-12-02 00:00 to 2026-12-03 00:00 .UTC.: ann, and ben"):
        hooks(tmp_path, head + span.format("ann", 1, 3) + span.format("ben", 2, 9))
    with pytest.raises(OnCallError, match="nobody is on call from 2026-12-03 00:00 to 2026-12-04 00:00") as gap:
        hooks(tmp_path, head + span.format("ann", 1, 3) + span.format("ben", 4, 9))
    assert 'gaps = "allowed"' in gap.value.remedy
    with pytest.raises(OnCallError, match=r"two entries cover the time .* ann, and nobody") as overlap:
        hooks(tmp_path, head + span.format("ann", 1, 3) + span.format("nobody", 2, 9))
    assert "[[schedule.override]]" in overlap.value.remedy  # whatever people are called
    found = hooks(tmp_path, head + span.format("ann", 1, 3) + span.format("ben", 3, 9))
    assert who(found, datetime(2026, 12, 9, tzinfo=UTC)) == ("nobody",)  # it is over, and that is said when it is asked


def test_a_changed_file_is_read_again_and_a_broken_one_answers_nothing(tmp_path: Path) -> None:
    found = hooks(tmp_path, WEEKS)
    file = tmp_path / "oncall.toml"
    assert who(found, NOW) == ("ann",)
    file.write_text(WEEKS.replace('"ann"', '"someone-else"'))
    assert who(found, NOW) == ("someone-else",)
    file.write_text("[[schedule]")
    assert who(found, NOW) == ("bad_file",)  # and not who stood there before
    file.unlink()
    assert who(found, NOW) == ("bad_file",)
    file.write_text(WEEKS)
    assert who(found, NOW) == ("ann",)
    assert who(found, NOW, "unknown") == ("no_hook",)
    assert found.names() == {"payments"}


@pytest.mark.claim("C9")
def test_the_file_and_its_secrets_are_refused_where_the_agent_can_write(tmp_path: Path) -> None:
    work, safe = tmp_path / "agent", tmp_path / "safe"
    work.mkdir()
    safe.mkdir()
    service = SERVICE + 'token_file = "{}"\n'
    (safe / "oncall.toml").write_text(service.format("../agent/token"))
    (work / "oncall.toml").write_text(service.format("token"))
    database = f"sqlite:///{tmp_path}/gate.db"
    for file, said in ((work, "file of on-call schedules"), (safe, "secret of an on-call service 1")):
        found = Settings(database_url=database, agent_workdir=work, oncall=file / "oncall.toml")
        with pytest.raises(SettingsError, match=said):
            refuse_agent_folder(found, None)


@settings(max_examples=60, deadline=None)
@given(
    minutes=st.integers(0, 400 * 24 * 60),
    zone=st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]),
    days=st.integers(1, 15),
)
def test_a_rotation_without_hours_covers_every_moment_once(
    tmp_path_factory: pytest.TempPathFactory, minutes: int, zone: str, days: int
) -> None:
    text = WEEKS.replace("Europe/Berlin", zone).replace("1w", f"{days}d").replace("2026-11-30T09", "2026-11-29T00")
    file = tmp_path_factory.mktemp("oncall") / "oncall.toml"
    file.write_text(text)
    (schedule,) = (entry.made() for entry in load_oncall(file, micros_of(NOW)).schedule)
    when = NOW + timedelta(minutes=minutes)
    (rotation,) = schedule.entries
    covers = [
        cover for cover in rotation.covers(when, when + timedelta(microseconds=1)) if cover.start <= when < cover.end
    ]
    assert len(covers) == 1
    assert schedule.at(when) == covers[0]


FOREVER = '[[schedule]]\nname = "payments"\nzone = "{zone}"\n[[schedule.{what}]]\n'


@pytest.mark.claim("C9")
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "UTC"])
@pytest.mark.parametrize(
    ("what", "times", "place"),
    [
        ("span", "from = 2026-01-01T00:00:00\nto = 9999-12-31T23:59:59\n", "span.0.to: the year 9999"),
        ("span", "from = 2026-01-01T00:00:00\nto = 9001-01-01T00:00:00\n", "span.0.to: the year 9001"),
        ("span", "from = 0001-01-01T00:00:00\nto = 2090-01-01T00:00:00\n", "span.0.from: the year 1 "),
        ("rotation", 'start = 1969-12-31T23:59:59\nevery = "1d"\n', "rotation.0.start: the year 1969"),
        (
            "rotation",
            'start = 2026-01-01T00:00:00\nevery = "1w"\nuntil = 9999-12-31T23:59:59\n',
            "rotation.0.until: the year 9999",
        ),
    ],
)
def test_a_time_too_far_away_is_an_error_that_names_its_place_and_nobody_is_on_call(
    tmp_path: Path, zone: str, what: str, times: str, place: str
) -> None:
    text = FOREVER.format(zone=zone, what=what) + f'people = ["ann"]\n{times}'
    says_it_is_broken(unread(tmp_path, text), f"schedule.0.{place}")


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo", "Etc/GMT+12", "Pacific/Kiritimati"])
def test_the_last_year_is_good_in_every_zone(tmp_path: Path, zone: str) -> None:
    text = FOREVER.format(zone=zone, what="span")
    text += 'people = ["ann"]\nfrom = 1970-01-01T00:00:00\nto = 9000-12-31T23:59:59\n'
    duty = hooks(tmp_path, text).who("payments", micros_of(NOW))
    assert duty.people == ("ann",)
    assert str(duty.to_json()["until"]).startswith(("9000-12-31T", "9001-01-01T"))


@pytest.mark.parametrize("error", [OverflowError("far"), ValueError("odd")])
def test_times_that_cannot_be_counted_are_an_error_that_names_the_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object) -> str:
        raise error

    monkeypatch.setattr("checkvalve.gateway.oncall_schedule.Schedule.problem", broken)
    says_it_is_broken(unread(tmp_path, WEEKS), "payments: its times cannot be counted")


@pytest.mark.claim("C9")
def test_a_file_that_fails_in_any_other_way_does_not_look_like_one_without_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("somebody's library")

    monkeypatch.setattr("checkvalve.gateway.oncall_hooks.load_oncall", broken)
    says_it_is_broken(unread(tmp_path, WEEKS), r"cannot be used \(RuntimeError\)")
