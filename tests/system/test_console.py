"""The console of a real run: where it is is told, an incident is seen live, and people stop the job through it."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from keepstep.cli.say import person
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.taxonomy import Role
from tests.system.job import JobTest
from tests.system.loop import CHEAP, LOOP

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(240)]
StartJob = Callable[..., JobTest]


def console_of(run: JobTest) -> httpx.Client:
    """Return a client of the run's console, which it told on its screen."""
    run.until(lambda: "console: http://127.0.0.1:" in run.output.read_text(), "the console's address")
    line = next(line for line in run.output.read_text().splitlines() if "console: http" in line)
    address = line.partition("console: ")[2].strip()
    assert run.address().console == address
    return httpx.Client(base_url=f"{address}/api/v1", timeout=20)


def asked(web: httpx.Client, method: str, path: str, **more: Any) -> Any:
    """Return what a path answers; who asks too often waits as he is told."""
    for _ in range(20):
        answer = web.request(method, path, **more)
        if answer.status_code != 429:
            return answer.raise_for_status().json()
        time.sleep(float(answer.headers["Retry-After"]))  # what the answer asks for
    raise AssertionError(f"{path} was never answered")


def ask(web: httpx.Client, path: str) -> Any:
    """Return what can be read at a path."""
    return asked(web, "GET", path)


def order(web: httpx.Client, path: str, reason: str) -> None:
    """Order something with a reason."""
    asked(web, "POST", path, json={"reason": reason})


def arrivals(web: httpx.Client, act: Callable[[], object], until: str) -> list[tuple[float, dict[str, Any]]]:
    """Listen to the live stream, act, and return events with the seconds after which they came, until one of a name."""
    found: list[tuple[float, dict[str, Any]]] = []
    with web.stream("GET", "/stream", params={"severity": "info"}) as answer:
        act()
        name = ""
        for line in answer.iter_lines():
            kind, _, body = line.partition(": ")
            if kind == "event":
                name = body
            if kind == "data" and name not in ("progress", "dropped"):
                event = json.loads(body)
                late = (datetime.now(UTC) - datetime.fromisoformat(event["time"])).total_seconds()
                found.append((late, event))
                if name == until:
                    return found
    raise AssertionError(f"the stream ended before {until}")


def test_an_incident_of_a_real_job_is_seen_live_and_counted(job: StartJob) -> None:
    run = job(LOOP, "--steps", "400", "--step-seconds", "0.05", policy=CHEAP)
    web = console_of(run)
    seen = arrivals(web, lambda: run.kill(rank=3, at_step=20), until="IncidentClosed")
    names = [event["name"] for _, event in seen]
    for name in ("FaultDetected", "FaultDiagnosed", "RecoveryPlanned", "JobResumed"):
        assert name in names
    assert max(late for late, event in seen if event["name"] == "FaultDiagnosed") < 1

    (incident,) = ask(web, "/incidents")["items"]
    shown = ask(web, f"/incidents/{incident['incident']}")
    assert shown["attempt_verdicts"][-1]["culprit"]["rank"] == 3
    assert any(one["blamed"] and one["subject"] == "rank 3" for one in shown["evidence"])
    assert sum(stage["seconds"] for stage in shown["stages"]) == pytest.approx(shown["wall_s"])
    statistics = ask(web, "/statistics")
    assert (statistics["faults"], statistics["incidents"]) == (1, 1)
    metrics = f"{str(web.base_url).partition('/api/')[0]}/metrics"
    run.until(lambda: "keepstep_incidents_opened_total 1.0" in web.get(metrics).text, "the pool's figures")
    (row,) = ask(web, "/jobs")["items"]
    assert (row["incidents"], row["open_incidents"], row["state"]) == (1, 0, "running")

    def stepping() -> bool:
        grid = ask(web, f"/jobs/{row['ref']['uid']}")["grid"]
        return [rank["rank"] for rank in grid if rank["state"] == "stepping"] == [0, 1, 2, 3]

    run.until(stepping, "all ranks of the grid step")
    process = [fault for fault in ask(web, "/faults")["items"] if fault["source"] == "process"]
    assert any(hurt["ranks"] == [3] for fault in process for hurt in fault["hurt"])

    stopped(run, web)


def stopped(run: JobTest, web: httpx.Client) -> None:
    """Stop the job through the console; nothing of it is left."""
    (row,) = ask(web, "/jobs")["items"]
    order(web, f"/jobs/{row['ref']['uid']}/stop", "seen enough")
    run.until_said(e.JobStopRequested)
    assert run.said(e.JobStopRequested)[-1].reason == "seen enough"
    run.finish().expect_nothing_left()


def test_a_node_that_a_person_drains_is_left_and_once_released_is_run_on_again(loop: StartJob) -> None:
    run = loop(pace=0.1, steps=3000, spares=1).until_said(e.CheckpointCommitted)
    web = console_of(run)
    first = run.placement()["worker-1"].node
    order(web, f"/nodes/{first}/drain", "new fan")
    run.until_said(e.JobResumed)
    second = run.placement()["worker-1"].node
    assert second != first
    (isolation,) = ask(web, f"/nodes/{first}")["isolations"]
    assert (isolation["by"], isolation["reason"]) == (person(), "drain: new fan")

    order(web, f"/nodes/{first}/release", "fan is new")
    run.until_said(e.NodeReleased)
    run.until(lambda: ask(web, f"/nodes/{first}")["state"] == "ready", "the node is ready for jobs")
    order(web, f"/nodes/{second}/drain", "its turn")
    run.until(lambda: len(run.said(e.JobResumed)) == 2, "the job moved again")
    assert run.placement()["worker-1"].node == first, "the only place there was"

    drained, released = run.said(o.DrainNode), run.said(o.ReleaseNode)
    assert [one.reason for one in drained] == ["new fan"] * 2 + ["its turn"] * 2, "of the node, and of its job"
    assert [one.reason for one in released] == ["fan is new"]
    assert {(one.by, one.role) for one in (*drained, *released)} == {(person(), Role.ADMIN)}
    stopped(run, web)


def test_a_node_of_which_a_system_outside_reports_a_fault_is_isolated_and_its_job_moves(loop: StartJob) -> None:
    run = loop(pace=0.1, steps=3000, spares=1).until_said(e.CheckpointCommitted)
    web = console_of(run)
    hurt = run.placement()["worker-1"].node
    fault = {
        "faultId": "fault-0001", "faultType": "Node", "faultCode": "120001002", "faultTime": 1_767_000_000_000,
        "assertion": "occur", "influence": [{"nodeName": hurt}], "description": "CPU fault",
    }  # fmt: skip
    report = {"id": "report-0001", "timestamp": 1_767_000_000_000, "version": "1.0", "resource": "CCAE"}
    unknown = asked(web, "POST", "/public-faults", json=report | {"faults": [fault | {"faultCode": "120009999"}]})
    assert (unknown["taken"], "is not known" in unknown["dropped"][0]) == (0, True)
    for _ in range(2):
        asked(web, "POST", "/public-faults", json=report | {"faults": [fault]})
    run.until_said(e.JobResumed)
    assert [said.code for said in run.said(e.PublicFaultReported)] == ["120001002"]
    assert [said.node for said in run.said(e.NodeIsolated)] == [hurt]
    assert run.placement()["worker-1"].node != hurt
    (shown,) = ask(web, "/faults?source=public")["items"]
    assert (shown["node"], shown["reporter"], shown["code"]) == (hurt, "CCAE", "120001002")
    assert [one["ranks"] for one in shown["hurt"]] == [[2, 3]]
    assert ask(web, f"/incidents/{shown['incident']}")["levels"] == ["pod"]
    stopped(run, web)
