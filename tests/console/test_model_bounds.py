"""What the model holds is bounded, turned page by page, filtered, and stumbles over nothing."""

from keepstep.console.board import Board, IncidentFilter
from keepstep.console.model.incidents import Incidents
from keepstep.console.model.pool import PoolModel
from keepstep.console.model.recent import Recent, Wanted
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message, messages
from keepstep.contracts.taxonomy import Category, Outcome, Severity
from keepstep.contracts.topology import JobRef
from keepstep.core.awaiting import Ground
from tests.console.said import POOL, began, now, say, struck
from tests.console.test_model import board
from tests.contracts.examples import example


def test_of_eleven_incidents_the_newest_ten_are_shown_and_all_are_counted() -> None:
    story = [message for number in range(11) for message in struck(f"i{number}", 10 + 5 * number)]
    job = board(*began(), *story).job("train", now())
    assert job is not None
    assert [row.incident for row in job.incident_rows] == [f"i{number}" for number in range(10, 0, -1)]
    assert job.incidents == 11


def test_an_incident_of_a_flood_that_was_packed_goes_on_where_it_was() -> None:
    incidents = Incidents(unpacked=2)
    story = struck("first", 10)
    others = [message for number in range(5) for message in struck(f"x{number}", 20 + number)]
    faults = {message.id: message for message in (*story, *others) if isinstance(message, e.FaultDetected)}
    for message in (*story[:3], *others, *story[3:]):
        incidents.hear(message, faults, {})
    (name,) = incidents.named("first")
    shown = incidents.view(name, Ground())
    assert shown is not None
    assert shown.entries[0].what == "FaultDetected"
    assert shown.outcome is Outcome.RESUMED


def test_everything_is_bounded_however_much_is_said() -> None:
    model = PoolModel(POOL)
    model.incidents = Incidents(kept=20, unpacked=4)
    model.recent = Recent(kept=100)
    cursor = 0
    for number in range(200):
        job = JobRef(name=f"j{number}", uid=JobUid(f"j{number}"))
        for message in (*began(job, number), *struck(f"i{number}", number + 10.0, job=job)):
            cursor += 1
            model.hear(message, cursor)
    shown = Board(model)
    assert len(model.incidents) == 20
    assert shown.incidents(limit=100).items[0].incident == "i199"
    assert len(shown.events(limit=1000).items) == 100
    assert shown.statistics().incidents == 200


def test_listings_are_turned_page_by_page() -> None:
    shown = board(*began(), *(one for number in range(5) for one in struck(f"i{number}", 10 + 5 * number)))
    first = shown.incidents(limit=2)
    second = shown.incidents(after=first.next, limit=2)
    last = shown.incidents(after=second.next, limit=2)
    names = [row.incident for page in (first, second, last) for row in page.items]
    assert (names, last.next, first.total) == (["i4", "i3", "i2", "i1", "i0"], None, 5)
    events = shown.events(limit=4)
    older = shown.events(before=events.next, limit=4)
    assert [one.cursor for one in (*events.items, *older.items)] == list(
        range(events.items[0].cursor, events.items[0].cursor - 8, -1)
    )


def test_filters_find_what_they_name() -> None:
    shown = board(*began(), *struck("i1", 10), *struck("i2", 30, end=False))
    assert [row.incident for row in shown.incidents(IncidentFilter(open=True)).items] == ["i2"]
    assert shown.incidents(IncidentFilter(job="other")).total == 0
    assert shown.incidents(IncidentFilter(node="n2", category=Category.UNKNOWN, text="KILLED")).total == 2
    events = shown.events(Wanted(name="IncidentOpened", incident="i2", job="train"))
    assert [one.incident for one in events.items] == ["i2"]
    worst = shown.events(Wanted(severity=Severity.WARNING)).items
    assert {one.name for one in worst} == {"FaultDetected", "FaultDiagnosed", "IncidentOpened"}
    assert shown.events(Wanted(text="mildest OF", since=now(5), until=now(15))).items[0].name == "RecoveryPlanned"


def test_the_newest_of_a_name_that_lives_is_meant() -> None:
    old, new = JobRef(name="train", uid=JobUid("old-uid-1")), JobRef(name="train", uid=JobUid("new-uid-1"))
    ended = say(e.JobSucceeded, 50, job=new, step=9)
    shown = board(*began(old), *began(new, 20), ended)
    assert [shown.job(name, now()).ref.uid for name in ("train", "new-uid-1", "old-uid-")] == [  # type: ignore[union-attr]  # each of the names is a job's, so none is None
        "old-uid-1",
        "new-uid-1",
        "old-uid-1",
    ]
    assert shown.job("nobody", now()) is None


def test_no_message_there_is_makes_the_model_stumble() -> None:
    """Each type once, filled with whatever fits its fields: what one says of another it need not have heard."""
    model = PoolModel(POOL)
    said = [model_of(kind) for kind in messages().values()]
    for cursor, message in enumerate(said, 1):
        model.hear(message, cursor)
    shown = Board(model)
    shown.overview(now())
    shown.statistics()
    assert [shown.job(row.ref.uid, now()) for row in shown.jobs(now()).items]
    assert all(shown.node(row.node) for row in shown.nodes())
    assert all(shown.incident(row.incident) for row in shown.incidents().items)


def model_of(kind: type[Message]) -> Message:
    made = example(kind)
    assert isinstance(made, Message)
    return made.model_copy(update={"pool": POOL, "id": kind.__name__})
