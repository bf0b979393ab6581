"""Has the garbage collector pass over what the console keeps, since a full collection looks at every object there is.

With 5,000 incidents those are 350,000, and 0.7 s of a core in which nothing is answered, whenever what answers need
happens to bring one about. What is kept holds no cycles and is freed without a collector.
"""

import asyncio
import gc

EVERY_S = 20.0
"""What was made since the last time is looked at once more, for cycles: some milliseconds' work."""


async def settling() -> None:
    """Set what there is by now aside from the collector, again and again; for a process that does nothing else."""
    while True:
        await asyncio.sleep(EVERY_S)
        settle()


def settle() -> None:
    """Collect what is garbage, and set the rest aside."""
    gc.collect()
    gc.freeze()
