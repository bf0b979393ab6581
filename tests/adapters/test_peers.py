"""Whose process is at the other end of a connection."""

import os
import socket
from pathlib import Path

import pytest

from keepstep.adapters.peers import owner_of


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_owner_of_a_connection_s_other_end_is_told(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    with listening, socket.create_connection(listening.getsockname()[:2]) as caller:
        address, port, *_ = caller.getsockname()
        assert owner_of(address, port) == os.getuid()


def test_a_client_of_an_ipv6_socket_that_came_by_ipv4_is_found() -> None:
    listening = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    with listening, socket.create_connection(("127.0.0.1", listening.getsockname()[1])) as caller:
        served, (address, port, *_) = listening.accept()
        with served:
            assert address == "::ffff:127.0.0.1"
            assert owner_of(address, port) == os.getuid()
            assert owner_of(*caller.getsockname()) == os.getuid()


def test_nobody_owns_a_connection_that_is_not_there(tmp_path: Path) -> None:
    assert owner_of("127.0.0.1", 1) is None
    assert owner_of("127.0.0.1", 1, tables=(tmp_path / "no-proc",)) is None


def test_another_user_s_end_is_told_apart(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    table.write_text(
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:1F90 0100007F:2222 01 00000000:00000000 00:00000000 00000000  1234        0 1 1 0 0 0 0 0\n"
    )
    assert owner_of("127.0.0.1", 8080, tables=(table,)) == 1234
