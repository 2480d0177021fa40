"""Code in the sandbox tries to get out; the same attempt outside of it succeeds, so that the test can fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkvalve.gateway.bubblewrap import Bubblewrap
from checkvalve.gateway.errors import SandboxError
from checkvalve.gateway.sandbox import MAX_WORD, MIB
from tests.attacks.jail import SECRET, Jail, jail

pytestmark = [pytest.mark.claim("C9"), pytest.mark.sandbox]
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="the attempt needs root outside; run as root, as CI does")

SERVER = """
import socket, sys, time
family, place = sys.argv[1:]
server = socket.socket(socket.AF_INET if family == "inet" else socket.AF_UNIX)
server.bind(("127.0.0.1", 0) if family == "inet" else "\\0" + place[1:] if place.startswith("@") else place)
server.listen()
print(server.getsockname()[1] if family == "inet" else "ready", flush=True)
while True:
    link, _ = server.accept()
    link.sendall(b"open")
    link.close()
"""


@pytest.fixture
def cell() -> Iterator[Jail]:
    with jail() as found:
        try:
            found.sandbox.check()
        except SandboxError as error:
            pytest.skip(f"tried, and there is no sandbox here: {error}; {error.remedy}")
        yield found


@pytest.fixture
def helper(cell: Jail) -> Iterator[subprocess.Popen[str]]:
    """Another process of the same user, with a secret in its environment."""
    process = subprocess.Popen(["sleep", "120"], env={"TOKEN": SECRET}, text=True)
    yield process
    process.kill()
    process.wait()


def serving(*words: str) -> tuple[subprocess.Popen[str], str]:
    process = subprocess.Popen([sys.executable, "-c", SERVER, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def held(cell: Jail, name: str, *arguments: object, control: bool = True) -> None:
    """Assert that an attempt gets through outside and not inside, and that it really ran there."""
    if control:
        assert cell.outside(name, *arguments) == 0, "the attempt proves nothing: it fails outside, too"
    done = cell.inside(name, *arguments)
    assert (done.code, done.stopped) == (1, ""), done


def test_a_probe_that_needs_nothing_gets_through_inside(cell: Jail) -> None:
    assert cell.inside("write", "mine").code == 0
    assert cell.inside("read", "mine").code == 0
    assert cell.inside("fork_many", "5").code == 0


# ---------------------------------------------------------------------------------------------- network and sockets


def test_no_server_of_this_machine_is_reached(cell: Jail) -> None:
    server, port = serving("inet", "")
    try:
        held(cell, "connect", port)
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize("place", ["@checkvalve-{pid}", "{host}/server.sock"])
def test_no_local_socket_is_reached_by_name_or_file(cell: Jail, place: str) -> None:
    path = place.format(pid=os.getpid(), host=cell.host)
    server, _ = serving("unix", path)
    try:
        if not path.startswith("@"):
            Path(path).chmod(0o777)
        held(cell, "connect_unix", path)
    finally:
        server.kill()
        server.communicate()


def test_no_name_server_can_be_asked(cell: Jail) -> None:
    held(cell, "interfaces", control=False)
    assert cell.inside("seen", "/etc/resolv.conf").code == 1


@pytest.mark.parametrize("family", [16, 17, 38, 40], ids=["netlink", "packet", "crypto", "vsock"])
def test_no_other_kind_of_socket_can_be_made(cell: Jail, family: int) -> None:
    done = cell.inside("family", family)
    assert (done.code, done.errors.split()[-1]) == (1, b"97"), "EAFNOSUPPORT, by the filter"
    if family == 16:
        assert cell.outside("family", family) == 0


# ---------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("name", ["home/.ssh/id_ed25519", "checkvalve.db", "config.toml", "signing-key.pem"])
def test_no_file_of_the_host_is_read_not_even_one_that_all_may_read(cell: Jail, name: str) -> None:
    path = cell.host / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(SECRET)
    path.chmod(0o644)
    held(cell, "read", path)
    held(cell, "link_out", path)
    held(cell, "hard_link", path)


@pytest.mark.parametrize(
    "path", ["/etc/shadow", "/etc/hostname", "/root", "/home", "/var", "/run", "/sys", "/boot", "/srv"]
)
def test_the_places_of_the_host_are_not_there(cell: Jail, path: str) -> None:
    assert cell.inside("seen", path).code == 1


def test_nothing_outside_the_work_folder_is_written(cell: Jail) -> None:
    held(cell, "write", cell.host / "planted")
    assert not (cell.host / "planted").stat().st_size > 1
    for path in (
        "/planted",
        "/usr/planted",
        "/usr/bin/env",
        "/etc/planted",
        "/dev/planted",
        "/proc/sys/kernel/hostname",
    ):
        assert cell.inside("write", path).code == 1
    assert cell.inside("write", "/tmp/own").code == 0
    assert not Path("/tmp/own").exists()


def test_a_link_that_stands_in_the_work_folder_leads_nowhere(cell: Jail) -> None:
    (cell.host / "secret").write_text(SECRET)
    (cell.work / "innocent").symlink_to(cell.host / "secret")
    (cell.work / "folder").symlink_to(cell.host)
    assert cell.inside("read", "innocent").code == 1
    assert cell.inside("write", "folder/planted").code == 1
    assert not (cell.host / "planted").exists()


@ROOT
def test_not_by_the_root_folder_of_another_process(cell: Jail, helper: subprocess.Popen[str]) -> None:
    secret = cell.host / "secret"
    secret.write_text(SECRET)
    held(cell, "read", f"/proc/1/root{secret}", control=False)
    held(cell, "read", f"/proc/{helper.pid}/root{secret}")
    assert cell.inside("read", f"/proc/self/root{secret}").code == 1


def test_a_work_folder_is_never_one_that_holds_the_gateways_files(cell: Jail) -> None:
    database = cell.work / "state" / "checkvalve.db"
    for folder in (cell.work, cell.folder, Path("/tmp"), Path("/"), Path("/usr"), Path.home()):
        sandbox = Bubblewrap(closed=(database,))
        with pytest.raises(
            SandboxError, match=r"cannot be a work folder|cannot reach or write|there is no work folder"
        ):
            sandbox.run(["true"], folder)


# ---------------------------------------------------------------------------------------------- other processes


def test_no_environment_is_read(cell: Jail, helper: subprocess.Popen[str]) -> None:
    held(cell, "environment", helper.pid, SECRET)


def test_no_signal_reaches_the_host(cell: Jail, helper: subprocess.Popen[str]) -> None:
    done = cell.inside("send_signal", helper.pid)
    assert done.code == 1
    assert cell.inside("send_signal", os.getpid()).code == 1
    assert helper.poll() is None
    assert cell.outside("send_signal", helper.pid) == 0
    assert helper.wait(10) != 0


def test_no_process_is_traced_not_even_its_own(cell: Jail, helper: subprocess.Popen[str]) -> None:
    held(cell, "trace_child")
    held(cell, "trace", helper.pid, control=False)


# ---------------------------------------------------------------------------------------------- rights


@ROOT
@pytest.mark.parametrize("attempt", ["mount", "new_namespace", "clone_namespace", "become_root"])
def test_no_right_is_won(cell: Jail, attempt: str) -> None:
    held(cell, attempt)


def test_no_limit_is_raised(cell: Jail) -> None:
    held(cell, "raise_limits", control=False)


def test_no_further_user_namespace(cell: Jail) -> None:
    held(cell, "new_namespace", control=False)
    held(cell, "clone_namespace", control=False)


@ROOT
def test_a_program_that_makes_its_user_root_does_not(cell: Jail) -> None:
    shutil.copy("/bin/dash", cell.work / "rootly")
    (cell.work / "rootly").chmod(0o4755)
    words = ["setpriv", "--reuid=65534", "--clear-groups", str(cell.host / "rootly"), "-p", "-c", "test $(id -u) = 0"]
    shutil.copy(cell.work / "rootly", cell.host)
    (cell.host / "rootly").chmod(0o4755)
    assert subprocess.run(words, check=False).returncode == 0, "outside it does"
    assert cell.inside("set_user_id", "/task/rootly").code == 1


# ---------------------------------------------------------------------------------------------- what the gateway holds


def test_no_open_file_of_ours_is_handed_on(cell: Jail) -> None:
    with (cell.host / "open-db").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        held(cell, "open_files", "open-db", control=False)
        held(cell, "more_files_than_the_standard_ones", control=False)
        words = [sys.executable, str(cell.work / "sandbox_probes.py"), "open_files", "open-db"]
        assert subprocess.run(words, pass_fds=(file.fileno(),), check=False).returncode == 0


def test_nothing_can_be_typed_into_a_terminal(cell: Jail) -> None:
    """The sandbox is started from a process that has one, the case in which it matters."""
    master, slave = os.openpty()
    program = (
        "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2]);"
        "from tests.attacks.jail import Jail; os.close(os.open('/dev/tty', os.O_RDWR));"
        "sys.exit(Jail(Path(sys.argv[1])).inside('type_into_terminal').code)"
    )
    words = [
        "setsid",
        "--ctty",
        "--wait",
        sys.executable,
        "-c",
        program,
        str(cell.folder),
        str(Path(__file__).parents[2]),
    ]
    done = subprocess.run(words, stdin=slave, stdout=slave, stderr=subprocess.PIPE, check=False, timeout=60)
    os.close(slave)
    os.close(master)
    assert done.returncode == 1, done.stderr
    held(cell, "type_into_own_terminal", control=os.geteuid() == 0)


# ---------------------------------------------------------------------------------------------- exhaustion


def test_processes_are_bounded(cell: Jail) -> None:
    held(cell, "fork_many", 60)


def test_memory_of_all_processes_together_is_bounded(cell: Jail) -> None:
    assert cell.limited(memory=400 * MIB).inside("hold_memory", 40, 3).stopped == ""
    done = cell.limited(memory=200 * MIB).inside("hold_memory", 90, 4)
    assert done.stopped == "memory"


def test_memory_of_one_process_is_bounded(cell: Jail) -> None:
    done = cell.limited(address_space=300 * MIB).inside("hold_memory", 400, 0)
    assert done.code == 0  # no worker, nothing held
    narrow = cell.limited(address_space=300 * MIB)
    words = ["python3", "-c", "bytearray(400 << 20)"]
    assert b"MemoryError" in narrow.sandbox.run(words, narrow.work).errors


@pytest.mark.parametrize("attempt", ["nameless_memory", "shared_memory"])
def test_memory_that_nothing_counts_cannot_be_had(cell: Jail, attempt: str) -> None:
    held(cell, attempt)


def test_what_is_written_is_bounded(cell: Jail) -> None:
    held(cell, "one_large_file", 20)
    for folder in ("/tmp", "/dev/shm"):
        assert cell.limited(scratch=8 * MIB).inside("fill", 12, folder).code == 1
    done = cell.limited(disk=24 * MIB, file_size=256 * MIB).inside("fill", 3000, ".")
    assert done.stopped == "disk"


def test_time_is_bounded_and_a_daemon_does_not_outlive_it(cell: Jail) -> None:
    assert cell.inside("leave_daemon", "beat").code == 0
    assert cell.limited(seconds=1).sandbox.run(["sleep", "60"], cell.work).stopped == "time"
    beat = cell.work / "beat"
    size = beat.stat().st_size
    assert size > 0, "the daemon did run"
    time.sleep(0.5)
    assert beat.stat().st_size == size


def test_a_daemon_that_is_deaf_is_gone_after_the_time(cell: Jail) -> None:
    script = "(setsid sh -c 'trap : TERM HUP INT; while :; do echo x >> beat; sleep 0.05; done' &) ; sleep 60"
    done = cell.limited(seconds=5).sandbox.run(["sh", "-c", script], cell.work)  # long enough for it to begin
    assert done.stopped == "time"
    size = (cell.work / "beat").stat().st_size
    time.sleep(0.5)
    assert (cell.work / "beat").stat().st_size == size > 0


def test_a_flood_of_output_is_cut_and_said_so(cell: Jail) -> None:
    done = cell.limited(output=4096).inside("flood", 20)
    assert (done.code, done.truncated, len(done.output), len(done.errors)) == (0, True, 4096, 4096)
    assert not cell.limited(output=4096).inside("write", "x").truncated


# ---------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    "words",
    [["--bind", "/", "/task"], ["--", "id"], ["--version"], ["-"], [""], [], ["id", "a\0b"], ["id\0"], ["id", "\ud800"],
     ["id", "x" * (MAX_WORD + 1)], ["id", *["x" * 50_000] * 4]],
    ids=[str(number) for number in range(11)],
)  # fmt: skip
def test_words_that_could_be_read_otherwise_are_not_run(cell: Jail, words: list[str]) -> None:
    with pytest.raises(SandboxError):
        cell.sandbox.run(words, cell.work)


def test_a_word_that_looks_like_an_option_of_the_sandbox_is_a_word(cell: Jail) -> None:
    words = ["--share-net", "--bind", "/", "/", "--", "--uid=0", "-h", "", "a\nb", "$(id)", "; id", "é", "x" * 60_000]
    done = cell.sandbox.run(["printf", "%s|", *words], cell.work)
    assert done.output.decode() == "".join(f"{word}|" for word in words)
    assert cell.inside("interfaces").code == 1


def test_a_program_that_is_not_there_is_a_result_and_no_error(cell: Jail) -> None:
    done = cell.sandbox.run(["no-such-program"], cell.work)
    assert done.code == 127
    assert cell.sandbox.run(["./sandbox_probes.py"], cell.work).code == 126
