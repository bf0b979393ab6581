"""What the supervisor of a local node is asked and answers: one JSON object a line over a unix socket.

The socket is reached through its folder's descriptor, because a socket path is limited to 107 bytes and a folder of
a test or of a user is often longer.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from keepstep.adapters.unix_socket import short_name
from keepstep.contracts.ids import TaskUid
from keepstep.contracts.model import Frozen, mistakes
from keepstep.contracts.taxonomy import LossCause
from keepstep.contracts.topology import TaskLaunch
from keepstep.ports.cluster import TaskStatus
from keepstep.ports.errors import Transient

LONGEST_LINE = 16 * 1024 * 1024
"""A listing of 256 tasks is about 100 KB; a job's environment may hold megabytes."""


class ListTasks(Frozen):
    """Say every task that the node knows."""

    do: Literal["list"] = "list"


class WatchTasks(Frozen):
    """Say every task that the node knows, then every change until the connection ends."""

    do: Literal["watch"] = "watch"


class CreateTask(Frozen):
    """Start this task unless its uid is known."""

    do: Literal["create"] = "create"
    launch: TaskLaunch


class DeleteTask(Frozen):
    """End this task: SIGTERM, after the grace SIGKILL; absent is fine."""

    do: Literal["delete"] = "delete"
    task: TaskUid
    grace_s: float = Field(ge=0)
    by: LossCause = LossCause.DELETED


class Child(StrEnum):
    """The processes that a supervisor starts for a task."""

    LAUNCHER = "launcher"
    AGENT = "agent"


class KillChild(Frozen):
    """Send SIGKILL to one process of a task: an injected fault."""

    do: Literal["kill"] = "kill"
    task: TaskUid
    child: Child


Request = Annotated[ListTasks | WatchTasks | CreateTask | DeleteTask | KillChild, Field(discriminator="do")]


class Listing(Frozen):
    """Every task that the node knows, the recently gone ones included."""

    say: Literal["listing"] = "listing"
    tasks: tuple[TaskStatus, ...]


class Changed(Frozen):
    """A task as it is now."""

    say: Literal["changed"] = "changed"
    task: TaskStatus


class Done(Frozen):
    """The request was carried out or is under way."""

    say: Literal["done"] = "done"


class Refused(Frozen):
    """The request was not carried out; ``full``: the node has no room, which may change."""

    say: Literal["refused"] = "refused"
    why: str
    full: bool = False


Reply = Annotated[Listing | Changed | Done | Refused, Field(discriminator="say")]

_REQUEST: TypeAdapter[Request] = TypeAdapter(Request)
_REPLY: TypeAdapter[Reply] = TypeAdapter(Reply)


def encode(message: Frozen) -> bytes:
    """Return the message as one line."""
    return message.model_dump_json().encode() + b"\n"


def decode_request(line: bytes) -> Request | Refused:
    """Return the request of a line, or the refusal that names what is wrong with it."""
    try:
        return _REQUEST.validate_json(line)
    except ValidationError as error:
        return Refused(why=f"not a request of a local node: {mistakes(error)}")


def listen(path: Path) -> socket.socket:
    """Return a listening socket at ``path``; what a dead predecessor left there is replaced."""
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_name(path) as name:
        server.bind(name)
    server.listen()
    return server


class Link:
    """A connection to a supervisor."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: Path) -> None:
        self._reader, self._writer, self._path = reader, writer, path

    async def send(self, request: Frozen) -> None:
        """Send a request; raises Transient if the supervisor is gone."""
        try:
            self._writer.write(encode(request))
            await self._writer.drain()
        except OSError as error:
            raise Transient(f"the supervisor behind {self._path} is gone: {error}") from error

    async def receive(self) -> Reply:
        """Return the next reply; raises Transient if the supervisor is gone or says what nobody understands."""
        try:
            line = await self._reader.readline()
            if not line.endswith(b"\n"):
                raise Transient(f"the supervisor behind {self._path} is gone")
            return _REPLY.validate_json(line)
        except (OSError, ValueError) as error:
            raise Transient(f"no answer from the supervisor behind {self._path}: {error}") from error


@contextlib.asynccontextmanager
async def connect(path: Path) -> AsyncIterator[Link]:
    """Connect to the supervisor at ``path``; raises Transient if nobody listens there."""
    try:
        with short_name(path) as name:
            reader, writer = await asyncio.open_unix_connection(name, limit=LONGEST_LINE)
    except OSError as error:
        raise Transient(f"no supervisor listens at {path}: {error}") from error
    try:
        yield Link(reader, writer, path)
    finally:
        writer.close()


async def ask(path: Path, request: Frozen, *, limit_s: float) -> Reply:
    """Return the answer to one request; raises Transient without an answer within ``limit_s`` seconds."""
    try:
        async with asyncio.timeout(limit_s), connect(path) as link:
            await link.send(request)
            return await link.receive()
    except TimeoutError as error:
        raise Transient(f"the supervisor behind {path} did not answer within {limit_s} s") from error
