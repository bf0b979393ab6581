"""Each object of the double has a twin in the trace: names and uids go by it, and chance is made the same."""

import json
import re
from collections.abc import Sequence
from math import inf

from ..controllers.pytorchjob import by_role
from ..server.objects import Obj
from .story import Life, Story

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Twins:
    """The two stories side by side; ``mine`` is still being told."""

    def __init__(self, real: Story, mine: Story) -> None:
        self._real = real
        self._mine = mine

    def named(self, kind: str, name: str, t: float) -> tuple[str, str | None]:
        """Return the alias of the trace's object and the name that its twin bears; the trace's name if it has none."""
        life = self._real.named(kind, name, t)
        if life is None:
            return name, name
        twin = self._mine.lives.get(life.alias)
        return life.alias, None if twin is None else twin.name

    def put_over(self, body: Obj | list[Obj] | None) -> Obj | list[Obj] | None:
        """Put this run's uids and names in the place of the trace's."""
        if body is None:
            return None
        text = json.dumps(body)
        for uid in set(UUID.findall(text)):
            life = self._real.of_uid(uid)
            twin = None if life is None else self._mine.lives.get(life.alias)
            if twin is not None and life is not None:
                text = text.replace(uid, twin.uid).replace(f'"{life.name}"', f'"{twin.name}"')
        mine: Obj | list[Obj] = json.loads(text)
        return mine

    def deleted_from(self, t: float) -> list[tuple[str, float]]:
        """Return the first pods that the trace deletes within a second from ``t``, by their twins' names, in order."""
        first: dict[str, float] = {}
        for life in self._real.lives.values():
            for at, state in life.states:
                if life.kind == "Pod" and state.get("deletionTimestamp") and t <= at <= t + 1:
                    first.setdefault(life.alias, at)
        twins = [(self._mine.lives[alias].name, at) for alias, at in first.items() if alias in self._mine.lives]
        return sorted(twins, key=lambda twin: twin[1])

    def node(self, pod: Obj, fit: Sequence[str]) -> str:
        """Among the nodes that fit take the one that the real scheduler took for this pod's twin."""
        life = self._mine.of_uid(pod["metadata"]["uid"])
        twin = None if life is None else self._real.lives.get(life.alias)
        taken = None if twin is None else _node(twin)
        return taken if taken in fit and taken is not None else min(fit)

    def indexes(self, job: Obj, indexes: Sequence[int]) -> Sequence[int]:
        """Make the pods of a Job in the order in which their twins got their nodes."""

        def placed(index: int) -> float:
            stem = f"Pod {job['metadata']['name']}-{index} #"
            number = sum(alias.startswith(stem) for alias in self._mine.lives)
            twin = self._real.lives.get(f"{stem}{number + 1}")
            return inf if twin is None else next((t for t, state in twin.states if "node" in state), inf)

        return sorted(indexes, key=placed)

    def roles(self, job: Obj) -> Sequence[str]:
        """Make pods in the order in which the real operator made their twins; else put first the role it blamed."""
        roles = by_role(job)
        first = {role: f"{job['metadata']['name']}-{role.lower()}-0" for role in roles}
        lives = self._mine.lives.values()
        if any(life.name in first.values() and life.gone is None for life in lives if life.kind == "Pod"):
            blamed = self._blamed()
            return sorted(roles, key=lambda role: role not in blamed)
        return sorted(roles, key=lambda role: self._made(first[role]))

    def _made(self, name: str) -> float:
        number = sum((life.kind, life.name) == ("Pod", name) for life in self._mine.lives.values())
        twins = [life for life in self._real.lives.values() if (life.kind, life.name) == ("Pod", name)]
        return twins[number].states[0][0] if number < len(twins) else 0.0

    def _blamed(self) -> str:
        """Return the message in which the real operator names the role that it came to first."""
        states = [state for life in self._real.lives.values() for _, state in life.states if life.kind == "PyTorchJob"]
        return next((state["messages"]["Failed"] for state in states if "Failed" in state.get("messages", {})), "")


def _node(life: Life) -> str | None:
    return next((state["node"] for _, state in life.states if "node" in state), None)
