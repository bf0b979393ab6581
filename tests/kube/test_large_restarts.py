"""A look at a restart goes through the job's pods once, however many of them are lost."""

from collections.abc import Callable
from dataclasses import replace

from keepstep.adapters.kube_due import Hold, due
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_marks import TASK
from keepstep.adapters.kube_pod import PodPhase
from keepstep.contracts.ids import IncidentId, JobUid, NodeName, TaskUid
from keepstep.contracts.taxonomy import Level
from keepstep.ports.controllers import RestartOrder
from tests.counting import growth
from tests.kube.jobs import READY, gang, uid, view

JOB = JobKind.JOBSET


def test_a_job_whose_lost_pods_all_ended_by_another_s_hand_is_looked_through_once() -> None:
    """Half of its pods are lost, and as many came in their place."""

    def looked(pods: int) -> Callable[[], object]:
        pattern = gang(JOB, view(JOB))[0]
        tasks = [TaskUid(f"task-{at}") for at in range(pods)]
        ended = [
            replace(pattern, uid=uid(f"old-{at}"), phase=PodPhase.FAILED, marks=((TASK, task),))
            for at, task in enumerate(tasks)
        ]
        fresh = [replace(pattern, uid=uid(f"new-{at}"), marks=()) for at in range(pods)]
        order = RestartOrder(
            id="r",
            job=JobUid("job"),
            incident=IncidentId("i"),
            level=Level.JOB,
            lost=frozenset(tasks),
            safe=frozenset(tasks),
            avoid=frozenset(),
        )
        nodes = {NodeName("n0"): replace(READY, name=NodeName("n0"))}

        def look() -> None:
            held = due(order, view(JOB), [*ended, *fresh], nodes)
            assert isinstance(held, Hold), held
            assert f", {pods} of " in held.because

        return look

    assert growth(looked) < 9, "of six times the pods; 36 is each with each"
