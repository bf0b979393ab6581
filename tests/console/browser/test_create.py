"""A job on Kubernetes, created by a person in a browser: its fields, its mistakes, and what became of the order."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from playwright.async_api import Page, expect

from keepstep.console.objects import OnObjects
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.kubernetes import JobKind
from keepstep.contracts.message import Message
from keepstep.contracts.taxonomy import Category
from tests.console.pages.site import Site
from tests.console.pages.test_create import REAL

pytestmark = [pytest.mark.slow, pytest.mark.browser]
TAKEN = "name: there is a JobSet train/bert already; choose another name, or delete it"


@pytest.fixture
def site() -> Site:
    """A pool whose jobs are objects of a Kubernetes; what becomes of an order is told when the test says so."""
    return Site(ground=OnObjects(("train", "research")), clock=lambda: datetime.now(UTC))


def became(order: Message) -> Iterable[Message]:
    assert isinstance(order, o.CreateJob)
    about = {"id": f"of-{order.id}", "time": order.time, "pool": order.pool, "cause": order.id}
    if order.spec.name == "bert":
        yield e.JobFailed.model_validate(about | {"job": order.job, "category": Category.USER_CONFIG, "because": TAKEN})
    else:
        made = REAL.model_copy(update={"name": order.spec.name})
        yield e.JobCreated.model_validate(
            about | {"job": made, "ordered": order.job, "kind": "JobSet train/bert-2", "by": order.by}
        )


async def test_a_job_is_ordered_refused_and_ordered_anew_without_a_reload(
    page: Page, site: Site, complaints: list[str]
) -> None:
    await page.goto("/create")
    await expect(page.get_by_label("Folder it runs in")).to_have_count(0)
    await page.get_by_label("Command").fill("torchrun --nproc-per-node=gpu train.py")
    await page.get_by_label("Name", exact=True).fill("bert")
    await page.get_by_label("Nodes").fill("2")
    await page.get_by_label("Namespace").select_option("train")
    await page.get_by_label("Kind", exact=True).select_option("jobset")
    await page.get_by_role("button", name="Create the job").click()
    await expect(page.get_by_role("alert")).to_contain_text("name the image")
    await expect(page.get_by_label("Image")).to_have_attribute("aria-invalid", "true")
    complaints.clear()  # of the status 422 with which the mistake was told
    await page.get_by_label("Image").fill("registry.example/train:1")
    await page.get_by_label("Devices of each pod").fill("nvidia.com/gpu=8")
    await page.get_by_role("button", name="Check only").click()
    await expect(page.locator("#checked")).to_contain_text("JobSet bert: level in-place")
    assert not site.ordered
    await page.get_by_role("button", name="Create the job").click()
    await expect(page.locator("#live")).to_contain_text("Asked to create the job")
    (order,) = site.ordered
    assert isinstance(order, o.CreateJob)
    assert order.kubernetes is not None
    assert (order.kubernetes.kind, order.kubernetes.namespace, order.spec.nproc) == (JobKind.JOBSET, "train", 8)
    site.tell(*became(order))
    await expect(page.locator("#live").get_by_role("alert")).to_contain_text(TAKEN)
    await page.get_by_role("link", name="Put it right").click()
    await expect(page.get_by_label("Image")).to_have_value("registry.example/train:1")
    await page.get_by_label("Name", exact=True).fill("bert-2")
    await page.get_by_role("button", name="Create the job").click()
    await expect(page.locator("#live")).to_contain_text("Asked to create the job")
    site.tell(*became(site.ordered[-1]))
    await expect(page.locator("#live")).to_contain_text("JobSet train/bert-2")
    await page.get_by_role("link", name="Go to the job").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("bert-2")
