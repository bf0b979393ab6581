"""A checkpoint is whole when all ranks are in it, is chosen once per verdict, and is never mixed from two lives."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepstep.checkpoint_manager.core import KEPT, Glance, Seen, Step, Verify, choose, deadlines, effects, over
from keepstep.checkpoint_manager.core.state import spans_of
from keepstep.contracts.events import CheckpointChosen
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from tests.checkpoint_manager.story import (
    ENDS,
    NOW,
    Tale,
    accepted,
    closed,
    deleted,
    diagnosed,
    lost,
    opened,
    passed,
    renewed,
    saved,
    started,
)


def test_one_file_that_serves_all_ranks_is_committed_at_once() -> None:
    assert Tale(accepted(), saved(10)).committed == [10]


def test_parts_are_committed_when_the_last_rank_is_covered() -> None:
    tale = Tale(accepted(), saved(10, (0, 1)), saved(10, (2,)))
    assert tale.committed == []
    assert tale.tell(saved(10, (3,))).committed == [10]


def test_the_same_files_found_again_are_committed_once() -> None:
    tale = Tale(accepted(), saved(10, written=1), saved(10, written=1))
    tale.tell(renewed(2, 5), saved(10, generation=2, written=1))
    assert tale.committed == [10]


def test_a_step_written_anew_is_committed_anew() -> None:
    tale = Tale(accepted(), saved(10, written=1), renewed(2, 5), saved(10, generation=2, written=9))
    assert tale.committed == [10, 10]
    assert tale.said[0].id != tale.said[1].id


def test_old_and_new_parts_of_a_step_are_never_mixed() -> None:
    tale = Tale(accepted(), saved(10, (0, 1), written=1), saved(10, (2, 3), written=1), renewed(2, 5))
    tale.tell(saved(10, (2, 3), generation=2, written=9))
    assert tale.tell(diagnosed()).answers[0].step is None
    assert "step 10 holds 2 of 4 ranks" in tale.answers[0].because
    assert tale.tell(saved(10, (0, 1), generation=2, written=9)).committed == [10, 10]


def test_files_of_an_earlier_life_found_late_complete_it() -> None:
    tale = Tale(accepted(), saved(10, (0, 1), written=1), renewed(2, 5), saved(10, (2, 3), generation=2, written=1))
    assert tale.committed == [10]


def test_a_late_report_of_an_earlier_life_changes_nothing() -> None:
    tale = Tale(accepted(), renewed(2, 5), saved(10, generation=2, written=9))
    before = tale.fold
    assert tale.tell(saved(10, written=1)).fold == before


def test_an_agent_that_knows_no_generation_yet_speaks_of_the_current_one() -> None:
    tale = Tale(accepted(), renewed(2, 5), saved(10, (0, 1), generation=0, written=9))
    assert tale.tell(saved(10, (2, 3), generation=2, written=9)).committed == [10]


def test_a_verdict_is_answered_from_scratch_at_once_when_nothing_was_saved() -> None:
    (answer,) = Tale(accepted(), diagnosed()).answers
    assert (answer.step, answer.cause) == (None, "verdict-1")
    assert answer.because == "from scratch: nothing was saved yet"


def test_the_newest_whole_step_comes_first_and_an_unfinished_one_not_at_all() -> None:
    tale = Tale(accepted(), saved(10), saved(30, (0, 1)), saved(20), diagnosed())
    assert tale.candidates == [[20, 10]]


def test_a_step_that_did_not_load_is_passed_over_until_it_is_written_anew() -> None:
    tale = Tale(accepted(), saved(10, written=1), saved(20, written=2), renewed(2, 5))
    tale.tell(diagnosed("v1", bad=20, generation=2), saved(20, generation=2, written=2))
    assert tale.candidates == [[10]]
    tale.tell(renewed(3, 7), saved(20, generation=3, written=9), diagnosed("v2", generation=3))
    assert tale.candidates[1] == [20, 10]


def test_files_on_a_lost_node_are_not_chosen() -> None:
    parts = [saved(10, (0, 1), shared=False, node="n1"), saved(10, (2, 3), shared=False, node="n2")]
    tale = Tale(accepted(), started(), saved(5), *parts)
    tale.tell(diagnosed("hang", node="n1", category=Category.HANG))
    tale.tell(diagnosed("gone", node="n1", category=Category.NODE_HARDWARE))
    tale.tell(lost(1), diagnosed("other"))
    assert tale.candidates == [[10, 5], [5], [5]]


def test_an_answered_verdict_wants_no_look() -> None:
    tale = Tale(accepted(), saved(10), diagnosed())
    assert tale.fold is not None
    (look,) = effects(tale.fold)
    assert isinstance(look, Verify)
    answer = choose(look, lambda _: Seen(Glance.PRESENT, "there"), now=NOW)
    tale.tell(answer, diagnosed())
    assert tale.candidates == []
    assert tale.answers == []


@pytest.mark.parametrize(
    ("there", "step"),
    [({20, 10}, 20), ({10}, 10), (set(), None)],
    ids=["newest", "newest is damaged", "none"],
)
def test_the_newest_step_whose_files_are_there_is_chosen(there: set[int], step: int | None) -> None:
    def look(one: Step) -> Seen:
        return Seen(Glance.PRESENT, "there") if one.step in there else Seen(Glance.DAMAGED, "gone")

    answer = _look(Tale(accepted(), saved(10), saved(20), diagnosed()), look)
    assert answer.step == step
    assert (answer.path is None) == (step is None)
    assert answer.because.count("gone") == 2 - len(there)


def test_what_cannot_be_seen_is_trusted() -> None:
    tale = Tale(accepted(), saved(10), diagnosed())
    assert _look(tale, lambda _: Seen(Glance.OUT_OF_SIGHT, "far away")).step == 10


def _look(tale: Tale, look: object) -> CheckpointChosen:
    assert tale.fold is not None
    (wanted,) = effects(tale.fold)
    assert callable(look)
    assert isinstance(wanted, Verify)
    return choose(wanted, look, now=NOW)


def test_memory_is_bounded_and_keeps_the_newest() -> None:
    tale = Tale(accepted(), *(saved(step) for step in range(2 * KEPT)), *(saved(100 + s, (0,)) for s in range(50)))
    assert tale.fold is not None
    whole = [one.step for one in tale.fold.steps if one.whole]
    assert whole == list(reversed(range(KEPT, 2 * KEPT)))
    assert len(tale.fold.steps) == 2 * KEPT


def test_memory_is_bounded_for_checkpoints_of_many_files() -> None:
    names = tuple(f"shard-{number}.distcp" for number in range(1000))
    tale = Tale(accepted(), *(saved(step, files=names) for step in range(6)))
    assert tale.fold is not None
    assert [one.step for one in tale.fold.steps] == [5, 4]
    assert len(tale.fold.model_dump_json()) < 100_000


@pytest.mark.parametrize(
    ("ranks", "spans"), [((), ()), ((3,), ((3, 3),)), ((2, 0, 1, 5, 2), ((0, 2), (5, 5))), (range(4096), ((0, 4095),))]
)
def test_ranks_are_kept_as_runs(ranks: Iterable[int], spans: tuple[tuple[int, int], ...]) -> None:
    assert spans_of(ranks) == spans


def test_a_step_that_is_no_longer_whole_is_not_looked_at() -> None:
    tale = Tale(accepted(), saved(5), saved(10, written=1), diagnosed("v1"))
    assert tale.candidates == [[10, 5]]
    tale.tell(renewed(2, 5), saved(10, (0, 1), generation=2, written=9))
    assert tale.candidates == [[5]]


def test_the_newest_files_are_touched_from_the_fault_to_its_verdict_and_no_longer() -> None:
    tale = Tale(accepted(), saved(10), saved(20), saved(30), saved(40, (0, 1)), opened())
    assert tale.woken == [[30, 20]]
    assert tale.tell(diagnosed()).woken == []
    assert Tale(accepted(), saved(10), opened(), closed()).woken == []


def test_what_ranks_saved_after_the_fault_may_be_chosen_once_it_is_whole() -> None:
    tale = Tale(accepted(), saved(10), opened(), saved(20, (0, 1)))
    assert tale.tell(diagnosed("v1")).candidates == [[10]]
    assert tale.tell(saved(20, (2, 3)), diagnosed("v2")).candidates[1] == [20, 10]


@pytest.mark.parametrize("end", ENDS, ids=lambda one: type(one).__name__)
def test_a_verdict_is_answered_though_its_job_is_over(end: Message) -> None:
    before = Tale(accepted(), saved(10), diagnosed(), end)
    after = Tale(accepted(), saved(10), end, diagnosed())
    for tale in (before, after):
        (answer,) = tale.answers
        assert (answer.step, answer.cause, answer.because) == (None, "verdict-1", "from scratch: the job is over")
        tale.tell(diagnosed(), end, answer)
        assert len(tale.answers) == 1
        assert tale.candidates == []


def test_the_look_of_one_who_saw_the_end_too_late_says_the_same_answer() -> None:
    tale = Tale(accepted(), saved(10), diagnosed())
    assert tale.fold is not None
    (look,) = effects(tale.fold)
    assert isinstance(look, Verify)
    late = choose(look, lambda _: Seen(Glance.PRESENT, "there"), now=NOW)
    assert [one.id for one in tale.tell(deleted()).answers] == [late.id]


def test_a_verdict_on_a_job_that_is_not_known_is_answered_too() -> None:
    (answer,) = Tale(diagnosed()).answers
    assert (answer.step, answer.cause) == (None, "verdict-1")


def test_a_job_that_is_over_is_forgotten_a_day_later_whatever_still_comes() -> None:
    tale = Tale(accepted(), started(), saved(10), deleted(), saved(20), lost(1), opened(), accepted())
    assert tale.fold is not None
    assert (tale.fold.steps, tale.fold.tasks, tale.woken) == ((), {}, [])
    (deadline,) = deadlines(tale.fold)
    assert deadline.due - NOW == timedelta(days=1)
    assert not over(tale.fold)
    tale.tell(passed(deadline))
    assert over(tale.fold)
    stray = Tale(passed(deadline))
    assert stray.fold is not None
    assert over(stray.fold), "a deadline that comes twice leaves nothing behind"


def test_a_late_message_of_a_forgotten_job_is_forgotten_in_turn() -> None:
    tale = Tale(saved(10), saved(20))
    assert tale.committed == []
    assert tale.fold is not None
    (deadline,) = deadlines(tale.fold)
    tale.tell(passed(deadline))
    assert over(tale.fold)


PARTS: list[Message] = [saved(step, (rank,), written=step) for step in (10, 20) for rank in range(4)]


@settings(max_examples=60, deadline=None)
@given(order=st.permutations(PARTS), again=st.lists(st.sampled_from(PARTS), max_size=6))
def test_any_order_and_any_duplicates_commit_each_step_once(order: list[Message], again: list[Message]) -> None:
    tale = Tale(accepted(), *order, *again, diagnosed(), diagnosed())
    assert sorted(tale.committed) == [10, 20]
    assert tale.candidates == [[20, 10]]
