"""The sandbox without trying it: what is put on its command line, and every case in which nothing is run."""

from __future__ import annotations

import gc
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from checkvalve.gateway import bubblewrap
from checkvalve.gateway.app import build
from checkvalve.gateway.bubblewrap import Bubblewrap
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandbox import MIB, Limits, checked_words
from checkvalve.gateway.sandbox_run import _remedy
from checkvalve.gateway.sandbox_syscalls import MACHINES, filter_for
from checkvalve.gateway.sandbox_watch import resident, stored
from checkvalve.gateway.sandboxes import WorkFolders, sandbox_of, work_folders
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.shell_tool import SNIPPET, sandboxed_shell

pytestmark = pytest.mark.claim("C9")
MANIFEST = f"name: t\ntools:\n{SNIPPET}  plain:\n    effect: read\n"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Put a program in the place of bubblewrap: what is tested here is what we do when it fails."""

    def put(script: str) -> Path:
        (tmp_path / "bwrap").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bwrap").chmod(0o755)
        monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))
        monkeypatch.setattr(Bubblewrap, "outsider", None)
        return tmp_path

    return put


def settings(folder: Path, **values: object) -> Settings:
    (folder / "tools.yaml").write_text(MANIFEST)
    found = {"manifest": folder / "tools.yaml", "database_url": f"sqlite:///{folder}/c.db", "log_level": "error"}
    return Settings.model_validate({**found, **values})


def command(program: Callable[[str], Path], words: list[str], *, network: bool = False) -> list[str]:
    work = program("exit 0") / "work"
    sandbox = Bubblewrap(Limits(processes=7, scratch=9 * MIB))
    return sandbox.command(words, work, network=network, files=[11, 12], rules=13, report=14)


# ---------------------------------------------------------------------------------------------- the command line


def test_the_words_stand_behind_the_end_of_options_and_are_untouched(program: Callable[[str], Path]) -> None:
    words = ["prog", "--bind", "/", "/", "--", "x y", ""]
    found = command(program, words)
    assert found[-len(words) - 1 :] == ["--", *words]
    ours = found[: -len(words) - 1]
    assert ours.count("--") == 1
    assert ours[ours.index("--") + 1] == "/usr/bin/prlimit"


def test_everything_that_holds_is_on_it(program: Callable[[str], Path]) -> None:
    found = command(program, ["true"])
    for option in (
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--disable-userns"),
        *("--die-with-parent", "--new-session", "--clearenv", "--seccomp", "--json-status-fd"),
    ):
        assert option in found
    assert found[found.index("--cap-drop") + 1] == "ALL"
    writable = [found[at + 2] for at, word in enumerate(found) if word in {"--bind", "--bind-try", "--dev-bind"}]
    assert writable == ["/task"]
    assert [found[at + 1] for at, word in enumerate(found) if word == "--remount-ro"] == ["/dev", "/"]
    assert [found[at + 1] for at, word in enumerate(found) if word == "--size"] == [str(9 * MIB)] * 2
    assert "--nproc=7" in found


def test_nothing_private_is_bound(program: Callable[[str], Path]) -> None:
    found = command(program, ["true"])
    bound = {found[at + 1] for at, word in enumerate(found) if word.startswith("--ro-bind")}
    assert "/etc" not in bound
    assert not any(name.startswith(("/home", "/root", "/run", "/var", "/tmp", "/sys", "/proc")) for name in bound)
    assert "/etc/resolv.conf" not in bound


def test_the_network_is_on_only_where_that_is_asked_for(program: Callable[[str], Path]) -> None:
    found = command(program, ["true"], network=True)
    assert "--unshare-net" not in found
    assert "/etc/resolv.conf" in found


# ---------------------------------------------------------------------------------------------- refusals


def test_without_bubblewrap_nothing_runs_and_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))
    monkeypatch.setattr(Bubblewrap, "outsider", None)
    with pytest.raises(SandboxError, match="not installed") as caught:
        Bubblewrap().run(["touch", str(tmp_path / "ran")], tmp_path)
    assert caught.value.remedy == "apt-get install bubblewrap"
    assert not (tmp_path / "ran").exists()


def test_a_bwrap_in_the_callers_path_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path / "nowhere"))
    with pytest.raises(SandboxError, match="not installed"):
        Bubblewrap()._program()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        (
            "bwrap: No permissions to create new namespace, likely because the kernel does not allow it",
            "user namespaces",
        ),
        ("bwrap: setting up uid map: Permission denied", "user namespaces"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "user namespaces"),
        ("bwrap: Unknown option --disable-userns", "bubblewrap 0.8 or newer"),
        ("bwrap: Can't bind mount", "checkvalve sandbox check"),
    ],
)
def test_a_sandbox_that_cannot_be_made_is_an_error_with_the_remedy(
    program: Callable[[str], Path], said: str, remedy: str
) -> None:
    folder = program(f'echo "{said}" >&2; exit 1')
    (folder / "work").mkdir()
    with pytest.raises(SandboxError, match="nothing was run") as caught:
        Bubblewrap().run(["true"], folder / "work")
    assert said in str(caught.value)
    assert remedy in caught.value.remedy
    assert remedy in _remedy(said)


def test_a_program_that_claims_success_and_reports_nothing_is_not_believed(program: Callable[[str], Path]) -> None:
    folder = program("exit 0")
    (folder / "work").mkdir()
    with pytest.raises(SandboxError, match="nothing was run"):
        Bubblewrap().run(["true"], folder / "work")


def test_a_machine_without_a_filter_has_no_sandbox(
    program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = program("exit 0")
    (folder / "work").mkdir()
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(SandboxError, match="no filter of system calls is known for riscv64"):
        Bubblewrap().run(["true"], folder / "work")


def test_no_open_file_is_left_behind_when_nothing_can_be_started(
    program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = program("exit 0")
    (folder / "work").mkdir()
    (folder / "bwrap").write_text("#!/no/such/interpreter\n")
    gc.collect()  # what an earlier test has left open is closed when it is collected
    before = set(Path("/proc/self/fd").iterdir())
    for _ in range(3):
        with pytest.raises(SandboxError):
            Bubblewrap().run(["true"], folder / "work")
    assert len(set(Path("/proc/self/fd").iterdir()) - before) <= 1, "the listing itself is one"


@pytest.mark.parametrize("name", ["/", "/proc", "/etc", "/run", "/root", "/home", "/var", "/sys"])
def test_code_may_not_be_given_all_of_a_place_to_read(program: Callable[[str], Path], name: str) -> None:
    program("exit 0")
    with pytest.raises(SandboxError, match="may not read all of"):
        Bubblewrap(reads=(Path(name),)).check()


def test_code_may_not_be_given_a_folder_that_holds_our_files(program: Callable[[str], Path]) -> None:
    folder = program("exit 0")
    with pytest.raises(SandboxError, match="holds a file of the gateway"):
        Bubblewrap(reads=(folder,), closed=(folder / "checkvalve.db",)).check()


@pytest.mark.parametrize("words", ["id", [], [""], ["-x"], ["a\0"], ["a", "\udc80"], [1]])
def test_what_the_kernel_would_not_take_as_it_is(words: object) -> None:
    with pytest.raises(SandboxError):
        checked_words(words)  # type: ignore[arg-type]


def test_the_gateway_does_not_start_where_its_sandbox_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "PLACES", str(tmp_path))
    with pytest.raises(SandboxError, match="not installed"):
        build(settings(tmp_path, sandbox="bubblewrap"))
    with build(settings(tmp_path, sandbox="off")) as gateway:
        assert not gateway.services.sandbox
        with pytest.raises(SandboxError, match="no sandbox is configured"):
            sandboxed_shell(gateway)
        with pytest.raises(SandboxError, match="declares no tool 'plain'"):
            sandboxed_shell(gateway, "plain")


def test_relative_folders_to_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="names venv"):
        sandbox_of(settings(tmp_path, sandbox="bubblewrap", sandbox_reads="/opt/x:venv"))


def test_the_settings_reach_the_limits_and_name_what_is_closed(tmp_path: Path) -> None:
    found = sandbox_of(
        settings(tmp_path, sandbox="bubblewrap", sandbox_reads="/opt/x", sandbox_seconds=3, sandbox_memory=64),
        tmp_path / "config.toml",
    )
    assert (found.limits.seconds, found.limits.memory, found.reads) == (3, 64 * MIB, (Path("/opt/x"),))
    assert {"config.toml", "c.db", "tools.yaml"} <= {path.name for path in found.closed}


# ---------------------------------------------------------------------------------------------- folders


def test_a_task_has_a_folder_that_it_cannot_name(tmp_path: Path) -> None:
    folders = WorkFolders(tmp_path / "work")
    first, again, other = folders.of("../../etc"), folders.of("../../etc"), folders.of("t2")
    assert first == again != other
    assert first.parent == tmp_path / "work"
    assert first.stat().st_mode & 0o077 == 0
    with pytest.raises(SandboxError, match="belongs to no task"):
        folders.of("")


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "work").write_text("")
    with pytest.raises(SandboxError, match="cannot be made"):
        WorkFolders(tmp_path / "work").of("t")


def test_work_folders_are_beside_the_database_or_where_the_settings_say(tmp_path: Path) -> None:
    assert work_folders(settings(tmp_path)).root == tmp_path / "work"
    assert work_folders(settings(tmp_path, sandbox_work=tmp_path / "w")).root == tmp_path / "w"
    with pytest.raises(SandboxError, match="no sandbox_work is set"):
        work_folders(settings(tmp_path, database_url="postgresql://host/db"))


# ---------------------------------------------------------------------------------------------- the filter, the watch


def run_filter(program: bytes, machine: int, number: int, first: int = 0, second: int = 0) -> int:
    """Interpret a filter as the kernel does."""
    data = {0: number, 4: machine, 16: first, 24: second}
    steps = list(struct.iter_unpack("=HBBI", program))
    at, value = 0, 0
    while True:
        code, if_so, if_not, operand = steps[at]
        if code == 0x06:
            return int(operand)
        if code == 0x20:
            value, at = data[operand], at + 1
            continue
        holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}[code]
        at += 1 + (if_so if holds else if_not)


ALLOW, EPERM, ENOSYS, EAFNOSUPPORT, KILL = 0x7FFF0000, 0x50001, 0x50026, 0x50061, 0x80000000


@pytest.mark.parametrize(
    ("machine", "audit", "ptrace", "clone", "sockets", "ioctl", "harmless"),
    [("x86_64", 0xC000003E, 101, 56, 41, 16, 0), ("aarch64", 0xC00000B7, 117, 220, 198, 29, 63)],
)
def test_the_filter_decides_as_it_says(
    machine: str, audit: int, ptrace: int, clone: int, sockets: int, ioctl: int, harmless: int
) -> None:
    program = filter_for(machine)
    assert program is not None

    def decide(number: int, first: int = 0, second: int = 0) -> int:
        return run_filter(program, audit, number, first, second)

    assert run_filter(program, 0x40000003, harmless) == KILL  # a 32-bit call: another table of numbers
    assert decide(harmless) == ALLOW
    assert decide(ptrace) == EPERM
    assert decide(435) == ENOSYS
    assert decide(425) == decide(428) == EPERM
    assert decide(clone, 0x11) == ALLOW
    assert decide(clone, 0x10000011) == decide(clone, 0x00020011) == EPERM
    assert [decide(sockets, family) for family in (1, 2, 10, 16, 17, 38, 40)] == [ALLOW] * 3 + [EAFNOSUPPORT] * 4
    assert [decide(ioctl, 0, request) for request in (0x5413, 0x5412, 0x541C)] == [ALLOW, EPERM, EPERM]


def test_the_second_numbering_of_one_machine_is_no_way_around() -> None:
    program = filter_for("x86_64")
    assert program is not None
    assert run_filter(program, 0xC000003E, 0x40000000 + 101) == KILL
    assert filter_for("riscv64") is None
    assert set(MACHINES) == {"x86_64", "aarch64"}


def test_what_is_held_and_stored_is_counted(tmp_path: Path) -> None:
    assert resident(os.getpid()) > MIB
    assert resident(2**22 + 1) == 0
    (tmp_path / "a").write_bytes(b"x" * MIB)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_bytes(b"x" * MIB)
    (tmp_path / "up").symlink_to("/usr")
    assert 2 * MIB <= stored(tmp_path, enough=1 << 40) < 4 * MIB
    assert stored(tmp_path, enough=1) >= 1
    assert stored(tmp_path / "gone", enough=1) == 0
