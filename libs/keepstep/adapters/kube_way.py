"""The order in which a restart is decided, the same for all kinds: may the job take it, must pods go, can they go.

A kind gives only its own rows and its own two ways of making pods anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic

from keepstep.adapters.kube_plan import RestartPlan, Scene
from keepstep.adapters.kube_steps import in_place, obstacle, unfenced
from keepstep.adapters.kube_view import JobView, Refusal, Row, Support, V, support
from keepstep.contracts.taxonomy import Level


def _never(_view: JobView) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Way(Generic[V]):
    """How jobs of one kind are restarted."""

    rows: Sequence[Row[V]]
    replace: Callable[[V, Scene], RestartPlan | Refusal]
    """Level pod."""
    restart: Callable[[V, Scene], RestartPlan | Refusal]
    """Level job."""
    tracked: Callable[[V], bool] = _never
    """Whether a finalizer of the kind outlives the forced deletion of a pod."""
    keeps_off: Callable[[V], bool] = _never
    """Whether its level job sees by itself to nodes that cannot be closed."""

    def supports(self, view: V) -> Support:
        """Return the levels this job can take."""
        return support(view, self.rows)

    def plan(self, view: V, level: Level, scene: Scene) -> RestartPlan | Refusal:
        """Return the plan for one of ``in-place``, ``pod`` and ``job``, or why it cannot be had."""
        refused = self.supports(view).refusal(level)
        if refused is not None:
            return refused
        if level is Level.IN_PLACE:
            return in_place(view, scene.pods)
        if level is Level.POD or not self.keeps_off(view):
            refused = unfenced(level, scene.ground)
        refused = refused or obstacle(level, scene.touched(level), scene.ground, tracked=self.tracked(view))
        if refused is not None:
            return refused
        return self.replace(view, scene) if level is Level.POD else self.restart(view, scene)
