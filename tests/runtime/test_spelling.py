"""The JSON of a fold is the one that pydantic writes, however it came about, and only what changed is written anew."""

from datetime import UTC, datetime
from typing import Annotated, Literal

import pytest
from pydantic import AwareDatetime, Field

from keepstep.contracts.ids import TaskUid
from keepstep.contracts.model import Frozen
from keepstep.runtime.spelling import Spelling


class Seat(Frozen):
    name: str
    ranks: tuple[int, ...] = ()


class Corner(Seat):
    window: bool = True


class Room(Frozen):
    kind: Literal["room"] = "room"
    seats: dict[TaskUid, Seat] = Field(default_factory=dict)
    queue: tuple[Seat, ...] = ()
    exits: dict[int, Seat] = Field(default_factory=dict)
    spare: Seat | None = None
    since: AwareDatetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    seen: frozenset[str] = Field(default=frozenset(), exclude=True)


class Hall(Frozen):
    kind: Literal["hall"] = "hall"
    seats: dict[TaskUid, Seat] = Field(default_factory=dict)
    labels: tuple[str, ...] = ()


class House(Frozen):
    of: Annotated[Room | Hall, Field(discriminator="kind")]


A, B, C = (Seat(name=name, ranks=(number, number + 1)) for number, name in enumerate(("a", 'b"\n\\', "ü")))
FULL = Room(
    seats={TaskUid("a"): A, TaskUid('b"\n\\'): B},
    queue=(C, A),
    exits={3: A},
    spare=C,
    since=datetime(2026, 11, 30, tzinfo=UTC),
    labels={"x": "y"},
    seen=frozenset({"a"}),
)
ROOMS = [
    Room(),
    FULL,
    FULL.model_copy(update={"seats": {**FULL.seats, TaskUid("a"): C}}),
    FULL.model_copy(update={"seats": {TaskUid("ü"): A}, "queue": (A, C, B)}),
    FULL.model_copy(update={"seats": {TaskUid("a"): Corner(name="c")}, "queue": (Corner(name="c"), A), "spare": None}),
    FULL.model_copy(update={"queue": (), "seats": {}, "exits": {}}),
    FULL,
]


def test_a_state_that_changes_is_spelled_as_pydantic_would() -> None:
    spelling = Spelling()
    for room in ROOMS:
        assert spelling.of(room) == room.model_dump_json()


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_what_only_wraps_another_is_spelled_as_pydantic_would() -> None:
    spelling = Spelling()
    for room in [*ROOMS[:3], Hall(seats={TaskUid("a"): A}, labels=("y",)), *ROOMS[3:], Hall(seats={TaskUid("a"): A})]:
        house = House(of=room)
        assert spelling.of(house) == house.model_dump_json()


def test_only_what_changed_is_spelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    room = Room(seats={TaskUid(str(number)): Seat(name=str(number)) for number in range(100)}, spare=A)
    spelling, anew = Spelling(), list[str]()
    spelling.of(House(of=room))
    dump = Seat.model_dump_json

    def noted(seat: Seat) -> str:
        anew.append(seat.name)
        return dump(seat)

    monkeypatch.setattr(Seat, "model_dump_json", noted)
    changed = room.model_copy(update={"seats": room.seats | {TaskUid("7"): B}})
    assert spelling.of(House(of=changed)) == House(of=changed).model_dump_json()
    assert anew == [B.name]
    assert spelling.of(House(of=changed)) == House(of=changed).model_dump_json()
    assert anew == [B.name]
