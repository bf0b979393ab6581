"""A restart survives as an annotation: what is read is what was written, small also for a large gang."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import RESTART
from keepstep.adapters.kube_record import LARGEST, Unreadable, begun, read, short, written
from keepstep.contracts.taxonomy import Level
from tests.kube.jobs import avoiding, gang, ground, plan, planned, shape, uid, view

NOW = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.mark.parametrize("level", [Level.POD, Level.JOB])
@pytest.mark.parametrize("kind", JobKind)
def test_a_successor_reads_the_restart_that_was_begun(kind: JobKind, level: Level) -> None:
    roles = {role: {"restartPolicy": "OnFailure"} for role in ("Master", "Worker")}
    job = view(kind, spec={"pytorchReplicaSpecs": roles}) if kind is JobKind.PYTORCHJOB else view(kind)
    made = planned(plan(kind, job, level))
    record = begun("order", "key", made, NOW).after(1, NOW)
    again = read(written(record), job.ref)
    assert again is not None
    assert written(again) == written(record)
    assert shape(again.plan) == shape(made)
    assert (again.step, again.since, again.order, again.key) == (1, NOW, "order", "key")


def test_pods_are_known_again_by_their_digits_and_those_gone_stay_counted() -> None:
    job = view(JobKind.JOBSET)
    made = planned(plan(JobKind.JOBSET, job, Level.POD))
    pods = gang(JobKind.JOBSET, job)
    seen = begun("order", "key", made, NOW).seen_with([pods[0], replace(pods[1], uid=uid("new"))])
    assert pods[0].uid in seen.before
    assert uid("new") not in seen.before
    assert len(seen.before) == len(made.before)
    assert seen.expected.kept == {pods[0].uid}


def test_a_gang_of_ten_thousand_fits_beside_its_specification() -> None:
    job = view(JobKind.JOBSET)
    made = planned(plan(JobKind.JOBSET, job, Level.JOB, on=avoiding(ground())))
    many = replace(made, before=frozenset(uid(f"{number:036}") for number in range(10_000)))
    assert len(written(begun("order", "key", many, NOW))) < LARGEST
    assert len({short(one) for one in many.before}) == 10_000


@pytest.mark.parametrize(
    "garbled",
    [
        *("{}", "null", '{"pods":"x"}', '{"pods":2,"kept":"","off":[],"round":null}'),
        pytest.param("[" * 100_000, id="nested beyond reading"),
    ],
)
def test_what_nobody_can_read_is_not_taken_for_no_restart(garbled: str) -> None:
    assert read("", view(JobKind.JOB).ref) is None
    with pytest.raises(Unreadable, match=RESTART):
        read(garbled, view(JobKind.JOB).ref)
