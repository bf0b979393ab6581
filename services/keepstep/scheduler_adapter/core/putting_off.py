"""Whether the cluster is listed now: not in the middle of a burst, which has better to do, and not put off for long."""

from datetime import timedelta

MANY = 50
"""Words of the watch by which it is busy: more than one lost node has to say, fewer than a rack of them."""
JUST_NOW = timedelta(seconds=5)
"""How long they count: what 200 lost nodes mean is to be decided in that time, then the folds are at rest."""
ASKED_EVERY = timedelta(seconds=1)
"""Between two questions whether the burst is over."""


def put_off(told: int, waited: timedelta, *, longest: timedelta) -> timedelta:
    """Return for how long the listing is put off once more, zero where it is not.

    ``told``: how many words the watch has told just now; ``longest``: what all putting off adds up to at most.
    """
    if told < MANY or waited >= longest:
        return timedelta()
    return min(ASKED_EVERY, longest - waited)
