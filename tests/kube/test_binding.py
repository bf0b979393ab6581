"""Which pod is which task, and the words of whoever keeps a task without one."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from keepstep.adapters.kube_binding import Binding, Short, bind
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import NOTHING_BELOW, Below
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_marks import TASK
from keepstep.adapters.kube_pod import Pod, PodPhase, Said
from keepstep.contracts.ids import JobUid, NodeName, TaskUid
from keepstep.contracts.topology import JobRef, TaskRef
from tests.counting import growth
from tests.kube.jobs import gang, uid, view
from tests.kube.objects import merged, sample
from tests.kube.specs import injected
from tests.kube.stage import NOWHERE, launches

JOB = JobRef(name="j", uid=JobUid("job"))
SEATS = ("node-0-0", "node-0-1")


def pods() -> list[Pod]:
    """Return two running pods without a task."""
    return [replace(pod, marks=()) for pod in gang(JobKind.JOBSET, view(JobKind.JOBSET))[:2]]


def marked(pod: Pod, task: str) -> Pod:
    return replace(pod, marks=((TASK, task),))


def short(pods: list[Pod], *, avoid: str = "") -> Short:
    answer = bind(launches(JOB), pods, SEATS, avoid=frozenset({NodeName(avoid)}) if avoid else NOWHERE)
    assert isinstance(answer, Short), answer
    return answer


def test_each_task_gets_the_pod_of_its_seat() -> None:
    first, second = pods()
    one, two = launches(JOB)
    found = bind([one, two], [second, first], SEATS, avoid=NOWHERE)
    assert found == (Binding(first, one, fresh=True), Binding(second, two, fresh=True))


def test_a_pod_that_says_it_is_the_task_stays_so_wherever_it_is() -> None:
    first, second = pods()
    one, two = launches(JOB)
    mine = marked(first, one.task.uid)
    found = bind([one, two], [mine, second], SEATS, avoid=frozenset(filter(None, [first.node])))
    assert found == (Binding(mine, one, fresh=False), Binding(second, two, fresh=True))


def test_a_pod_that_bears_another_task_is_never_taken() -> None:
    """Its agent may run that task's ranks still."""
    first, second = pods()
    assert short([marked(first, "another"), second]).because == "there is no pod for seat node-0-0 yet"


def test_a_task_whose_pod_is_on_its_way_out_is_not_created_again() -> None:
    first, second = pods()
    one, two = launches(JOB)
    dying = replace(marked(first, one.task.uid), deleted=second.created)
    successor = replace(first, uid=uid("new"))
    found = bind([one, two], [dying, successor, second], SEATS, avoid=NOWHERE)
    assert found == (Binding(second, two, fresh=True),)


@pytest.mark.parametrize(
    ("changes", "because", "stuck"),
    [
        (
            {"phase": PodPhase.PENDING, "unscheduled": Said("Unschedulable", "0/4 nodes are available")},
            "no node takes pod {0}: 0/4 nodes are available",
            True,
        ),
        (
            {"phase": PodPhase.PENDING, "waiting": Said("ImagePullBackOff", "manifest unknown")},
            "pod {0} waits: ImagePullBackOff: manifest unknown",
            True,
        ),
        ({"phase": PodPhase.PENDING}, "pod {0} starts on n0", False),
        ({"phase": PodPhase.PENDING, "node": None}, "pod {0} waits for a node", False),
    ],
)
def test_whoever_keeps_the_pod_from_running_is_quoted(changes: dict[str, object], because: str, stuck: bool) -> None:
    first, second = pods()
    answer = short([replace(first, **changes), second])  # type: ignore[arg-type]  # what a row changes is any of the fields
    assert (answer.because, answer.stuck) == (because.format(first.name), stuck)


def test_a_pod_on_a_node_to_avoid_is_not_bound() -> None:
    assert short(pods(), avoid="n0").because.endswith("came to n0, which is to be avoided")


def test_an_old_pod_that_still_terminates_is_named() -> None:
    first, second = pods()
    answer = short([replace(first, deleted=second.created), second])
    assert answer.because == f"pod {first.name} of seat node-0-0 still terminates on n0"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (JobKind.VOLCANO, ("worker-0", "worker-1")),
        (JobKind.PYTORCHJOB, ("master-0", "worker-0")),
        (JobKind.JOBSET, ("w-0-0", "w-0-1")),
        (JobKind.JOB, ("0", "1")),
    ],
)
def test_rank_order_is_the_order_of_the_seats_and_a_master_comes_first(
    kind: JobKind, expected: tuple[str, ...]
) -> None:
    assert KINDS[kind].seats({"spec": injected(kind, "Never")}, NOTHING_BELOW) == expected


def test_a_train_job_has_the_seats_of_the_set_that_it_made() -> None:
    assert KINDS[JobKind.TRAINJOB].seats({}, NOTHING_BELOW) == ()
    jobset = {"spec": injected(JobKind.JOBSET, "Never")}
    assert KINDS[JobKind.TRAINJOB].seats({}, Below(jobset)) == ("w-0-0", "w-0-1")


def test_pods_of_templates_without_keepsteps_label_have_no_seat() -> None:
    logger = {"name": "logger", "replicas": 3, "template": {}}
    source = {"spec": injected(JobKind.VOLCANO, "Never")}
    with_logger = merged(source, {"spec": {"tasks": [logger, *source["spec"]["tasks"]]}})
    assert KINDS[JobKind.VOLCANO].seats(with_logger, NOTHING_BELOW) == ("worker-0", "worker-1")
    assert KINDS[JobKind.JOB].seats(sample("job-running"), NOTHING_BELOW) == ()


def test_thousands_of_tasks_find_their_pods_by_seat() -> None:
    """All pods of a job come anew at once after a restart."""

    def came(tasks: int) -> Callable[[], object]:
        (pod, _), (launch, _) = pods(), launches(JOB)
        seated = [replace(pod, seat=str(at), name=f"j-{at}") for at in range(tasks)]
        refs = [TaskRef(name=f"worker-{at}", uid=TaskUid(f"task-{at}"), index=at) for at in range(tasks)]
        wanted = [launch.model_copy(update={"task": ref}) for ref in refs]

        def bound() -> None:
            found = bind(wanted, seated, [each.seat for each in seated], avoid=NOWHERE)
            assert not isinstance(found, Short)
            assert len(found) == tasks

        return bound

    assert growth(came) < 9, "of six times the tasks; 36 is each pod for each task"
