"""What a run prints, and what happens to the run when nobody reads it."""

import os
import threading

import pytest

from keepstep.cli import screen_aside
from keepstep.cli.screen import PlainScreen, Unbuffered
from keepstep.cli.screen_aside import Aside

LINES = 3000
LONG = "x" * 100


def read_all(descriptor: int) -> list[str]:
    """Read until the other end is closed."""
    blocks = []
    while block := os.read(descriptor, 1 << 16):
        blocks.append(block)
    return b"".join(blocks).decode().splitlines()


def test_a_reader_that_does_not_read_holds_up_nobody_and_is_told_what_it_missed() -> None:
    """A pager, or Ctrl-S, froze bus and services of the run, which print from the same loop."""
    reader, writer = os.pipe()
    shown = Aside(PlainScreen(Unbuffered(writer)), most=1000)
    for number in range(LINES):
        shown.say(f"{number} {LONG}")
    printed: list[str] = []
    reading = threading.Thread(target=lambda: printed.extend(read_all(reader)))
    reading.start()
    shown.close()
    os.close(writer)
    reading.join(10)
    os.close(reader)
    kept, told = printed[:-1], printed[-1]
    numbers = [int(line.partition(" ")[0]) for line in kept]
    assert numbers == sorted(set(numbers))
    assert numbers[:1000] == list(range(1000)), "what waits is left out last"
    assert 1000 <= len(kept) < LINES
    assert told == f"({LINES - len(kept)} lines were left out here: nobody read them in time)"


def test_the_end_waits_for_a_reader_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen_aside, "CLOSE_S", 0.01)
    reader, writer = os.pipe()
    shown = Aside(PlainScreen(Unbuffered(writer)))
    for _ in range(LINES):
        shown.say(LONG)
    shown.close()
    os.close(reader)
    os.close(writer)


def test_a_reader_that_is_gone_ends_nothing() -> None:
    """``keepstep run ... | head -1`` stopped the training with the pipe."""
    reader, writer = os.pipe()
    plain = PlainScreen(Unbuffered(writer))
    plain.say("one")
    assert os.read(reader, 100) == b"one\n"
    os.close(reader)
    plain.say("two")
    plain.status("three")
    plain.say("four")
    plain.close()
    os.close(writer)


def test_lines_and_states_come_in_the_order_they_were_said() -> None:
    told: list[str] = []

    class Recorder:
        def say(self, text: str) -> None:
            told.append(text)

        def status(self, text: str) -> None:
            told.append(f"[{text}]")

        def close(self) -> None:
            told.append("closed")

    shown = Aside(Recorder())
    shown.say("a")
    shown.status("s")
    shown.say("b")
    shown.close()
    assert [text for text in told if text != "[s]"] == ["a", "b", "closed"]
