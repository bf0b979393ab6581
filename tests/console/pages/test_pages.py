"""Each page shows what the model holds, orders as the desk does, and answers in words what cannot be."""

import re

import httpx
import pytest

from keepstep.console.access import User
from keepstep.console.api import application
from keepstep.contracts import events as e
from keepstep.contracts import orders as o
from keepstep.contracts.message import Order
from keepstep.contracts.taxonomy import Role
from tests.console.pages.site import Site
from tests.console.pages.stories import LARGE, told
from tests.console.said import began, say, struck

PATHS = (
    *("/", "/jobs", f"/jobs/{LARGE.uid}", "/jobs/train", "/incidents", "/incidents/0f9e8d7c", "/incidents/a1b2c3d4"),
    *("/faults", "/nodes", "/nodes/gpu-03", "/events", "/create"),
)
OPEN = "a1b2c3d4e5f60718"
VIEWER = User(name="eve", role=Role.VIEWER)


@pytest.fixture(scope="module")
def kept() -> Site:
    return told(Site())


@pytest.fixture
def site(kept: Site) -> Site:
    """A pool in which much has happened; tests order, and nobody obeys, so that it stays the same for the next."""
    kept.ordered.clear()
    return kept


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_every_page_is_whole_in_both_languages(site: Site, path: str, language: str) -> None:
    async with site.asked() as browser:
        answer = await browser.get(path, params={"lang": language})
    assert answer.status_code == 200, answer.text
    assert f'<html lang="{"zh-CN" if language == "zh" else "en"}"' in answer.text
    for landmark in ("<main ", "<header ", "<nav ", "<footer ", "<h1>", 'role="status"', 'class="skip"'):
        assert landmark in answer.text
    assert not re.search(r"<script(?! src=)|\son\w+=|\sstyle=|javascript:", answer.text), "nothing inline"
    unlabelled = re.findall(
        r"<(?:input|select|textarea)(?![^>]*(?:type=\"hidden\"|\sid=|aria-label=))[^>]*>", answer.text
    )
    assert not unlabelled
    for name in re.findall(r"<(?:input|select|textarea)(?![^>]*aria-label=)[^>]*\sid=\"([^\"]+)\"", answer.text):
        assert f'for="{name}"' in answer.text, f"{name} has no label"


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_may_run_and_show_only_what_is_its_own(site: Site, path: str) -> None:
    async with site.asked() as browser:
        answer = await browser.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", answer.text)


async def test_the_overview_tells_figures_and_what_is_open(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get("/")).text
    assert re.search(r"<dt>Open incidents</dt><dd>1<", text)
    assert re.search(r"<dt>Isolated nodes</dt><dd>1<", text)
    assert re.search(r"<dt>MTTR</dt><dd>4.0 s<", text)
    assert re.search(r"<dt>ETTR</dt><dd>\d+\.\d %<", text)
    assert text.index("/incidents/a1b2c3d4") < text.index("/incidents/0f9e8d7c"), "open ones first"


async def test_a_job_s_page_holds_its_event_list_timelines_steps_and_ranks(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get(f"/jobs/{LARGE.uid}")).text
    assert text.count('<li class="rank ') == 64
    assert re.search(r'<li class="rank stalled" title="rank 3: stalled, step 118, phase step, gpu-01', text)
    assert re.search(r'<li class="rank silent" title="rank 56: silent, gpu-08', text)
    assert text.count('<li class="rank busy"') == 2
    assert '<polyline class="steps"' in text
    assert '<polyline class="loss"' in text
    assert '<svg class="timeline open"' in text
    assert "saved in 12.3 s" in text
    row = re.search(r"<tr>(?:(?!</tr>).)*FaultDetected.*?</tr>", text, re.DOTALL)
    assert row is not None
    assert "rank 3 stands still for 31 s" in row.group()
    assert row.group().count("<time ") == 2, "first and last"


async def test_the_same_reason_and_message_again_are_counted_in_one_line() -> None:
    site = Site()
    site.tell(*began(), *(say(e.JobWaiting, second, because="no node is free") for second in (10, 20, 30)))
    async with site.asked() as browser:
        text = (await browser.get("/jobs/train")).text
    (row,) = re.findall(r"<tr><td>(?:(?!</tr>).)*JobWaiting.*?</tr>", text, re.DOTALL)
    assert "00:00:30" in row.partition("00:00:10")[0]
    assert '<td class="number">3</td>' in row


async def test_an_incident_s_page_tells_verdict_evidence_cascade_decisions_and_accounts(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get("/incidents/0f9e8d7c")).text
    assert "rank 3 was killed from outside" in text
    assert "Consequences: 3; kinds: 1" in text
    assert "mildest of in-place, pod" in text
    stages = re.findall(r'<tr><th scope="row">[^<]+</th><td class="number">([\d.]+)</td>', text)
    assert sum(map(float, stages)) == pytest.approx(4)
    widths = [float(width) for width in re.findall(r'<rect x="[\d.]+" y="0" width="([\d.]+)"', text)]
    assert sum(widths) == pytest.approx(1000, abs=0.1)
    assert max(widths) == pytest.approx(500, abs=0.1), "2 s of 4 s"


async def test_stacks_that_are_the_same_stand_together(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get(f"/incidents/{OPEN}")).text
    summaries = re.findall(r"<summary>(ranks? [\d, ]+):", text)
    assert summaries == ["rank 3", "ranks 0, 1, 2"]


async def test_faults_of_every_source_stand_beside_whom_they_hurt(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get("/faults")).text
        one = (await browser.get("/faults", params={"source": "public", "active": "active"})).text
    for source in ("device", "node", "process", "from outside"):
        assert f"<td>{source}</td>" in text
    (row,) = re.findall(r'<tr id="fault-.*?</tr>', one, re.DOTALL)
    assert "pingmesh" in row
    assert LARGE.name in row
    assert "ranks 32, 33, 34" in row


async def test_events_are_searched_by_words_name_and_severity(site: Site) -> None:
    async with site.asked() as browser:
        found = (await browser.get("/events", params={"text": "fallen off", "severity": "warning"})).text
        none = (await browser.get("/events", params={"name": "JobDeleted"})).text
        bad = await browser.get("/events", params={"since": "yesterday"})
    assert found.count('<tr id="event-') == 1
    assert "Nothing was said that fits." in none
    assert (bad.status_code, "since: &#39;yesterday&#39; is no time" in bad.text) == (422, True)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/nodes/gpu-02/isolate", o.IsolateNode), ("/nodes/gpu-03/release", o.ReleaseNode),
     ("/nodes/gpu-02/drain", o.DrainNode), (f"/jobs/{LARGE.uid}/stop", o.StopJob)],
)  # fmt: skip
async def test_an_order_is_given_with_its_reason_and_told_on_the_page_it_came_from(
    site: Site, path: str, kind: type[Order]
) -> None:
    async with site.asked() as browser:
        refused = await browser.post(path, data={"reason": "  "})
        answer = await browser.post(path, data={"reason": "fan is loud"})
        after = await browser.get(answer.headers["location"])
    assert (refused.status_code, "reason: say why" in refused.text) == (422, True)
    assert answer.status_code == 303
    assert "Asked to" in after.text
    order = site.ordered[0]
    assert isinstance(order, kind)
    assert (order.by, getattr(order, "reason", "")) == ("local", "fan is loud")


async def test_acknowledging_pausing_and_resuming_need_no_reason(site: Site) -> None:
    async with site.asked() as browser:
        for path in (f"/incidents/{OPEN}/ack", f"/jobs/{LARGE.uid}/pause", f"/jobs/{LARGE.uid}/resume"):
            assert (await browser.post(path)).status_code == 303
    assert [type(order) for order in site.ordered] == [o.AckIncident, o.PauseActions, o.ResumeActions]


@pytest.mark.parametrize("path", ["/jobs/none", "/incidents/none", "/nodes/none"])
async def test_what_is_not_there_is_told_on_a_page(site: Site, path: str) -> None:
    async with site.asked() as browser:
        answer = await browser.get(path)
    assert answer.status_code == 404
    assert "<h1>That did not work</h1>" in answer.text
    assert "none" in answer.text


@pytest.mark.parametrize(
    ("accepts", "path", "begins"),
    [("text/html", "/nowhere", "<!doctype"), ("*/*", "/nowhere", "{"), ("text/html", "/api/v1/nowhere", "{")],
)
async def test_a_path_that_leads_nowhere_is_told_to_people_on_a_page(
    site: Site, accepts: str, path: str, begins: str
) -> None:
    async with site.asked() as browser:
        answer = await browser.get(path, headers={"accept": accepts})
    assert (answer.status_code, answer.text.startswith(begins)) == (404, True)


async def test_who_may_only_look_is_offered_nothing_and_refused_everything(site: Site) -> None:
    async with site.asked(VIEWER) as browser:
        for path in (f"/jobs/{LARGE.uid}", f"/incidents/{OPEN}", "/nodes/gpu-02", "/jobs"):
            text = (await browser.get(path)).text
            assert 'method="post"' not in text
            assert "/create" not in text
        refused = await browser.post("/nodes/gpu-02/isolate", data={"reason": "because"})
    assert (refused.status_code, "operator" in refused.text) == (403, True)
    assert not site.ordered


async def test_an_operator_is_not_offered_what_takes_an_admin(site: Site) -> None:
    operator = User(name="olga", role=Role.OPERATOR)
    async with site.asked(operator) as browser:
        text = (await browser.get(f"/jobs/{LARGE.uid}")).text
        refused = await browser.post(f"/jobs/{LARGE.uid}/pause")
    assert "Stop the job for good" in text
    assert "/pause" not in text
    assert (refused.status_code, site.ordered) == (403, [])


async def test_a_link_cannot_put_words_into_the_console_s_mouth(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get("/nodes/gpu-02", params={"done": "Your password has expired"})).text
    assert "password" not in text.partition("<footer")[0]


async def test_every_form_hands_back_the_token_of_the_login(site: Site) -> None:
    app = application(site.console)

    @app.middleware("http")
    async def login(request, call_next):  # type: ignore[no-untyped-def]  # a middleware as starlette calls it
        request.state.csrf = 't"oken'
        return await call_next(request)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://127.0.0.1:8700") as browser:
        for path in PATHS:
            text = (await browser.get(path)).text
            forms = re.findall(r'<form[^>]*method="post".*?</form>', text, re.DOTALL)
            assert all('<input type="hidden" name="csrf" value="t&#34;oken">' in form for form in forms)


async def test_listings_go_on_where_they_ended() -> None:
    site = Site()
    site.tell(*began(), *(message for i in range(70) for message in struck(f"i{i:03d}", 10 + i)))
    async with site.asked() as browser:
        first = (await browser.get("/incidents", params={"job": "train"})).text
        (more,) = re.findall(r'href="(/incidents\?[^"]+after=[^"]+)"', first)
        second = (await browser.get(more.replace("&amp;", "&"))).text
    seen = re.findall(r'<tr id="incident-(i\d+)"', first + second)
    assert seen == [f"i{i:03d}" for i in reversed(range(70))]
    assert "70 in all" in first


async def test_what_was_chosen_of_language_and_theme_is_kept(site: Site) -> None:
    async with site.asked() as browser:
        assert '<html lang="zh-CN"' in (await browser.get("/", headers={"accept-language": "zh-TW,en;q=0.5"})).text
        await browser.get("/", params={"lang": "zh", "theme": "dark"})
        text = (await browser.get("/jobs", headers={"accept-language": "en"})).text
    assert '<html lang="zh-CN" data-theme="dark">' in text


@pytest.mark.parametrize("path", ["/", f"/incidents/{OPEN}"])
async def test_an_open_incident_says_in_both_languages_what_it_waits_for(site: Site, path: str) -> None:
    async with site.asked() as browser:
        english = (await browser.get(path)).text
        chinese = (await browser.get(path, params={"lang": "zh"})).text
    assert "waits for the isolator&#39;s answer and the choice of a checkpoint since" in english
    assert "起等待隔离答复和检查点选择，时限 5 秒" in chinese


async def test_a_curve_has_axes_with_their_ends_and_units(site: Site) -> None:
    """A line went up without a number beside it, and nobody knew of what."""
    async with site.asked() as browser:
        text = (await browser.get(f"/jobs/{LARGE.uid}")).text
    drawing = text.partition('<svg class="spark"')[2].partition("</svg>")[0]
    named = re.findall(r'<text class="axis"[^>]*>([^<]*)</text>', drawing)
    assert {"steps", "loss", "time, UTC"} <= set(named)
    assert len([name for name in named if re.fullmatch(r"\d\d:\d\d:\d\d", name)]) == 3
    assert "time since the fault" in text.partition('<svg class="timeline')[2].partition("</svg>")[0]


async def test_how_an_isolation_ends_is_told(site: Site) -> None:
    async with site.asked() as browser:
        text = (await browser.get("/nodes/gpu-03")).text
    assert "until a person releases it" in text
