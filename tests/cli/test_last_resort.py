"""A command whose services do not end when they are told to ends all the same, with its own exit code."""

import subprocess
import sys

import pytest

COMMAND = """
import asyncio
from keepstep.cli.last_resort import last_resort

async def deaf(closing, goes_on):
    closing(7)
    while goes_on:
        try:
            await asyncio.sleep(0.1)
        except asyncio.CancelledError:
            pass

with last_resort(1.0) as closing:
    {body}
"""
ENDLESS = {
    "a task that swallows its cancellation": "asyncio.run(asyncio.wait_for(deaf(closing, True), 0.2))",
    "a thread of the loop that waits for ever": (
        "import threading; asyncio.run(asyncio.wait_for(asyncio.to_thread(threading.Event().wait, closing(7)), 0.2))"
    ),
}


def ended(body: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", COMMAND.format(body=body)], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("what", ENDLESS)
def test_a_command_that_does_not_end_is_ended_with_its_code(what: str) -> None:
    done = ended(ENDLESS[what])
    assert done.returncode == 7, done.stderr
    assert "did not end within 1 s" in done.stderr


def test_a_command_that_ends_in_time_is_left_alone() -> None:
    done = ended("asyncio.run(deaf(closing, False))\nimport time\ntime.sleep(1.5)")
    assert (done.returncode, done.stderr) == (0, "")
