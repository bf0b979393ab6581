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
from keepstep.contracts.topology import Command, JobSpec, Module, Script
from keepstep.injection.inject import Injected, inject
from keepstep.injection.marks import AGENT
from keepstep.injection.ours import NATS_SECRET, Ours
from keepstep.injection.put import at
from keepstep.injection.shapes import SHAPES
from keepstep.injection.wishes import Wishes
from tests.injection.manifests import OURS, answer, container, injected, manifest, noted, objections, template
from tests.kube.objects import merged

EVERY = pytest.mark.parametrize("kind", JobKind)
GPUS = {"limits": {"nvidia.com/gpu": "8"}}


def pod_specs(job: Injected, kind: JobKind) -> list[Any]:
    source = job.documents[0]
    return [at(source, role.template) for role in SHAPES[kind].roles(source)]


def plain(document: Any) -> Any:
    return document


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
    jobset = found.documents[0]["spec"]["template"] if kind is JobKind.TRAINJOB else None  # type: ignore[index]
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


RESTART_FIELDS = {
    JobKind.VOLCANO: ["spec.tasks[0].template.spec.restartPolicy", "spec.tasks[1].template.spec.restartPolicy"],
    JobKind.PYTORCHJOB: [
        "spec.pytorchReplicaSpecs.Master.restartPolicy",
        "spec.pytorchReplicaSpecs.Worker.restartPolicy",
    ],
    JobKind.JOBSET: ["spec.replicatedJobs[0].template.spec.template.spec.restartPolicy"],
    JobKind.JOB: ["spec.template.spec.restartPolicy"],
}


@pytest.mark.parametrize("kind", RESTART_FIELDS)
def test_a_kubelet_that_would_start_containers_again_is_refused_by_the_name_of_the_field(kind: JobKind) -> None:
    found = objections(manifest(kind, restart="OnFailure"))
    assert list(found) == RESTART_FIELDS[kind]
    assert all(because.startswith("OnFailure starts containers again") for because in found.values())


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


@pytest.mark.parametrize("url", ["tls://agent:s3cret@nats:4222", "s3cret@nats", "nats://a:4222,nats://s3cret@b:4222"])
def test_an_address_with_credentials_enters_no_pod_template(url: str) -> None:
    found = answer(manifest(JobKind.JOB), ours=Ours(nats_url=SecretStr(url)))
    assert isinstance(found, tuple)
    assert [one.field for one in found] == ["nats_url"]
    assert "Secret" in found[0].remedy
    assert "s3cret" not in f"{found} {Ours(nats_url=SecretStr(url))}"


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


def test_ranks_that_are_not_root_and_nobody_knows_who_they_are_are_asked_for_their_user() -> None:
    job = manifest(JobKind.JOB, securityContext={"runAsNonRoot": True})
    assert list(objections(job)) == ["spec.template.spec.containers[0].securityContext.runAsUser"]


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


@pytest.mark.parametrize(
    ("command", "entrypoint", "nproc"),
    [
        (("python", "train.py"), Script(path="train.py"), 1),
        (("torchrun", "--nproc_per_node", "gpu", "-m", "a.b"), Module(name="a.b"), 8),
        (("bash", "-c", "cd /w && torchrun --nproc_per_node=4 t.py"), None, 4),
        (("bash", "-ec", "torchrun --nproc_per_node=$N t.py"), None, 8),
        (("bash", "-c", "torchrun --nproc_per_node=${SEVEN} t.py"), None, 7),
        (("torchrun", "--nproc_per_node=$(SEVEN)", "t.py"), Script(path="t.py"), 7),
        (("deepspeed", "train.py"), None, 1),
    ],
)
def test_entrypoint_and_ranks_per_pod_are_read_from_the_command(
    command: tuple[str, ...], entrypoint: Any, nproc: int
) -> None:
    env = [{"name": "SEVEN", "value": "7"}]
    spec = injected(manifest(JobKind.JOB, command=command, resources=GPUS, env=env)).spec
    assert spec.entrypoint == (entrypoint or Command(argv=command))
    assert spec.nproc == nproc


@pytest.mark.parametrize(
    "launch", ["torchrun", "python -m torch.distributed.run", "pip install . && python3 -u -m torch.distributed.run"]
)
def test_a_script_that_starts_the_ranks_runs_unchanged_with_our_commands_first(launch: str) -> None:
    command = ("bash", "-c", f"{launch} --nproc_per_node=4 t.py")
    found = injected(manifest(JobKind.JOB, command=command))
    (pod,) = pod_specs(found, JobKind.JOB)
    assert pod["spec"]["containers"][0]["command"] == ["/bin/sh", "/keepstep/bin/keepstep-shims", *command]
    assert Level.IN_PLACE in found.spec.policy.recovery.levels


@pytest.mark.parametrize(
    "command",
    [
        ("deepspeed", "train.py"),
        ("accelerate", "launch", "--config_file", "c.yaml", "train.py"),
        ("bash", "-lc", "torchrun --nproc_per_node=4 t.py"),
        ("bash", "run.sh"),
        ("bash", "-c", "/opt/conda/bin/torchrun t.py"),
        ("bash", "-c", "python train.py -m torch.distributed.run"),
        ("bash", "-c", "python -m torch.distributed.launch t.py"),
        ("bash", "-c", "python3.11 -m torch.distributed.run t.py"),
        ("bash", "-c", "torchrun --run-path t.py"),
        ("bash", "-c", "if x; then torchrun --nnodes=1 a.py; else torchrun --nnodes=4 a.py; fi"),
        ("bash", "-c", "torchrun 'unfinished"),
        ("bash", "-c", "mpirun python t.py  # torchrun\n#; torchrun t.py"),
    ],
)
def test_a_command_that_is_not_understood_gets_the_job_level_alone_and_its_people_are_told(
    command: tuple[str, ...],
) -> None:
    found = injected(manifest(JobKind.JOB, command=command))
    assert found.spec.policy.recovery.levels == (Level.WAIT, Level.JOB)
    assert any("only the whole job can be restarted (level job)" in note for note in found.notes)
    refused = found.support.refusal(Level.IN_PLACE)
    assert refused is not None
    assert "its command is not one" in refused.because
    assert "torchrun" in refused.remedy
    assert "--config_file" in refused.remedy


@pytest.mark.parametrize(
    "script",
    ["# don't\ntorchrun --nproc_per_node=4 t.py # it's it", "echo $# '# ' a#b \\# && torchrun --nproc_per_node=4 t.py"],
)
def test_comments_of_a_script_start_nothing_and_end_nothing(script: str) -> None:
    assert injected(manifest(JobKind.JOB, command=("bash", "-c", script))).spec.nproc == 4


@EVERY
def test_a_job_that_kueue_will_resume_is_told_the_levels_that_it_has_then(kind: JobKind) -> None:
    where = {"runPolicy": {"suspend": True}} if kind is JobKind.PYTORCHJOB else {"suspend": True}
    found = injected(merged(manifest(kind), {"spec": where})).support
    assert found == injected(manifest(kind)).support
    assert Level.IN_PLACE in found.levels


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (
            merged(manifest(JobKind.JOB), {"spec": {"template": template({**container(), "command": "python t.py"})}}),
            "containers[0].command: it is one text",
        ),
        (manifest(JobKind.JOB, args="--lr 1"), "containers[0].args: it is one text"),
        (merged(manifest(JobKind.JOB), {"spec": {"template": template()}}), "the role has no container"),
        (
            merged(manifest(JobKind.JOB), {"spec": {"template": template(container("a"), container("b"))}}),
            "which of a, b trains is not known",
        ),
        (noted(manifest(JobKind.JOB), container="c"), "none of them is c; they are main"),
        (noted(manifest(JobKind.VOLCANO), roles="chief"), "is chief; name some of master, worker"),
        (merged(manifest(JobKind.PYTORCHJOB), {"spec": {"pytorchReplicaSpecs": None}}), "spec: the job has no pods"),
    ],
)
def test_a_refusal_says_what_was_found_there(job: dict[str, Any], said: str) -> None:
    found = answer(job)
    assert isinstance(found, tuple)
    assert said in " | ".join(map(str, found))


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": {}}, "kind"),
        (merged(manifest(JobKind.JOB), {"metadata": {"name": None, "generateName": "x-"}}), "metadata.name"),
        (merged(manifest(JobKind.JOB), {"metadata": {"name": "a.b"}}), "metadata.name"),
        (merged(manifest(JobKind.JOB), {"spec": {"completionMode": "NonIndexed"}}), "spec.completionMode"),
        (merged(manifest(JobKind.JOB), {"spec": {"completions": 8}}), "spec.completions"),
        (manifest(JobKind.JOB, command=("torchrun", "--nnodes=2", "t.py")), "spec.parallelism"),
        (manifest(JobKind.JOB, command=()), "spec.template.spec.containers[0].command"),
        (
            manifest(JobKind.JOB, command=("torchrun", "--nproc_per_node=gpu", "t.py")),
            "spec.template.spec.containers[0].resources.limits",
        ),
        (
            merged(manifest(JobKind.JOB), {"spec": {"template": template(container("a"), container("b"))}}),
            "spec.template.spec.containers",
        ),
        (noted(manifest(JobKind.JOB), nproc="many"), "metadata.annotations[keepstep.io/nproc]"),
        (noted(manifest(JobKind.JOB), policy='{"recovry": {}}'), "metadata.annotations[keepstep.io/policy]"),
        (noted(manifest(JobKind.JOB), roles="chief"), "metadata.annotations[keepstep.io/roles]"),
        (noted(manifest(JobKind.JOB), checkpoint_dir="here"), "keepstep's spec"),
    ],
)
def test_what_cannot_be_injected_is_refused_by_the_name_of_the_field(job: dict[str, Any], field: str) -> None:
    assert list(objections(job)) == [field]


def volcano_with_a_server() -> dict[str, Any]:
    job = manifest(JobKind.VOLCANO)
    server = {"name": "ps", "replicas": 1, "template": template(container(command=("python", "serve.py")))}
    job["spec"]["tasks"].append(server)
    return job


def test_roles_that_run_something_else_are_refused_unless_those_that_train_are_named() -> None:
    job = volcano_with_a_server()
    assert list(objections(job)) == ["spec.tasks[2].template.spec.containers[0].command"]
    found = injected(noted(job, roles="master, worker"))
    assert found.spec.nodes == 4
    assert plain(found.job)["spec"]["tasks"][2] == job["spec"]["tasks"][2]


def test_the_container_that_trains_is_the_named_one_the_operators_or_the_one_with_devices() -> None:
    both = template(container("side", ("python", "x.py")), container("main"))
    job = merged(manifest(JobKind.JOB), {"spec": {"template": both}})
    assert injected(noted(job, container="main")).spec.nproc == 2
    both["spec"]["containers"][1]["resources"] = GPUS
    job = merged(manifest(JobKind.JOB), {"spec": {"template": both}})
    (pod,) = pod_specs(injected(job), JobKind.JOB)
    assert pod["spec"]["containers"][0] == container("side", ("python", "x.py"))
    assert pod["metadata"]["annotations"]["kubectl.kubernetes.io/default-container"] == "main"


def test_every_objection_is_told_at_once() -> None:
    job = merged(manifest(JobKind.JOB, restart="OnFailure"), {"spec": {"completionMode": "NonIndexed"}})
    found = answer(job)
    assert isinstance(found, tuple)
    assert len(found) == 2


def test_ranks_per_pod_of_a_pytorchjob_may_stand_in_its_own_field() -> None:
    job = manifest(JobKind.PYTORCHJOB, command=("torchrun", "--nproc_per_node=auto", "t.py"))
    job["spec"]["nprocPerNode"] = "4"
    assert injected(job).spec.nproc == 4


@pytest.mark.parametrize(
    ("framework", "nproc"), [("mindspore", 8), ("tensorflow", 1)], ids=["one rank per device", "one worker per pod"]
)
def test_plain_python_is_as_many_ranks_as_its_framework_has(framework: str, nproc: int) -> None:
    job = manifest(JobKind.JOB, command=("python", "t.py"), resources={"limits": {"huawei.com/Ascend910": "8"}})
    found = injected(noted(job, framework=framework, rank_table="1.2"))
    assert (found.spec.framework, found.spec.nproc, found.spec.rank_table) == (framework, nproc, "1.2")
    (pod,) = pod_specs(found, JobKind.JOB)
    noted_by = pod["spec"]["initContainers"][1]["env"][-1]
    assert noted_by["name"] == "KEEPSTEP_ASCEND_DEVICES"
    assert "ascend-910-configuration" in noted_by["valueFrom"]["fieldRef"]["fieldPath"]


def test_several_tensorflow_workers_in_a_pod_are_refused() -> None:
    job = noted(manifest(JobKind.JOB, command=("python", "t.py")), framework="tensorflow", nproc="2")
    assert list(objections(job)) == ["metadata.annotations[keepstep.io/nproc]"]


def test_a_rank_table_of_a_version_that_nobody_knows_is_refused() -> None:
    job = noted(manifest(JobKind.JOB), rank_table="3.0")
    assert list(objections(job)) == ["metadata.annotations[keepstep.io/rank-table]"]


def test_ranks_per_pod_may_be_wished_for_plain_python() -> None:
    assert injected(noted(manifest(JobKind.JOB, command=("python", "t.py")), nproc="3")).spec.nproc == 3
