"""Each message leads to the console's own pages: of its incident, the evidence there, and its job."""

from pathlib import Path

from keepstep.console.pages import incidents, jobs
from keepstep.contracts.events import ActionsPaused
from keepstep.contracts.ids import EventId
from keepstep.notifier.core.letters import links_of
from tests.notifier.story import INCIDENT, JOB, NOW, POOL, opened

CONSOLE = "https://console.example/keepstep/"
PAGE = Path(incidents.__file__).parents[1] / "templates" / "incident.html"


def test_a_message_of_an_incident_leads_to_it_to_its_evidence_and_to_the_job() -> None:
    links = {one.label: one.url for one in links_of(opened(), CONSOLE)}
    assert links == {
        "incident": f"https://console.example/keepstep/incidents/{INCIDENT}",
        "evidence": f"https://console.example/keepstep/incidents/{INCIDENT}#h-evidence",
        "job": f"https://console.example/keepstep/jobs/{JOB.uid}",
    }


def test_the_console_has_these_pages_and_that_place() -> None:
    paths = {str(getattr(route, "path", "")) for router in (incidents.router, jobs.router) for route in router.routes}
    assert {"/incidents/{incident:path}", "/jobs/{job:path}"} <= paths
    assert 'id="h-evidence"' in PAGE.read_text("utf-8")


def test_what_is_of_the_pool_leads_to_the_console_and_nothing_does_without_its_address() -> None:
    paused = ActionsPaused(id=EventId("p"), time=NOW, pool=POOL, by="bob")
    assert [(one.label, one.url) for one in links_of(paused, CONSOLE)] == [("console", CONSOLE)]
    assert links_of(opened(), "") == ()
