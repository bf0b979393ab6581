"""A container's root: the machine's files, read only, with volumes in their places, in a mount namespace of its own.

Mount points that the machine lacks are made in memory, so that nothing of it is touched and nothing is left on it.
"""

import ctypes
import errno
import os
import stat
from collections.abc import Sequence
from typing import Any

READ_ONLY, BIND, RECURSIVE, PRIVATE, NO_SUID, NO_DEV = 1, 1 << 12, 1 << 14, 1 << 18, 2, 4
MOUNT_SETATTR, OF_TREE = 442, 0x8000
WRITABLE = frozenset({"dev"})
OWN = frozenset({"proc", "tmp"})

libc = ctypes.CDLL(None, use_errno=True)


def enter_root(binds: Sequence[dict[str, Any]]) -> None:
    """Enter the root, with those files and folders of the machine (source, target, readonly) in it. Raises OSError."""
    mount("none", "/", RECURSIVE | PRIVATE)
    binds = sorted(binds, key=lambda bind: str(bind["target"]))
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
