"""What the double fills in and refuses, beyond what the traces show: names, labels, owners, containers, defaults."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.kube.server import kinds
from tests.kube.server.binding import bind
from tests.kube.server.errors import ApiError
from tests.kube.server.objects import Obj
from tests.kube.server.rules import RULES
from tests.kube.server.store import Store


@pytest.fixture
def store() -> Store:
    return Store(lambda: datetime(2026, 11, 29, tzinfo=UTC), rules=RULES)


def pod(**meta: Any) -> Obj:
    return {"metadata": {"name": "p", **meta}, "spec": {"containers": [{"name": "main", "image": "train:1"}]}}


def refusal(store: Store, kind: kinds.Kind, obj: Obj) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        store.create(kind, obj, "default")
    return refused.value.code, refused.value.message


@pytest.mark.parametrize(
    ("meta", "field"),
    [
        ({"name": "Upper"}, "metadata.name"),
        ({"name": "a_b"}, "metadata.name"),
        ({"name": "-a"}, "metadata.name"),
        ({"name": "a" * 254}, "metadata.name"),
        ({"labels": {"a": "b" * 64}}, "metadata.labels"),
        ({"labels": {"a": "b c"}}, "metadata.labels"),
        ({"labels": {"a/b/c": "d"}}, "metadata.labels"),
        ({"labels": {"a": 1}}, "metadata.labels"),
        ({"annotations": {"a b": "c"}}, "metadata.annotations"),
        ({"annotations": {"a": "b" * (256 * 1024)}}, "metadata.annotations"),
        ({"finalizers": ["hold"]}, "metadata.finalizers"),
        ({"ownerReferences": [{"kind": "Job", "name": "j", "uid": "u"}]}, "metadata.ownerReferences.apiVersion"),
    ],
)
def test_metadata_that_breaks_a_rule_is_invalid(store: Store, meta: Obj, field: str) -> None:
    code, message = refusal(store, kinds.POD, pod(**meta))
    assert code == 422
    assert f"is invalid: {field}: " in message


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"containers": []}, "spec.containers: Required value"),
        ({"containers": [{"name": "a"}]}, "spec.containers[0].image: Required value"),
        ({"containers": [{"image": "a"}]}, "spec.containers[0].name: Required value"),
        ({"containers": [{"name": "a", "image": "b"}] * 2}, 'spec.containers[1].name: Duplicate value: "a"'),
        (
            {"containers": [{"name": "a", "image": "b", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]},
            'spec.containers[0].volumeMounts[0].name: Not found: "v"',
        ),
    ],
)
def test_a_pod_needs_containers_that_make_sense(store: Store, spec: Obj, told: str) -> None:
    assert told in refusal(store, kinds.POD, {"metadata": {"name": "p"}, "spec": spec})[1]


def test_a_pod_needs_the_service_account_it_names(store: Store) -> None:
    wanted = pod()
    wanted["spec"]["serviceAccountName"] = "trainer"
    code, message = refusal(store, kinds.POD, wanted)
    assert (code, message.partition(":")[0]) == (403, 'pods "p" is forbidden')
    store.create(kinds.SERVICE_ACCOUNT, {"metadata": {"name": "trainer"}}, "default")
    assert store.create(kinds.POD, wanted, "default")["spec"]["serviceAccount"] == "trainer"


def test_a_pod_tolerates_a_lost_node_for_five_minutes_unless_it_says_otherwise(store: Store) -> None:
    own = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
    wanted = pod()
    wanted["spec"]["tolerations"] = [own | {"tolerationSeconds": 30}]
    seconds = {one["key"]: one["tolerationSeconds"] for one in store.create(kinds.POD, wanted)["spec"]["tolerations"]}
    assert seconds == {"node.kubernetes.io/unreachable": 30, "node.kubernetes.io/not-ready": 300}


def test_limits_are_requests_too(store: Store) -> None:
    wanted = pod()
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "8"}}
    assert store.create(kinds.POD, wanted)["spec"]["containers"][0]["resources"]["requests"] == {"nvidia.com/gpu": "8"}


def test_a_dying_object_takes_no_new_finalizer(store: Store) -> None:
    store.create(kinds.POD, pod(finalizers=["keepstep.example/hold"]), "default")
    store.delete(kinds.POD, "p", "default")
    body = {"metadata": {"finalizers": ["keepstep.example/hold", "keepstep.example/more"]}}
    with pytest.raises(ApiError, match="no new finalizers can be added if the object is being deleted"):
        store.patch(kinds.POD, "p", body, "default")


def test_a_pod_is_bound_once_and_its_generation_does_not_tell(store: Store) -> None:
    store.create(kinds.POD, pod(), "default")
    assert bind(store, "p", "default", "n")["metadata"]["generation"] == 1
    with pytest.raises(ApiError, match='pod p is already assigned to node "n"'):
        bind(store, "p", "default", "m")


def test_a_pod_lets_its_image_and_more_tolerations_change_and_no_more(store: Store) -> None:
    held = store.create(kinds.POD, pod(), "default")["spec"]
    more = {"tolerations": [*held["tolerations"], {"key": "a", "operator": "Exists"}]}
    store.patch(kinds.POD, "p", {"spec": more}, "default")
    changes: list[Obj] = [{"tolerations": []}, {"nodeSelector": {"a": "b"}}, {"restartPolicy": "Never"}]
    for spec in changes:
        with pytest.raises(ApiError, match="pod updates may not change fields other than"):
            store.patch(kinds.POD, "p", {"spec": spec}, "default")


def test_a_taint_is_there_once_for_each_effect(store: Store) -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    assert (
        "Duplicate value" in refusal(store, kinds.NODE, {"metadata": {"name": "n"}, "spec": {"taints": [taint] * 2}})[1]
    )
    both = [taint, taint | {"effect": "NoExecute"}]
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {"taints": both}})


def template(**spec: Any) -> Obj:
    return {"spec": {"containers": [{"name": "main", "image": "train:1"}], **spec}}


def test_a_job_gets_its_labels_and_limits(store: Store) -> None:
    spec = {"template": template(restartPolicy="Never")}
    job = store.create(kinds.JOB, {"metadata": {"name": "j"}, "spec": spec}, "default")
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"
    assert (job["spec"]["backoffLimit"], job["spec"]["podReplacementPolicy"]) == (6, "TerminatingOrFailed")


def test_a_job_refuses_pods_that_always_restart(store: Store) -> None:
    job = {"metadata": {"name": "j"}, "spec": {"template": template(restartPolicy="Always")}}
    assert 'valid values: "OnFailure", "Never"' in refusal(store, kinds.JOB, job)[1]


def test_an_event_is_about_its_own_namespace(store: Store) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "other"}}
    assert "does not match event.namespace" in refusal(store, kinds.EVENT, event)[1]


def test_a_pytorchjob_needs_a_container_of_that_name(store: Store) -> None:
    replicas = {"Master": {"template": template()}}
    job = {"metadata": {"name": "j"}, "spec": {"pytorchReplicaSpecs": replicas}}
    assert "must have at least one container with name pytorch" in refusal(store, kinds.PYTORCH_JOB, job)[1]


def test_a_volcano_job_is_refused_without_a_reason(store: Store) -> None:
    tasks = [{"name": "a", "replicas": 1, "minAvailable": 2, "template": template()}]
    with pytest.raises(ApiError) as refused:
        store.create(kinds.VOLCANO_JOB, {"metadata": {"name": "j"}, "spec": {"tasks": tasks}}, "default")
    assert (refused.value.code, refused.value.reason) == (400, "")
    assert "reason" not in refused.value.status


def test_an_unknown_namespace_is_not_found(store: Store) -> None:
    with pytest.raises(ApiError, match='namespaces "none" not found'):
        store.create(kinds.POD, pod(), "none")
