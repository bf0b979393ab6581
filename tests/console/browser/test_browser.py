"""In a real browser: news without a reload, orders, languages, darkness, the keyboard, and names that mean harm."""

import pytest
from playwright.async_api import BrowserContext, Page, expect

from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.ids import JobUid
from keepstep.contracts.topology import JobRef
from tests.console.browser.conftest import WAIT_MS
from tests.console.pages.site import Site
from tests.console.pages.stories import LARGE, beats
from tests.console.said import began, say, struck

pytestmark = [pytest.mark.slow, pytest.mark.browser]
expect.set_options(timeout=WAIT_MS)
OPEN = "a1b2c3d4e5f60718"


async def follows(page: Page) -> None:
    """Wait until the page hears of news, and make sure later that it was never loaded again."""
    await expect(page.locator("#link")).to_have_text("live")
    await page.evaluate("window.neverReloaded = true")


async def test_an_open_incident_appears_without_a_reload_and_closes_again(page: Page, site: Site) -> None:
    await page.goto("/")
    await follows(page)
    await expect(page.locator("#standing")).to_contain_text("Open incidents: 1")
    story = struck("cafe000000000001", 70)
    site.tell(*story[:-3])
    row = page.locator("#incident-cafe000000000001")
    await expect(row).to_contain_text("open")
    await expect(page.locator("#standing")).to_contain_text("Open incidents: 2")
    site.tell(*story[-3:])
    await expect(row).to_contain_text("resumed")
    await expect(page.locator("#standing")).to_contain_text("Open incidents: 1")
    assert await page.evaluate("window.neverReloaded")


async def test_a_page_that_was_drawn_before_its_stream_began_misses_nothing(page: Page, site: Site) -> None:
    async def late(route) -> None:  # type: ignore[no-untyped-def]  # playwright hands the handler its own Route
        site.tell(*struck("cafe000000000002", 70, end=False))
        await route.continue_()

    await page.route("**/live?*", late, times=1)
    await page.goto("/incidents")
    await expect(page.locator("#incident-cafe000000000002")).to_be_visible()


async def test_a_job_s_steps_move_while_an_open_detail_and_a_half_written_reason_stay(page: Page, site: Site) -> None:
    await page.goto(f"/jobs/{LARGE.uid}")
    await follows(page)
    await page.locator("#spec summary").click()
    await page.locator("#reason").fill("half a rea")
    for beat in beats(64):
        site.model.feel(beat, site.clock())
    site.hub.cast("progress", "[]")
    await expect(page.locator(".ranks li").nth(8)).to_have_attribute(
        "title", "rank 8: stepping, step 128, phase step, gpu-02"
    )
    await expect(page.locator("#spec pre")).to_be_visible()
    await expect(page.locator("#reason")).to_have_value("half a rea")
    assert await page.evaluate("window.neverReloaded")


async def test_a_node_is_isolated_and_released_with_a_reason(page: Page, site: Site) -> None:
    await page.goto("/nodes/gpu-07")
    await page.get_by_label("Reason, for those").fill("fan is loud")
    await page.get_by_role("button", name="Isolate").click()
    await expect(page.get_by_role("status").filter(has_text="Asked to isolate")).to_be_focused()
    await expect(page.locator("#node-state")).to_contain_text("isolated")
    await expect(page.locator("#node-state")).to_contain_text("fan is loud")
    await page.get_by_label("Reason, for those").fill("fan was changed")
    await page.get_by_role("button", name="Release").click()
    await expect(page.locator("#node-state")).not_to_contain_text("isolated")
    isolate, release = (order for order in site.ordered if isinstance(order, o.IsolateNode | o.ReleaseNode))
    assert (isolate.reason, release.reason) == ("fan is loud", "fan was changed")


async def test_without_a_reason_nothing_is_ordered(page: Page, site: Site) -> None:
    await page.goto("/nodes/gpu-07")
    await page.get_by_role("button", name="Isolate").click()
    assert await page.evaluate("document.activeElement.id") == "reason", "the browser points at what is missing"
    await page.get_by_label("Reason, for those").press("Enter")
    assert not site.ordered


async def test_an_incident_is_acknowledged_and_says_by_whom(page: Page, site: Site) -> None:
    await page.goto(f"/incidents/{OPEN}")
    await page.get_by_role("button", name="I look after it").click()
    await expect(page.get_by_text("Looked after by")).to_contain_text("local")
    await expect(page.get_by_role("button", name="I look after it")).to_have_count(0)
    assert [type(order) for order in site.ordered] == [o.AckIncident]


async def test_the_pages_are_chinese_for_who_chooses_it_or_whose_browser_says_so(
    page: Page, window: BrowserContext, address: str
) -> None:
    await page.goto("/jobs")
    await page.get_by_role("link", name="中文").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("任务")
    await page.get_by_role("link", name="故障单", exact=True).click()
    await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    await expect(page.locator("#standing")).to_contain_text("未关闭故障单：1")
    assert window.browser is not None
    chinese = await window.browser.new_context(base_url=address, locale="zh-CN")
    other = await chinese.new_page()
    await other.goto("/")
    await expect(other.get_by_role("heading", level=1)).to_have_text("总览")


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_text_stands_out_from_its_ground_in_light_and_dark(page: Page, theme: str) -> None:
    await page.goto(f"/?theme={theme}")
    for path in ("/", f"/jobs/{LARGE.uid}", f"/incidents/{OPEN}", "/nodes/gpu-03", "/create"):
        await page.goto(path)
        light = await page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        assert (light == "rgb(255, 255, 255)") is (theme == "light")
        assert await page.evaluate(TOO_FAINT) == []


TOO_FAINT = """() => {
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const lum = (rgb) => rgb.slice(0, 3).map((v) => linear(v / 255))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const read = (text) => text.match(/[\\d.]+/g).map(Number);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const found = read(getComputedStyle(node).backgroundColor);
      if (found.length === 3 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const node of document.querySelectorAll("body *:not(script, svg, svg *)")) {
    const words = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!words || !node.checkVisibility() || node.disabled) continue;
    const [one, two] = [lum(read(getComputedStyle(node).color)), lum(ground(node))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const named = `${node.tagName}.${node.className} ${ratio.toFixed(2)}`;
    if (ratio < 4.5) faint.push(`${named}: ${node.textContent.trim().slice(0, 40)}`);
  }
  return faint;
}"""
"""Text under the contrast of 4.5 that WCAG 2.2 (1.4.3) asks for."""


async def test_a_dark_system_gets_dark_pages(window: BrowserContext, page: Page) -> None:
    await page.emulate_media(color_scheme="dark")
    await page.goto("/")
    assert await page.evaluate("getComputedStyle(document.documentElement).backgroundColor") != "rgb(255, 255, 255)"


async def test_all_is_reached_with_the_keyboard_alone(page: Page, site: Site) -> None:
    await page.goto("/nodes/gpu-07")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator("main")).to_be_focused()
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Reason, for those")).to_be_focused()
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "focus is seen"
    await page.keyboard.type("by keyboard")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await expect(page.locator("#node-state")).to_contain_text("by keyboard")
    assert [type(order) for order in site.ordered] == [o.IsolateNode]


async def test_ranks_are_gone_through_with_arrow_keys_and_told_in_words(page: Page) -> None:
    await page.goto(f"/jobs/{LARGE.uid}")
    await follows(page)
    await page.locator(".ranks li").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowRight"):
        await page.keyboard.press(key)
    await expect(page.locator("#rank-told")).to_contain_text("rank 3: stalled, step 118, phase step")
    await page.keyboard.press("End")
    await expect(page.locator("#rank-told")).to_contain_text("rank 63: silent")
    assert await page.locator('.ranks [tabindex="0"]').count() == 1, "one stop for the tabulator"
    await page.locator(".ranks li").nth(17).hover()
    await expect(page.locator("#rank-told")).to_contain_text("phase evaluation")


EVIL = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 2'>"
TURNED = "safe\u202e)gnp.exe\u2066 \u0007"
LONG = "0123456789" * 500


async def test_names_and_lines_that_mean_harm_are_shown_and_do_none(page: Page, site: Site) -> None:
    job = JobRef(name=EVIL, uid=JobUid("evil/../<b>"))
    site.tell(*began(job=job), *struck("<b>bold</b>" + TURNED, 70, job=job, end=False))
    site.tell(say(e.JobWaiting, 71, job=job, because=LONG), say(e.JobWaiting, 72, job=job, because=TURNED))
    site.tell(say(e.NodeReported, 73, job=None, node=f"n<i>{TURNED}", condition=EVIL, text=LONG + EVIL))
    await page.goto("/")
    for path in ("/", "/jobs", "/incidents", "/faults", "/nodes", "/events"):
        await page.goto(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert await page.evaluate("window.harmed") is None
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            f"{path} is wider than the window"
        )
        text = await page.locator("body").inner_text()
        assert not {"\u202e", "\u2066", "\u0007"} & set(text)
    await expect(page.locator("#live")).to_contain_text("safe\\u202e)gnp.exe")
    await page.goto("/jobs")
    await page.get_by_role("link", name="<script>").first.click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("<script>window.harmed = 1</script>")
    assert await page.evaluate("window.harmed") is None
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_a_job_is_checked_warned_of_and_created(page: Page, site: Site, complaints: list[str]) -> None:
    await page.goto("/create")
    await page.get_by_label("Command").fill("python3 -c 'print(1)'")
    await page.get_by_label("Name", exact=True).fill("Not A Name")
    await page.get_by_label("Ranks on each node").fill("2")
    await page.get_by_role("button", name="Check only").click()
    await expect(page.get_by_role("alert")).to_be_focused()
    await expect(page.get_by_role("alert")).to_contain_text("name")
    complaints.clear()  # of the status 422 with which the mistake was told
    await page.get_by_label("Name", exact=True).fill("try")
    await page.get_by_label("crash, hang, network: Restarts").fill("100")
    await page.get_by_role("button", name="Create the job").click()
    await expect(page.locator("#checked")).to_contain_text("100 restarts in 3600 s are 100 an hour")
    assert not site.ordered, "a warning is read before the job is created"
    await page.get_by_role("button", name="Create it all the same").click()
    await expect(page.get_by_role("status").filter(has_text="Asked to create the job")).to_be_visible()
    (order,) = site.ordered
    assert isinstance(order, o.CreateJob)
    assert (order.spec.name, order.spec.nproc, order.spec.policy.recovery.crash.count) == ("try", 2, 100)


async def test_when_the_console_goes_away_the_page_says_so_and_catches_up_later(
    page: Page, site: Site, complaints: list[str]
) -> None:
    await page.goto("/")
    await follows(page)
    await page.route("**/live?*", lambda route: route.abort())
    site.hub.close()
    await expect(page.locator("#link")).to_have_text("not connected, trying again")
    await page.unroute("**/live?*")
    site.tell(*struck("cafe000000000003", 70, end=False))
    await expect(page.locator("#incident-cafe000000000003")).to_be_visible()
    complaints.clear()  # of the stream that was cut
