"""Orders whose job is an object of a Kubernetes: made once, told under the object's uid, or refused with a remedy."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepstep.contracts.events import JobCreated, JobFailed
from keepstep.contracts.ids import EventId, JobUid
from keepstep.contracts.kubernetes import KubernetesJob
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob, PauseActions, StopJob
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.topology import LARGEST_SPEC, JobRef
from keepstep.scheduler_adapter.core import JobState, deadlines, decide, effects, fold_key, over
from keepstep.scheduler_adapter.core.making import Ground, MakeJob
from keepstep.scheduler_adapter.core.state import Life
from tests.scheduler_adapter.voices import JOB, POOL, spec
from tests.wording import slips

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TRAIN = Ground(("train",))
REAL = JobRef(name=JOB.name, uid=JobUid("uid-of-the-object"))
RESUMES = {"resume_arg": "--resume={path}", "checkpoint_dir": None}


def work(**changes: Any) -> KubernetesJob:
    return KubernetesJob(**{"image": "train:1", "command": ("python", "t.py"), "namespace": "train", **changes})


def order(asked: KubernetesJob | None, **changes: Any) -> CreateJob:
    return CreateJob(
        id=EventId("order"), time=NOW, pool=POOL, job=JOB, by="eve", spec=spec(**changes), kubernetes=asked
    )


def heard(state: JobState | None, *messages: Message, ground: Ground | None = TRAIN) -> tuple[JobState, list[Message]]:
    said: list[Message] = []
    for message in messages:
        decision = decide(state, message, NOW, ground=ground)
        state = decision.state
        said += decision.says
    assert state is not None
    return state, said


def wanted(state: JobState) -> MakeJob:
    (effect,) = effects(state)
    assert isinstance(effect, MakeJob)
    return effect


def test_an_order_is_made_once_however_often_it_is_told() -> None:
    state, said = heard(None, order(work()))
    again, more = heard(JobState.model_validate_json(state.model_dump_json()), order(work()))
    assert (said, more) == ([], [])
    assert wanted(state) == wanted(again)
    assert (wanted(state).id, wanted(state).making.by) == (f"make/{JOB.uid}", "eve")


def test_what_became_of_it_is_told_of_the_object_and_heard_by_the_orders_fold() -> None:
    state, _ = heard(None, order(work()))
    created = wanted(state).created(NOW, REAL, "JobSet train/main")
    assert (created.job, created.ordered, created.by, created.cause) == (REAL, JOB, "eve", "order")
    assert (created.key, fold_key(created)) == (REAL.uid, JOB.uid)
    assert created == wanted(state).created(NOW, REAL, "JobSet train/main")
    state, said = heard(state, created)
    assert (state.life, list(effects(state)), said) == (Life.ENDED, [], [])
    state, _ = heard(state, created.model_copy(update={"id": EventId("told again")}), order(work()))
    assert list(effects(state)) == []


def test_a_job_that_the_cluster_refuses_is_told_as_failed_and_nothing_is_put_down() -> None:
    state, _ = heard(None, order(work()))
    refused = wanted(state).refused(NOW, "name: there is a JobSet train/main already; choose another name")
    assert (refused.job, refused.category) == (JOB, Category.USER_CONFIG)
    state, said = heard(state, refused)
    assert (state.life, list(effects(state)), said) == (Life.ENDED, [], [])


@pytest.mark.parametrize(
    ("asked", "changes", "ground", "because"),
    [
        (work(), {}, None, "kubernetes: this pool runs jobs on nodes of its own"),
        (None, {}, TRAIN, "kubernetes: jobs of this pool are objects of a cluster; name an image"),
        (work(), {}, Ground(), "KEEPSTEP_CREATE_IN"),
        (
            work(namespace="kube-system"),
            {},
            TRAIN,
            "namespace kube-system: orders make jobs of this pool in train alone",
        ),
        (work(), RESUMES, TRAIN, "resume_arg needs a checkpoint"),
        (work(command=("x" * LARGEST_SPEC,)), {}, TRAIN, "shorten the command"),
        (work(), {"nodes": 100_000, "nproc": 8}, TRAIN, "at most"),
    ],
)
def test_an_order_that_does_not_fit_the_pool_is_refused_with_the_remedy(
    asked: KubernetesJob | None, changes: dict[str, Any], ground: Ground | None, because: str
) -> None:
    state, said = heard(None, order(asked, **changes), ground=ground)
    (failed,) = said
    assert isinstance(failed, JobFailed)
    assert because in failed.because
    assert slips(failed.because) == []
    state, _ = heard(state, failed, ground=ground)
    assert list(effects(state)) == []


def test_a_refused_order_on_nodes_of_our_own_wants_nothing_of_a_controller_that_is_not_there() -> None:
    state, (failed,) = heard(None, order(None, **RESUMES), ground=None)
    state, _ = heard(state, failed, ground=None)
    assert (state.life, list(effects(state))) == (Life.ENDED, [])


def test_an_order_is_kept_until_something_became_of_it_and_forgotten_afterwards() -> None:
    state, _ = heard(None, order(work()))
    assert (list(deadlines(state)), over(state)) == ([], False)
    state, _ = heard(state, wanted(state).created(NOW, REAL, "Job train/main"))
    (due,) = deadlines(state)
    assert (due.what, due.due) == ("forget", NOW + timedelta(hours=25))


def test_neither_a_pause_nor_a_stop_of_what_is_no_job_yet_takes_the_order_back() -> None:
    state, _ = heard(None, order(work()))
    about = {"time": NOW, "pool": POOL, "job": JOB, "by": "eve"}
    after, said = heard(state, PauseActions(id=EventId("p"), **about), StopJob(id=EventId("s"), **about))
    assert (wanted(after), said) == (wanted(state), [])


def test_what_is_told_of_an_order_that_was_forgotten_begins_nothing() -> None:
    created = JobCreated(id=EventId("c"), time=NOW, pool=POOL, job=REAL, ordered=JOB, kind="Job train/main", by="eve")
    state, said = heard(None, created)
    assert (list(effects(state)), said) == ([], [])
