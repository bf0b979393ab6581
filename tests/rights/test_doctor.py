"""``keepstep doctor --cluster`` names what the identity it runs under lacks, and what would give it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from keepstep.cli.cluster_doctor import apart, examine_cluster
from keepstep.cli.doctor import Finding, State
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import Pool
from keepstep.contracts.taxonomy import Service
from keepstep.runtime.client import Client
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.tail import Stored
from tests.kube.cluster import Cluster, cluster
from tests.rights.gated import gated
from tests.rights.test_rbac_calls import act_as


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, nats_url: str, pool: Pool, client: Client) -> None:
    monkeypatch.setenv("KEEPSTEP_NATS_URL", nats_url)
    monkeypatch.setenv("KEEPSTEP_POOL", pool)


async def found(there: Cluster, folder: Path, *services: str, ahead: timedelta = timedelta(0)) -> dict[str, Finding]:
    config = there.server.kubeconfig(folder / "doctor")
    findings = await examine_cluster(f"kubernetes:{config}", services, clock=lambda: datetime.now(UTC) + ahead)
    return {finding.what: finding for finding in findings}


async def test_a_service_with_its_role_lacks_nothing(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        act_as(there, Service.SCHEDULER_ADAPTER)
        findings = await found(there, tmp_path, Service.SCHEDULER_ADAPTER)
    assert {finding.verdict for finding in findings.values()} == {State.OK}
    assert {"cluster", "clock", "bus", "store", "rights scheduler-adapter"} <= set(findings)


async def test_a_right_that_is_lacking_is_named_with_its_use_and_its_remedy(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        act_as(there, Service.DETECTOR)
        finding = (await found(there, tmp_path, Service.ISOLATOR))["rights isolator"]
    assert finding.verdict is State.MISSING
    assert "may not get, patch nodes (cordon, taint and release)" in finding.text
    assert "kubectl apply -k k8s/base" in finding.text


async def test_messages_that_nobody_could_take_are_noted(tmp_path: Path, client: Client) -> None:
    stored = Stored(7, datetime.now(UTC), "keepstep.p.job.j.x", {}, b"{}")
    async with cluster(tmp_path) as there:
        act_as(there, Service.DETECTOR)
        assert "dead letters" not in await found(there, tmp_path)
        await client.dead_letters.bury("detector", stored, reason="garbled", incident=None)
        finding = (await found(there, tmp_path))["dead letters"]
    assert (finding.verdict, finding.text) == (
        State.NOTE,
        "1 message that no service could take: keepstep deadletter list",
    )


async def test_a_clock_that_is_off_is_noted(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        finding = (await found(there, tmp_path, ahead=timedelta(minutes=1)))["clock"]
    assert (finding.verdict, "-6" in finding.text or "-5" in finding.text) == (State.NOTE, True)


@pytest.mark.parametrize(
    ("told", "took", "expected"),
    [(0, 0.2, 0), (-1, 0.2, 0), (-2, 0.2, -1), (20, 30, 0), (31, 30, 1), (-60, 30, -59)],
)
def test_what_an_answer_takes_is_no_skew(told: float, took: float, expected: float) -> None:
    asked = datetime(2026, 1, 1, tzinfo=UTC)
    found = apart(asked + timedelta(seconds=told), asked, asked + timedelta(seconds=took))
    assert found == timedelta(seconds=expected)


async def test_a_server_that_does_not_answer_is_missing_and_the_bus_is_still_looked_at(tmp_path: Path) -> None:
    async with cluster(tmp_path) as there:
        config = there.server.kubeconfig(tmp_path / "doctor")
    findings = await examine_cluster(f"kubernetes:{config}", (), clock=lambda: datetime.now(UTC))
    assert [(finding.what, finding.verdict) for finding in findings] == [
        ("cluster", State.MISSING),
        ("bus", State.OK),
        ("store", State.OK),
        ("gate", State.OK),
    ]


async def test_a_gate_that_does_not_answer_is_missing_and_one_that_does_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(tmp_path) as on:
        monkeypatch.setenv("KEEPSTEP_NATS_URL", on.bus.url("detector").get_secret_value())
        monkeypatch.setenv("KEEPSTEP_POOL", DEFAULT)
        monkeypatch.setenv("KEEPSTEP_STORE", "memory")
        answers = (await found(on.there, tmp_path, "gate"))["gate"]
        await on.close_gates()
        away = (await found(on.there, tmp_path, "gate"))["gate"]
        rights = (await found(on.there, tmp_path, "gate"))["rights gate"]
    assert (answers.verdict, away.verdict, rights.verdict) == (State.OK, State.MISSING, State.OK)
    assert "kubectl -n keepstep get pods" in away.text


async def test_a_cluster_that_is_no_kubernetes_is_refused() -> None:
    with pytest.raises(Failed, match="say kubernetes"):
        await examine_cluster("local:x", (), clock=lambda: datetime.now(UTC))
