"""A job that people held and let go on is told of what was saved meanwhile."""

import pytest

from keepstep.checkpoint_manager.core import Glance, Seen, Verify, choose, effects
from keepstep.contracts.events import ActionsResumed, JobFreed
from tests.checkpoint_manager.story import (
    NOW,
    Tale,
    accepted,
    closed,
    diagnosed,
    goes_on,
    renewed,
    saved,
)


def answered(tale: Tale) -> Tale:
    """Let every look that is wanted find all files there."""
    assert tale.fold is not None
    for wanted in [one for one in effects(tale.fold) if isinstance(one, Verify)]:
        answer = choose(wanted, lambda _: Seen(Glance.PRESENT, "its files are there"), now=NOW)
        tale.said.append(answer)
        tale.tell(answer)
    return tale


@pytest.mark.parametrize("kind", [ActionsResumed, JobFreed])
def test_a_job_that_goes_on_after_a_pause_is_told_what_was_saved_meanwhile(
    kind: type[ActionsResumed] | type[JobFreed],
) -> None:
    tale = answered(Tale(accepted(), saved(10), diagnosed()))
    assert [answer.step for answer in tale.answers] == [10]
    answered(tale.tell(saved(20), goes_on(kind)))
    assert [(answer.step, answer.cause) for answer in tale.answers] == [(10, "verdict-1"), (20, "verdict-1")]
    assert tale.answers[0].id != tale.answers[1].id
    answered(tale.tell(goes_on(kind)))
    assert len(tale.answers) == 2, "the same order again is the same answer"


def test_nobody_is_answered_again_who_does_not_wait() -> None:
    assert answered(Tale(accepted(), saved(10), goes_on())).answers == []
    for later in (renewed(2, 5), closed()):
        tale = answered(Tale(accepted(), saved(10), diagnosed()))
        assert len(answered(tale.tell(later, goes_on())).answers) == 1
