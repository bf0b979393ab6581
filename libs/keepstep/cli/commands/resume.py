"""``keepstep resume``: act again after ``keepstep pause``."""

import asyncio

from keepstep.cli.options import Data, JobOption, application
from keepstep.cli.pausing import say_to_jobs
from keepstep.cli.places import data_folder
from keepstep.contracts.orders import ResumeActions

app = application()


@app.command()
def resume(job: JobOption = None, data: Data = None) -> None:
    """Act again, for one job or for all and the pool; what went wrong meanwhile is recovered now."""
    asyncio.run(say_to_jobs(ResumeActions, data_folder(data), job))
