"""What a service hands to runtime: which messages it hears, how they are keyed, and its pure functions.

Runtime does the rest (PROTOCOL section 3): per key it loads the fold, skips what the fold has applied, decides, writes
fold, sequence and outbox in one compare-and-set, publishes, acknowledges; it says DeadlinePassed when a deadline of a
fold is due, and runs the effects that a fold wants until the fold no longer wants them.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from keepstep.contracts.message import Message
from keepstep.contracts.model import Frozen
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Deadline, Decision, Effect

S = TypeVar("S", bound=Frozen)
E = TypeVar("E", bound=Effect)


def no_deadlines(_state: object) -> Iterable[Deadline]:
    """Return nothing: this stage waits for no moment."""
    return ()


def no_effects(_state: object) -> Iterable[Effect]:
    """Return nothing: this stage only speaks."""
    return ()


async def no_act(effect: Effect) -> Iterable[Message]:
    """Refuse: a stage without effects never gets here."""
    raise AssertionError(effect)


def never_over(_state: object) -> bool:
    """Return False: this stage keeps its folds."""
    return False


@dataclass(frozen=True)
class Stage(Generic[S]):
    """One service as data and pure functions.

    ``fold_key`` names the fold a message belongs to, or None if the message is not for this stage. ``decide`` gets the
    fold (None at first) and the message; ``now`` is the message's time in the stream. ``deadlines`` and ``effects``
    are functions of the fold. ``act`` does one effect (observe, then act if still needed) and returns what it saw;
    Transient is tried again while the fold wants the effect, anything else is logged and tried again with back-off.
    ``patience`` is how long a message may wait for others of its key before they are folded together: a stage that no
    recovery waits for leaves the cores to those that one does wait for.
    ``one_a_turn``: the loop does one decision a turn, for a stage that watches something on it as well: a storm of 200
    decisions in one turn would hold up what is still to be seen for seconds.
    ``counts_unknown`` is true of the one stage of a pool that is given every type, so that the unknown are counted.
    A fold that is ``over`` is dropped once its outbox was said; a later message of its key starts a new one.
    Every message in the DeadlinePassed of this service comes back through ``decide`` under its ``scope``.
    """

    service: Service
    hears: tuple[type[Message], ...]
    state: type[S]
    fold_key: Callable[[Message], str | None]
    decide: Callable[[S | None, Message, datetime], Decision[S]]
    deadlines: Callable[[S], Iterable[Deadline]] = no_deadlines
    effects: Callable[[S], Iterable[Effect]] = no_effects
    act: Callable[[Effect], Awaitable[Iterable[Message]]] = no_act
    over: Callable[[S], bool] = never_over
    patience: timedelta = timedelta(0)
    one_a_turn: bool = False
    counts_unknown: bool = False
