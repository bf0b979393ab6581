"""The store of the API server double: versions, conflicts, deletion, ownership of fields."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.kube.server import kinds
from tests.kube.server.deletion import DeleteOptions
from tests.kube.server.errors import ApiError
from tests.kube.server.objects import Obj
from tests.kube.server.patches import PatchType
from tests.kube.server.store import Event, EventType, Store


class Clock:
    """An instant that a test moves."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 29, 21, 40, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.at

    def move(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Store:
    return Store(clock)


@pytest.fixture
def said(store: Store) -> list[Event]:
    events: list[Event] = []
    store.listen(events.append)
    return events


def pod(name: str, **spec: object) -> Obj:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "train:1"}], **spec}}


def told(events: list[Event]) -> list[tuple[EventType, str]]:
    return [(event.type, event.object["metadata"]["name"]) for event in events]


def test_a_write_of_nothing_says_nothing(store: Store, said: list[Event]) -> None:
    made = store.create(kinds.POD, pod("p"), "default")
    again = store.patch(kinds.POD, "p", {"metadata": {"annotations": None}}, "default")
    assert again["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert told(said) == [(EventType.ADDED, "p")]


def test_what_a_reader_changes_is_not_stored(store: Store) -> None:
    store.create(kinds.POD, pod("p"), "default")["spec"]["nodeName"] = "a"
    store.get(kinds.POD, "p", "default")["spec"]["nodeName"] = "b"
    store.list(kinds.POD)[0]["spec"]["nodeName"] = "c"
    assert "nodeName" not in store.get(kinds.POD, "p", "default")["spec"]


def test_the_generation_rises_with_the_spec_alone(store: Store) -> None:
    store.create(kinds.JOB_SET, {"metadata": {"name": "j"}, "spec": {"suspend": False}}, "default")
    labelled = store.patch(kinds.JOB_SET, "j", {"metadata": {"labels": {"a": "b"}}}, "default")
    counted = store.patch(kinds.JOB_SET, "j", {"status": {"restarts": 1}}, "default", subresource="status")
    suspended = store.patch(kinds.JOB_SET, "j", {"spec": {"suspend": True}}, "default")
    assert [one["metadata"]["generation"] for one in (labelled, counted, suspended)] == [1, 1, 2]


def test_status_and_the_rest_are_written_apart(store: Store) -> None:
    store.create(kinds.JOB_SET, {"metadata": {"name": "j"}, "spec": {"suspend": False}}, "default")
    body = {"metadata": {"labels": {"a": "b"}}, "spec": {"suspend": True}, "status": {"restarts": 1}}
    main = store.patch(kinds.JOB_SET, "j", body, "default")
    assert "status" not in main
    store.patch(kinds.JOB_SET, "j", {"spec": {"suspend": False}, "metadata": {"labels": None}}, "default")
    status = store.patch(kinds.JOB_SET, "j", body, "default", subresource="status")
    assert (status["spec"], status["status"]) == ({"suspend": False}, {"restarts": 1})
    assert "labels" not in status["metadata"]


def test_a_pod_dies_in_two_events_and_waits_for_its_node(store: Store, clock: Clock, said: list[Event]) -> None:
    store.create(kinds.POD, pod("p", nodeName="n"), "default")
    dying = store.delete(kinds.POD, "p", "default")
    assert dying["metadata"]["deletionTimestamp"] == "2026-11-29T21:40:30Z"
    assert dying["metadata"]["deletionGracePeriodSeconds"] == 30
    clock.move(3600)
    assert store.find(kinds.POD, "p", "default") is not None
    store.delete(kinds.POD, "p", "default", DeleteOptions(grace=0))
    changes = [EventType.ADDED, EventType.MODIFIED, EventType.MODIFIED, EventType.DELETED]
    assert [event.type for event in said] == changes
    assert said[-1].object["metadata"]["deletionGracePeriodSeconds"] == 0


def test_a_delete_may_only_shorten_the_grace(store: Store) -> None:
    store.create(kinds.POD, pod("p", nodeName="n", terminationGracePeriodSeconds=60), "default")
    store.delete(kinds.POD, "p", "default")
    shorter = store.delete(kinds.POD, "p", "default", DeleteOptions(grace=10))
    assert shorter["metadata"]["deletionTimestamp"] == "2026-11-29T21:40:10Z"
    longer = store.delete(kinds.POD, "p", "default", DeleteOptions(grace=20))
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 10


def test_a_pod_without_a_node_goes_at_once(store: Store) -> None:
    store.create(kinds.POD, pod("p"), "default")
    store.delete(kinds.POD, "p", "default")
    assert store.find(kinds.POD, "p", "default") is None


def test_a_finalizer_holds_even_a_forced_delete(store: Store, said: list[Event]) -> None:
    store.create(kinds.POD, pod("p", nodeName="n"), "default")
    store.patch(kinds.POD, "p", {"metadata": {"finalizers": ["keepstep.example/hold"]}}, "default")
    store.delete(kinds.POD, "p", "default")
    store.delete(kinds.POD, "p", "default", DeleteOptions(grace=0))
    held = store.get(kinds.POD, "p", "default")
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    before = len(said)
    store.patch(kinds.POD, "p", {"metadata": {"finalizers": None}}, "default")
    assert [event.type for event in said[before:]] == [EventType.DELETED]


def test_a_finalizer_dropped_within_the_grace_leaves_the_pod_to_its_node(store: Store) -> None:
    store.create(kinds.POD, pod("p", nodeName="n"), "default")
    store.patch(kinds.POD, "p", {"metadata": {"finalizers": ["keepstep.example/hold"]}}, "default")
    store.delete(kinds.POD, "p", "default")
    store.patch(kinds.POD, "p", {"metadata": {"finalizers": None}}, "default")
    assert store.find(kinds.POD, "p", "default") is not None


def test_an_older_version_is_a_conflict(store: Store) -> None:
    made = store.create(kinds.POD, pod("p"), "default")
    store.patch(kinds.POD, "p", {"metadata": {"labels": {"a": "b"}}}, "default")
    with pytest.raises(ApiError, match="the object has been modified") as refused:
        store.update(kinds.POD, made)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")


def test_a_custom_object_is_not_replaced_without_a_version(store: Store) -> None:
    made = store.create(kinds.JOB_SET, {"metadata": {"name": "j"}, "spec": {}}, "default")
    del made["metadata"]["resourceVersion"]
    with pytest.raises(ApiError, match="must be specified for an update"):
        store.update(kinds.JOB_SET, made)


def test_a_made_up_name_and_uid_are_the_same_in_a_replay(clock: Clock) -> None:
    def made() -> list[tuple[str, str]]:
        store = Store(clock)
        objects = [store.create(kinds.POD, {"metadata": {"generateName": "p-"}, "spec": {}}) for _ in range(50)]
        return [(one["metadata"]["name"], one["metadata"]["uid"]) for one in objects]

    assert made() == made()
    assert len(set(made())) == 50


def test_a_watch_older_than_the_history_is_expired(clock: Clock) -> None:
    store = Store(clock, history=2)
    versions = [store.create(kinds.POD, pod(f"p{at}"))["metadata"]["resourceVersion"] for at in range(4)]
    assert told(list(store.since(kinds.POD, int(versions[1])))) == [(EventType.ADDED, "p2"), (EventType.ADDED, "p3")]
    with pytest.raises(ApiError, match="too old resource version: ") as refused:
        store.since(kinds.POD, int(versions[0]))
    assert refused.value.code == 410


def test_listeners_hear_changes_in_order_even_when_they_write(store: Store) -> None:
    heard: list[str] = []

    def answers(event: Event) -> None:
        if event.type is EventType.ADDED:
            store.patch(kinds.POD, event.object["metadata"]["name"], {"metadata": {"labels": {"a": "b"}}}, "default")

    store.listen(answers)
    store.listen(lambda event: heard.append(event.type))
    store.create(kinds.POD, pod("p"), "default")
    assert heard == ["ADDED", "MODIFIED"]


def test_strategic_merge_joins_taints_by_key_alone(store: Store) -> None:
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
    for key, effect in (("other", "NoSchedule"), ("fault", "NoSchedule"), ("fault", "NoExecute")):
        body = {"spec": {"taints": [{"key": key, "value": "a", "effect": effect}]}}
        store.patch(kinds.NODE, "n", body, how=PatchType.STRATEGIC)
    taints = store.get(kinds.NODE, "n")["spec"]["taints"]
    assert [(taint["key"], taint["effect"]) for taint in taints] == [("other", "NoSchedule"), ("fault", "NoExecute")]


def cordon(store: Store, manager: str, *, value: bool, force: bool = False) -> Obj:
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"unschedulable": value}}
    return store.patch(kinds.NODE, "n", body, how=PatchType.APPLY, manager=manager, force=force)


def test_apply_refuses_anothers_field_with_another_value(store: Store) -> None:
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
    cordon(store, "keepstep", value=True)
    with pytest.raises(ApiError) as refused:
        cordon(store, "other", value=False)
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "keepstep": .spec.unschedulable'
    assert cordon(store, "other", value=False, force=True)["spec"] == {"unschedulable": False}
    assert cordon(store, "third", value=False)["spec"] == {"unschedulable": False}


def test_apply_takes_back_what_it_no_longer_says(store: Store) -> None:
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {"podCIDR": "192.0.2.0/24"}})
    cordon(store, "keepstep", value=True)
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "annotations": {"a": "b"}}}
    after = store.patch(kinds.NODE, "n", body, how=PatchType.APPLY, manager="keepstep")
    assert after["spec"] == {"podCIDR": "192.0.2.0/24"}
    assert after["metadata"]["annotations"] == {"a": "b"}


def test_an_update_takes_the_field_from_who_applied_it(store: Store) -> None:
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
    cordon(store, "keepstep", value=True)
    store.patch(kinds.NODE, "n", {"spec": {"unschedulable": False}}, manager="kubectl")
    with pytest.raises(ApiError, match='conflict with "kubectl" using v1 at 2026-11-29T21:40:00Z'):
        cordon(store, "keepstep", value=True)
    with pytest.raises(ApiError, match="Apply failed with 1 conflict: "):
        cordon(store, "third", value=True)


def test_what_two_applied_stays_while_one_still_says_it(store: Store) -> None:
    store.create(kinds.NODE, {"metadata": {"name": "n"}, "spec": {}})
    cordon(store, "keepstep", value=True)
    cordon(store, "other", value=True)
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    left = store.patch(kinds.NODE, "n", body, how=PatchType.APPLY, manager="keepstep")
    assert left["spec"] == {"unschedulable": True}
    assert "unschedulable" not in store.patch(kinds.NODE, "n", body, how=PatchType.APPLY, manager="other")["spec"]


def test_an_applied_item_of_a_list_leaves_the_others(store: Store) -> None:
    theirs = {"manager": "example.org/user", "trainingRuntimeSpec": {"a": 1}}
    ours = {"manager": "keepstep.io/avoid", "trainingRuntimeSpec": {"b": 2}}
    store.create(kinds.TRAIN_JOB, {"metadata": {"name": "j"}, "spec": {"runtimePatches": [theirs]}}, "default")
    head = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "j"}}
    body = {**head, "spec": {"runtimePatches": [ours]}}
    after = store.patch(kinds.TRAIN_JOB, "j", body, "default", how=PatchType.APPLY, manager="keepstep")
    assert after["spec"]["runtimePatches"] == [theirs, ours]
    again = store.patch(kinds.TRAIN_JOB, "j", body, "default", how=PatchType.APPLY, manager="keepstep")
    assert again["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    store.patch(kinds.TRAIN_JOB, "j", head, "default", how=PatchType.APPLY, manager="keepstep")
    assert store.get(kinds.TRAIN_JOB, "j", "default")["spec"]["runtimePatches"] == [theirs]
