"""Every recorded scenario of the real control plane, replayed against the double in virtual time."""

from dataclasses import replace
from pathlib import Path

import pytest

from .replay.known import KNOWN, NOTHING
from .replay.replay import Replay
from .replay.trace import Action, Line, Seen, Trace, read, scenarios

_FOLDER = Path(__file__).parent / "traces"
_NAMES = [f"{path.parent.name}/{path.stem}" for path in scenarios(_FOLDER)]


def _trace(name: str) -> Trace:
    return read(_FOLDER / f"{name}.jsonl")


@pytest.mark.parametrize("name", _NAMES)
def test_the_double_does_what_the_real_controllers_did(name: str) -> None:
    outcome = Replay(_trace(name), KNOWN.get(name, NOTHING)).run()
    assert outcome.faults == []


def test_all_recorded_scenarios_are_there() -> None:
    assert len(_NAMES) == 151
    assert set(KNOWN) <= set(_NAMES)


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.excused])
def test_what_is_excused_is_still_needed(name: str) -> None:
    faults = Replay(_trace(name), replace(KNOWN[name], excused=())).run().faults
    assert faults
    assert len(faults) < 40


def _told_otherwise(name: str, change: "Change") -> list[str]:
    trace = _trace(name)
    return Replay(replace(trace, lines=tuple(change(line) for line in trace.lines))).run().faults


class Change:
    """Rewrites one field wherever it stands."""

    def __init__(self, kind: str, field: str, old: object, new: object) -> None:
        self._kind, self._field, self._old, self._new = kind, field, old, new

    def __call__(self, line: Line) -> Line:
        if isinstance(line, Seen) and line.kind == self._kind and line.fields.get(self._field) == self._old:
            return replace(line, fields={**line.fields, self._field: self._new})
        if isinstance(line, Action) and self._kind == "ACTION" and line.code == self._old:
            return replace(line, code=int(str(self._new)))
        return line


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("job/c-delete", Change("Job.batch", "failed", 1, 2)),
        ("job/b-fail137-default", Change("Pod", "phase", "Failed", "Succeeded")),
        ("volcano/d-restart", Change("Job.batch.volcano.sh", "retryCount", 1, 0)),
        ("volcano/d-restart", Change("Job.batch.volcano.sh", "version", 1, 2)),
        ("pytorchjob/c-delete", Change("Pod", "grace", 30, 60)),
        ("jobset/b-fail137-bl0-maxrestarts1", Change("JobSet", "restarts", 1, 0)),
        ("trainjob/d-restart", Change("TrainJob", "suspend", True, None)),
        ("trainjob/i-mutability", Change("ACTION", "code", 403, 200)),
        ("job/g-evict-pdb", Change("ACTION", "code", 429, 201)),
    ],
)
def test_a_trace_that_tells_otherwise_is_noticed(name: str, change: Change) -> None:
    assert _told_otherwise(name, change)
