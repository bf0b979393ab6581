"""The diagnoser's shell: it only listens and speaks."""

from keepstep.contracts.taxonomy import Service
from keepstep.diagnoser.core import HEARS, JobFold, deadlines, decide, fold_key, over
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings
from keepstep.runtime.stage import Stage

STAGE = Stage(
    service=Service.DIAGNOSER,
    hears=HEARS,
    state=JobFold,
    fold_key=fold_key,
    decide=decide,
    deadlines=deadlines,
    over=over,
)


def build(settings: Settings) -> App[JobFold]:  # noqa: ARG001 - every build takes the settings
    """Return the diagnoser."""
    return App(service=Service.DIAGNOSER, stage=stage)


def stage(context: Context[JobFold]) -> Stage[JobFold]:  # noqa: ARG001 - it acts on nothing
    """Return the stage: without effects it needs no context."""
    return STAGE
