"""The stopping of ranks against a process table that a test writes: what cannot be killed is told, not waited for."""

import signal
from collections.abc import Callable, Collection, Iterable

import pytest

from keepstep.trainer import gang as gang_module
from keepstep.trainer.gang import EVERYTHING, Gang, Rank
from keepstep.trainer.processes import Ended, Entry, Processes
from keepstep.trainer.wire import Line

LAUNCHER = 1
NOWHERE = 0
"""The parent of a process that is not below the launcher."""


class Table(Processes):
    """Processes that live until a test lets them end."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.sent: list[tuple[int, int]] = []
        self.removed: list[str] = []

    def add(self, pid: int, parent: int = LAUNCHER, state: str = "S") -> None:
        self.entries[pid] = Entry(pid, parent, state)

    def below(self, spared: Collection[int] = ()) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.pid not in spared and entry.parent != NOWHERE]

    def chase(self, spared: Collection[int] = ()) -> list[Entry]:
        return self.below(spared)

    def in_groups(self, folders: Iterable[str]) -> list[Entry]:
        return [self.entries[int(folder)] for folder in folders if int(folder) in self.entries]

    def kill_group(self, folder: str) -> None:
        self.sent.append((int(folder), signal.SIGKILL))

    def remove_groups(self, folders: Iterable[str]) -> None:
        self.removed += folders

    def send(self, pid: int, number: int) -> None:
        self.sent.append((pid, number))

    def send_group(self, pid: int, number: int) -> None:
        self.sent.append((-pid, number))


class Watch:
    """The monotonic clock, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(gang_module, "time", watch)
    return watch


Made = tuple[Gang, Table, list[Line]]


@pytest.fixture
def make(clock: Watch) -> Callable[[int], Made]:
    def made(generation: int) -> Made:
        table, said = Table(), list[Line]()
        gang = Gang(table, said.append)
        table.add(10)
        table.add(11)
        gang.take(generation, [_rank(rank, generation, 10 + rank) for rank in (0, 1)])
        return gang, table, said

    return made


def _rank(rank: int, generation: int, pid: int) -> Rank:
    return Rank({"rank": rank, "local_rank": rank}, generation, pid)


def _end(gang: Gang, table: Table, pid: int, number: int = signal.SIGTERM) -> None:
    del table.entries[pid]
    gang.collect(Ended(pid, None, number))


def _look(gang: Gang, spared: set[int] | None = None) -> None:
    """Look as often as a proof takes."""
    for _ in range(gang_module.CALM_LOOKS):
        gang.tick(spared or set())


def _stopped(said: list[Line]) -> list[Line]:
    return [line for line in said if line["say"] == "stopped"]


def test_a_rank_that_nobody_can_reap_is_unkillable_after_grace_and_deadline(
    clock: Watch, make: Callable[[int], Made]
) -> None:
    gang, table, said = make(1)
    gang.stop(1, grace_s=3, kill_s=5, spared=set())
    _end(gang, table, 10)
    clock.now += 3
    gang.tick(set())
    assert (11, signal.SIGKILL) in table.sent
    clock.now += 4.9
    gang.tick(set())
    assert not _stopped(said)
    clock.now += 0.2
    gang.tick(set())
    assert _stopped(said) == [{"say": "stopped", "generation": 1, "unkillable": [1]}]
    assert "still there" in str(gang.refusal(2))


def test_an_unkillable_rank_that_ends_at_last_is_told_and_lets_the_next_generation_start(
    clock: Watch, make: Callable[[int], Made]
) -> None:
    gang, table, said = make(1)
    gang.stop(1, grace_s=0, kill_s=0, spared=set())
    gang.tick(set())
    assert _stopped(said)[0]["unkillable"] == [0, 1]
    _end(gang, table, 10)
    _end(gang, table, 11, signal.SIGKILL)
    assert [(line["rank"], line["ordered"]) for line in said if line["say"] == "exit"] == [(0, True), (1, True)]
    assert gang.refusal(2) is None


def test_an_unkillable_child_is_told_as_its_ranks(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, said = make(1)
    table.add(20, parent=11, state="D")
    gang.stop(1, grace_s=3, kill_s=5, spared=set())
    _end(gang, table, 10)
    _end(gang, table, 11)
    gang.tick(set())
    assert (20, signal.SIGKILL) in table.sent, "an orphan without a rank gets no grace"
    clock.now += 5
    gang.tick(set())
    assert _stopped(said)[0]["unkillable"] == [1]
    assert "cannot be killed" in str(gang.refusal(2))
    gang.collect(Ended(20, None, signal.SIGKILL))
    assert gang.refusal(2) is None


def test_only_the_stopped_process_is_killed_before_the_grace_is_over(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, _ = make(1)
    table.add(11, state="T")
    gang.stop(1, grace_s=3, kill_s=5, spared=set())
    assert [sent for sent in table.sent if sent[1] == signal.SIGKILL] == [(11, signal.SIGKILL)]


def test_spares_are_never_part_of_a_stop(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, said = make(1)
    table.add(30)
    gang.stop(1, grace_s=0, kill_s=5, spared={30})
    _end(gang, table, 10)
    _end(gang, table, 11)
    _look(gang, {30})
    assert _stopped(said)
    assert not [sent for sent in table.sent if sent[0] == 30]


def test_a_second_order_shortens_the_grace_and_never_lengthens_it(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, _ = make(1)
    gang.stop(1, grace_s=10, kill_s=5, spared=set())
    gang.stop(1, grace_s=1, kill_s=5, spared=set())
    gang.stop(1, grace_s=60, kill_s=5, spared=set())
    clock.now += 1
    gang.tick(set())
    assert (10, signal.SIGKILL) in table.sent
    assert table.sent.count((10, signal.SIGTERM)) == 1


def test_a_generation_that_was_stopped_before_it_came_is_refused(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, said = make(1)
    gang.stop(4, grace_s=3, kill_s=5, spared=set())
    _end(gang, table, 10)
    _end(gang, table, 11)
    _look(gang)
    assert _stopped(said)[0]["generation"] == 4
    assert "over" in str(gang.refusal(4))
    assert gang.refusal(5) is None


def test_the_end_of_everything_is_told_with_the_generation_that_ran(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, said = make(3)
    gang.stop(EVERYTHING, grace_s=3, kill_s=5, spared=set())
    _end(gang, table, 10)
    _end(gang, table, 11)
    _look(gang)
    assert _stopped(said) == [{"say": "stopped", "generation": 3, "unkillable": []}]


def test_one_empty_look_is_no_proof(clock: Watch, make: Callable[[int], Made]) -> None:
    gang, table, said = make(1)
    gang.stop(1, grace_s=3, kill_s=5, spared=set())
    _end(gang, table, 10)
    _end(gang, table, 11)
    gang.tick(set())
    table.add(40)
    _look(gang)
    assert not _stopped(said)
    assert (40, signal.SIGKILL) in table.sent
    del table.entries[40]
    _look(gang)
    assert _stopped(said)


def test_what_lives_on_in_a_control_group_holds_the_stop_up_though_no_tree_shows_it(clock: Watch) -> None:
    table, said = Table(), list[Line]()
    gang = Gang(table, said.append)
    gang.take(1, [Rank({"rank": 0, "local_rank": 0}, 1, 10, group="50")])
    table.add(50, parent=NOWHERE)
    gang.stop(1, grace_s=3, kill_s=5, spared=set())
    gang.collect(Ended(10, None, signal.SIGTERM))
    _look(gang)
    assert not _stopped(said)
    assert (50, signal.SIGKILL) in table.sent
    del table.entries[50]
    _look(gang)
    assert _stopped(said)
    assert table.removed == ["50"]
