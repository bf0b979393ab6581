"""What cannot be injected is refused, all at once, by field and with a remedy."""

from typing import Any

import pytest
from pydantic import SecretStr

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.core.words.reading import reading
from keepstep.injection.ours import Ours
from tests.injection.manifests import (
    GPUS,
    answer,
    container,
    injected,
    manifest,
    noted,
    objections,
    plain,
    pod_specs,
    template,
)
from tests.kube.objects import merged

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


@pytest.mark.parametrize("url", ["tls://agent:s3cret@nats:4222", "s3cret@nats", "nats://a:4222,nats://s3cret@b:4222"])
def test_an_address_with_credentials_enters_no_pod_template(url: str) -> None:
    found = answer(manifest(JobKind.JOB), ours=Ours(nats_url=SecretStr(url)))
    assert isinstance(found, tuple)
    assert [one.field for one in found] == ["nats_url"]
    assert "Secret" in found[0].remedy
    assert "s3cret" not in f"{found} {Ours(nats_url=SecretStr(url))}"


def test_ranks_that_are_not_root_and_nobody_knows_who_they_are_are_asked_for_their_user() -> None:
    job = manifest(JobKind.JOB, securityContext={"runAsNonRoot": True})
    assert list(objections(job)) == ["spec.template.spec.containers[0].securityContext.runAsUser"]


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


POLICY = "metadata.annotations[keepstep.io/policy]"


def test_every_mistake_of_the_annotations_is_told_at_once_and_what_is_wrong_besides() -> None:
    """The first of them alone was told: of a policy with three, somebody applied the job four times."""
    policy = '{"recovery": {"levls": ["pod"], "restart_limit": -1, "pending": "fial"}, "isolation": {"enabled": 7}}'
    said = {"framework": "pytorsch", "product": "atlas", "rank_table": "3", "chip_mode": "fast", "nproc": "many"}
    job = noted(manifest(JobKind.JOB, restart="OnFailure"), policy=policy, **said)
    found = answer(job)
    assert isinstance(found, tuple)
    told = [str(one) for one in found]
    assert [one for one in told if one.startswith(POLICY)] == [
        f"{POLICY}: recovery.restart_limit: -1 is out of range; write at least 0",
        f'{POLICY}: recovery.pending: "fial" is not known; write one of wait, fail; did you mean fail?',
        f"{POLICY}: recovery.levls: unknown field; did you mean levels?",
        f"{POLICY}: isolation.enabled: 7 is not true or false; see keepstep schema json Policy",
    ]
    assert [one for one in told if reading(one).unread] == []
    others = [f"metadata.annotations[keepstep.io/{name.replace('_', '-')}]" for name in said]
    assert sorted(one.field for one in found if one.field != POLICY) == sorted([*others, *RESTART_FIELDS[JobKind.JOB]])


def test_of_a_policy_with_more_mistakes_than_anybody_reads_the_first_are_told_and_how_many_there_are() -> None:
    """An annotation may have 256 KiB, and an answer to the API server no 100,000 objections."""
    found = answer(noted(manifest(JobKind.JOB), policy=f'{{"recovery": {{"levels": [{", ".join(["0"] * 1000)}]}}}}'))
    assert isinstance(found, tuple)
    assert len(found) == 21
    assert str(found[-1]) == f"{POLICY}: 980 mistakes more; put these right first"
    assert [str(one) for one in found if reading(str(one)).unread] == []


def test_every_part_of_the_specification_that_no_job_can_have_is_told() -> None:
    job = merged(noted(manifest(JobKind.JOB, command=("python", "t.py")), nproc="5000"), {"metadata": {"name": "a.b"}})
    assert list(objections(job)) == ["metadata.name", "keepstep's nproc"]


@pytest.mark.parametrize("nproc", ["0", "-1", "1.5", "", "9" * 5000])
def test_what_is_no_number_of_ranks_is_refused_as_that(nproc: str) -> None:
    """A number of thousands of digits ended the webhook's answer."""
    found = objections(noted(manifest(JobKind.JOB), nproc=nproc))
    assert list(found) == ["metadata.annotations[keepstep.io/nproc]"]
    assert "is no number of ranks" in found["metadata.annotations[keepstep.io/nproc]"]


def test_an_annotation_that_cannot_be_read_leads_to_no_objection_of_its_own() -> None:
    """Its ranks are counted by devices, there are none, and it was asked to annotate what it had annotated."""
    command = ("torchrun", "--nproc_per_node=gpu", "t.py")
    job = noted(manifest(JobKind.JOB, command=command), nproc="eight", framework="tensorflo")
    fields = ["metadata.annotations[keepstep.io/nproc]", "metadata.annotations[keepstep.io/framework]"]
    assert list(objections(job)) == fields


OWN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("spec.containers[1].name", {"containers": [container(resources=GPUS), container("keepstep-agent")]}),
    ("spec.initContainers[0].name", {"initContainers": [container("keepstep-install")]}),
    ("spec.volumes[1].name", {"volumes": [{"name": "data"}, {"name": "keepstep", "emptyDir": {}}]}),
    (
        "spec.containers[0].volumeMounts[0].mountPath",
        {"containers": [container(volumeMounts=[{"name": "v", "mountPath": "/keepstep/"}])]},
    ),
    ("spec.os.name", {"os": {"name": "windows"}}),
)


@pytest.mark.parametrize(("field", "spec"), OWN, ids=[field for field, _ in OWN])
def test_what_stands_in_keepstep_s_way_is_refused_before_a_server_refuses_what_it_did_not_write(
    field: str, spec: dict[str, Any]
) -> None:
    """A volume called keepstep made a pod with two of them, and the webhook had the server refuse the user's job."""
    job = merged(manifest(JobKind.JOB), {"spec": {"template": {"spec": spec}}})
    found = objections(job)
    assert list(found) == [f"spec.template.{field}"]
    assert [one for one in found.values() if reading(one).unread] == []
