"""What a run left behind: the record of its messages, and the losses that its training wrote."""

import json
from pathlib import Path

from keepstep.contracts import orders  # noqa: F401 - registers the orders, which a record also holds
from keepstep.contracts.message import Message, messages


def read_losses(path: Path) -> dict[int, float]:
    """Return the loss of every step that a training wrote; a step that was done twice had the same one twice."""
    losses: dict[int, float] = {}
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        assert losses.setdefault(entry["step"], entry["loss"]) == entry["loss"], line
    return losses


def read_steps(path: Path) -> list[int]:
    """Return the steps in the order in which a training did them, some of them twice."""
    return [json.loads(line)["step"] for line in path.read_text().splitlines()]


def read_events(path: Path) -> list[Message]:
    """Return the messages of a record, oldest first, each id once; a line still being written is left out."""
    return Record(path).read()


class Record:
    """A record that is read on from where it was read to, each message once, oldest first."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0
        self._found: dict[str, Message] = {}

    def read(self) -> list[Message]:
        """Return all messages so far; a line still being written is left for the next time."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            whole = file.read().rpartition(b"\n")[0]
        self._at += len(whole) + 1 if whole else 0
        for line in whole.decode().splitlines():
            name, _, body = line.partition("\t")
            message = messages()[name].model_validate_json(body)
            self._found.setdefault(message.id, message)
        return list(self._found.values())


def end_of(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, cut short."""
    return "\n".join(line[:300] for line in log.read_text(errors="replace").splitlines()[-lines:])
