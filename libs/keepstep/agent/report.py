"""Puts what the agent saw into the words of the contracts, each with its derived id."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from keepstep.agent.beats import last_step, phase_of
from keepstep.agent.checkpoints import Candidate
from keepstep.agent.first_step import FirstStep
from keepstep.agent.frames import Frame
from keepstep.agent.reconcile import Launcher, SayApplied
from keepstep.agent.stalls import Change, Recovered, Stalled
from keepstep.agent.tail import Match
from keepstep.contracts.events import (
    CheckpointSaved,
    EvidenceCaptured,
    FirstStepDone,
    LogMatched,
    PlanApplied,
    RankExited,
    RankRecovered,
    RankStalled,
    TaskJoined,
    Versions,
)
from keepstep.contracts.ids import EventId, IncidentId, NodeName, episode_id, observation_id
from keepstep.contracts.taxonomy import Applied
from keepstep.contracts.telemetry import Exit
from keepstep.contracts.topology import Device, TaskLaunch
from keepstep.trainer.progress import Slot

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Reporter:
    """One task's voice."""

    launch: TaskLaunch
    node: NodeName

    def joined(
        self,
        now: datetime,
        *,
        boot: str,
        launcher: Launcher,
        versions: Versions,
        address: str,
        ports: Sequence[int],
        devices: Sequence[Device] = (),
    ) -> TaskJoined:
        """Return that agent and launcher are up; once per agent boot."""
        applied = launcher.generation if launcher.ranks else 0
        return TaskJoined(
            **self._about(now, applied or None, self._seen("TaskJoined", 0, natural=boot)),
            ref=self.launch.task,
            address=address,
            port_offers=tuple(ports),
            versions=versions,
            devices=tuple(devices),
            warm_ready=launcher.warm,
            applied=applied,
        )

    def applied(
        self, now: datetime, said: SayApplied, launcher: Launcher, *, ports: Sequence[int], about: "Cause"
    ) -> PlanApplied:
        """Return what was made of the plan of a generation."""
        fields = self._about(
            now, said.generation, self._seen("PlanApplied", said.generation, natural=said.applied.value)
        )
        return PlanApplied(
            **fields | {"incident": about.incident, "cause": about.cause},
            applied=said.applied,
            port_offers=tuple(ports),
            unkillable=launcher.unkillable if said.applied is Applied.STOPPED else (),
            warm_used=launcher.warm_used,
            because=said.because,
        )

    def first_step(self, now: datetime, generation: int, first: FirstStep) -> FirstStepDone:
        """Return that all local ranks made their first step of the generation."""
        return FirstStepDone(
            **self._about(now, generation, self._seen("FirstStepDone", generation)), **first.model_dump()
        )

    def exited(
        self,
        now: datetime,
        line: Mapping[str, Any],
        slot: Slot | None,
        last_lines: tuple[str, ...],
        *,
        fenced: str,
        ahead: timedelta,
    ) -> RankExited:
        """Return that a rank ended, from the launcher's line, which bears the machine's time; ``now`` is ``ahead``.

        A rank that the agent stopped on its own account (``fenced`` says why) was not ordered to by any plan: the
        job has to recover from it like from any other exit.
        """
        generation, rank = int(line["generation"]), int(line["rank"])
        return RankExited(
            **self._about(now, generation, self._seen("RankExited", generation, rank=rank)),
            rank=rank,
            local_rank=int(line["local_rank"]),
            pid=int(line["pid"]),
            exit=exit_of(line),
            ordered=bool(line["ordered"]) and not fenced,
            at=datetime.fromtimestamp(float(line["at"]), UTC) + ahead,
            step=last_step(slot),
            phase=phase_of(slot),
            ran_s=float(line["ran_s"]),
            last_lines=(*last_lines, f"keepstep: {fenced}") if fenced else last_lines,
        )

    def stall(self, now: datetime, generation: int, change: Change, slot: Slot | None) -> RankStalled | RankRecovered:
        """Return that a rank's stall began to count as one, or is over."""
        model = RankStalled if isinstance(change, Stalled) else RankRecovered
        subject = f"{self.launch.task.uid}/{change.rank}"
        said = episode_id(model.__name__, subject, generation, episode=change.episode)
        about = self._about(now, generation, said) | {"rank": change.rank, "episode": change.episode}
        match change:
            case Recovered():
                return RankRecovered(**about)
            case Stalled():
                return RankStalled(
                    **about,
                    sign=change.sign,
                    state=change.state,
                    since=now - timedelta(seconds=change.lasted_s),
                    step=last_step(slot),
                    phase=phase_of(slot),
                )

    def matched(self, now: datetime, generation: int, match: Match, slot: Slot | None) -> LogMatched:
        """Return that a line of output matched a rule; life and offset tell it from every other line."""
        at = match.position
        natural = f"{match.stream}/{at.life}/{at.offset}"
        return LogMatched(
            **self._about(now, generation, self._seen("LogMatched", generation, rank=match.rank, natural=natural)),
            rank=match.rank,
            rule=match.rule.name,
            category=match.rule.category,
            line=match.text,
            source=match.stream,
            offset=at.offset,
            step=last_step(slot),
        )

    def saved(
        self, now: datetime, generation: int, folder: Path, found: Candidate, *, save_s: float | None
    ) -> CheckpointSaved:
        """Return that a whole checkpoint was found; ``save_s``: seconds that saving it took, where ranks told.

        Its id knows no generation, so that finding it again after a restart says the same thing.
        """
        natural = f"{found.step}/{found.digest}"
        return CheckpointSaved(
            **self._about(now, generation or None, self._seen("CheckpointSaved", 0, natural=natural)),
            step=found.step,
            path=str(folder / found.path),
            files=tuple(str(folder / name) for name in found.files),
            ranks=found.ranks,
            shared=self.launch.spec.policy.checkpoint.shared,
            size_bytes=found.size,
            written=_EPOCH + timedelta(microseconds=found.mtime_ns // 1000),
            save_s=save_s,
        )

    def stack(
        self, now: datetime, generation: int, rank: int, frames: Sequence[Frame], *, suspicion: str
    ) -> EvidenceCaptured:
        """Return the stack of a rank that gives no marks; once per suspicion."""
        natural = f"stack/{suspicion}"
        return EvidenceCaptured(
            **self._about(now, generation, self._seen("EvidenceCaptured", generation, rank=rank, natural=natural)),
            rank=rank,
            what="stack",
            lines=tuple(str(frame) for frame in frames),
        )

    def _seen(self, kind: str, generation: int, *, rank: int | None = None, natural: str = "") -> EventId:
        return observation_id(kind, self.launch.task.uid, generation, rank=rank, natural=natural)

    def _about(self, now: datetime, generation: int | None, said: EventId) -> dict[str, Any]:
        return {
            "id": said,
            "time": now,
            "pool": self.launch.pool,
            "job": self.launch.job,
            "task": self.launch.task.uid,
            "node": self.node,
            "generation": generation,
        }


@dataclass(frozen=True)
class Cause:
    """From which incident and message a plan follows."""

    incident: IncidentId | None = None
    cause: EventId | None = None


def exit_of(line: Mapping[str, Any]) -> Exit:
    """Return how a rank ended from the launcher's line."""
    return Exit(code=line.get("code"), signal=line.get("signal"))
