"""The rank table of Ascend's collective library: who has which rank on which device.

Whole or not at all: ``status`` is ``completed`` only when every rank has its device, and processes wait for that word.
Entries follow the ranks, so a replaced task changes its own and no other. Formats: MindCluster's hccl.json.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keepstep.contracts.orders import Peer
from keepstep.contracts.topology import Device

FILE = "rank_table.json"
COMPLETED, INITIALIZING = "completed", "initializing"

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Seat:
    """One rank, its device and the server that it is in."""

    rank: int
    local_rank: int
    server: str
    device: Device


def rank_table(version: str, peers: Sequence[Peer], nproc: int) -> Json:
    """Return the table of a job whose tasks have ``nproc`` ranks each; raises ValueError for an unknown version."""
    seats = tuple(_seats(peers, nproc))
    whole = len(seats) == len(peers) * nproc and bool(peers)
    head: Json = {"version": version, "status": COMPLETED if whole else INITIALIZING}
    match version:
        case "1.0":
            return {**head, **_servers(peers, seats)}
        case "1.2":
            return {**head, **_servers(peers, seats, super_ids=True), "super_pod_list": _super_pods(peers)}
        case "2.0":
            return {**head, "rank_count": str(len(seats)), "rank_list": [_rank(seat) for seat in seats]}
        case _:
            raise ValueError(f"a rank table of version {version!r} is unknown; known are 1.0, 1.2 and 2.0")


def _seats(peers: Sequence[Peer], nproc: int) -> Iterator[Seat]:
    for index, peer in enumerate(peers):
        for local_rank, device in enumerate(peer.devices[:nproc]):
            yield Seat(index * nproc + local_rank, local_rank, peer.address, device)


def _servers(peers: Sequence[Peer], seats: Sequence[Seat], *, super_ids: bool = False) -> Json:
    names = list(dict.fromkeys(peer.address for peer in peers if peer.devices))
    servers = [
        {"server_id": name, "device": [_device(seat, super_ids) for seat in seats if seat.server == name]}
        for name in names
    ]
    return {"server_count": str(len(servers)), "server_list": servers}


def _device(seat: Seat, super_ids: bool) -> Json:
    told: Json = {
        "device_id": seat.device.id,
        "device_ip": seat.device.address,
        "rank_id": str(seat.rank),
    }
    return {**told, "super_device_id": seat.device.super_id} if super_ids else told


def _super_pods(peers: Sequence[Peer]) -> list[Json]:
    """Return the one super pod that a job is in: jobs across several are the scheduler's to forbid."""
    names = dict.fromkeys(peer.address for peer in peers if peer.devices)
    return [{"super_pod_id": "0", "server_list": [{"server_id": name} for name in names]}]


def _rank(seat: Seat) -> Json:
    return {
        "rank_id": seat.rank,
        "local_id": seat.local_rank,
        "device_id": int(seat.device.id) if seat.device.id.isdecimal() else seat.device.id,
        "server_id": seat.server,
        "device_ip": seat.device.address,
    }
