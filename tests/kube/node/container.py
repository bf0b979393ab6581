"""Stands between the kubelet and a container: gives it namespaces and a root of its own, and is its parent.

``pause PARENT REPORT`` holds a pod's process namespace: when it dies the kernel kills all that is in it. ``run PARENT
REPORT SPEC`` runs one container. Its program starts as the first process of a namespace of its own, or beside others in
the pause's; there a parent in the namespace adopts every orphan and ends them all once the first process has died, as
containerd does. REPORT is a descriptor that is closed when the program has been started, after what kept it from that.
SIGTERM is handed on to the first process, SIGUSR1 kills it. Whoever loses its parent is killed.
"""

import ctypes
import errno
import json
import os
import signal
import stat
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

NEW_MOUNTS, NEW_NAMES, NEW_PIDS = 0x0002_0000, 0x0400_0000, 0x2000_0000
READ_ONLY, BIND, RECURSIVE, PRIVATE, NO_SUID, NO_DEV = 1, 1 << 12, 1 << 14, 1 << 18, 2, 4
DEATH_SIGNAL, SUBREAPER = 1, 36
MOUNT_SETATTR, OF_TREE = 442, 0x8000
NEVER_STARTED = 128
WRITABLE = frozenset({"dev"})
OWN = frozenset({"proc", "tmp"})
HEARD = frozenset({signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD})
"""Held back, and taken one by one: a handler could run too late, once we wait again."""

Spec = dict[str, Any]
"""As ``processes.ContainerSpec`` writes it."""

libc = ctypes.CDLL(None, use_errno=True)


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
        mount("none", "/", RECURSIVE | PRIVATE)
        name = spec["hostname"].encode()
        checked(libc.sethostname(name, len(name)), "sethostname")
        binds = sorted(spec["binds"], key=lambda bind: str(bind["target"]))
        sources = [os.open(bind["source"], os.O_PATH) for bind in binds]
        own = {new_root()}
        volumes = list[str]()
        for source, bind in zip(sources, binds, strict=True):
            target = mount_point(bind["target"], os.fstat(source).st_mode, own, volumes)
            mount(f"/proc/self/fd/{source}", target, BIND | RECURSIVE)
            if bind["readonly"]:
                make_read_only(target)
            volumes.append(target)
            os.close(source)
    except OSError as error:
        refuse(report, f"cannot set the container up: {error}")


def new_root() -> int:
    """Enter a root that shows the machine's files, read only, but has a /tmp and a /proc of its own.

    Return its device. It is put together over the machine's /tmp, which it does not show.
    """
    root = "/tmp"
    mount("tmpfs", root, NO_DEV, "tmpfs", "mode=755,size=256m")
    for name in os.listdir("/"):
        if name not in OWN:
            show(f"/{name}", f"{root}/{name}")
            if name not in WRITABLE and not os.path.islink(f"/{name}"):
                make_read_only(f"{root}/{name}")
    os.mkdir(f"{root}/tmp")
    os.chmod(f"{root}/tmp", 0o1777)
    os.mkdir(f"{root}/proc")
    os.chroot(root)
    os.chdir("/")
    mount("proc", "/proc", NO_SUID | NO_DEV, "proc")
    return os.stat("/").st_dev


def show(source: str, target: str) -> None:
    """Let ``target``, which is not there yet, be the same file, folder or link as ``source``."""
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
        return
    place(target, os.stat(source).st_mode)
    mount(source, target, BIND | RECURSIVE)


def mount_point(path: str, mode: int, own: set[int], volumes: list[str]) -> str:
    """Return where to mount for ``path``, made without touching the machine's files.

    Inside a volume it is made there, as runtimes do. Else the folder that misses it is covered by one in memory
    (``own`` are the devices of those) that shows what the folder holds.
    """
    there = os.path.realpath(path)
    if os.path.exists(there):
        return there
    above = os.path.dirname(there)
    while not os.path.exists(above):
        above = os.path.dirname(above)
    in_volume = any(f"{above}/".startswith(f"{volume}/") for volume in volumes)
    if not in_volume and os.stat(above).st_dev not in own:
        own.add(cover(above))
    os.makedirs(os.path.dirname(there), exist_ok=True)
    place(there, mode)
    return there


def cover(folder: str) -> int:
    """Put a folder in memory over this one, with the same entries, and return its device."""
    entries = {name: os.open(f"{folder}/{name}", os.O_PATH | os.O_NOFOLLOW) for name in os.listdir(folder)}
    mount("tmpfs", folder, NO_DEV, "tmpfs", "mode=755,size=16m")
    for name, source in entries.items():
        mode = os.fstat(source).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink("", dir_fd=source), f"{folder}/{name}")
        else:
            place(f"{folder}/{name}", mode)
            mount(f"/proc/self/fd/{source}", f"{folder}/{name}", BIND | RECURSIVE)
        os.close(source)
    return os.stat(folder).st_dev


def place(path: str, mode: int) -> None:
    """Make an empty file or folder."""
    if stat.S_ISDIR(mode):
        os.mkdir(path)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


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


def mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    """Mount. Raises OSError."""
    words = [text.encode() if text else None for text in (source, target, kind)]
    checked(libc.mount(*words, ctypes.c_ulong(flags), options.encode() or None), f"mount {target}")


def make_read_only(path: str) -> None:
    """Let nobody write there, nor in what is mounted below; a kernel before 5.12 cannot, and then they may."""
    wanted = (ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
    done = libc.syscall(MOUNT_SETATTR, -100, path.encode(), OF_TREE, wanted, ctypes.sizeof(wanted))
    if done and ctypes.get_errno() != errno.ENOSYS:
        checked(done, f"mount_setattr {path}")


def checked(answer: int, what: str) -> None:
    """Raise OSError for the last call's error."""
    if answer:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main())
