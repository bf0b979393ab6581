"""The file of tokens as it is now: read again when it changes, and the last good one kept where it is broken."""

import asyncio
import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from keepstep.console.login.tokens import Entry, matches, name_in, read
from keepstep.ports.errors import Permanent, Transient
from keepstep.runtime.log import logger

AT_ONCE = 2
"""Hashes that are computed side by side: 20 to 60 ms and 19 MiB each, beside everything else the process does."""
WAITING = 16
"""Those that may wait for it; the next is told to come again."""
Stamp = tuple[int, int, int]


class TokenFile:
    """Whose a token is. What was right once is known again without hashing, until its line changes."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises Permanent where it cannot be read or used."""
        self._path = path
        self._stamp = _stamp(path)
        self._entries = _read(path)
        self._key = secrets.token_bytes(32)
        self._known: dict[str, tuple[bytes, str]] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The lines by name, as they are now or were when they were last right."""
        self._refresh()
        return self._entries

    def known(self, token: str) -> Entry | None:
        """Return whose token it is if it was found right before; takes microseconds."""
        name = name_in(token)
        entry = None if name is None else self.entries.get(name)
        if entry is None:
            return None
        digest, line = self._known.get(entry.name, (b"", ""))
        return entry if line == entry.hash and hmac.compare_digest(digest, self._digest(token)) else None

    async def owner(self, token: str) -> Entry | None:
        """Return whose token it is, None for nobody's. Raises Transient where too many ask at once."""
        found = self.known(token)
        name = name_in(token)
        if found is not None or name is None:
            return found
        entry = self.entries.get(name)
        if not await self._hashed(entry, token) or entry is None:
            return None
        self._known[entry.name] = (self._digest(token), entry.hash)
        return entry

    async def _hashed(self, entry: Entry | None, token: str) -> bool:
        if self._waiting >= WAITING:
            raise Transient("many are logging in at once; try again in some seconds")
        self._waiting += 1
        try:
            async with self._slots:
                return await asyncio.to_thread(matches, entry, token)
        finally:
            self._waiting -= 1

    def _digest(self, token: str) -> bytes:
        return hmac.digest(self._key, token.encode(), "sha256")

    def _refresh(self) -> None:
        """Read the file again where it is another; a broken one is told of once."""
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        log = logger("console")
        try:
            self._entries = _read(self._path)
        except Permanent as error:
            log.error("the file of tokens is of no use; the last good one counts", because=str(error))
            return
        self._known = {name: one for name, one in self._known.items() if name in self._entries}
        log.info("the file of tokens was read again", tokens=len(self._entries))


def _stamp(path: Path) -> Stamp | None:
    """Return what changes when the file does, also where a cluster turns a link; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _read(path: Path) -> Mapping[str, Entry]:
    try:
        if path.stat().st_mode & stat.S_IWOTH:
            raise Permanent(f"KEEPSTEP_CONSOLE_TOKENS {path}: anybody may write it; chmod o-w it")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Permanent(f"KEEPSTEP_CONSOLE_TOKENS {path} cannot be read: {os.strerror(error.errno or 0)}") from error
    except UnicodeDecodeError as error:
        raise Permanent(f"KEEPSTEP_CONSOLE_TOKENS {path} is no text") from error
    try:
        return read(text)
    except Permanent as error:
        raise Permanent(f"KEEPSTEP_CONSOLE_TOKENS {path}, {error}") from error
