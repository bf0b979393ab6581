"""A report tells a run truly: to scale, adding up, with its evidence, and whatever a log holds it stays text."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import pytest

from keepstep.cli.errors import Failed
from keepstep.cli.main import COMMANDS, run
from keepstep.cli.report import draw, words
from keepstep.cli.report.gather import Run, gather, read_losses, told
from keepstep.cli.report.markdown import document
from keepstep.cli.report.page import page
from keepstep.cli.watch import stored_line
from keepstep.console.pages.rendering import STATIC
from keepstep.contracts import events as e
from keepstep.contracts.ids import Pool
from keepstep.contracts.message import Message
from keepstep.core.known_job import KnownJob
from keepstep.core.spent import OPEN, PRODUCTIVE, RECOMPUTE, STARTUP
from keepstep.core.stages import CUTS, STAGES, UNTIL_CLOSED, Stage
from keepstep.runtime.client import Client
from tests.core.telling import OUTAGE_S, Job, at

HOSTILE = "</pre><script>alert('x')</script> & \x00\x1b[31m | `# *"


def story(job: Job, *, ended: bool = True) -> list[Message]:
    messages = [
        job.accepted(),
        job.stepping(10),
        job.saved(60, 30, written=59, save_s=2.5),
        job.committed(61, 30),
        *job.incident(100, recompute=12, lost=4, step=30),
    ]
    incident = messages[5].incident
    messages.append(
        job.say(e.EvidenceCaptured, 103, incident=incident, rank=1, what="stack", lines=("all_reduce", HOSTILE))
    )
    return [*messages, job.succeeded(300, 200)] if ended else messages


def run_of(messages: Iterable[Message], **more: object) -> Run:
    heard = list(messages)
    job = next(message.job for message in heard if message.job is not None)
    known = KnownJob(job)
    for message in heard:
        known.hear(message)
    return told(known, heard, made=at(1000), **more)  # type: ignore[arg-type]  # what a test changes is any of the keywords


def left(data: Path, messages: Iterable[Message], *, name: str = "train", uid: str = "j1") -> Path:
    """Leave what a finished run leaves, and return its folder."""
    folder = data / "runs" / f"{name}-{uid[:8]}"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(stored_line(one) + "\n" for one in messages), encoding="utf-8")
    return folder


def drawings(html: str) -> list[ET.Element]:
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)]  # noqa: S314 - our own


SVG = "{http://www.w3.org/2000/svg}"


def test_the_timeline_is_drawn_to_scale() -> None:
    found = run_of(story(Job()))
    [timeline, *_] = drawings(page(found))
    widths = [float(rect.attrib["width"]) for rect in timeline.iter(f"{SVG}rect")]
    assert widths == pytest.approx([piece.seconds / 300 * draw.SPAN for piece in found.pieces], abs=0.02)


def test_the_parts_of_the_table_add_up_to_the_wall_time() -> None:
    found = run_of(story(Job()))
    assert sum(found.totals.values()) == pytest.approx(300)
    assert found.totals["recompute"] == 12
    html = page(found)
    assert f'<td class="n">{300:.3f}</td>' in html
    assert f"{(300 - 10 - OUTAGE_S - 12) / 300:.2%}" in html


def test_words_within_a_bar_fit_into_their_part_of_it() -> None:
    """Of half a second beside four that were lost, the last letters stood in the next part."""
    stages = (
        Stage(name="decide", seconds=0.4),
        Stage(name="reschedule", seconds=0.512),
        Stage(name="recompute", seconds=4.544),
    )
    [incident] = run_of(story(Job())).incidents
    [drawing] = drawings(draw.stages(incident.model_copy(update={"stages": stages})))
    assert [text.text for text in drawing.iter(f"{SVG}text")] == ["recompute 4.54 s"]


def test_an_incident_tells_t0_to_t4_and_its_evidence() -> None:
    html = page(run_of(story(Job())))
    for name in (
        "T0",
        "T1",
        "T2",
        "T3",
        "T4",
        "detect",
        "SIGKILL from &lt;outside&gt;",
        "boom &lt;b&gt;",
        "all_reduce",
        "start, or T2, until the checkpoint was read; imports on the way count in",
    ):
        assert name in html


def test_steps_and_losses_are_plotted_where_they_are_known() -> None:
    bare = page(run_of([Job().accepted(), Job().succeeded(50)]))
    assert "Steps over time" not in bare
    assert "There was none." in bare
    losses = tuple((step, 1 / (step + 1)) for step in range(5000))
    html = page(run_of(story(Job()), losses=losses))
    assert "Steps over time" in html
    assert "checkpoint of step 30, saved in 2.5 s" in html
    assert "<dt>saving one</dt><dd>2.5 s on average, 2.5 s the longest</dd>" in html
    assert "<dt>known as whole</dt><dd>2 s after the last write on average</dd>" in html
    lines = [line.attrib["points"].split() for one in drawings(html) for line in one.iter(f"{SVG}polyline")]
    assert len(lines) == 2
    assert max(map(len, lines)) <= draw.POINTS


def test_every_part_of_the_time_is_explained_and_has_a_colour() -> None:
    """``people`` was neither: a wait for a person who resumes."""
    names = {STARTUP, PRODUCTIVE, OPEN, RECOMPUTE, *STAGES, *(name for name, _ in CUTS), UNTIL_CLOSED}
    assert names == set(words.MEANS)
    css = (Path(words.__file__).parent / "report.css").read_text(encoding="utf-8")
    drawn = set(re.findall(r"\.s-(\w+)", css))
    assert names - drawn == {OPEN, UNTIL_CLOSED}, "the end of what was not resumed is grey"


def hostile() -> Run:
    job = Job(HOSTILE, "j1")
    messages = story(job)
    failed = job.say(e.JobStopRequested, 299, by=HOSTILE, reason=HOSTILE)
    return run_of([*messages[:-1], failed])


def test_nothing_that_was_said_is_markup_and_nothing_leads_outside() -> None:
    html = page(hostile())
    assert "<script" not in html
    assert "\x00" not in html
    assert "\x1b" not in html
    assert "&lt;script&gt;" in html
    for drawing in drawings(html):
        assert drawing.tag == f"{SVG}svg"
    assert "default-src 'none'" in html
    links = set(re.findall(r"(?:https?:)?//[^\s\"'<)]+", html))
    assert links <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:script|link|img|iframe|a)\b|url\(|@import", html)


def test_nothing_that_was_said_is_markup_in_markdown_either() -> None:
    text = document(hostile())
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<", outside)
    assert not re.search("[\x00\x1b]", text)
    assert all(line.count("|") - line.count("\\|") in (3, 4, 5) for line in outside.splitlines() if line[:1] == "|")


def test_markdown_draws_the_time_to_scale_too() -> None:
    text = document(run_of(story(Job())))
    [bar] = re.findall(r"^[░█▼]+$", text, flags=re.MULTILINE)
    assert len(bar) == 72
    assert bar.count("▼") == pytest.approx((OUTAGE_S + 12) / 300 * 72, abs=2)
    assert "| sum | 300.000 |" in text


async def test_a_finished_run_is_told_from_its_folder(tmp_path: Path) -> None:
    folder = left(tmp_path, story(Job()))
    for data, name in ((tmp_path, "train"), (tmp_path, None), (folder, None), (folder, "train")):
        found = await gather(data, name)
        assert (found.job.ref.uid, found.until, len(found.incidents)) == ("j1", at(300), 1)


async def test_a_run_that_was_abandoned_ends_where_it_was_heard_of_last(tmp_path: Path) -> None:
    left(tmp_path, story(Job(), ended=False))
    found = await gather(tmp_path, "train")
    assert found.until == at(100 + OUTAGE_S) or found.until == at(103)
    assert "abandoned" in page(found)


async def test_a_job_that_nobody_knows_is_said_so(tmp_path: Path) -> None:
    left(tmp_path, story(Job()))
    with pytest.raises(Failed, match="there is no job other"):
        await gather(tmp_path, "other")


async def test_a_living_stack_is_asked_over_the_bus(
    client: Client, nats_url: str, pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So it is for a cluster: the bus that KEEPSTEP_NATS_URL names."""
    monkeypatch.setenv("KEEPSTEP_NATS_URL", nats_url)
    monkeypatch.setenv("KEEPSTEP_POOL", pool)
    for message in [*story(Job("other", "j2", pool=pool)), *story(Job(pool=pool), ended=False)]:
        await client.say(message)
    found = await gather(tmp_path, "train")
    assert found.job.ref.uid == "j1"
    assert found.until == found.made
    assert "it still runs" in page(found)


def test_the_command_writes_the_file_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "report" in COMMANDS
    monkeypatch.chdir(tmp_path)
    left(tmp_path / "data", story(Job()))
    losses = tmp_path / "losses.jsonl"
    losses.write_text("".join(json.dumps({"step": n, "loss": 1 / (n + 1)}) + "\n" for n in range(9)), encoding="utf-8")
    assert run(["report", "--job", "train", "--data", "data", "--losses", str(losses)]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'train-report.html'}\n"
    assert "Loss over steps" in (tmp_path / "train-report.html").read_text(encoding="utf-8")
    assert run(["report", "--job", "train", "--data", "data", "--format", "md", "-o", "-"]) == 0
    assert capsys.readouterr().out.startswith("# train: keepstep report")
    assert run(["report", "--job", "train", "--data", "data", "--losses", "missing"]) == 1


def test_a_loss_file_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "losses"
    path.write_bytes(
        b'{"step": 1, "loss": 0.5}\n{"step": 2}\n[1]\nnull\n{"step": 3, "loss": NaN}\n\xff\n{"step": 4, "lo'
    )
    assert read_losses(path) == ((1, 0.5),)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.25, "0.25 s"), (12, "12 s"), (185, "3 min 5 s"), (7800, "2 h 10 min"), (273600, "3 d 4 h")]
)
def test_a_duration_is_said_as_people_say_it(seconds: float, said: str) -> None:
    assert draw.duration(seconds) == said


@pytest.mark.parametrize("length", [0.0, 1e-9, 0.3, 7, 60, 3601, 1e7])
def test_an_axis_has_a_handful_of_round_numbers(length: float) -> None:
    for found in (draw.ticks(length), draw.time_ticks(length)):
        assert 1 <= len(found) <= 12
        assert found[0] == 0
        assert found[-1] <= length * (1 + 1e-6)


def test_stages_have_the_colours_and_the_names_of_the_console() -> None:
    """The same stage was red here and blue there, and had three names."""
    console = (STATIC / "console.css").read_text(encoding="utf-8")
    report = files("keepstep.cli.report").joinpath("report.css").read_text(encoding="utf-8")
    for name in STAGES:
        found = re.search(rf"\.stage\.{name}\b[^{{]*{{ --stage: (#\w+)", console)
        assert found is not None, name
        assert re.search(rf"--{name}: {found[1]};", report), name


def test_names_of_messages_stand_in_words_that_are_not_broken() -> None:
    text = page(run_of(story(Job())))
    assert '<td class="w">Recovery planned</td>' in text
    assert "RecoveryPlanned" not in text
    assert "td.w, th.w { white-space: nowrap; }" in text
