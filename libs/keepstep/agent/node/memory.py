"""What a node's agent remembers over its restarts: how far it read the kernel's log, and what it told of the node."""

import logging
from dataclasses import replace
from pathlib import Path

from pydantic import Field, ValidationError

from keepstep.agent.files import write_whole
from keepstep.agent.node.holding import Held
from keepstep.contracts.model import Frozen, mistakes

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
FILE = "node.json"

_log = logging.getLogger(__name__)


class Memory(Frozen):
    """As it stands in the file; instants are of the monotonic clock, which all processes of one boot share."""

    boot: str
    micros: int | None = None
    """Up to where the kernel's log was read; None where nothing is remembered of this boot."""
    held: dict[str, Held] = Field(default_factory=dict)
    known: bool = False
    """It was read from a file, so nothing is open that does not stand here."""


def recall(folder: Path, boot: str, now: float) -> Memory:
    """Return what is remembered; what was told before the machine was started anew is still to be over."""
    try:
        found = Memory.model_validate_json((folder / FILE).read_bytes())
    except FileNotFoundError:
        return Memory(boot=boot)
    except ValidationError as error:
        _log.warning("memory=%s forgotten because=%s", folder / FILE, mistakes(error))
        return Memory(boot=boot)
    if found.boot == boot:
        return found.model_copy(update={"known": True})
    held = {key: replace(one, since=now, over_at=None) for key, one in found.held.items()}
    return Memory(boot=boot, micros=-1, held=held, known=True)


def keep(folder: Path, memory: Memory) -> None:
    """Write it down in one piece."""
    write_whole(folder / FILE, memory.model_dump_json())
