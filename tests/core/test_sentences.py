"""Sentences count right, leave out what nobody knows, and name the node."""

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import LossCause
from keepstep.core.sentences import counted, sentence
from tests.contracts.examples import example
from tests.core.test_timeline import closed, fields, resumed, story, told


@pytest.mark.parametrize(("number", "words"), [(0, "0 steps"), (1, "1 step"), (2, "2 steps")])
def test_one_thing_is_no_plural(number: int, words: str) -> None:
    assert counted(number, "step") == words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (closed(), "resumed after 1 attempt: stepping again"),
        (resumed(), "resumed at step 21, 10 steps lost: ok"),
        (resumed().model_copy(update={"step": None, "lost_steps": None}), "resumed: ok"),
        (resumed().model_copy(update={"lost_steps": 1}), "resumed at step 21, 1 step lost: ok"),
        (
            e.CheckpointChosen.model_validate(
                fields("c", 9, step=None, path=None, because="from scratch: nothing was saved yet")
            ),
            "resume from scratch: nothing was saved yet",
        ),
        (
            e.CheckpointChosen.model_validate(fields("c", 9, step=20, path="/c/20", because="the newest whole one")),
            "resume from step 20: the newest whole one",
        ),
        (e.JobSucceeded.model_validate(fields("done", 9)), "all ranks finished"),
        (
            e.NodeReported.model_validate(fields("n", 9, node="n1", condition="DiskFull /", text="1 MiB", hurts=False)),
            "DiskFull / of n1, no fault: 1 MiB",
        ),
        (
            e.NodeReported.model_validate(fields("n", 9, node="n1", condition="ClockSkew", text="0 s", active=False)),
            "ClockSkew of n1 is over: 0 s",
        ),
        (
            e.DeviceReported.model_validate(fields("d", 9, node="n1", device="d8:00", code="Xid 79", text="gone")),
            "Xid 79 of device d8:00 of n1: gone",
        ),
    ],
)
def test_a_sentence_counts_and_leaves_out_what_nobody_knows(message: Message, words: str) -> None:
    assert sentence(message) == words


def test_a_plan_names_the_node_on_which_it_was_applied() -> None:
    applied = example(e.PlanApplied)
    assert isinstance(applied, e.PlanApplied)
    assert " on n7" in sentence(applied.model_copy(update={"node": "n7"}))


def test_a_job_that_was_taken_over_otherwise_than_written_says_so() -> None:
    accepted = example(e.JobAccepted)
    assert isinstance(accepted, e.JobAccepted)
    warned = accepted.model_copy(update={"warnings": ("restartPolicy was taken for Never",)})
    assert sentence(warned).endswith("1 rank; restartPolicy was taken for Never")
    assert sentence(accepted.model_copy(update={"warnings": ()})).endswith("1 rank")


@pytest.mark.parametrize(("applied", "words"), [(0, "1 warm rank"), (2, "1 warm rank, its ranks of generation 2 run")])
def test_an_agent_that_comes_back_tells_whether_its_ranks_run(applied: int, words: str) -> None:
    joined = example(e.TaskJoined)
    assert isinstance(joined, e.TaskJoined)
    assert sentence(joined.model_copy(update={"warm_ready": 1, "applied": applied})).endswith(words)


def test_that_people_were_told_is_no_part_of_an_incident() -> None:
    (before,) = told(story()).incidents
    notified = example(e.NotificationDelivered)
    assert isinstance(notified, e.NotificationDelivered)
    assert told([*story(), notified.model_copy(update={"incident": before.incident})]).incidents == (before,)


def test_a_planned_move_is_not_told_as_a_fault() -> None:
    seen = e.LossEvidence(by=LossCause.DRAINED, proven=False, text="ops drains n1: new fan")
    said = example(e.FaultDetected)
    assert isinstance(said, e.FaultDetected)
    told = sentence(said.model_copy(update={"evidence": seen, "because": "task worker-1 on n1 is to move"}))
    assert told == "planned: task worker-1 on n1 is to move"
