"""What code tries when it wants out: each probe ends with 0 when it got through, with 1 when it was held.

As a program, ``sandbox_probes.py NAME ARGUMENT...`` runs one; it needs nothing but Python's standard library, so that
it runs inside a sandbox and outside of it alike.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

LIBC = ctypes.CDLL(None, use_errno=True)
PROBES: dict[str, Callable[..., bool]] = {}


def probe(function: Callable[..., bool]) -> Callable[..., bool]:
    PROBES[function.__name__] = function
    return function


@probe
def connect(port: str) -> bool:
    """Reach a server on this machine."""
    with socket.create_connection(("127.0.0.1", int(port)), timeout=3) as link:
        return link.recv(4) == b"open"


@probe
def connect_unix(path: str) -> bool:
    """Reach a server by its socket file, or by a name that needs no file."""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(3)
        link.connect("\0" + path[1:] if path.startswith("@") else path)
        return link.recv(4) == b"open"


@probe
def interfaces() -> bool:
    """See an interface beside the loopback, or an address to send from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect(("192.0.2.1", 53))  # sends nothing; a datagram to a name server would go this way
        return bool(link.getsockname()[0] != "127.0.0.1")


@probe
def family(number: str) -> bool:
    """Make a socket of a kind that a network namespace does not hold in."""
    socket.socket(int(number), socket.SOCK_DGRAM if int(number) == socket.AF_VSOCK else socket.SOCK_RAW).close()
    return True


@probe
def read(path: str) -> bool:
    with open(path, "rb") as file:
        return len(file.read(1)) == 1


@probe
def seen(path: str) -> bool:
    return os.path.exists(path)


@probe
def write(path: str) -> bool:
    with open(path, "ab") as file:
        file.write(b"x")
    return True


@probe
def link_out(target: str) -> bool:
    """Read a file by a symbolic link that the code makes itself."""
    os.symlink(target, "way-out")
    return read("way-out")


@probe
def hard_link(target: str) -> bool:
    """Take a file along by a hard link."""
    os.link(target, "taken-along")
    return read("taken-along")


@probe
def process_root(pid: str) -> bool:
    """Go through the root folder of another process."""
    return os.path.isdir(f"/proc/{pid}/root/usr") and not os.path.samefile(f"/proc/{pid}/root", "/")


@probe
def environment(pid: str, secret: str) -> bool:
    """Find a secret in an environment: in that of another process, or in any."""
    names = [pid, *(name for name in os.listdir("/proc") if name.isdigit())]
    for name in names:
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if secret.encode() in file.read():
                    return True
        except OSError:
            continue
    return False


@probe
def send_signal(pid: str) -> bool:
    os.kill(int(pid), signal.SIGUSR1)
    return True


@probe
def trace(pid: str) -> bool:
    """Stop another process and look into it."""
    attached = bool(LIBC.ptrace(16, int(pid), 0, 0) == 0)
    if attached:
        os.waitpid(int(pid), 0)
        LIBC.ptrace(17, int(pid), 0, 0)
    return attached


@probe
def trace_child() -> bool:
    """Look into a process of its own: a tracer changes system calls behind the filter."""
    child = os.fork()
    if not child:
        time.sleep(10)
        os._exit(0)
    try:
        return trace(str(child))
    finally:
        os.kill(child, signal.SIGKILL)


@probe
def mount() -> bool:
    os.mkdir("mounted")
    done = bool(LIBC.mount(b"none", b"mounted", b"tmpfs", 0, None) == 0)
    if done:
        LIBC.umount2(b"mounted", 2)
    return done


@probe
def new_namespace() -> bool:
    return bool(LIBC.unshare(0x10000000) == 0)


@probe
def clone_namespace() -> bool:
    """Make a user namespace by the older call, which a filter has to look into."""
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    pid = LIBC.syscall(number, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
    return bool(pid > 0)


@probe
def set_user_id(path: str) -> bool:
    """Become another user by a program that has that right."""
    pid = os.posix_spawn(path, [path, "-p", "-c", "test $(id -u) = 0"], {"PATH": "/usr/bin"})
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@probe
def become_root() -> bool:
    os.setuid(0)
    return True


@probe
def open_files(marker: str) -> bool:
    """Find a file that the parent had open."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if marker in os.readlink(f"/proc/self/fd/{name}"):
                return True
        except OSError:
            continue
    return False


@probe
def more_files_than_the_standard_ones() -> bool:
    found = [name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    return any(int(name) > 2 for name in found)


@probe
def type_into_terminal() -> bool:
    """Put characters into the input of a terminal, which its owner's shell would run."""
    terminal = os.open("/dev/tty", os.O_RDWR)
    for char in b"id\n":
        fcntl.ioctl(terminal, 0x5412, array.array("b", [char]))
    return True


@probe
def type_into_own_terminal() -> bool:
    """The same on a terminal of its own: the call itself has to be refused."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    master, slave = os.openpty()
    if os.getsid(0) != os.getpid():
        os.setsid()
    try:
        fcntl.ioctl(slave, 0x540E, 0)  # TIOCSCTTY
        fcntl.ioctl(slave, 0x5412, array.array("b", [65]))
    finally:
        os.close(master)
    return True


@probe
def nameless_memory() -> bool:
    """Hold memory that counts for no process."""
    os.memfd_create("hidden")
    return True


@probe
def shared_memory() -> bool:
    return bool(LIBC.shmget(0, 4096, 0o1600) >= 0)


@probe
def raise_limits() -> bool:
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    low = 1_000 if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_NPROC, (low, low))
    resource.setrlimit(resource.RLIMIT_NPROC, (low + 1, low + 1))
    return True


@probe
def fork_many(count: str) -> bool:
    """Start as many processes; 0 when all of them ran at the same time."""
    children = []
    try:
        for _ in range(int(count)):
            child = os.fork()
            if not child:
                time.sleep(30)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
    return True


@probe
def hold_memory(mib: str, workers: str) -> bool:
    """Fill memory in several processes at once, and hold it."""
    for _ in range(int(workers)):
        if not os.fork():
            held = bytearray(b"x") * (int(mib) << 20)
            time.sleep(8)
            os._exit(not held)
    time.sleep(8)
    return True


@probe
def fill(mib: str, folder: str) -> bool:
    for number in range(int(mib)):
        with open(f"{folder}/fill-{number}", "wb") as file:
            file.write(b"x" * (1 << 20))
    return True


@probe
def one_large_file(mib: str) -> bool:
    with open("large", "wb") as file:
        file.writelines(b"x" * (1 << 20) for _ in range(int(mib)))
    return True


@probe
def leave_daemon(path: str) -> bool:
    """Leave a process behind that nobody waits for, in a session of its own, deaf to polite signals."""
    if os.fork():
        while not os.path.exists(path):  # it has begun: this ends with the sandbox's time at the latest
            time.sleep(0.02)
        return True
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    while True:
        with open(path, "a", encoding="utf-8") as file:
            file.write("still here\n")
        time.sleep(0.05)


@probe
def flood(mib: str) -> bool:
    for _ in range(int(mib)):
        os.write(1, b"y" * (1 << 20))
        os.write(2, b"z" * (1 << 10))
    return True


def main(name: str, *arguments: str) -> int:
    try:
        return 0 if PROBES[name](*arguments) else 1
    except OSError as error:
        print(type(error).__name__, error.errno, file=sys.stderr)
        return 1
    except (MemoryError, ValueError) as error:
        print(type(error).__name__, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
