"""Runs the console as a process of its own: ``python -m keepstep.console``; settings come from the environment."""

import asyncio
import signal
from contextlib import AsyncExitStack

from keepstep.console.app import running
from keepstep.console.set_aside import settling
from keepstep.console.settings import ConsoleSettings
from keepstep.runtime import log
from keepstep.runtime.http import Answer, serving
from keepstep.runtime.tasks import end

NOT_THERE = Answer("404 Not Found", "text/plain", b"try /healthz or /readyz\n")


async def serve(settings: ConsoleSettings) -> None:
    """Run until SIGTERM or SIGINT."""
    stop, ready = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def answers(path: str) -> Answer:
        match path:
            case "/healthz":
                return Answer("200 OK", "text/plain", b"ok\n")
            case "/readyz" if ready.is_set():
                return Answer("200 OK", "text/plain", b"ready\n")
            case "/readyz":
                return Answer("503 Service Unavailable", "text/plain", b"waiting for the bus\n")
            case _:
                return NOT_THERE

    async with AsyncExitStack() as room:
        if settings.http_port:
            await room.enter_async_context(serving(settings.http_host, settings.http_port, answers))
        opening = asyncio.ensure_future(room.enter_async_context(running(settings)))
        stopping = asyncio.ensure_future(stop.wait())
        settled = asyncio.ensure_future(settling())
        await asyncio.wait({opening, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            log.logger("console").info("the console is served", address=opening.result())
            ready.set()
            await stopping
        else:
            opening.cancel()
        await end((settled,))


def main() -> None:
    """Run the console until it is told to stop."""
    log.configure()
    asyncio.run(serve(ConsoleSettings()))


if __name__ == "__main__":
    main()
