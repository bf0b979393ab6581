"""What agent and launcher say to each other: one JSON object a line over a unix socket.

The launcher listens; at most one agent is connected, a newer connection replaces the older. Exits are kept by the
launcher and said again at every connection until the agent acknowledges them, so that none is lost with an agent.

From the agent (key ``do``):
  start  generation, ranks: [{rank, local_rank, env: {..}, args: [..]}]   refused unless all older ranks are gone;
         env is added to the launcher's and the job's, args to the entrypoint's; said again, it is answered again
  stop   generation, grace_s, kill_s    end every rank of a generation <= this one: SIGTERM, grace, SIGKILL
  ack    exits: [id, ..]                these exits are safely reported
  end    code                           stop all ranks and leave with this exit code
  renew                                 stop all ranks and begin anew as the same process: task.json is of another task

From the launcher (key ``say``):
  hello    versions: {python, torch, framework}, warm, generation, stopped, pid,
           ranks: [{rank, local_rank, pid, generation, warm}];
           generation is the newest started, stopped the newest ended by order, ranks are those alive
  started  generation, ranks: [{rank, local_rank, pid, warm: bool}]
  refused  generation, why
  exit     id, generation, rank, local_rank, pid, code | null, signal | null, ordered, at (epoch s), ran_s
  stopped  generation, unkillable: [rank, ..]
  warm     ready                        how many spare interpreters are ready
"""

import enum
import json
from typing import Any, Dict, List

Line = Dict[str, Any]


class Do(str, enum.Enum):
    """What the agent orders."""

    START = "start"
    STOP = "stop"
    ACK = "ack"
    END = "end"
    RENEW = "renew"


class Say(str, enum.Enum):
    """What the launcher says."""

    HELLO = "hello"
    STARTED = "started"
    REFUSED = "refused"
    EXIT = "exit"
    STOPPED = "stopped"
    WARM = "warm"


MAX_LINE = 4 * 1024 * 1024

SOCKET = "launcher.sock"
PAGE = "progress"
LOGS = "logs"


def encode(message: Line) -> bytes:
    """Return the message as one line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def log_path(task_dir: str, generation: int, rank: int, stream: str) -> str:
    """Return where a rank's ``out`` or ``err`` of one generation is kept."""
    return "%s/%s/generation-%d/rank-%d.%s" % (task_dir, LOGS, generation, rank, stream)


def stack_path(task_dir: str, rank: int) -> str:
    """Return where a rank's faulthandler writes its stacks."""
    return "%s/stacks/rank-%d.txt" % (task_dir, rank)


class Decoder:
    """Cuts a byte stream into messages; raises ValueError on a line that is too long or no JSON object."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> List[Line]:
        """Return the messages completed by ``data``."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE:
            raise ValueError("a line of more than %d bytes on the launcher socket" % MAX_LINE)
        messages = []
        for line in lines:
            message = json.loads(line)
            if not isinstance(message, dict):
                raise ValueError("not a JSON object on the launcher socket: %r" % line[:100])
            messages.append(message)
        return messages
