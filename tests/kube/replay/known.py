"""What is known of single traces: where chance or the recording machine's load decided, and what that excuses."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """The operator's lag in seconds, faults that are excused (patterns), stalls (from, to) that are not compared."""

    pytorch_lag: float = 0.005
    excused: tuple[str, ...] = ()
    stalled: tuple[tuple[float, float], ...] = ()


NOTHING = Known()


KNOWN: dict[str, Known] = {
    # Load: the operator took this long to look, so that a state in between was never seen by it.
    "pytorchjob/b-fail137-exitcode-backofflimit1": Known(pytorch_lag=0.7),
    "pytorchjob/c-delete-onfailure": Known(pytorch_lag=0.3),
    "pytorchjob/d-delete-all-pods-exitcode": Known(pytorch_lag=0.3, excused=(r"no event ExitedWithCode",)),
    "pytorchjob/d-delete-all-pods-onfailure": Known(pytorch_lag=0.5),
    # Load: the Volcano controller stood still for seconds.
    "volcano/b-fail137-all-nopolicy": Known(stalled=((18.3, 22.3),)),
    "volcano/e5-restart-minavailable3": Known(stalled=((27.9, 35.3),)),
    "volcano/e6-deletepod-policy": Known(stalled=((26.3, 32.3),)),
    # Load: sessions found gangs that were half dead.
    "volcano/b-fail137-policy-till-failed": Known(excused=(r"no event PodGroupPending",)),
    # Chance: how many late events find the job Aborted, each of which raises the version.
    "volcano/d-abort-resume": Known(excused=(r"version",)),
    # Chance: whether a sync comes between the first pod's end and its PodEvicted, and makes pods that are killed again.
    "volcano/d-delete-all-pods-policy": Known(excused=(r"Pod j-\w+-\d #[23]", r"life of Job")),
    # Chance: whether a Job's status write of a suspend that is taken back at once still lands, or conflicts.
    "jobset/d-suspend-resume-nowait": Known(excused=(r"Job.batch .*Suspended",)),
    # Chance: whether the last pod of a JobSet that is flipped on and off got to run before it was killed.
    "trainjob/i-mutability": Known(excused=(r"life of Pod j-node-0-3 #3",)),
    # Load: the old pods were gone before the new ones were made.
    "jobset/e7-delete-childjobs-background": Known(excused=(r"life of Pod j-worker-0-\d #2", r"FailedScheduling")),
    # Load: the evicted pod took 0.1 s to go, and is still there for the last patch.
    "api/errors": Known(excused=(r"^0.52 patch pod p",)),
}
