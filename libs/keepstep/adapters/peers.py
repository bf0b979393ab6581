"""Whose process is at the other end of a connection on this machine: the kernel's own table tells."""

import ipaddress
import socket
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def owner_of(host: str, port: int, *, tables: tuple[Path, ...] = TABLES) -> int | None:
    """Return the uid of the process whose end of a connection has this address; None where no table has it."""
    wanted = _as_written(host)
    for table in tables:
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if int(number, 16) == port and address in wanted:
                return int(fields[7])
    return None


def _as_written(host: str) -> frozenset[str]:
    """Return how the tables write an address: words of four bytes in the machine's own order, and IPv4 within IPv6."""
    address = ipaddress.ip_address(host)
    mapped = address if isinstance(address, ipaddress.IPv6Address) else ipaddress.IPv6Address(f"::ffff:{address}")
    found = {_words(mapped.packed)}
    if (plain := mapped.ipv4_mapped) is not None:
        found.add(_words(plain.packed))
    return frozenset(found)


def _words(packed: bytes) -> str:
    return "".join(f"{socket.htonl(int.from_bytes(packed[i : i + 4])):08X}" for i in range(0, len(packed), 4))
