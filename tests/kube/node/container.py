"""Stands between the kubelet and a container: gives it namespaces and a root of its own, and is its parent.

``pause PARENT REPORT`` holds a pod's process namespace: when it dies the kernel kills all that is in it. ``run PARENT
REPORT SPEC`` runs one container. Its program starts as the first process of a namespace of its own, or beside others in
the pause's; there a parent in the namespace adopts every orphan and ends them all once the first process has died, as
containerd does. REPORT is a descriptor that is closed when the program has been started, after what kept it from that.
SIGTERM is handed on to the first process, SIGUSR1 kills it. Whoever loses its parent is killed.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from .root import checked, enter_root, libc

NEW_MOUNTS, NEW_NAMES, NEW_PIDS = 0x0002_0000, 0x0400_0000, 0x2000_0000
DEATH_SIGNAL, SUBREAPER = 1, 36
NEVER_STARTED = 128
HEARD = frozenset({signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD})
"""Held back, and taken one by one: a handler could run too late, once we wait again."""

Spec = dict[str, Any]
"""As ``processes.ContainerSpec`` writes it."""


def main() -> int:
    """Do what the arguments say."""
    what, parent, report = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    die_with_parent()
    if os.getppid() != parent:
        return NEVER_STARTED
    if what == "pause":
        return pause(report)
    with open(sys.argv[4], encoding="utf-8") as file:
        return run(json.load(file), report)


def pause(report: int) -> int:
    """Hold a process namespace until killed."""
    checked(libc.unshare(NEW_PIDS), "unshare")
    child = os.fork()
    if child == 0:
        die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.close(report)
        while True:
            signal.pause()
    os.close(report)
    return code_of(outlive(child, {signal.SIGUSR1: signal.SIGKILL}))


def run(spec: Spec, report: int) -> int:
    """Run the container and return its exit code as a runtime tells it."""
    shared = spec["sandbox"] is not None
    if shared:
        with open(f"/proc/{spec['sandbox']}/ns/pid_for_children", "rb") as namespace:
            checked(libc.setns(namespace.fileno(), NEW_PIDS), "setns")
    else:
        checked(libc.unshare(NEW_PIDS), "unshare")
    child = os.fork()
    if child == 0:
        die_with_parent()
        starting(spec, report)
        os._exit(adopting(spec, report) if shared else program(spec, report))
    os.close(report)
    kill = signal.SIGUSR1 if shared else signal.SIGKILL
    return code_of(outlive(child, {signal.SIGTERM: signal.SIGTERM, signal.SIGUSR1: kill}))


def adopting(spec: Spec, report: int) -> int:
    """Start the program, wait for it, and leave no process of the container behind."""
    libc.prctl(SUBREAPER, 1, 0, 0, 0)
    first = os.fork()
    if first == 0:
        die_with_parent()
        os._exit(program(spec, report))
    os.close(report)
    status = outlive(first, {signal.SIGTERM: signal.SIGTERM, signal.SIGUSR1: signal.SIGKILL})
    sweep()
    return code_of(status)


def sweep() -> None:
    """Kill all descendants, those too that are born meanwhile."""
    while True:
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        try:
            os.wait()
        except ChildProcessError:
            return


def descendants(of: int) -> list[int]:
    """Return the children of a process, theirs, and so on."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(name))
    found = list(children.get(of, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def starting(spec: Spec, report: int) -> None:
    """Give the container its root, its name and its volumes; report what goes wrong."""
    try:
        checked(libc.unshare(NEW_MOUNTS | NEW_NAMES), "unshare")
        name = spec["hostname"].encode()
        checked(libc.sethostname(name, len(name)), "sethostname")
        enter_root(spec["binds"])
    except OSError as error:
        refuse(report, f"cannot set the container up: {error}")


def program(spec: Spec, report: int) -> int:
    """Become the container's program; return only if there is none."""
    os.setsid()
    for one in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
    os.set_inheritable(report, False)
    try:
        os.makedirs(spec["cwd"], exist_ok=True)
        os.chdir(spec["cwd"])
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as error:
        refuse(report, f'exec: "{spec["argv"][0]}": {error.strerror}')
    return NEVER_STARTED


def refuse(report: int, why: str) -> NoReturn:
    """Say why the program does not start, and end."""
    os.write(report, why.encode())
    os._exit(NEVER_STARTED)


def outlive(child: int, signals: Mapping[int, int]) -> int:
    """Reap whoever ends, until the child does, and return its status; send it one signal for another meanwhile."""
    while True:
        heard = signal.sigwait(HEARD)
        if heard in signals:
            os.kill(child, signals[heard])
        status = reaped(child)
        if status is not None:
            return status


def reaped(child: int) -> int | None:
    """Reap all that have ended; return the child's status once it is among them."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in {0, child}:
            return status if pid else None


def code_of(status: int) -> int:
    """Return an exit status as container runtimes do: 128 and the signal."""
    code = os.waitstatus_to_exitcode(status)
    return 128 - code if code < 0 else code


def die_with_parent() -> None:
    """Be killed when the parent dies."""
    libc.prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main())
