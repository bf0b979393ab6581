"""How often the scheduler-adapter looks at the cluster again, and what its jobs run on; policy is not set here."""

from datetime import timedelta

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from keepstep.contracts.ids import Pool
from keepstep.injection.ours import IMAGE, NATS_SECRET, Ours

LOOKED_THROUGH = 100
"""Pods that a look goes through in the time that nobody misses."""
MOVING_LONGEST = timedelta(seconds=2)
"""Between two looks at the largest restart while something of it changes."""


class Settings(BaseSettings):
    """Pace of looks, and what enters pods of jobs that people order.

    A field's variable is ``KEEPSTEP_SCHEDULER_<NAME>``; durations in seconds or ISO 8601.
    """

    model_config = SettingsConfigDict(env_prefix="KEEPSTEP_SCHEDULER_", frozen=True, extra="ignore")

    compare_every: timedelta = timedelta(seconds=3)
    """The watch tells within milliseconds; a listing finds what it missed, at the cost of one question per node."""
    controlled_every: timedelta = timedelta(seconds=10)
    """The same where the watch itself misses nothing and a listing is 50,000 pods: it tells again what a fold was not
    ready for when the watch told it."""
    compare_put_off: timedelta = timedelta(seconds=10)
    """How long such a listing waits at most for a burst of losses to be over: of 10,000 nodes it was 13 % of the CPU
    that stood before the burst's decisions. What no watch has seen is found so much later at the worst."""
    room_every: timedelta = timedelta(seconds=0.5)
    """How long a job without room waits before it asks again: a returning node is used within a second."""
    hold_every: timedelta = timedelta(seconds=0.5)
    """Between looks for new jobs while the pool is paused: sooner than a job has started its first rank."""
    end_every: timedelta = timedelta(seconds=1)
    """Between looks at the pods of a job that is over: nobody waits for them."""
    gone_every: timedelta = timedelta(seconds=0.05)
    """Between looks at a task on its way out: it stands between a fault and the next step. So long for each hundred
    tasks that are looked through: a look at 3,000 pods takes 15 ms of CPU."""
    gone_longest: timedelta = timedelta(seconds=10)
    """Looks at a restart of which nothing changes grow rarer up to this: 200 jobs of 125 pods that wait for new nodes
    are 4 ms of CPU each time. What changes of the job or its pods is looked at as soon as it is seen."""
    order_every: timedelta = timedelta(seconds=0.5)
    """Between two questions whether the fold of a job whose restart waits asks for more: that its last rank is known to
    be dead. They cost no look."""

    image: str = IMAGE
    """What agents of ordered jobs run on; the same as this service's own."""
    nats_url: SecretStr = SecretStr("")
    """Where those agents find the bus, without credentials, instead of by ``nats_secret``."""
    nats_secret: str = NATS_SECRET
    """A Secret in the jobs' namespaces whose key ``url`` is the bus's address."""

    def ours(self, pool: Pool) -> Ours:
        """Return what of keepstep enters the pods of jobs that people order."""
        return Ours(image=self.image, nats_url=self.nats_url, nats_secret=self.nats_secret, pool=pool)

    def between_looks(self, tasks: int) -> timedelta:
        """Return the shortest pause between two looks at a restart of so many tasks."""
        return min(self.gone_every * max(1.0, tasks / LOOKED_THROUGH), MOVING_LONGEST)
