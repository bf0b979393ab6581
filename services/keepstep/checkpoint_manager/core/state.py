"""What is remembered of one job's checkpoints: steps, the parts that make them whole, and verdicts to be answered."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from pydantic import AwareDatetime

from keepstep.contracts.events import CheckpointSaved, FaultDiagnosed
from keepstep.contracts.ids import EventId, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.core.forgetting import Remembered
from keepstep.core.placement import Placement

KEPT = 20
"""Whole steps remembered, and as many unfinished ones: falling back further than twenty saves is from scratch."""
FILES = 2048
"""File names remembered in all, but the newest two whole steps always: a fold must fit into a message of 1 MB."""
ANSWERED = 64
"""Verdicts remembered as answered; an incident has a handful of attempts."""


class Part(Frozen):
    """Files of some ranks of one step, as one CheckpointSaved told of them."""

    path: str
    files: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    """The ranks as runs from first to last: thousands of ranks are usually one run."""
    shared: bool
    size_bytes: int
    written: AwareDatetime | None
    node: NodeName | None

    @classmethod
    def of(cls, saved: CheckpointSaved) -> "Part":
        """Return the part that this event tells of."""
        return cls(
            path=saved.path,
            files=saved.files,
            spans=spans_of(saved.ranks),
            shared=saved.shared,
            size_bytes=saved.size_bytes,
            written=saved.written,
            node=None if saved.shared else saved.node,
        )

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks whose state the files hold."""
        return frozenset(rank for first, last in self.spans for rank in range(first, last + 1))

    def same_content(self, other: "Part") -> bool:
        """Tell whether both are the same files, found twice."""
        mine = (self.path, self.files, self.spans, self.size_bytes, self.written, self.node)
        return mine == (other.path, other.files, other.spans, other.size_bytes, other.written, other.node)

    def on(self, nodes: dict[int, NodeName], *, without: NodeName | None) -> bool:
        """Tell whether the ranks can read it where they are placed, the node ``without`` being lost to them."""
        if self.shared or self.node is None:
            return True
        return self.node != without and all(nodes.get(rank, self.node) == self.node for rank in self.ranks)


def spans_of(ranks: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Return the ranks as runs (first, last), ascending."""
    spans: list[tuple[int, int]] = []
    for rank in sorted(set(ranks)):
        if spans and spans[-1][1] == rank - 1:
            spans[-1] = (spans[-1][0], rank)
        else:
            spans.append((rank, rank))
    return tuple(spans)


class Step(Frozen):
    """One edition of one step: parts written in one generation, never mixed with those of another."""

    step: int
    generation: int
    parts: tuple[Part, ...]
    whole: bool = False
    """The union of the parts covered all ranks, and CheckpointCommitted was said."""
    bad: bool = False
    """A resume from it failed; a new edition starts with a clean name."""

    @property
    def ranks(self) -> frozenset[int]:
        """The ranks whose state the parts hold."""
        return frozenset(rank for part in self.parts for rank in part.ranks)

    @property
    def path(self) -> str:
        """What ranks are told to load: the one file, or the folder of all."""
        return self.parts[0].path

    @property
    def files(self) -> tuple[str, ...]:
        """All files of all parts, each once."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.files))


class Choice(Frozen):
    """A verdict that waits for CheckpointChosen, with the steps that may be chosen, newest first."""

    origin: Message
    candidates: tuple[int, ...]
    passed_over: str = ""
    """Why newer steps are not among them; "" when there are none."""
    again: EventId | None = None
    """What asks for another answer: people let the job go on, and newer steps may be there."""


class Checkpoints(Placement, Remembered):
    """The fold of one job."""

    world_size: int | None = None
    steps: tuple[Step, ...] = ()
    """Newest step first."""
    renewed: AwareDatetime | None = None
    """When the current generation's plan went out; files written before are of an earlier one."""
    suspected: EventId | None = None
    """What opened the incident whose verdict is awaited."""
    choices: tuple[Choice, ...] = ()
    answered: tuple[EventId, ...] = ()
    """Verdicts, and what asked for another answer."""
    verdict: FaultDiagnosed | None = None
    """The newest of the open incident, until its recovery starts."""

    @property
    def nodes(self) -> dict[int, NodeName]:
        """Where each rank runs; counts for files that are not shared."""
        return {rank: seat.node for seat in self.tasks.values() for rank in seat.ranks}

    def find(self, step: int) -> Step | None:
        """Return the remembered edition of this step."""
        return next((one for one in self.steps if one.step == step), None)

    def with_step(self, step: Step) -> "Checkpoints":
        """Return the fold with this edition in the place of an older one, oldest steps forgotten."""
        steps = sorted((*(one for one in self.steps if one.step != step.step), step), key=lambda one: -one.step)
        whole = _within_files([one for one in steps if one.whole][:KEPT])
        kept = {one.step for one in whole + [one for one in steps if not one.whole][:KEPT]}
        return self.model_copy(update={"steps": tuple(one for one in steps if one.step in kept)})


def _within_files(steps: list[Step]) -> list[Step]:
    """Return the newest steps that together name no more than ``FILES`` files, two at least."""
    names = list(accumulate(len(step.files) for step in steps))
    return [step for at, step in enumerate(steps) if at < 2 or names[at] <= FILES]


@dataclass(frozen=True)
class Wake:
    """Touch the newest files while the verdict settles: a mount that sleeps takes longer to wake than to answer."""

    opened: EventId
    steps: tuple[Step, ...]

    @property
    def id(self) -> str:
        """Once per incident."""
        return f"wake/{self.opened}"


@dataclass(frozen=True)
class Verify:
    """Look at the candidates' files, newest first, and say which one is chosen."""

    choice: Choice
    steps: tuple[Step, ...]

    @property
    def id(self) -> str:
        """One look per verdict, and per time that it is asked again."""
        again = self.choice.again
        return f"verify/{self.choice.origin.id}" + (f"/{again}" if again else "")
