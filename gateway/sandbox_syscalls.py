"""The filter of system calls for code in the sandbox, as a program of the kernel's classic BPF.

What is refused: 1. looking into other processes; 2. anything that mounts, or makes or enters namespaces, so that less
of the kernel is in reach; 3. memory that no limit of a process counts; 4. kinds of sockets that a network namespace
does not hold in (``AF_VSOCK`` reaches the host of a virtual machine) or that code has no use for; 5. typing into a
terminal. The numbers are those of the kernel's own tables (``arch/x86/entry/syscalls/syscall_64.tbl`` and
``include/uapi/asm-generic/unistd.h``). A call in another machine's numbering ends the process.

Guarantees: pure; a machine whose numbers are not known has no filter, and so no sandbox.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_LOAD, _AND_SET, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x45, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24  # where these stand in what the kernel hands over
_X32: Final = 0x40000000  # the bit of a second numbering on x86_64
_NEW_NAMESPACE: Final = 0x7E020000  # CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
_SOCKETS: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_TYPES_INTO_TERMINAL: Final = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_NEW: Final = tuple(range(428, 434))  # open_tree, move_mount, fsopen, fsconfig, fsmount, fspick
_EVERYWHERE: Final = (*_NEW, 425, 426, 427, 438, 440, 442, 443, 447)
"""The same on all machines: io_uring, pidfd_getfd, process_madvise, mount_setattr, quotactl_fd, memfd_secret."""


@dataclass(frozen=True)
class _Machine:
    """The numbers of one kind of machine."""

    audit: int
    clone: int
    socket: tuple[int, int]
    ioctl: int
    refused: tuple[int, ...]
    has_x32: bool = False


_CLONE3: Final = 435
_MACHINES: Final = {
    "x86_64": _Machine(
        audit=0xC000003E,
        clone=56,
        socket=(41, 53),
        ioctl=16,
        has_x32=True,
        refused=(
            *(101, 310, 311, 312),  # ptrace, process_vm_readv, process_vm_writev, kcmp
            *(165, 166, 155, 161, 308, 272),  # mount, umount2, pivot_root, chroot, setns, unshare
            *(248, 249, 250, 321, 298, 323),  # add_key, request_key, keyctl, bpf, perf_event_open, userfaultfd
            *(246, 320, 175, 313, 176),  # kexec_load, kexec_file_load, init_module, finit_module, delete_module
            *(303, 304, 300),  # name_to_handle_at, open_by_handle_at, fanotify_init
            *(163, 167, 168, 169, 179, 103, 172, 173),  # acct, swapon, swapoff, reboot, quotactl, syslog, iopl, ioperm
            *(319, 29, 68, 64),  # memfd_create, shmget, msgget, semget
            *(279, 237, 238, 256),  # move_pages, mbind, set_mempolicy, migrate_pages
        ),
    ),
    "aarch64": _Machine(
        audit=0xC00000B7,
        clone=220,
        socket=(198, 199),
        ioctl=29,
        refused=(
            *(117, 270, 271, 272),
            *(40, 39, 41, 51, 268, 97),
            *(217, 218, 219, 280, 241, 282),
            *(104, 294, 105, 273, 106),
            *(264, 265, 262),
            *(89, 224, 225, 142, 60, 116),
            *(279, 194, 186, 190),
            *(239, 235, 237, 238),
        ),
    ),
}
MACHINES: Final = tuple(_MACHINES)
"""The machines a filter is known for, by the name that ``platform.machine()`` gives."""


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def _refuse(number: int, error: int) -> bytes:
    return _step(_EQUAL, number, 0, 1) + _step(_RETURN, _REFUSE | error)


def filter_for(machine: str) -> bytes | None:
    """Return the filter for a kind of machine, or None when its numbers are not known here."""
    known = _MACHINES.get(machine)
    if known is None:
        return None
    program = _step(_LOAD, _MACHINE) + _step(_EQUAL, known.audit, 1, 0) + _step(_RETURN, _KILL)
    program += _step(_LOAD, _NUMBER)
    if known.has_x32:
        program += _step(_AT_LEAST, _X32, 0, 1) + _step(_RETURN, _KILL)
    for number in (*known.refused, *_EVERYWHERE):
        program += _refuse(number, errno.EPERM)
    program += _refuse(_CLONE3, errno.ENOSYS)  # its flags are out of a filter's sight; everybody falls back to clone
    flags = _step(_LOAD, _FIRST) + _step(_AND_SET, _NEW_NAMESPACE, 0, 1) + _step(_RETURN, _REFUSE | errno.EPERM)
    program += _only(known.clone, flags + _step(_RETURN, _ALLOW))
    for number in known.socket:
        program += _only(number, _step(_LOAD, _FIRST) + _listed(_SOCKETS, errno.EAFNOSUPPORT))
    ioctl = _step(_LOAD, _SECOND) + b"".join(_refuse(request, errno.EPERM) for request in _TYPES_INTO_TERMINAL)
    program += _only(known.ioctl, ioctl + _step(_RETURN, _ALLOW))
    return program + _step(_RETURN, _ALLOW)


def _only(number: int, then: bytes) -> bytes:
    """Return steps that are taken for one call only; they have to end it."""
    return _step(_EQUAL, number, 0, len(then) // 8) + then


def _listed(values: Sequence[int], error: int) -> bytes:
    allowed = b"".join(_step(_EQUAL, value, 0, 1) + _step(_RETURN, _ALLOW) for value in values)
    return allowed + _step(_RETURN, _REFUSE | error)
