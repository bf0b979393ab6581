"""One trace per incident: whatever is said again, by whomever, is in the same place of the same trace."""

import itertools
import re

import pytest

from keepstep.contracts import events as e
from keepstep.contracts.ids import EventId, IncidentId
from keepstep.contracts.message import Message
from keepstep.contracts.trace import HEADER, place_of, root_of, span_of, trace_headers, trace_of
from keepstep.core import tracing
from keepstep.core.tracing import Span, Traces
from tests.core.telling import OUTAGE_S, PARTS, Job, at

ID = IncidentId("0af7651916cd43dd8448eb211c80319c")


def spans_of(messages: list[Message], traces: Traces | None = None) -> list[Span]:
    known: Traces = traces or {}
    found: list[Span] = []
    for message in messages:
        known, spans = tracing.tell(known, message, trace_headers(message))
        found += spans
    return found


def test_an_incident_is_one_trace_whose_stages_lie_one_after_the_other_in_it() -> None:
    found = spans_of(Job().incident(100, recompute=5))
    assert len({span.trace for span in found}) == 1
    [root] = [span for span in found if span.parent is None]
    assert (root.begin, root.end) == (at(100), at(100 + OUTAGE_S + 5))
    stages = [span for span in found if span.name in {*(name.removesuffix("_s") for name in PARTS), "recompute"}]
    assert [span.parent for span in stages] == [root.id] * 8
    assert stages[0].begin == root.begin
    assert stages[-1].end == root.end
    assert all(span.end == after.begin for span, after in itertools.pairwise(stages))


def test_a_message_hangs_on_what_it_follows_from_and_else_on_the_incident() -> None:
    job = Job()
    opened = job.say(e.IncidentOpened, 1, incident=ID, fault="f", because="first", cause="f")
    failed = job.say(e.RecoveryFailed, 9, incident=ID, attempt=1, level="pod", because="late", cause=opened.id)
    first, second = spans_of([opened, failed])
    assert first.parent == root_of(ID)
    assert second.parent == first.id
    assert (second.begin, second.end) == (at(1), at(9))


def test_what_is_told_again_from_anywhere_has_the_same_ids() -> None:
    messages = Job().incident(100)
    once = {(span.trace, span.id, span.name) for span in spans_of(messages)}
    for start in range(len(messages)):
        assert {(span.trace, span.id, span.name) for span in spans_of(messages[start:])} <= once


def test_no_two_spans_of_a_trace_have_one_id() -> None:
    found = spans_of(Job().incident(100))
    assert len({span.id for span in found}) == len(found)


def test_a_trace_of_many_open_incidents_and_messages_stays_bounded() -> None:
    job, known = Job(), dict[IncidentId, tracing.Known]()
    traces: Traces = known
    for number in range(tracing.INCIDENTS + 20):
        opened = job.say(e.IncidentOpened, number, incident=f"i{number}", fault="f", because="b")
        traces, _ = tracing.tell(traces, opened, {})
    for number in range(tracing.MESSAGES + 20):
        overdue = job.say(e.IncidentOverdue, number, incident="i519", opened=at(0), because="b")
        traces, _ = tracing.tell(traces, overdue, {})
    assert len(traces) == tracing.INCIDENTS
    assert max(len(one.said) for one in traces.values()) == tracing.MESSAGES


def test_the_header_is_w3c_s_and_the_trace_is_the_incident() -> None:
    message = Job().say(e.IncidentOpened, 1, incident=ID, fault="f", because="b")
    header = trace_headers(message)[HEADER]
    assert re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", header)
    place = place_of(header)
    assert place is not None
    assert (place.trace, place.span) == (ID, span_of(message.id))
    assert trace_headers(Job().accepted()) == {}


def test_a_speaker_who_has_a_span_of_his_own_keeps_it() -> None:
    message = Job().say(e.IncidentOpened, 1, incident=ID, fault="f", because="b")
    _, [span] = tracing.tell({}, message, {HEADER: f"00-{ID}-00f067aa0ba902b7-01"})
    assert span.id == "00f067aa0ba902b7"
    _, [other] = tracing.tell({}, message, {HEADER: f"00-{'4bf92f3577b34da6a3ce929d0e0e4736'}-00f067aa0ba902b7-01"})
    assert other.id == span_of(message.id)


@pytest.mark.parametrize("incident", ["i1", "0" * 32, "x" * 32, "AF" * 16])
def test_an_incident_whose_id_is_no_trace_s_has_a_derived_one(incident: str) -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", trace_of(IncidentId(incident)))
    assert trace_of(IncidentId(incident)) != incident


@pytest.mark.parametrize(
    "header",
    [None, "", "00", f"ff-{ID}-00f067aa0ba902b7-01", f"00-{'0' * 32}-00f067aa0ba902b7-01", f"00-{ID}-{'0' * 16}-01"],
)
def test_a_header_that_says_nothing_valid_is_not_believed(header: str | None) -> None:
    assert place_of(header) is None


def test_nothing_that_a_log_held_gets_into_a_trace() -> None:
    for span in spans_of(Job().incident(100)):
        assert not any("SIGKILL" in str(value) or "boom" in str(value) for value in span.facts.values())


def test_spans_differ_between_messages() -> None:
    assert span_of(EventId("a")) != span_of(EventId("b"))
