"""``keepstep pause``: observe only, act on nothing."""

import asyncio

from keepstep.cli.options import Data, JobOption, application
from keepstep.cli.pausing import say_to_jobs
from keepstep.cli.places import data_folder
from keepstep.contracts.orders import PauseActions

app = application()


@app.command()
def pause(job: JobOption = None, data: Data = None) -> None:
    """Observe and tell, but recover and isolate nothing, for one job or for all and the pool."""
    asyncio.run(say_to_jobs(PauseActions, data_folder(data), job))
