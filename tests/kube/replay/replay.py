"""Sends a trace's requests to the double at their times and notes where the two part."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import assert_never

from ..controllers.cluster import Change
from ..controllers.plane import Chance
from ..controllers.pods import phase
from ..server import kinds
from . import compare
from .bench import Bench
from .known import NOTHING, Known
from .project import WATCHED, project
from .requests import needs_http, send
from .story import Story, tell
from .trace import Action, Mark, Seen, Trace
from .twins import Twins
from .waits import Waits

_APART = 0.005
"""Requests that the trace, which is told in hundredths, has at one time came this many seconds apart."""

_COLLECTION = 0.3
"""A deletecollection began at most this many seconds before its answer, by which the trace tells it."""

_SLACK = 20.0
"""What the script waited for comes here at most this many seconds earlier or later: leases, ticks, load."""

_FOR_EVER = timedelta(days=1)
_UNREACHABLE = "node.kubernetes.io/unreachable:NoExecute"
_KINDS = {"pod": "Pod", "command": "Command"}


@dataclass
class Outcome:
    """What the replay found: empty when the double did as the real one."""

    faults: list[str] = field(default_factory=list)
    story: Story = field(default_factory=Story)


class Replay:
    """One run of one trace; ``_shift`` is by how much this run lags behind the trace."""

    def __init__(self, trace: Trace, known: Known = NOTHING) -> None:
        self._trace = trace
        self._excused = [re.compile(one) for one in known.excused]
        self._checks = compare.instants(trace, known.stalled)
        self._real = tell(trace.seen)
        self._mine = Story()
        self._twins = Twins(self._real, self._mine)
        self._shift = 0.0
        self._last_action = 0.0
        self._faults: list[str] = []
        chance = Chance(self._twins.node, self._twins.roles, self._twins.indexes)
        self._bench = Bench(trace.namespace, trace.nodes(), chance, timedelta(seconds=known.pytorch_lag))
        store = self._bench.store
        self._fields = {node["metadata"]["uid"]: project(kinds.NODE, node) for node in store.scan(kinds.NODE)}
        self._waits = Waits(store, trace.namespace)
        store.listen(self._note)

    def run(self) -> Outcome:
        """Replay and compare."""
        for line in self._trace.script:
            self._compare_before(line.t)
            match line:
                case Mark():
                    self._mark(line)
                case Action():
                    self._act(line)
                case _:
                    assert_never(line)
        end = max(line.t for line in self._trace.lines)
        self._compare_before(end + _APART)
        self._pass_to(end + 0.5)
        self._faults += compare.lives(self._real, self._mine)
        self._faults += compare.told(self._trace, self._bench.store.scan(kinds.EVENT))
        faults = [fault for fault in self._faults if not any(excuse.search(fault) for excuse in self._excused)]
        return Outcome(faults, self._mine)

    def _note(self, change: Change) -> None:
        """Write a change down as the trace's recorder did."""
        kind = WATCHED.get(change.kind)
        meta = change.object["metadata"]
        if kind is None or meta.get("namespace", self._trace.namespace) != self._trace.namespace:
            return
        now = project(change.kind, change.object)
        before = self._fields.get(meta["uid"], {})
        changed = {key: value for key, value in now.items() if before.get(key) != value}
        changed |= dict.fromkeys(before.keys() - now.keys())
        self._fields[meta["uid"]] = now
        if changed or change.type != "MODIFIED":
            self._mine.add(Seen(self._bench.t, change.type, kind, meta["name"], meta["uid"], changed))

    def _pass_to(self, t: float) -> None:
        """Let time pass to an instant of the trace."""
        self._bench.advance_to(t + self._shift)

    def _compare_before(self, t: float) -> None:
        while self._checks and self._checks[0] < t:
            at = self._checks.pop(0)
            self._pass_to(at)
            self._faults += compare.states(self._real, at, self._mine, self._bench.t)

    def _act(self, action: Action) -> None:
        if needs_http(action):
            return
        collection = action.verb == "delete" and action.kind == "pod" and not action.name
        at = action.t + self._shift - (_COLLECTION if collection else 0)
        self._bench.advance_to(max(at, self._last_action + _APART))
        self._last_action = self._bench.t
        if collection:
            self._delete_one_by_one(action)
            return
        alias, name = self._twins.named(_KINDS.get(action.kind, ""), action.name, action.t)
        if name is None:
            self._faults.append(f"{action.t}: there is no {alias} to {action.verb}")
            return
        body = self._twins.put_over(action.body)
        answer = send(self._bench.store, action, name, self._trace.namespace, body)
        self._faults += compare.answers(action, answer)

    def _delete_one_by_one(self, action: Action) -> None:
        """Delete a collection at the trace's pace: the controllers see its first deletes before its last."""
        for name, at in self._twins.deleted_from(action.t - _COLLECTION):
            self._pass_to(at)
            self._bench.store.delete(kinds.POD, name, self._trace.namespace)
        self._pass_to(action.t)

    def _mark(self, mark: Mark) -> None:
        if found := re.match(r"seen: (?:restart \d: )?(.*)", mark.note):
            self._wait(mark, found[1])
            return
        self._pass_to(mark.t)
        if mark.note.startswith("node lost"):
            self._bench.kubelet.lose(next(name for name in self._trace.nodes() if name.endswith("-x0")))
            self._hold_evictions(_FOR_EVER)
        elif found := re.match(r"NOT seen within \d+s: (?:restart \d: )?(.*)", mark.note):
            if self._waits.holds(found[1])():
                self._faults.append(f"{mark.t} {mark.note}: but here it was")
        elif kept_off := mark.found.get("fenced") or mark.found.get("excluded"):
            pods = [pod for pod in self._waits.pods() if pod["spec"].get("nodeName") == kept_off]
            if (count := sum(phase(pod) == "Running" for pod in pods)) != mark.found["n"]:
                self._faults.append(f"{mark.t} {mark.note}: {count}, not {mark.found['n']}")

    def _wait(self, mark: Mark, what: str) -> None:
        """Wait as the script did; what comes later here moves the rest of the script."""
        real = mark.t - (self._last_action - self._shift)
        if not self._bench.advance_until(self._waits.holds(what), real + _SLACK):
            self._faults.append(f"{mark.t} {mark.note} after {mark.after} s: not here")
            return
        if (took := self._bench.t - self._last_action) < real - _SLACK:
            self._faults.append(f"{mark.t} {mark.note}: after {took:.1f} s here, {real:.1f} s there")
        self._shift = max(self._shift, self._bench.t - mark.t)
        self._pass_to(mark.t)
        if "Running" in what:
            self._waits.remember()
        if what == "node Ready=Unknown":
            self._hold_evictions(self._until_eviction(mark.t))

    def _hold_evictions(self, wait: timedelta) -> None:
        self._bench.plane.nodes.hold_evictions(self._bench.now + wait)

    def _until_eviction(self, since: float) -> timedelta:
        """Other scenarios' nodes were ahead in the queue for the NoExecute taint: as long as the trace shows."""
        for line in self._trace.seen:
            if line.kind == "Node" and _UNREACHABLE in (line.fields.get("taints") or ()):
                return timedelta(seconds=max(line.t - since, 0))
        return _FOR_EVER
