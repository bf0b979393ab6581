"""A pool in which something of everything has happened: what the pages are drawn from and looked at with."""

import math

from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid, NodeName
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from keepstep.contracts.telemetry import Heartbeat, RankBeat
from keepstep.contracts.topology import JobRef, TaskRef
from keepstep.ports.cluster import NodeStatus
from tests.console.pages.site import Site
from tests.console.said import SPEC, began, now, saved, say, struck
from tests.core.test_timeline import JOB, at

LARGE = JobRef(name="pretrain-70b", uid=JobUid("8f31c2d4a9e7"))
NODES = 8
RANKS_A_NODE = 8
STACKS = {
    0: ("torch/distributed.py:all_reduce", "train.py:step"),
    1: ("torch/distributed.py:all_reduce", "train.py:step"),
    2: ("torch/distributed.py:all_reduce", "train.py:step"),
    3: ("reader.py:next_batch", "train.py:step"),
}


def large() -> list[Message]:
    """Return the start of a job of 64 ranks."""
    placement = [
        {
            "task": {"name": f"worker-{i}", "uid": f"{LARGE.uid}-t{i}", "index": i},
            "node": f"gpu-{i + 1:02d}",
            "ranks": tuple(range(i * RANKS_A_NODE, (i + 1) * RANKS_A_NODE)),
        }
        for i in range(NODES)
    ]
    spec = SPEC.model_copy(update={"name": LARGE.name, "nodes": NODES, "nproc": RANKS_A_NODE})
    return [
        say(e.JobAccepted, 1, job=LARGE, spec=spec),
        say(e.JobStarted, 2, job=LARGE, generation=1, placement=placement),
        *(say(e.FirstStepDone, 6, mark=str(i), job=LARGE, task=f"{LARGE.uid}-t{i}", generation=1, step=1)
          for i in range(NODES)),
    ]  # fmt: skip


def beats(second: float) -> list[Heartbeat]:
    """Return what the agents of the large job see at a second: all step, two evaluate, the last node is silent."""
    found = []
    for i in range(NODES - 1):
        ranks = tuple(
            RankBeat(rank=i * RANKS_A_NODE + k, pid=1, step=int(second * 2), step_s=0.5,
                     phase="evaluation" if (i, k) in ((2, 1), (2, 2)) else "step")
            for k in range(RANKS_A_NODE)
        )  # fmt: skip
        found.append(
            Heartbeat(time=at(second), pool=say(e.JobWaiting, 0, because="").pool, job=LARGE,
                      task=TaskRef(name=f"worker-{i}", uid=f"{LARGE.uid}-t{i}", index=i),
                      node=NodeName(f"gpu-{i + 1:02d}"), generation=1, boot="b", sequence=int(second), ranks=ranks)
        )  # fmt: skip
    return found


def hardware() -> list[Message]:
    """Return faults of a device, a node and one from outside, and an isolation."""
    return [
        say(e.DeviceReported, 40, job=None, node="gpu-03", device="5", code="XID 79",
            text="GPU has fallen off the bus"),
        say(e.NodeReported, 41, job=None, node="gpu-02", condition="DiskPressure", text="/var is 96 % full"),
        say(e.PublicFaultReported, 42, job=None, node="gpu-05", source="pingmesh", code="200001010",
            text="packet loss 4 %"),
        say(e.NodeIsolated, 43, job=None, node="gpu-03", reason="device_hardware",
            because="XID 79 of device 5, 1 of 8 nodes out, limit 1"),
    ]  # fmt: skip


def nodes() -> dict[NodeName, NodeStatus]:
    """Return the nodes as the cluster has them: one that is isolated is lost too, and so is a spare without a task."""
    names = [NodeName(f"gpu-{number:02d}") for number in range(1, NODES + 2)]
    return {name: NodeStatus(name, ready=name not in ("gpu-03", "gpu-09"), group="rack-a") for name in names}


def stalled() -> list[Message]:
    """Return an open incident of the large job: rank 3 reads no data and the others wait for it."""
    evidence = e.StallEvidence(rank=3, sign="outlier", step=120, stalled_s=31, stack=STACKS[3], waiting=False)
    fault = say(e.FaultDetected, 60, job=LARGE, task=f"{LARGE.uid}-t0", node="gpu-01", generation=1,
                subject_name="rank 3", occurred=at(59), evidence=evidence,
                because="rank 3 stands still for 31 s while 63 ranks wait for it")  # fmt: skip
    verdict = {"category": Category.HANG, "culprit": {"rank": 3, "node": "gpu-01", "task": f"{LARGE.uid}-t0"},
               "confidence": 0.93, "because": "its stack stands in reader.py:next_batch, the others in a collective",
               "rule": "outlier"}  # fmt: skip
    return [
        fault,
        say(e.IncidentOpened, 60.2, job=LARGE, incident="a1b2c3d4e5f60718", fault=fault.id, because="first fault"),
        *(say(e.EvidenceCaptured, 60.4, mark=str(rank), job=LARGE, incident="a1b2c3d4e5f60718", rank=rank,
              what="stack", lines=STACKS[rank], node="gpu-01", generation=1) for rank in STACKS),
        say(e.FaultDiagnosed, 62, job=LARGE, incident="a1b2c3d4e5f60718", verdict=verdict, attempt=1,
            faults=[fault.id], occurred=at(59), detected=at(60)),
    ]  # fmt: skip


def told(site: Site) -> Site:
    """Return the site with all of it told, and the large job's ranks heard of."""
    site.tell(*began(), *struck("0f9e8d7c6b5a4938", 20, victims=(0, 1, 2)), *large(), *hardware())
    for second in range(8, 59, 2):
        for beat in beats(second):
            site.model.feel(beat, at(second))
        site.model.tick(at(second))
    site.tell(*saved(40, 45, save_s=12.3, job=LARGE), *stalled())
    site.model.fleet(nodes(), at(58))
    _lose(site)
    for beat in beats(59):
        site.model.feel(beat, site.clock())
    return site


def _lose(site: Site) -> None:
    """Give the steps a loss, as a script that tells one would."""
    job = site.model.jobs.get(LARGE.uid)
    assert job is not None
    job.points = [point.model_copy(update={"loss": 2.1 + 8 * math.exp(-point.step / 40)}) for point in job.points]


__all__ = ["JOB", "LARGE", "NODES", "STACKS", "now", "told"]
