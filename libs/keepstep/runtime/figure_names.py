"""What each figure of a pool is called in Prometheus's words: name, meaning, labels, and values that begin with 0."""

from collections.abc import Callable, Mapping
from datetime import datetime

from keepstep.contracts.taxonomy import Category, Level, Outcome
from keepstep.core.channels_told import CHANNELS, OUTCOMES
from keepstep.core.figures import NO_LEVEL, Figures, Labels
from keepstep.core.stages import STAGES

TRIED = tuple(level for level in Level if level is not Level.FAIL)
LAST: Mapping[Outcome, tuple[str, ...]] = {
    Outcome.RESUMED: TRIED,
    Outcome.FAILED: (NO_LEVEL, *Level),
    Outcome.CLEARED: (NO_LEVEL,),
    Outcome.JOB_GONE: (NO_LEVEL,),
}
"""At which levels incidents may end so; a scrape takes 10 us for each series that begins with 0."""

COUNTERS: Mapping[str, tuple[str, str, Labels, tuple[Labels, ...]]] = {
    "faults": (
        "keepstep_faults",
        "Faults that the detector called, by their evidence.",
        ("kind",),
        tuple((kind,) for kind in ("exit", "stall", "silence", "log", "loss", "unkillable", "device", "node")),
    ),
    "reports": (
        "keepstep_hardware_reports",
        "Faults of devices and nodes as their agents or systems outside reported them, hurting a training or not.",
        ("source",),
        (("device",), ("node",), ("public",)),
    ),
    "opened": ("keepstep_incidents_opened", "Incidents opened.", (), ((),)),
    "closed": (
        "keepstep_incidents_closed",
        "Incidents closed, by the verdict's category, the last level of recovery and how they ended.",
        ("category", "level", "outcome"),
        tuple((category, level, outcome) for category in Category for outcome in Outcome for level in LAST[outcome]),
    ),
    "levels_failed": (
        "keepstep_recovery_levels_failed",
        "Levels of recovery that did not help, so that the next one followed.",
        ("level",),
        tuple((level,) for level in TRIED),
    ),
    "lost_steps": ("keepstep_lost_steps", "Steps that no checkpoint held and that were made again.", (), ((),)),
    "accepted": ("keepstep_jobs_accepted", "Jobs accepted.", (), ((),)),
    "ended": (
        "keepstep_jobs_ended",
        "Jobs that ended, by how.",
        ("outcome",),
        (("succeeded",), ("failed",), ("stopped",)),
    ),
    "isolations": (
        "keepstep_isolations",
        "Nodes and devices that were kept from jobs.",
        ("target",),
        (("node",), ("device",)),
    ),
    "declined": (
        "keepstep_isolations_declined",
        "Verdicts that isolated nothing: held for a person, in a dry run, or for another reason.",
        ("reason",),
        (("held",), ("dry_run",), ("other",)),
    ),
    "checkpoints": ("keepstep_checkpoints_committed", "Checkpoints that were whole.", (), ((),)),
    "buried": (
        "keepstep_messages_buried",
        "Messages that went to the dead letters; unlike keepstep_dead_letters_total it survives restarts.",
        ("service",),
        (),
    ),
    "notifications": (
        "keepstep_notifications",
        "Messages to people, by the channel's name or kind and what became of a try.",
        ("channel", "outcome"),
        tuple((channel, outcome) for channel in CHANNELS for outcome in OUTCOMES),
    ),
}
"""By the fold's name: the metric's, what it counts, its labels, and the values that are there from the beginning.

A series whose first value is 1 has no increase, so that neither an alert nor a chart would see the first of its kind.
"""
SPREADS: Mapping[str, tuple[str, str, Labels, tuple[Labels, ...]]] = {
    "stage": (
        "keepstep_incident_stage_seconds",
        "Seconds that each stage of a resumed incident took; stage detect is the time to detect.",
        ("stage",),
        tuple((stage,) for stage in STAGES),
    ),
    "recovery": (
        "keepstep_incident_recovery_seconds",
        "Seconds from the fault until its lost work was caught up with, by the last level.",
        ("level",),
        tuple((level,) for level in TRIED),
    ),
    "save": (
        "keepstep_checkpoint_save_seconds",
        "Seconds that a checkpoint's slowest rank saved; of scripts that save by torch or say when they do.",
        (),
        ((),),
    ),
    "commit": (
        "keepstep_checkpoint_commit_seconds",
        "Seconds from the last write to a checkpoint's files until it counts as whole.",
        (),
        ((),),
    ),
}
HELD_NOW: Mapping[str, tuple[str, Callable[[Figures, datetime], float]]] = {
    "keepstep_incidents_open": ("Incidents that nobody has closed yet.", lambda known, _: len(known.open)),
    "keepstep_incidents_overdue": (
        "Open incidents past the sum of their recovery's deadlines: a person must look.",
        lambda known, _: sum(one.overdue for one in known.open.values()),
    ),
    "keepstep_jobs_running": (
        "Jobs that were accepted and have not ended.",
        lambda known, _: sum(job.run.ended is None for job in known.jobs.values()),
    ),
    "keepstep_isolated_nodes": ("Nodes kept from jobs.", lambda known, _: sum(known.isolated.values())),
    "keepstep_isolated_devices": (
        "Devices kept from jobs while their node is not.",
        lambda known, _: len(known.isolated) - sum(known.isolated.values()),
    ),
    "keepstep_isolation_budget_left": (
        "Isolations that rules may still do before a person is asked.",
        lambda known, now: known.budget_left(now),
    ),
    "keepstep_isolation_held": (
        "1 while isolations are held for a person: there were too many lately.",
        lambda known, now: known.held(now),
    ),
    "keepstep_detector_blind": (
        "1 while the detector doubts itself and calls no fault.",
        lambda known, _: known.blind,
    ),
    "keepstep_actions_paused": ("1 while a person has paused all actions of the pool.", lambda known, _: known.paused),
    "keepstep_jobs_folded": ("Jobs told together as other.", lambda _known, _now: 0.0),
}
"""Gauges without labels; ``keepstep_jobs_folded`` gets its value where the jobs are told apart."""
JOB_GAUGES: Mapping[str, str] = {
    "keepstep_job_ettr_ratio": "Effective training time over wall time, of a job so far.",
    "keepstep_job_goodput_steps_per_second": "Steps made for good over wall time, of a job so far.",
    "keepstep_job_wall_seconds": "Seconds since the job was accepted, until its end.",
    "keepstep_job_productive_seconds": "Seconds of them in which it trained for good.",
    "keepstep_job_incidents": "Incidents of a job so far.",
    "keepstep_job_unsaved_timestamp_seconds": "Since when a job's work is on no checkpoint; of several the oldest.",
}
