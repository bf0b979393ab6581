"""Has the garbage collector pass over what the console keeps, since a full collection looks at every object there is.

With 5,000 incidents those are 350,000, and 0.7 s of a core in which nothing is answered, whenever what answers need
happens to bring one about. What is kept holds no cycles and is freed without a collector.
"""

import asyncio
import gc
from time import monotonic

EVERY_S = 20.0
"""What was made since the last time is looked at once more, for cycles: some milliseconds' work."""
START_S = 60.0
"""While a month of a stream is read; what is made in a second of it is looked at in some ten milliseconds."""
EVERY_AT_START_S = 1.0


async def settling() -> None:
    """Set what there is by now aside from the collector, again and again; for a process that does nothing else."""
    began = monotonic()
    while True:
        await asyncio.sleep(pause(monotonic() - began))
        settle()


def pause(age_s: float) -> float:
    """Return how many seconds a console of this age in seconds waits for the next time.

    The first time after 20 s looked at all that a start had made, and whoever asked just then waited for a second.
    """
    return EVERY_AT_START_S if age_s < START_S else EVERY_S


def settle() -> None:
    """Collect what is garbage, and set the rest aside."""
    gc.collect()
    gc.freeze()
