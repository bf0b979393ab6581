"""A user's manifest of each kind and what becomes of it."""

import json
from typing import Any

import pytest
from pydantic import SecretStr

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_kind import Below
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_marks import AUDIENCE
from keepstep.cli.cluster_secrets import documents
from keepstep.contracts.policy import Policy, RecoveryPolicy
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import JobSpec, Script
from keepstep.injection.inject import Injected, inject
from keepstep.injection.marks import AGENT
from keepstep.injection.ours import NATS_SECRET, Ours
from keepstep.injection.put import at
from keepstep.injection.shapes import SHAPES
from keepstep.injection.wishes import Wishes
from tests.injection.manifests import (
    EVERY,
    OURS,
    injected,
    manifest,
    noted,
    plain,
    pod_specs,
)
from tests.kube.objects import merged


@EVERY
def test_every_pod_that_trains_gets_launcher_and_agent(kind: JobKind) -> None:
    found = injected(manifest(kind))
    assert found.kind is kind
    for pod in pod_specs(found, kind):
        assert pod["metadata"]["labels"] == {"keepstep.io/job": "bert"}
        install, agent = pod["spec"]["initContainers"]
        assert (install["name"], install["image"]) == ("keepstep-install", "registry.example/keepstep:1")
        assert (agent["name"], agent["restartPolicy"]) == ("keepstep-agent", "Always")
        (trains,) = pod["spec"]["containers"]
        assert trains["command"][:2] == ["/bin/sh", "/keepstep/bin/keepstep-launch"]
        assert trains["command"][2:] == ["torchrun", "--nproc_per_node=2", "train.py", "--lr", "1"]
        assert pod["spec"]["shareProcessNamespace"] is True
        assert [one["name"] for one in pod["spec"]["volumes"]] == ["keepstep", "keepstep-token"]
        assert pod["spec"]["volumes"][0] == {"name": "keepstep", "emptyDir": {}}
        for each in (install, agent, trains):
            assert {"name": "keepstep", "mountPath": "/keepstep"} in each["volumeMounts"]


@EVERY
def test_the_job_carries_its_specification_and_its_name(kind: JobKind) -> None:
    found = injected(manifest(kind))
    assert plain(found.job)["metadata"]["labels"] == {"keepstep.io/job": "bert"}
    text = plain(found.job)["metadata"]["annotations"]["keepstep.io/spec"]
    spec = JobSpec.model_validate_json(text)
    assert spec == found.spec
    assert spec == JobSpec(name="bert", entrypoint=Script(path="train.py", args=("--lr", "1")), nodes=4, nproc=2)
    assert "policy" not in json.loads(text)


@EVERY
def test_the_number_of_tasks_is_the_number_of_seats(kind: JobKind) -> None:
    found = injected(manifest(kind))
    jobset = found.documents[0]["spec"]["template"] if kind is JobKind.TRAINJOB else None  # type: ignore[index]  # a manifest; its spec is a table
    assert len(KINDS[kind].seats(found.job, Below(jobset))) == found.spec.nodes


@EVERY
def test_injecting_twice_is_injecting_once(kind: JobKind) -> None:
    once = injected(manifest(kind))
    again = once.documents[0] if kind is JobKind.TRAINJOB else None
    twice = inject(once.job, OURS, runtime=again)
    assert isinstance(twice, Injected)
    assert (twice.documents, twice.spec) == ((once.job,), once.spec)


@EVERY
def test_the_manifest_that_is_given_stays_as_it_is(kind: JobKind) -> None:
    job = manifest(kind)
    before = json.dumps(job)
    injected(job)
    assert json.dumps(job) == before


def test_a_trainjob_gets_a_runtime_of_its_own_and_leaves_its_command_there() -> None:
    own, job = map(plain, injected(manifest(JobKind.TRAINJOB)).documents)
    assert (own["kind"], own["metadata"]["name"], own["metadata"]["namespace"]) == (
        "TrainingRuntime",
        "bert-keepstep",
        "default",
    )
    reference = {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "bert-keepstep"}
    assert job["spec"]["runtimeRef"] == reference
    assert job["spec"]["trainer"] == {"image": "registry.example/train:1", "numNodes": 4}


def test_a_trainjob_without_its_runtime_at_hand_is_told_which_is_missing() -> None:
    found = inject(manifest(JobKind.TRAINJOB), OURS)
    assert isinstance(found, tuple)
    assert str(found[0]).startswith("spec.runtimeRef: ClusterTrainingRuntime torch-distributed is not at hand")


@pytest.mark.parametrize(
    ("kind", "levels"),
    [
        (JobKind.VOLCANO, {Level.IN_PLACE, Level.POD, Level.JOB}),
        (JobKind.PYTORCHJOB, {Level.IN_PLACE, Level.JOB}),
        (JobKind.TRAINJOB, {Level.IN_PLACE, Level.POD, Level.JOB}),
        (JobKind.JOBSET, {Level.IN_PLACE, Level.POD, Level.JOB}),
        (JobKind.JOB, {Level.IN_PLACE, Level.POD, Level.JOB}),
    ],
)
def test_the_levels_that_a_job_will_have_are_known_before_it_is_created(kind: JobKind, levels: set[Level]) -> None:
    found = injected(manifest(kind)).support
    assert found.levels - {Level.WAIT, Level.FAIL} == levels


def test_a_pytorchjob_under_never_is_told_why_no_pod_can_be_replaced_and_how_it_could() -> None:
    refused = injected(manifest(JobKind.PYTORCHJOB)).support.refusal(Level.POD)
    assert refused is not None
    assert "restartPolicy Never for Master, Worker" in refused.because
    assert "ExitCode" in refused.remedy
    assert Level.POD in injected(manifest(JobKind.PYTORCHJOB, restart="ExitCode")).support.levels


@EVERY
def test_a_restart_policy_that_is_not_said_becomes_never(kind: JobKind) -> None:
    found = injected(manifest(kind, restart=None))
    source = found.documents[0]
    for role in SHAPES[kind].roles(source):
        assert at(source, role.restart[:-1])["restartPolicy"] == "Never"


def test_the_agent_knows_its_pod_node_address_pool_and_bus() -> None:
    (pod,) = pod_specs(injected(manifest(JobKind.JOB)), JobKind.JOB)
    env = {one["name"]: one for one in pod["spec"]["initContainers"][1]["env"]}
    assert (env["KEEPSTEP_POOL"]["value"], env["KEEPSTEP_SIDECAR"]["value"]) == ("p", "native")
    bus = env.pop("KEEPSTEP_NATS_URL")
    assert bus["valueFrom"] == {"secretKeyRef": {"name": "bus-agent", "key": "url"}}
    paths = {name: one["valueFrom"]["fieldRef"]["fieldPath"] for name, one in env.items() if "valueFrom" in one}
    assert paths == {
        "KEEPSTEP_POD_NAME": "metadata.name",
        "KEEPSTEP_POD_NAMESPACE": "metadata.namespace",
        "KEEPSTEP_POD_UID": "metadata.uid",
        "KEEPSTEP_NODE": "spec.nodeName",
        "KEEPSTEP_ADDRESS": "status.podIP",
    }


@pytest.mark.parametrize("native", [True, False])
def test_the_agent_alone_is_given_a_token_that_is_for_the_bus_alone(native: bool) -> None:
    (pod,) = pod_specs(injected(manifest(JobKind.JOB), ours=Ours(pool="p", native=native)), JobKind.JOB)
    [volume] = [one for one in pod["spec"]["volumes"] if "projected" in one]
    token = {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"}
    assert volume["projected"] == {"sources": [{"serviceAccountToken": token}]}
    every = [*pod["spec"]["initContainers"], *pod["spec"]["containers"]]
    holders = {
        one["name"]: mount for one in every for mount in one.get("volumeMounts", ()) if mount["name"] == volume["name"]
    }
    assert set(holders) == {AGENT}
    [agent] = [one for one in every if one["name"] == AGENT]
    told = {one["name"]: one.get("value") for one in agent["env"]}
    assert told["KEEPSTEP_TOKEN_FILE"] == f"{holders[AGENT]['mountPath']}/token"
    assert holders[AGENT]["readOnly"] is True


def test_the_bus_address_comes_from_another_secret_or_is_said_where_it_needs_no_password() -> None:
    ours = Ours(nats_secret="bus")  # noqa: S106 - the name of one
    (pod,) = pod_specs(injected(manifest(JobKind.JOB), ours=ours), JobKind.JOB)
    url = pod["spec"]["initContainers"][1]["env"][0]
    assert url == {"name": "KEEPSTEP_NATS_URL", "valueFrom": {"secretKeyRef": {"name": "bus", "key": "url"}}}
    ours = Ours(nats_url=SecretStr("tls://nats.bus.svc:4222?cadata=a@b"))
    (pod,) = pod_specs(injected(manifest(JobKind.JOB), ours=ours), JobKind.JOB)
    told = {"name": "KEEPSTEP_NATS_URL", "value": "tls://nats.bus.svc:4222?cadata=a@b"}
    assert pod["spec"]["initContainers"][1]["env"][0] == told


def test_agents_find_the_bus_by_the_secret_that_the_cluster_s_secrets_are_made_with() -> None:
    made: Any = {plain(one)["metadata"]["name"]: one for one in documents({"ca.crt": b""})}
    assert "url" in made[NATS_SECRET]["data"]


def test_on_an_older_server_the_agent_is_a_plain_container_that_is_started_again_by_itself() -> None:
    found = injected(manifest(JobKind.JOB), ours=Ours(native=False))
    (pod,) = pod_specs(found, JobKind.JOB)
    assert [one["name"] for one in pod["spec"]["initContainers"]] == ["keepstep-install"]
    agent = pod["spec"]["containers"][1]
    assert agent["command"][:2] == ["/bin/sh", "-c"]
    assert {"name": "KEEPSTEP_SIDECAR", "value": "plain"} in agent["env"]
    assert any("older than 1.29" in note for note in found.notes)


def test_the_agent_is_the_user_of_the_ranks_and_reads_their_volumes() -> None:
    mounts = [{"name": "data", "mountPath": "/ckpt"}]
    job = manifest(JobKind.JOB, volumeMounts=mounts, securityContext={"runAsUser": 1000, "privileged": True})
    (pod,) = pod_specs(injected(job), JobKind.JOB)
    agent = pod["spec"]["initContainers"][1]
    assert agent["securityContext"]["runAsUser"] == 1000
    assert "privileged" not in agent["securityContext"]
    assert {"name": "data", "mountPath": "/ckpt", "readOnly": True} in agent["volumeMounts"]
    (plain,) = pod_specs(injected(manifest(JobKind.JOB)), JobKind.JOB)
    assert plain["spec"]["initContainers"][1]["securityContext"]["runAsUser"] == 0


def test_a_checkpoint_folder_on_no_volume_is_remarked_on() -> None:
    lost = injected(noted(manifest(JobKind.JOB), checkpoint_dir="/ckpt"))
    assert any("/ckpt is on no volume" in note for note in lost.notes)
    mounts = [{"name": "data", "mountPath": "/ckpt"}]
    kept = injected(noted(manifest(JobKind.JOB, volumeMounts=mounts), checkpoint_dir="/ckpt/run"))
    assert not any("no volume" in note for note in kept.notes)
    assert kept.spec.checkpoint_dir == "/ckpt/run"


def test_a_job_that_names_no_checkpoint_folder_is_told_what_that_costs() -> None:
    assert any("keepstep.io/checkpoint-dir" in note for note in injected(manifest(JobKind.JOB)).notes)
    named = injected(noted(manifest(JobKind.JOB), checkpoint_dir="/ckpt"))
    assert not any("keepstep.io/checkpoint-dir" in note for note in named.notes)


def test_the_policy_comes_from_the_annotation_or_from_beside_it() -> None:
    job = noted(manifest(JobKind.JOB), policy='{"recovery": {"restart_limit": 3}}')
    assert injected(job).spec.policy.recovery.restart_limit == 3
    beside = Wishes(policy=Policy(recovery=RecoveryPolicy(restart_limit=5)))
    assert injected(job, beside=beside).spec.policy.recovery.restart_limit == 5


@EVERY
def test_a_job_that_kueue_will_resume_is_told_the_levels_that_it_has_then(kind: JobKind) -> None:
    where = {"runPolicy": {"suspend": True}} if kind is JobKind.PYTORCHJOB else {"suspend": True}
    found = injected(merged(manifest(kind), {"spec": where})).support
    assert found == injected(manifest(kind)).support
    assert Level.IN_PLACE in found.levels
