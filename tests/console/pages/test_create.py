"""The form of a job that is an object of a Kubernetes: what it offers, refuses, orders, and tells of its order."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from keepstep.console.objects import OnObjects
from keepstep.console.pages import job_form
from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, JobUid
from keepstep.contracts.kubernetes import DataSource, JobKind, SourceType
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob
from keepstep.contracts.taxonomy import Category, Framework, Level
from keepstep.contracts.topology import JobRef, Script
from tests.console.pages.site import Site, silent

TRAIN = OnObjects(("train", "research"))
REAL = JobRef(name="bert", uid=JobUid("uid-of-the-object"))
FILLED = job_form.blank_object("train") | {
    "argv": "torchrun --nproc-per-node=gpu train.py --lr 1",
    "name": "bert",
    "image": "registry.example/train:1",
    "nodes": "2",
    "kind": "pytorchjob",
    "queue": "team-a",
    "priority": "high",
    "resources": "nvidia.com/gpu=8\n",
    "sources": "pvc shared /ckpt",
    "labels": "team=nlp",
    "env": "A=1",
    "checkpoint_dir": "/ckpt",
    "level_pod": "",
}


def sent(**changes: str) -> dict[str, str]:
    return {name: value for name, value in (FILLED | {"act": "create"} | changes).items() if value}


def created(order: Message) -> Iterable[Message]:
    assert isinstance(order, CreateJob)
    about: dict[str, Any] = {"id": EventId("c"), "time": order.time, "pool": order.pool, "cause": order.id}
    yield e.JobCreated(**about, job=REAL, ordered=order.job, kind="PyTorchJob train/bert", by=order.by)


def refused(order: Message) -> Iterable[Message]:
    because = "name: there is a PyTorchJob train/bert already; choose another name, or delete it"
    about: dict[str, Any] = {"id": EventId("f"), "time": order.time, "pool": order.pool, "cause": order.id}
    yield e.JobFailed(**about, job=order.job, category=Category.USER_CONFIG, because=because)


async def test_the_form_offers_what_the_pool_s_cluster_has() -> None:
    async with Site(ground=TRAIN).asked() as browser:
        of_objects = (await browser.get("/create")).text
    async with Site().asked() as browser:
        of_nodes = (await browser.get("/create")).text
    for name in ("image", "namespace", "kind", "queue", "priority", "resources", "sources", "framework", "restart"):
        assert f'name="{name}"' in of_objects
        assert f'name="{name}"' not in of_nodes
    assert 'name="cwd"' in of_nodes
    assert 'name="cwd"' not in of_objects
    assert '<option value="research">' in of_objects
    assert '<option value="trainjob">' not in of_objects, "its runtime is nobody's to make but a person's"


async def test_what_was_written_becomes_an_order_for_the_object() -> None:
    site = Site(ground=TRAIN)
    async with site.asked() as browser:
        answer = await browser.post("/create", data=sent())
    (order,) = site.ordered
    assert isinstance(order, CreateJob)
    assert answer.headers["location"] == f"/create?order={order.key}"
    assert (order.spec.name, order.spec.nodes, order.spec.nproc) == ("bert", 2, 8)
    assert order.spec.entrypoint == Script(path="train.py", args=("--lr", "1"))
    assert (order.spec.env, order.spec.labels, order.spec.checkpoint_dir) == ({"A": "1"}, {"team": "nlp"}, "/ckpt")
    assert order.spec.policy.recovery.levels == (Level.WAIT, Level.IN_PLACE, Level.JOB)
    assert order.spec.framework is Framework.PYTORCH
    work = order.kubernetes
    assert work is not None
    assert work.command == ("torchrun", "--nproc-per-node=gpu", "train.py", "--lr", "1")
    assert (work.image, work.namespace, work.kind) == ("registry.example/train:1", "train", JobKind.PYTORCHJOB)
    assert (work.queue, work.priority, work.resources) == ("team-a", "high", {"nvidia.com/gpu": 8})
    assert work.sources == (DataSource(type=SourceType.PVC, name="shared", path="/ckpt"),)


@pytest.mark.parametrize(
    ("answers", "kind", "says"),
    [
        (silent, "status", "Asked to create the job. What becomes of it shows here."),
        (created, "status", f'PyTorchJob train/bert</bdi> <a href="/jobs/{REAL.uid}">'),
        (refused, "alert", "name: there is a PyTorchJob train/bert already; choose another name, or delete it"),
    ],
)
async def test_the_form_s_page_tells_what_became_of_the_order(answers: Any, kind: str, says: str) -> None:
    site = Site(answers=answers, ground=TRAIN)
    async with site.asked() as browser:
        told = await browser.get((await browser.post("/create", data=sent())).headers["location"])
    live = told.text.partition('<div id="live"')[2].partition("</div>")[0]
    assert says in live
    assert f'role="{kind}"' in live
    assert 'hx-trigger="sse:changed"' in live, "it shows without a reload"


async def test_a_refused_order_fills_the_form_again_but_for_what_may_be_secret() -> None:
    site = Site(answers=refused, ground=TRAIN)
    async with site.asked() as browser:
        told = (await browser.get((await browser.post("/create", data=sent())).headers["location"])).text
    assert "A=1" not in told
    site.ordered.clear()
    order = await ordered_again(site, told)
    assert order.kubernetes is not None
    assert order.spec.env == {}
    first = job_form.again(order.spec, order.kubernetes)
    assert first == FILLED | {"env": "", "resources": "nvidia.com/gpu=8"}


async def ordered_again(site: Site, page: str) -> CreateJob:
    """Send the form that a page shows once more and return what is ordered then."""
    model = site.console.board.model
    last = model.orders.refused(JobUid(page.partition("/create?order=")[2].partition('"')[0]))
    assert last is not None
    assert last.kubernetes is not None
    async with site.asked() as browser:
        fields = job_form.again(last.spec, last.kubernetes) | {"act": "create"}
        assert (await browser.post("/create", data={name: word for name, word in fields.items() if word})).is_redirect
    (order,) = site.ordered
    assert isinstance(order, CreateJob)
    return order


async def test_a_page_that_is_faster_than_the_bus_shows_the_order_once_it_is_known() -> None:
    site = Site(ground=TRAIN)
    async with site.asked() as browser:
        early = (await browser.get("/create", params={"order": "of-the-order"})).text
    live = early.partition('<div id="live"')[2].partition("</div>")[0]
    assert "Nothing is known of this order yet." in live
    assert 'hx-get="/create?order=of-the-order"' in live
    assert "sse-connect" in early


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"image": ""}, "image", "image"),
        ({"argv": ""}, "argv", "a command of the image"),
        ({"namespace": "kube-system"}, "namespace", "in train, research alone; choose one of them"),
        ({"resources": "nvidia.com/gpu"}, "resources", "write NAME=VALUE, one a line"),
        ({"resources": "nvidia.com/gpu=many"}, "resources", "is no whole number"),
        ({"sources": "pvc shared"}, "sources", "write TYPE NAME PATH"),
        ({"sources": "hostpath / /host"}, "sources", "a folder of a node is not mounted by keepstep"),
        ({"labels": "a b=1"}, "labels", "--label a b"),
        ({"kind": "job", "restart": "ExitCode"}, "restart", "only a pytorchjob has it"),
        ({"product": "abacus"}, "product", "is none of gpu"),
        ({"env": "RANK=1"}, "env", "keepstep sets RANK"),
        ({"name": "Not A Name"}, "name", "name"),
    ],
)
async def test_a_mistake_is_told_with_field_and_remedy_and_nothing_is_ordered(
    changes: dict[str, str], field: str, says: str
) -> None:
    site = Site(ground=TRAIN)
    async with site.asked() as browser:
        answer = await browser.post("/create", data=sent(**changes))
    assert (answer.status_code, site.ordered) == (422, [])
    assert says in answer.text
    mark = answer.text.partition(f'id="f-{field}"')[2].partition(">")[0]
    assert 'aria-errormessage="mistake"' in mark
    assert 'value="high"' in answer.text, "what was written stays"


async def test_levels_are_told_and_a_warning_is_read_before_the_object_is_ordered() -> None:
    site = Site(ground=TRAIN)
    async with site.asked() as browser:
        shown = (await browser.post("/create", data=sent(crash_count="100"))).text
        assert "100 restarts in 3600 s are 100 an hour" in shown
        assert "PyTorchJob bert: no level pod: " in shown
        assert "PyTorchJob bert: level in-place" in shown
        assert not site.ordered
        seen = shown.partition('name="seen" value="')[2].partition('"')[0]
        await browser.post("/create", data=sent(crash_count="100", seen=seen))
    assert len(site.ordered) == 1


async def test_where_orders_make_no_jobs_the_page_says_who_can_change_that() -> None:
    site = Site(ground=OnObjects())
    async with site.asked() as browser:
        blank = await browser.get("/create")
        answer = await browser.post("/create", data=sent())
    assert "KEEPSTEP_CREATE_IN" in blank.text
    assert (answer.status_code, site.ordered) == (409, [])


async def test_all_mistakes_of_a_form_are_told_at_once_each_at_its_field() -> None:
    """Who had put five things wrong sent the form in six times."""
    wrong = job_form.blank() | {
        "argv": "train.py 'open", "name": "Not A Name", "nodes": "two", "labels": "nothing", "hang_limit": "soon",
        "crash_count": "-1", "act": "create",
    }  # fmt: skip
    site = Site()
    async with site.asked() as browser:
        answer = await browser.post("/create", data={name: value for name, value in wrong.items() if value})
        chinese = await browser.post("/create?lang=zh", data={name: value for name, value in wrong.items() if value})
    assert answer.status_code == 422
    assert site.ordered == []
    told = answer.text.partition('id="mistake"')[2].partition("</div>")[0]
    assert told.count("<li>") == 6
    for field in ("argv: ", "name: ", "nodes: ", "labels: ", "hang_limit: ", "recovery.crash.count: "):
        assert field in told, field
    for name in ("argv", "name", "nodes", "labels", "hang_limit"):
        assert re.search(rf'id="f-{name}"[^>]*aria-invalid="true"', answer.text), name
    assert "错误 6 处" in chinese.text


async def test_the_api_tells_all_mistakes_at_once_too() -> None:
    async with Site().asked() as browser:
        answer = await browser.post(
            "/api/v1/jobs?check=true", json={"argv": [], "labels": {"": "x"}, "policy": {"nothing": 1}}
        )
    assert answer.status_code == 422
    for field in ("nothing to run", "--label", "policy: "):
        assert field in answer.json()["detail"], answer.text
