"""The console of a real run: where it is is told, an incident is seen live, and people stop the job through it."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from keepstep.contracts import events as e
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


def ask(web: httpx.Client, path: str) -> Any:
    """Return what a path answers; who asks too often waits as he is told."""
    for _ in range(20):
        answer = web.get(path)
        if answer.status_code != 429:
            return answer.raise_for_status().json()
        time.sleep(float(answer.headers["Retry-After"]))  # what the answer asks for
    raise AssertionError(f"{path} was never answered")


def arrivals(web: httpx.Client, until: str) -> list[tuple[float, dict[str, Any]]]:
    """Return events of the live stream with the seconds after which they came, until one of this name."""
    found: list[tuple[float, dict[str, Any]]] = []
    with web.stream("GET", "/stream", params={"severity": "info"}) as answer:
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
    run.kill(rank=3, at_step=20)
    seen = arrivals(web, until="IncidentClosed")
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

    stop = web.post(f"/jobs/{row['ref']['uid']}/stop", json={"reason": "seen enough"})
    assert stop.status_code == 202
    run.until_said(e.JobStopRequested)
    assert run.said(e.JobStopRequested)[-1].reason == "seen enough"
    ended = run.finish()
    ended.expect_nothing_left()
