"""Events where people of a cluster look: on job, pod and node of a real API, counted, bounded, and once per notice."""

import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keepstep.adapters.kube_history import RECORDS
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.sink_kubernetes import EVENTS_OF_OBJECT, KubernetesSink
from keepstep.contracts.events import FaultDiagnosed, NodeIsolated, NotificationDropped
from keepstep.contracts.ids import EventId, IncidentId, JobUid, NodeName, TaskUid
from keepstep.contracts.message import Message
from keepstep.contracts.topology import JobRef
from tests.injection.manifests import manifest
from tests.kube.cluster import Cluster, cluster
from tests.kube.objects import merged, sample
from tests.kube.server import kinds
from tests.notifier.story import JOB, NOW, Clock, Desk, closed, diagnosed, opened

TASK = TaskUid("task-0")


@dataclass
class Rig:
    there: Cluster
    sink: KubernetesSink
    clock: Clock
    desk: Desk
    job: JobRef

    def about(self, message: Message, **changes: Any) -> Any:
        """Return the message as one of the job in this cluster."""
        return message.model_copy(update={"job": self.job, **changes})

    async def tell(self, *messages: Message) -> None:
        for message in messages:
            await self.desk.tell(message).deliver()

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        found: Iterable[dict[str, Any]] = [*self.there.store.scan(kinds.EVENT)]
        return [one for one in found if kind in ("", one["involvedObject"]["kind"])]

    def kept(self) -> dict[str, Any]:
        """Return the one ConfigMap of this job."""
        [found] = [
            one
            for one in self.there.store.scan(kinds.CONFIG_MAP)
            if one["metadata"].get("labels", {}).get("keepstep.io/job") == "train"
            and [owner["uid"] for owner in one["metadata"].get("ownerReferences", ())] == [self.job.uid]
        ]
        return dict(found)

    def record(self) -> dict[str, Any]:
        data = self.kept()["data"]
        return {"total": data["total"], "incidents": json.loads(data["incidents"])}

    def closed(self, number: int) -> Message:
        said: Message = self.about(closed(), id=EventId(f"closed-{number}"), incident=IncidentId(f"incident-{number}"))
        return said


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """An indexed Job of keepstep's with one bound pod, on one node."""
    async with cluster(tmp_path) as there:
        there.node("n1")
        spec = {"template": sample("job-running")["spec"]["template"]}
        labels = {"keepstep.io/job": "train"}
        for part in ("labels", "annotations"):
            spec["template"].get("metadata", {}).pop(part, None)
        made = there.store.create(kinds.JOB, {"metadata": {"name": "train", "labels": labels}, "spec": spec}, "default")
        there.pod("train-0", metadata={"name": "train-0", "labels": labels, "annotations": {"keepstep.io/task": TASK}})
        clock = Clock()
        sink = KubernetesSink(there.client, clock, between=timedelta(0))
        yield Rig(there, sink, clock, Desk(objects=sink), JobRef(name="train", uid=JobUid(made["metadata"]["uid"])))


async def test_a_step_is_an_event_that_kubectl_describe_shows_whole(rig: Rig) -> None:
    await rig.tell(rig.about(opened()))
    (event,) = rig.events()
    assert event["involvedObject"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": "train",
        "namespace": "default",
        "uid": rig.job.uid,
    }
    shown = {name: event[name] for name in ("reason", "message", "type", "count", "firstTimestamp", "lastTimestamp")}
    assert shown == {
        "reason": "IncidentOpened",
        "message": "incident opened: rank 3 was killed",
        "type": "Warning",
        "count": 1,
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }
    assert (event["reportingComponent"], event["source"]) == (
        "keepstep.io/diagnoser",
        {"component": "keepstep-diagnoser"},
    )
    assert event["metadata"]["annotations"]["keepstep.io/incident"] == "incident-1"


async def test_the_pod_to_blame_is_told_what_the_job_is_told(rig: Rig) -> None:
    verdict = rig.about(diagnosed())
    assert isinstance(verdict, FaultDiagnosed)
    culprit = verdict.verdict.culprit
    assert culprit is not None
    blamed = verdict.verdict.model_copy(update={"culprit": culprit.model_copy(update={"task": TASK})})
    await rig.tell(verdict.model_copy(update={"verdict": blamed}))
    told = {one["involvedObject"]["kind"]: one["reason"] for one in rig.events()}
    assert told == {"Job": "FaultDiagnosed", "Pod": "FaultDiagnosed"}


async def test_a_node_is_told_of_its_isolation_where_kubectl_looks_for_it(rig: Rig) -> None:
    said = NodeIsolated(
        id=EventId("i"), time=NOW, pool=opened().pool, node=NodeName("n1"), reason="r", because="Xid 79"
    )
    await rig.tell(said)
    (event,) = rig.events("Node")
    assert event["metadata"]["namespace"] == "default"
    assert event["involvedObject"]["uid"] == rig.there.store.get(kinds.NODE, "n1")["metadata"]["uid"]


async def test_the_same_once_more_counts_and_moves_the_last_time(rig: Rig) -> None:
    later = NOW + timedelta(seconds=90)
    await rig.tell(rig.about(opened()), rig.about(opened(), id=EventId("again"), time=later))
    (event,) = rig.events()
    assert (event["count"], event["firstTimestamp"], event["lastTimestamp"]) == (
        2,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:01:30Z",
    )


async def test_a_delivery_that_is_repeated_counts_once(rig: Rig) -> None:
    """The notifier died between the delivery and the word on it."""
    rig.desk.tell(rig.about(opened()))
    (fold,) = rig.desk.folds.values()
    notice = fold.pending[1].notice
    await rig.sink.deliver(notice)
    await KubernetesSink(rig.there.client, rig.clock).deliver(notice)
    assert [event["count"] for event in rig.events()] == [1]


async def test_an_object_with_many_events_gets_one_per_reason_that_counts_the_rest(rig: Rig) -> None:
    for number in range(EVENTS_OF_OBJECT + 10):
        await rig.tell(rig.about(opened(), id=EventId(f"o{number}"), because=f"rank {number} was killed"))
    assert len(rig.events()) == EVENTS_OF_OBJECT + 1
    (combined,) = [one for one in rig.events() if one["count"] > 1]
    assert combined["count"] == 10
    assert combined["message"] == "(combined from similar events): incident opened: rank 34 was killed"


async def test_an_outage_of_the_api_server_loses_nothing_and_doubles_nothing(rig: Rig) -> None:
    await rig.tell(rig.about(opened()))
    await rig.there.server.down()
    await rig.tell(rig.about(diagnosed()), rig.closed(1))
    for _ in range(4):
        await rig.desk.later()
    assert [one["reason"] for one in rig.events()] == ["IncidentOpened"]
    await rig.there.server.up()
    await rig.desk.later()
    counts = {one["reason"]: one["count"] for one in rig.events()}
    assert counts == {"IncidentOpened": 1, "FaultDiagnosed": 1, "IncidentClosed": 1}
    assert len(rig.events()) == 3
    assert rig.record()["total"] == "1"
    assert not [one for one in rig.desk.said if isinstance(one, NotificationDropped)]


async def test_while_the_api_server_is_away_one_message_of_an_incident_asks_for_all(rig: Rig) -> None:
    await rig.there.server.down()
    for number in range(5):
        await rig.tell(rig.about(opened(), id=EventId(f"o{number}"), because=f"rank {number}"))
    assert len(rig.desk.waits) == 1
    await rig.there.server.up()


async def test_closed_incidents_are_kept_the_newest_ten_and_how_many(rig: Rig) -> None:
    await rig.tell(*(rig.closed(number) for number in range(RECORDS + 3)))
    kept = rig.record()
    assert kept["total"] == "13"
    assert [one["incident"] for one in kept["incidents"]] == [f"incident-{number}" for number in range(3, 13)]
    assert (kept["incidents"][0]["outcome"], kept["incidents"][0]["category"]) == ("resumed", "unknown")


async def test_two_kinds_of_one_job_name_and_a_new_life_of_one_keep_their_own_records(rig: Rig) -> None:
    await rig.tell(rig.closed(1))
    first, job = rig.record(), rig.job
    named = {"metadata": {"name": "train", "labels": {"keepstep.io/job": "train"}}}
    made = rig.there.store.create(kinds.VOLCANO_JOB, merged(manifest(JobKind.VOLCANO), named), "default")
    rig.job = JobRef(name="train", uid=JobUid(made["metadata"]["uid"]))
    await rig.tell(rig.closed(2))
    assert [one["incident"] for one in rig.record()["incidents"]] == ["incident-2"]
    rig.job = job
    assert rig.record() == first


@pytest.mark.parametrize("theirs", ["labels", "ownerReferences"])
async def test_a_config_map_of_another_is_left_alone_and_people_are_told_why(rig: Rig, theirs: str) -> None:
    await rig.tell(rig.closed(1))
    ours = rig.kept()["metadata"]["name"]
    changes = {"metadata": {theirs: None}, "data": {"incidents": "their own"}}
    rig.there.store.patch(kinds.CONFIG_MAP, ours, changes, "default")
    before = rig.there.store.get(kinds.CONFIG_MAP, ours, "default")
    await rig.tell(rig.closed(2))
    assert rig.there.store.get(kinds.CONFIG_MAP, ours, "default") == before
    [dropped] = [one for one in rig.desk.said if isinstance(one, NotificationDropped)]
    assert "it is another's and stays as it is" in dropped.because


async def test_a_record_that_a_hand_garbled_is_begun_anew_and_its_total_goes_on(rig: Rig) -> None:
    await rig.tell(rig.closed(1), rig.closed(2))
    garbled = {"data": {"incidents": "[{"}}
    rig.there.store.patch(kinds.CONFIG_MAP, rig.kept()["metadata"]["name"], garbled, "default")
    await rig.tell(rig.closed(3))
    assert rig.record()["total"] == "3"
    assert [one["incident"] for one in rig.record()["incidents"]] == ["incident-3"]


async def test_a_job_that_nobody_has_seen_is_told_nothing(rig: Rig) -> None:
    await rig.tell(opened())
    assert rig.events() == []
    assert JOB.uid != rig.job.uid
    assert len(rig.desk.endings) == 2
