"""What holds in the sandbox of this machine, found out by trying: each proof runs a program inside that tries it.

A proof that fails names what is not held. The programs are those of every Debian (``sh``, coreutils, util-linux); what
needs more, such as sockets and memory, is in the tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from checkvalve.gateway.bubblewrap import Bubblewrap, scratch_folder
from checkvalve.gateway.sandbox import Finished

_LONG: Final = 30  # seconds: far beyond the limit that is tried
_SHORT: Final = 1.0
_KNOWN: Final = "PATH|HOME|LANG|TMPDIR|PWD|_|SHLVL|OLDPWD"


@dataclass(frozen=True, slots=True)
class Proof:
    """One property that was tried, and whether it holds."""

    name: str
    holds: bool


@dataclass(frozen=True)
class _Trial:
    """A program to run inside, and how it has to end for the property to hold."""

    name: str
    script: str
    held: Callable[[Finished], bool] = lambda done: done.code == 0


_NOTHING: Final = "for d in {}; do {} && exit 1; done; exit 0"
_TRIALS: Final = (
    _Trial("a program runs", "true"),
    _Trial("the work folder can be written", "echo x > /task/x && cat /task/x"),
    _Trial("there is no network", "test \"$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')\" = lo"),
    _Trial("nothing else can be written", _NOTHING.format("/ /usr /etc /dev /proc/sys", "touch $d/x 2>&-")),
    _Trial("/home, /run and /var are not there", _NOTHING.format("/home /root /run /var /srv", "test -e $d")),
    _Trial("other processes are not seen", "kill -0 {pid} 2>&- && exit 1; test $(ls -d /proc/[0-9]* | wc -l) -lt 12"),
    _Trial("the environment is empty", f'test "$(env | grep -cvE "^({_KNOWN})=")" = 0'),
    _Trial("there is no capability", "grep -q '^CapBnd:\t0*$' /proc/self/status"),
    _Trial("a program with another's rights wins none", "grep -q '^NoNewPrivs:\t1' /proc/self/status"),
    _Trial("system calls are filtered", "grep -q '^Seccomp:\t2' /proc/self/status"),
    _Trial("no further namespaces can be made", _NOTHING.format("-U -r -n", "unshare $d true 2>&-")),
    _Trial("nothing can be mounted", "mount -t tmpfs x /tmp 2>&- && exit 1; exit 0"),
    _Trial("there is no terminal", "exec 2>&-; (: < /dev/tty) && exit 1; exit 0"),
    _Trial("none of the gateway's files is open", "test $(ls /proc/self/fd | wc -l) -le 4"),
    _Trial("the number of processes is bounded", "grep -qE '^Max processes +{processes} ' /proc/self/limits"),
    _Trial("time is bounded", f"sleep {_LONG}", lambda done: done.stopped == "time"),
)


def prove(sandbox: Bubblewrap) -> Iterator[Proof]:
    """Try every property, one after the other.

    Raises:
        SandboxError: there is no sandbox here at all.
    """
    sandbox.check()
    hasty = replace(sandbox, limits=replace(sandbox.limits, seconds=_SHORT))
    with scratch_folder(sandbox.outsider) as work:
        for trial in _TRIALS:
            yield Proof(trial.name, _holds(trial, hasty if "time" in trial.name else sandbox, work))


def _holds(trial: _Trial, sandbox: Bubblewrap, work: Path) -> bool:
    script = trial.script.replace("{pid}", str(os.getpid()))
    script = script.replace("{processes}", str(sandbox.limits.processes))
    return trial.held(sandbox.run(["sh", "-c", script], work))
