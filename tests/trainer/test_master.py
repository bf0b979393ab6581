"""Ranks wait for the master to listen, and only where torch would connect to it."""

import socket
import threading
from collections.abc import Iterator

import pytest

from keepstep.trainer import master


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Yield the master's socket: it has its port, and does not listen yet."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        monkeypatch.setenv("RANK", "1")
        monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
        monkeypatch.setenv("MASTER_PORT", str(server.getsockname()[1]))
        yield server


def test_a_rank_that_comes_early_waits_until_the_master_listens(closed: socket.socket) -> None:
    waiting = threading.Thread(target=master.wait_for, args=(("gloo",), {}), daemon=True)
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    closed.listen()
    waiting.join(5)
    assert not waiting.is_alive()


def test_a_rank_leaves_it_to_torch_when_the_master_stays_away(
    closed: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert closed.getsockname()
    monkeypatch.setattr(master, "LIMIT_S", 0.01)
    master.wait_for((), {"backend": "gloo"})


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("gloo", "tcp://10.0.0.1:1"), {}),
        (("gloo",), {"init_method": "file:///tmp/nowhere"}),
        (("gloo",), {"store": object()}),
        (("gloo", None, None, 2), {}),
        (("gloo",), {"rank": 0}),
    ],
)
def test_a_meeting_elsewhere_is_not_waited_for(
    closed: socket.socket, arguments: tuple[object, ...], named: dict[str, object]
) -> None:
    assert closed.getsockname()
    master.wait_for(arguments, named)


@pytest.mark.parametrize(
    "environment", [{"RANK": "0"}, {"RANK": ""}, {"MASTER_ADDR": ""}, {"MASTER_PORT": ""}, {"MASTER_ADDR": "no.such.x"}]
)
def test_a_rank_without_a_master_to_wait_for_goes_on(
    closed: socket.socket, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert closed.getsockname()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    master.wait_for((), {})
