"""Which sets of files are whole checkpoints, from names, sizes and times alone; headers are looked at by the scan."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import PurePosixPath

from keepstep.contracts.ids import derive
from keepstep.contracts.pattern import GroupPattern
from keepstep.contracts.policy import CheckpointPolicy

NEWEST = 20
"""Sets considered, newest first by modification time: an old run's thousand files are not told of again."""
DIRECTORY_QUIET = timedelta(seconds=2)
"""A folder without torch's ``.metadata`` has no last file: two seconds without a change stand for its end."""
LARGEST_STEP = 2**63 - 1
"""What a rank's slot of the progress page can hold; a name with a longer number is of a time, not of a step."""
REMEMBERED = 40_000
"""Names whose owner is known from the last look, twice what a look lists: a match costs 3 us, twice a second."""
METADATA = ".metadata"
SHARD = ".distcp"

_RANK_INSIDE = re.compile(r"rank[-_=]?(\d+)")
_DRAFT = re.compile(r"(?:^|/)(?:\.tmp|tmp\.)|\.(?:tmp|temp|part|partial|incomplete|lock)$|~$")


@dataclass(frozen=True)
class File:
    """Size and modification time of one file."""

    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Candidate:
    """A set of files of one step that has all its parts by name; ``path`` and ``files`` are below the folder."""

    step: int
    path: str
    files: tuple[str, ...]
    ranks: tuple[int, ...]
    digest: str
    size: int
    mtime_ns: int
    quiet: timedelta


def candidates(listing: Mapping[str, File], policy: CheckpointPolicy, ranks: Sequence[int]) -> tuple[Candidate, ...]:
    """Return the sets that have a file for every one of ``ranks``, or one for all, newest first.

    A folder whose own name matches is one set. Files per rank make a set with their folder as ``path``.
    """
    pattern = _compiled(policy.pattern)
    groups: dict[tuple[int, str, bool], list[tuple[int | None, str]]] = {}
    for name in listing:
        owner = _owner(name, pattern)
        if owner is not None:
            step, path, rank = owner
            groups.setdefault((step, path, rank is not None), []).append((rank, name))
    found = [
        candidate
        for (step, path, _), members in groups.items()
        if (candidate := _whole(step, path, members, listing, policy=policy, ranks=ranks)) is not None
    ]
    newest = sorted(found, key=lambda candidate: (candidate.mtime_ns, candidate.step), reverse=True)[:NEWEST]
    return tuple(newest)


@lru_cache(maxsize=8)
def _compiled(regex: str) -> GroupPattern:
    return GroupPattern(regex)


@lru_cache(maxsize=REMEMBERED)
def _owner(name: str, pattern: GroupPattern) -> tuple[int, str, int | None] | None:
    """Return (step, path of the set, rank) of the outermost part of the name that matches."""
    parts = PurePosixPath(name).parts
    for length in range(1, len(parts) + 1):
        prefix = "/".join(parts[:length])
        found = pattern.search(prefix)
        if found is None:
            continue
        step, rank = (_number(found.get(name)) for name in ("step", "rank"))
        if step is None:
            continue
        if rank is None:
            return step, prefix, None
        if length == len(parts):
            return step, "/".join(parts[:-1]), rank
    return None


def _number(text: str | None) -> int | None:
    """Return the number that a pattern found, None for none and for what is no step's or rank's."""
    return int(text) if text is not None and text.isdecimal() and int(text) <= LARGEST_STEP else None


def _whole(
    step: int,
    path: str,
    members: Sequence[tuple[int | None, str]],
    listing: Mapping[str, File],
    *,
    policy: CheckpointPolicy,
    ranks: Sequence[int],
) -> Candidate | None:
    names = tuple(sorted(name for _, name in members))
    named = {rank for rank, _ in members if rank is not None}
    folder = not named and path not in listing
    if folder and any(_DRAFT.search(name) for name in names):
        return None
    if folder:
        named = {int(match[1]) for name in names if (match := _RANK_INSIDE.search(name[len(path) :]))}
    if named and not named.issuperset(ranks):
        return None
    sharded = any(name.endswith(SHARD) for name in names)
    has_metadata = f"{path}/{METADATA}" in listing
    if sharded and not has_metadata:
        return None
    ended = not folder or has_metadata or bool(named)
    return Candidate(
        step=step,
        path=path,
        files=names,
        ranks=tuple(sorted(named)) if named else tuple(ranks),
        digest=_digest(names, listing),
        size=sum(listing[name].size for name in names),
        mtime_ns=max(listing[name].mtime_ns for name in names),
        quiet=policy.stable_for if ended else max(policy.stable_for, DIRECTORY_QUIET),
    )


def _digest(names: Iterable[str], listing: Mapping[str, File]) -> str:
    return derive(*(part for name in names for part in (name, listing[name].size, listing[name].mtime_ns)))


class Ripening:
    """Since when each set stands still, and which were already told or did not load."""

    def __init__(self, retry_after: timedelta = timedelta(seconds=5)) -> None:
        self._retry_s = retry_after.total_seconds()
        self._since: dict[tuple[int, str], tuple[str, float]] = {}
        self._done: dict[tuple[int, str], str] = {}
        self._tried: dict[str, float] = {}

    def ripe(self, found: Sequence[Candidate], now: float) -> tuple[Candidate, ...]:
        """Return the sets that stood still long enough and are still to be looked into, oldest first."""
        keys = {(candidate.step, candidate.path): candidate for candidate in found}
        self._since = {
            key: kept if (kept := self._since.get(key)) and kept[0] == candidate.digest else (candidate.digest, now)
            for key, candidate in keys.items()
        }
        self._done = {key: digest for key, digest in self._done.items() if key in keys}
        self._tried = {digest: at for digest, at in self._tried.items() if now - at < self._retry_s}
        return tuple(
            candidate
            for key, candidate in reversed(keys.items())
            if now - self._since[key][1] >= candidate.quiet.total_seconds()
            and self._done.get(key) != candidate.digest
            and candidate.digest not in self._tried
        )

    def unripe(self) -> bool:
        """Whether a set is known that was not told yet, so that the next look should come soon."""
        return any(
            self._done.get(key) != digest and digest not in self._tried for key, (digest, _) in self._since.items()
        )

    def told(self, candidate: Candidate) -> None:
        """Remember that the set was told; a rewritten one is told again."""
        self._done[candidate.step, candidate.path] = candidate.digest

    def failed(self, candidate: Candidate, now: float) -> None:
        """Remember that the set did not load; it is looked into again after a while or when it changes."""
        self._tried[candidate.digest] = now
