"""Follows the output files of a generation's ranks and finds the lines that rules name, with offsets kept on disk."""

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from keepstep.agent.files import keep, recall
from keepstep.agent.lines import Allowance, Line, Position, Rule, Rules, aim, cut
from keepstep.contracts.events import MAX_LINE_LENGTH, MAX_LINES
from keepstep.contracts.ids import EventId
from keepstep.contracts.model import Frozen
from keepstep.trainer.kept import first_kept
from keepstep.trainer.wire import log_path

BLOCK = 1024 * 1024
"""Bytes read of one file in one look: a rank that floods its log is followed at 5 MB/s, not with all of the CPU."""
_TAIL = MAX_LINES * MAX_LINE_LENGTH
STREAMS = ("err", "out")

_log = logging.getLogger(__name__)


class Offsets(Frozen):
    """Positions by file (``3.err``) of one generation, up to which everything found is safely said."""

    generation: int = 0
    positions: dict[str, Position] = Field(default_factory=dict)


@dataclass(frozen=True)
class Match:
    """A line that a rule names."""

    rank: int
    stream: str
    rule: Rule
    text: str
    position: Position
    """Where the line begins."""


@dataclass
class _Followed:
    rank: int
    stream: str
    path: Path
    position: Position
    unsaid: dict[EventId, Position] = field(default_factory=dict)

    def safe(self) -> Position:
        return min(self.unsaid.values(), key=lambda p: (p.life, p.offset), default=self.position)


class Tails:
    """The files of the current generation; ``look`` may be called from another thread, never twice at once."""

    def __init__(self, task_dir: Path, kept: Path, rules: Rules) -> None:
        self._task_dir = task_dir
        self._kept = kept
        self._rules = rules
        self._allowance = Allowance()
        self._files: dict[str, _Followed] = {}
        self._offsets = recall(kept, Offsets)

    @property
    def generation(self) -> int:
        """The generation whose files are followed."""
        return self._offsets.generation

    @property
    def following(self) -> bool:
        """Whether any file is followed."""
        return bool(self._files)

    def follow(self, generation: int, ranks: Sequence[int]) -> None:
        """Follow these ranks' files; those of older generations are left, with what was not said of them."""
        if generation != self._offsets.generation:
            self._offsets = Offsets(generation=generation)
            self._files = {}
        for rank in ranks:
            for stream in STREAMS:
                name = f"{rank}.{stream}"
                if name not in self._files:
                    path = Path(log_path(str(self._task_dir), generation, rank, stream))
                    position = self._offsets.positions.get(name, Position())
                    self._files[name] = _Followed(rank, stream, path, position)

    def look(self, now: float) -> tuple[Match, ...]:
        """Return what was newly written and matches; ``now`` is monotonic seconds."""
        return tuple(match for file in tuple(self._files.values()) for match in self._look(file, now))

    def saying(self, match: Match, said: EventId) -> None:
        """Hold the file's kept offset before this match until ``said`` is acknowledged."""
        file = self._files.get(f"{match.rank}.{match.stream}")
        if file is not None:
            file.unsaid[said] = match.position

    def acknowledged(self, said: EventId) -> None:
        """Let the offset move past the match."""
        for file in self._files.values():
            file.unsaid.pop(said, None)

    def save(self) -> None:
        """Keep the offsets on disk if they moved."""
        positions = {name: file.safe() for name, file in self._files.items()}
        if positions != self._offsets.positions:
            self._offsets = Offsets(generation=self._offsets.generation, positions=positions)
            keep(self._kept, self._offsets)

    def _look(self, file: _Followed, now: float) -> list[Match]:
        try:
            status = file.path.stat()
            begin = aim(file.position, inode=status.st_ino, size=status.st_size)
            begin, block = _block(file.path, begin) if begin.offset != status.st_size else (begin, b"")
        except OSError:  # it is not there yet, or the rank did something to it: the other ranks are followed on
            return []
        file.position, lines = cut(begin, block)
        return [match for line in lines if (match := self._match(file, begin, line, now)) is not None]

    def _match(self, file: _Followed, begin: Position, line: Line, now: float) -> Match | None:
        rule = self._rules.match(line.text)
        if rule is None or not self._allowance.take(rule.name, now):
            return None
        position = begin.model_copy(update={"offset": line.offset, "skipping": False})
        return Match(file.rank, file.stream, rule, line.text[:MAX_LINE_LENGTH], position)


def _block(path: Path, begin: Position) -> tuple[Position, bytes]:
    """Return what stands at the position, or at the first byte after it that the launcher still keeps."""
    with path.open("rb") as stream:
        start = first_kept(stream.fileno(), begin.offset)
        if start > begin.offset:
            _log.warning("file=%s not looked at: bytes %d to %d are no longer kept", path, begin.offset, start)
            begin = begin.model_copy(update={"offset": start, "skipping": True})
        stream.seek(start)
        return begin, stream.read(BLOCK)


def last_lines(task_dir: Path, generation: int, rank: int) -> tuple[str, ...]:
    """Return the last lines of the rank's stderr, or of its stdout where stderr is blank; at most 20 of 2 KiB."""
    for stream in STREAMS:
        lines = _end_of(Path(log_path(str(task_dir), generation, rank, stream)))
        if lines:
            return lines
    return ()


def _end_of(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            block = file.read(_TAIL)
    except OSError:  # an exit is told without its last words rather than not at all
        return ()
    lines = [line.rstrip() for line in block.decode(errors="replace").replace("\r", "\n").split("\n")]
    written = [_shorten(line) for line in lines if line.strip()]
    return tuple(written[-MAX_LINES:])


def _shorten(line: str) -> str:
    raw = line.encode()
    return line if len(raw) <= MAX_LINE_LENGTH else raw[:MAX_LINE_LENGTH].decode(errors="ignore")
