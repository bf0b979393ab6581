"""A loop that outlives any number of faults, for the tests that strike one job many times."""

from datetime import timedelta
from pathlib import Path

from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.policy import Budget, DetectionPolicy, Policy, RecoveryPolicy, TrainerPolicy
from keepstep.contracts.topology import JobSpec, Script
from tests.system.job import ROOT

GENEROUS = Budget(count=100_000)
PLAIN_LOOP = Script(path=str(ROOT / "examples" / "plain_loop.py"), args=("--steps", "1000000"))
FENCE = timedelta(seconds=20)


def spec(folder: Path) -> JobSpec:
    """Return a loop of two tasks that outlives any number of faults."""
    policy = Policy(
        recovery=RecoveryPolicy(crash=GENEROUS, unknown=GENEROUS, instant_failure=timedelta(0)),
        notification=NotificationPolicy(routes=()),
        detection=DetectionPolicy(),
        trainer=TrainerPolicy(self_fence_after=FENCE),
    )
    return JobSpec(name="loop", entrypoint=PLAIN_LOOP, nodes=2, nproc=1, cwd=str(folder), policy=policy)
