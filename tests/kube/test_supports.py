"""Which levels a job supports: a test for each row of each kind. Sources: facts 5.2-5.7 and the recorded traces."""

from typing import Any

import pytest

from keepstep.adapters import kube_job, kube_jobset, kube_kinds, kube_pytorchjob, kube_trainjob, kube_volcano
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import NOTHING_BELOW, Below
from keepstep.adapters.kube_view import COMMON
from keepstep.contracts.taxonomy import Level
from tests.kube.jobs import child, view
from tests.kube.objects import sample
from tests.kube.own_rules import (
    ELSEWHERE,
    EXIT_CODE,
    FAIL_NOT_IN,
    FAIL_ON_TERM,
    FREE_EVICTION,
    KUEUE,
    ON_FAILURE,
    RESTART,
    on,
    policies,
    tasks,
)

V, P, T, S, J = JobKind.VOLCANO, JobKind.PYTORCHJOB, JobKind.TRAINJOB, JobKind.JOBSET, JobKind.JOB
KEEP, POD, JOB = Level.IN_PLACE, Level.POD, Level.JOB
ALL = {KEEP, POD, JOB}
# what it is, kind, recorded object, changes, levels supported (of in-place, pod, job), a word of the refusal
ROWS: list[tuple[str, JobKind, str, dict[str, Any], set[Level], str]] = [
    # every kind: facts 5.7 rules 4 and 6
    *(
        (f"{kind} finished", kind, recorded, {}, set(), "finished")
        for kind, recorded in (
            (V, "volcano-completed"),  # volcano/d-restart-finished
            (V, "volcano-failed"),  # volcano/d-restart-till-maxretry
            (P, "pytorchjob-failed"),  # pytorchjob/d-resume-finished
            (T, "trainjob-failed"),  # trainjob/b-fail137-backofflimit0
            (S, "jobset-failed"),  # jobset/d-resume-finished
            (J, "job-failed"),  # job/d-resume-finished
        )
    ),
    *(
        (f"{kind} suspended by somebody", kind, recorded, {}, set(), "suspended")
        for kind, recorded in (
            (P, "pytorchjob-suspended"),
            (T, "trainjob-suspended"),
            (S, "jobset-suspended"),
            (J, "job-suspended"),
        )
    ),
    *(
        (
            f"{kind} is being deleted",
            kind,
            "",
            {"metadata": {"deletionTimestamp": "2026-11-29T21:50:00Z"}},
            set(),
            "deleted",
        )
        for kind in JobKind
    ),
    # pytorchjob/i-mutability-exitcode: managedBy multikueue is accepted, then the operator ignores the job
    ("pytorchjob of multikueue", P, "", {"spec": {**EXIT_CODE, "runPolicy": ELSEWHERE}}, {KEEP}, "managed by"),
    ("trainjob of multikueue", T, "", {"spec": ELSEWHERE}, {KEEP}, "managed by"),
    ("jobset of multikueue", S, "", {"spec": ELSEWHERE}, {KEEP}, "managed by"),
    ("job of multikueue", J, "", {"spec": ELSEWHERE}, {KEEP}, "managed by"),
    (
        "trainjob names its own controller",
        T,
        "",
        {"spec": {"managedBy": "trainer.kubeflow.org/trainjob-controller"}},
        ALL,
        "",
    ),
    ("job names its own controller", J, "", {"spec": {"managedBy": "kubernetes.io/job-controller"}}, ALL, ""),
    # Volcano: facts 5.2
    ("volcano, no policy", V, "", {}, ALL, ""),  # volcano/c-delete-nopolicy
    (
        "volcano Restarting",
        V,
        "volcano-restarting",
        {},
        {KEEP},
        "kill the pods made since",
    ),  # d-restart-while-restarting
    ("volcano Restarting, held", V, "volcano-restarting-held", {}, {KEEP}, "Restarting"),  # e2-restart-forcedelete
    ("volcano Pending restarts too", V, "volcano-pending-after-restart", {}, ALL, ""),  # d-restart-pending
    ("volcano aborted", V, "volcano-aborted", {}, set(), "aborted"),  # d-abort-restart
    ("volcano Completing", V, "", {"status": {"state": {"phase": "Completing"}}}, set(), "ending"),
    ("volcano PodEvicted: RestartJob", V, "", {"spec": policies(RESTART)}, {KEEP, JOB}, "widen"),  # c-delete-policy
    (
        "volcano PodFailed alone",
        V,
        "",
        {"spec": policies(on("PodFailed", "RestartJob"))},
        {KEEP, JOB},
        "widen",
    ),  # c-delete-podfailed-policy-only
    ("volcano * ", V, "", {"spec": policies({"events": ["*"], "action": "RestartJob"})}, {KEEP, JOB}, "widen"),
    (
        "volcano exit code of SIGTERM",
        V,
        "",
        {"spec": policies({"exitCode": 143, "action": "RestartJob"})},
        {KEEP, JOB},
        "widen",
    ),
    (
        "volcano exit code of SIGKILL",
        V,
        "",
        {"spec": policies({"exitCode": 137, "action": "RestartJob"})},
        {KEEP, JOB},
        "widen",
    ),
    ("volcano other exit code", V, "", {"spec": policies({"exitCode": 3, "action": "RestartJob"})}, ALL, ""),
    ("volcano TaskCompleted", V, "", {"spec": policies(on("TaskCompleted", "CompleteJob"))}, ALL, ""),
    (
        "volcano RestartTask",
        V,
        "",
        {"spec": policies(on("PodFailed", "RestartTask"))},
        {KEEP, JOB},
        "widen",
    ),  # b-fail137-restarttask
    ("volcano AbortJob", V, "", {"spec": policies(on("PodEvicted", "AbortJob"))}, {KEEP, JOB}, "widen"),
    ("volcano unknown action", V, "", {"spec": policies(on("PodEvicted", "Dance"))}, {KEEP, JOB}, "widen"),
    (
        "volcano RestartPod",
        V,
        "",
        {"spec": policies(on("PodEvicted", "RestartPod"))},
        ALL,
        "",
    ),  # c-delete-policy-restartpod
    (
        "volcano RestartPod, no retry left",
        V,
        "",
        {"spec": policies(on("PodEvicted", "RestartPod")), "status": {"retryCount": 2}},
        {KEEP},
        "costs a retry",
    ),
    ("volcano one retry left", V, "", {"spec": policies(RESTART), "status": {"retryCount": 1}}, {KEEP, JOB}, "widen"),
    (
        "volcano last retry, policy",
        V,
        "",
        {"spec": policies(RESTART), "status": {"retryCount": 2}},
        {KEEP},
        "the next restart ends it",
    ),  # d-restart-till-maxretry
    ("volcano last retry, no policy", V, "", {"status": {"retryCount": 2}}, ALL, ""),  # d-delete-all-pods
    ("volcano first policy wins", V, "", {"spec": policies(on("PodEvicted", "SyncJob"), RESTART)}, ALL, ""),
    (
        "volcano task before job",
        V,
        "",
        {"spec": {**policies(RESTART), **tasks(master=policies(on("PodEvicted", "SyncJob")))}},
        ALL,
        "",
    ),  # c-delete-taskpolicy-first
    # PyTorchJob: facts 5.3
    ("pytorchjob Never", P, "", {}, {KEEP, JOB}, "fails the whole job"),  # pytorchjob/c-delete
    ("pytorchjob ExitCode", P, "", {"spec": EXIT_CODE}, ALL, ""),  # c-delete-exitcode
    ("pytorchjob OnFailure", P, "", {"spec": ON_FAILURE}, ALL, ""),  # c-delete-onfailure
    (
        "pytorchjob one type Never",
        P,
        "",
        {"spec": {"pytorchReplicaSpecs": {"Worker": {"restartPolicy": "OnFailure"}}}},
        {KEEP, JOB},
        "Never for Master",
    ),
    (
        "pytorchjob unset",
        P,
        "",
        {"spec": {"pytorchReplicaSpecs": {"Master": {"restartPolicy": None}, "Worker": {"restartPolicy": "ExitCode"}}}},
        {KEEP, JOB},
        "Never for Master",
    ),
    ("pytorchjob Never under Kueue", P, "", {"metadata": KUEUE}, {KEEP}, "belongs to Kueue queue team-a"),
    ("pytorchjob ExitCode under Kueue", P, "", {"metadata": KUEUE, "spec": EXIT_CODE}, ALL, ""),
    ("pytorchjob Restarting", P, "pytorchjob-restarting", {}, ALL, ""),
    # batch Job: facts 5.5a
    ("job", J, "", {}, ALL, ""),  # job/c-delete
    ("job NonIndexed", J, "", {"spec": {"completionMode": "NonIndexed"}}, {KEEP, JOB}, "NonIndexed"),
    ("job without failures left", J, "", {"status": {"failed": 6}}, {KEEP, JOB}, "backoffLimit 6"),  # job/b-fail137-bl0
    ("job with one failure left", J, "", {"status": {"failed": 5}}, ALL, ""),
    (
        "job fails on SIGTERM",
        J,
        "",
        {"spec": {"podFailurePolicy": FAIL_ON_TERM}},
        {KEEP, JOB},
        "podFailurePolicy",
    ),  # job/b-fail137-failjob-rule
    ("job fails on all but 1, 2", J, "", {"spec": {"podFailurePolicy": FAIL_NOT_IN}}, {KEEP, JOB}, "podFailurePolicy"),
    ("job ignores disruptions", J, "", {"spec": {"podFailurePolicy": FREE_EVICTION}, "status": {"failed": 6}}, ALL, ""),
    ("job per index", J, "", {"spec": {"backoffLimitPerIndex": 0}}, {KEEP, JOB}, "backoffLimitPerIndex 0"),
    ("job under Kueue", J, "", {"metadata": KUEUE}, {KEEP, POD}, "belongs to Kueue queue team-a"),
    # JobSet: facts 5.5
    ("jobset", S, "", {}, ALL, ""),  # jobset/c-delete, d-restart
    ("jobset restarts by itself", S, "jobset-restarting", {}, {KEEP}, "failurePolicy"),
    ("jobset under Kueue", S, "", {"metadata": KUEUE}, ALL, ""),  # jobset/d-delete-childjobs
    # TrainJob: facts 5.4
    ("trainjob", T, "", {}, ALL, ""),  # trainjob/c-delete, d-restart
    ("trainjob resumed", T, "trainjob-resumed", {}, ALL, ""),
    ("trainjob under Kueue", T, "", {"metadata": KUEUE}, ALL, ""),
]


@pytest.mark.parametrize(
    ("kind", "recorded", "patch", "levels", "word"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_the_levels_a_job_supports(
    kind: JobKind, recorded: str, patch: dict[str, Any], levels: set[Level], word: str
) -> None:
    support = kube_kinds.supports(view(kind, recorded, **patch))
    assert support.levels & ALL == levels
    assert {Level.WAIT, Level.FAIL} <= support.levels
    assert {refusal.level for refusal in support.refusals} == ALL - levels
    assert all(refusal.remedy and "{" not in refusal.because + refusal.remedy for refusal in support.refusals)
    assert word in " ".join(refusal.because for refusal in support.refusals)


@pytest.mark.parametrize("kind", [S, T])
@pytest.mark.parametrize(
    ("patch", "word"),
    [
        ({"status": {"failed": 6}}, "backoffLimit 6"),
        ({"spec": {"completionMode": "NonIndexed"}}, "NonIndexed"),
        ({"spec": {"podFailurePolicy": FAIL_ON_TERM}}, "podFailurePolicy"),
    ],
)
def test_a_child_job_says_whether_a_pod_of_its_set_can_be_replaced(
    kind: JobKind, patch: dict[str, Any], word: str
) -> None:
    refusal = kube_kinds.supports(view(kind, jobs=[child(**patch)])).refusal(POD)
    assert refusal is not None
    assert word in refusal.because


def test_a_train_job_whose_set_restarts_is_left_alone() -> None:
    job = kube_kinds.KINDS[T].rules.read(sample("trainjob-running"), Below(sample("jobset-restarting"), [child()]))
    assert kube_kinds.supports(job).levels & ALL == {KEEP}


def test_a_train_job_without_its_set_has_no_pod_to_replace() -> None:
    job = kube_kinds.KINDS[T].rules.read(sample("trainjob-running"), NOTHING_BELOW)
    refusal = kube_kinds.supports(job).refusal(POD)
    assert refusal is not None
    assert "no JobSet yet" in refusal.because


def test_every_row_has_refused_something_above() -> None:
    """A row that no case reaches is a rule without a test."""
    rules = [row.because for row in COMMON]
    rules += [row.because for row in kube_volcano.ROWS]
    rules += [row.because for row in kube_pytorchjob.ROWS]
    rules += [row.because for row in kube_job.ROWS]
    rules += [row.because for row in kube_jobset.ROWS]
    rules += [row.because for row in kube_trainjob.ROWS]
    said = set()
    jobs = [view(kind, recorded, **patch) for _, kind, recorded, patch, _, _ in ROWS]
    jobs += [view(kind, jobs=[child(status={"failed": 6})]) for kind in (S, T)]
    restarting = Below(sample("jobset-restarting"), [child()])
    jobs.append(kube_kinds.KINDS[T].rules.read(sample("trainjob-running"), restarting))
    for job in jobs:
        said |= {refusal.because for refusal in kube_kinds.supports(job).refusals}
    for rule in rules:
        start, rest = rule.partition("{")[0], rule.rpartition("}")[2]
        assert any(one.startswith(start) and one.endswith(rest) for one in said), rule
