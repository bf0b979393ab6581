"""The order in which a restart is decided, the same for all kinds: may the job take it, must pods go, can they go.

A kind gives only its own rows, its own two ways of making pods anew, and how its jobs are read and put down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_plan import Create, Patch, RestartPlan, Scene
from keepstep.adapters.kube_steps import in_place, obstacle, suspended, unfenced
from keepstep.adapters.kube_view import JobView, Refusal, Row, Support, V, support
from keepstep.contracts.taxonomy import Level


def _never(_view: JobView) -> bool:
    return False


def _always(_view: JobView) -> bool:
    return True


@dataclass(frozen=True, kw_only=True)
class Way(Generic[V]):
    """How jobs of one kind are read, restarted and put down; ``Rules`` in terms of the kind's own view."""

    viewed: type[V]
    read: Callable[[JsonObject, Below], V]
    rows: Sequence[Row[V]]
    replace: Callable[[V, Scene], RestartPlan | Refusal]
    """Level pod."""
    restart: Callable[[V, Scene], RestartPlan | Refusal]
    """Level job."""
    tracked: Callable[[V], bool] = _never
    """Whether a finalizer of the kind outlives the forced deletion of a pod."""
    keeps_off: Callable[[V], bool] = _never
    """Whether its level job sees by itself to nodes that cannot be closed."""
    again: Callable[[V], bool] = _always
    """Whether the job's own rules make pods again that fail together."""
    down: Callable[[V, str], Patch | Create] = suspended
    """What keeps its controller from that, and why it is written."""

    def supports(self, view: JobView) -> Support:
        """Return the levels this job can take."""
        return support(self._own(view), self.rows)

    def plan(self, view: JobView, level: Level, scene: Scene) -> RestartPlan | Refusal:
        """Return the plan for one of ``in-place``, ``pod`` and ``job``, or why it cannot be had."""
        own = self._own(view)
        refused = support(own, self.rows).refusal(level)
        if refused is not None:
            return refused
        if level is Level.IN_PLACE:
            return in_place(own, scene.pods)
        if level is Level.POD or not self.keeps_off(own):
            refused = unfenced(level, scene.ground)
        refused = refused or obstacle(level, scene.touched(level), scene.ground, tracked=self.tracked(own))
        if refused is not None:
            return refused
        return self.replace(own, scene) if level is Level.POD else self.restart(own, scene)

    def goes_on(self, view: JobView) -> bool:
        """Return whether the job's own rules make pods again that fail together."""
        return self.again(self._own(view))

    def put_down(self, view: JobView, why: str) -> Patch | Create:
        """Return the write after which its controller makes no more pods."""
        return self.down(self._own(view), why)

    def _own(self, view: JobView) -> V:
        """Return a view as this kind's. Raises TypeError for one that another kind read."""
        if not isinstance(view, self.viewed):
            raise TypeError(f"{view.words} was not read as {self.viewed.__name__}")
        return view
