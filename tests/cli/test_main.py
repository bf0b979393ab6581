"""The command: errors are one line with an exit code, listings are JSON on request, and help is fast."""

import errno
import json
import os
import pty
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from keepstep.cli import history, main, places
from keepstep.cli.inject import KINDS
from keepstep.cli.watch import stored_line
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message, messages
from keepstep.contracts.topology import JobRef
from tests.cli.test_view import started
from tests.core.test_history import closed, opened
from tests.core.test_timeline import JOB, fault, story


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in ("KEEPSTEP_NATS_URL", "KEEPSTEP_CLUSTER", "KEEPSTEP_DATA"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize(
    ("line", "code", "told"),
    [
        (["nonsense"], 2, "unknown command nonsense"),
        (["run", "--nodez", "2"], 2, "No such option: --nodez"),
        (["run", "--nodes", "two", "--", "sh"], 2, "Invalid value for '--nodes': write a whole number\n"),
        (["run", "--spares", "-1", "--", "sh"], 2, "Invalid value for '--spares': write at least 0\n"),
        (["run", "--nodes", "0", "--", "sh"], 2, "nodes: 0 is out of range; write at least 1"),
        (["run", "-m", "train"], 2, "No such option: -m; the script, or -m and its module, goes behind --"),
        (["job", "pause", "x"], 2, "No such command 'pause'. There is keepstep pause; --help tells more"),
        (["schema", "json", "IncidentClosd"], 2, "did you mean IncidentClosed?"),
        (["schema", "asyncapi", "IncidentClosed"], 2, "write keepstep schema json"),
        (["run"], 2, ""),
        (["run", "--policy", "none.toml", "--", "sh"], 2, "cannot be read"),
        (["run", "--data", "/dev/null/x", "--", "sh"], 1, "--data /dev/null/x: cannot be made: Not a directory"),
        (["up", "--data", "/proc/nothing"], 1, "--data /proc/nothing: cannot be made: No such file or directory"),
        (["schema", "xml"], 2, "Invalid value for 'kind': 'xml' is not one of 'asyncapi', 'json'."),
        (["node", "isolate", "n1"], 2, "--reason"),
        (["incident", "list"], 1, "no keepstep runs"),
        (["job", "get", "x"], 1, "no running keepstep has a job x"),
        (["deadletter", "list"], 1, "no keepstep runs"),
        (["fault", "inject", "kill", "--job", "x", "--rank", "1"], 1, "no running keepstep has a job x"),
    ],
)
def test_an_error_is_one_line_on_stderr_and_an_exit_code(
    line: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(line) == code
    out = capsys.readouterr()
    assert told in out.err
    if told:
        assert out.err.count("\n") == 1
        assert not out.out


@pytest.mark.parametrize("name", sorted(main.COMMANDS))
def test_every_command_in_the_overview_is_there_and_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert import_module(f"keepstep.cli.commands.{name}").app
    assert main.run([name, "--help"]) == 0
    assert "Usage" in capsys.readouterr().out
    assert f"  {name} " in main.overview()


@pytest.mark.parametrize(
    ("number", "remedy"),
    [(errno.EAGAIN, "ulimit -u"), (errno.EMFILE, "ulimit -n")]
    + [(number, "--data") for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)],
)
def test_what_the_system_refuses_is_told_with_what_to_do(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    """A run on a full disk said "the system: No space left on device", and neither where nor what to do."""

    def start(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("keepstep.cli.commands.doctor.app", start)
    assert main.run(["doctor"]) == 1
    assert remedy in capsys.readouterr().err


def test_an_interrupt_while_a_command_is_still_imported_leaves_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Ctrl-C in the first half second of keepstep run printed forty lines of imports."""

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("keepstep.cli.main.importlib.import_module", interrupted)
    assert main.run(["run", "--", "sh"]) == 130
    assert not capsys.readouterr().err


def test_a_ctrl_c_while_a_command_ends_leaves_no_traceback_and_its_exit_code() -> None:
    """Who pressed it twice read ten lines about the shutdown of the interpreter."""
    late = "import atexit, os, signal, sys; atexit.register(os.kill, os.getpid(), signal.SIGINT); "
    code = late + "sys.argv = ['keepstep', 'deadletter', 'drop']; from keepstep.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "KeyboardInterrupt" not in done.stderr
    assert "which letters?" in done.stderr


def test_help_imports_neither_typer_nor_the_bus() -> None:
    heavy = ("typer", "rich", "nats", "pydantic")
    look = "import sys; from keepstep.cli.main import run; run(['--help']); "
    code = look + f"sys.exit(bool({{*{heavy}}} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=30)
    assert done.returncode == 0


@pytest.mark.parametrize(
    "line", [["events", "--json"], ["incident", "list"], ["node", "list"], ["job", "logs", "--help"], ["fault", "list"]]
)
def test_a_listing_of_a_finished_run_starts_without_bus_and_services(tmp_path: Path, line: list[str]) -> None:
    """They take a second to import on a busy machine, and a file needs neither."""
    finished(tmp_path)
    (places.told_runs(tmp_path / ".keepstep")[0] / "cluster" / "nodes").mkdir(parents=True)
    heavy = ("nats", "faststream", "structlog", "uvicorn", "httpx", "prometheus_client")
    look = f"import sys; from keepstep.cli.main import run; code = run({line}); "
    code = look + f"sys.exit(code or ', '.join({{*{heavy}}} & {{*sys.modules}}) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=30, text=True)
    assert done.returncode == 0, done.stderr


def test_schemas_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema", "json"]) == 0
    assert set(messages()) <= set(json.loads(capsys.readouterr().out))
    assert main.run(["schema", "asyncapi"]) == 0
    assert json.loads(capsys.readouterr().out)["asyncapi"] == "3.0.0"


def test_the_kinds_of_fault_are_listed_with_stable_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["fault", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in listed] == [str(kind) for kind in KINDS]
    assert all(set(one) == {"kind", "where", "what"} for one in listed)


def finished(tmp_path: Path, name: str = JOB.name, *said: Message) -> None:
    folder = places.run_folder(tmp_path / ".keepstep", JobRef(name=name, uid=JobUid("0123456789")))
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text("".join(f"{stored_line(message)}\n" for message in said or story()))


def test_a_finished_run_can_still_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path)
    assert main.run(["events", "--json"]) == 0
    assert next(one["type"] for one in json.loads(capsys.readouterr().out)) == "keepstep.FaultDetected.v1"
    assert main.run(["incident", "list", "--json"]) == 0
    (incident,) = json.loads(capsys.readouterr().out)
    assert (incident["category"], incident["outcome"], incident["lost_steps"]) == ("unknown", "resumed", 10)
    assert main.run(["incident", "show", incident["incident"]]) == 0
    assert "in-place" in capsys.readouterr().out
    assert main.run(["incident", "show", "nothing"]) == 1


def test_a_job_is_shown_with_its_effective_training_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The help has always said so; only ``--json`` did it."""
    finished(tmp_path, JOB.name, started(), *story())
    assert main.run(["job", "get", JOB.name]) == 0
    assert "  effective training time " in capsys.readouterr().out


def test_a_job_is_shown_with_what_it_went_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many incidents, the first and the last time, and of each its time, cause, levels and end."""
    finished(tmp_path, JOB.name, started(), *story(), *(said for n in range(2, 12) for said in (opened(n), closed(n))))
    assert main.run(["job", "get", JOB.name]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  11 incidents, first 01-01 00:00:10, last 01-01 00:11:00, the newest 10:")
    assert lines[at + 1] == "    01-01 00:02:00  hang, nothing restarted, resumed: fault 2"
    assert len(lines) == at + 1 + 10
    assert main.run(["job", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["history"]["total"], len(listed["history"]["newest"])) == (11, 10)


def test_an_incident_of_an_older_run_is_shown_and_a_listing_says_which_run_it_covers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    finished(tmp_path)
    assert main.run(["incident", "list"]) == 0
    assert not capsys.readouterr().err
    finished(tmp_path, "newer", started())
    os.utime(places.runs_folder(tmp_path / ".keepstep") / f"{JOB.name}-01234567", (0, 0))
    for command in (["incident", "list"], ["events"]):
        assert main.run(command) == 0
        out = capsys.readouterr()
        assert "i1 " not in out.out
        assert "of newer-01234567 alone, one of 2 runs" in out.err
    for named in ([], ["--job", JOB.name]):
        assert main.run(["incident", "show", "i1", *named]) == 0
        assert "SIGKILL from outside" in capsys.readouterr().out
    assert main.run(["incident", "show", "i1", "--job", "newer"]) == 1


def test_a_job_whose_run_is_over_cannot_be_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished(tmp_path)
    assert main.run(["job", "stop", JOB.name]) == 1
    told = "has ended with its keepstep already; there is nothing to stop"
    assert capsys.readouterr().err == f"keepstep: job {JOB.name} {JOB.uid} {told}\n"


def test_a_story_is_split_at_its_ends_of_lines_alone(tmp_path: Path) -> None:
    odd = fault().model_copy(update={"because": "one\u2028line"})
    finished(tmp_path, "odd", odd)
    folder = places.told_runs(tmp_path / ".keepstep")[0]
    with (folder / "events.jsonl").open("a") as story_file:
        story_file.write(stored_line(odd)[:40])
    assert list(history.written(folder)) == [odd]


def test_doctor_names_what_it_looked_at(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main.run(["doctor", "--json"]) == 0
    assert {one["what"] for one in json.loads(capsys.readouterr().out)} >= {"python", "kernel", "nats", "data"}
    assert not (tmp_path / ".keepstep").exists()


def test_doctor_tells_of_a_stack_that_does_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPSTEP_NATS_URL", "nats://127.0.0.1:1")
    monkeypatch.setattr("keepstep.cli.connect.CONNECT_S", 0.2)
    assert main.run(["doctor"]) == 0
    assert "note    bus              that of KEEPSTEP_NATS_URL does not answer: " in capsys.readouterr().out


def test_the_schema_of_one_message_is_printed_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema", "json", "IncidentClosed"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "IncidentClosed"
    assert main.run(["schema", "json", "IncidentClosed", "JobFailed"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"IncidentClosed", "JobFailed"}


SILENT = "import sys; sys.modules['typer'] = None; sys.argv[0] = 'keepstep'; from keepstep.cli.main import main; main()"
"""The command, in which everything that is imported for a command fails: what is said is said before that."""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["up"], b"keepstep: starting: a bus, the six services and the console"),
        (["run", "--", "train.py", "--help"], b"keepstep: starting: checks the job"),
        (["notify", "test", "ops"], b"keepstep: sending one message"),
        (["up", "--help"], b""),
        (["job", "list"], b""),
        (["notify", "list"], b""),
    ],
)
def test_what_takes_a_while_is_told_at_once_and_only_to_a_terminal(line: list[str], told: bytes) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SILENT, *line]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=60)
    os.close(theirs)
    assert ended.stdout == b""
    shown = os.read(ours, 4096)
    os.close(ours)
    assert shown.startswith(told or b"Traceback")
    piped = subprocess.run(command, capture_output=True, check=False, timeout=60)
    assert piped.stdout == b""
    assert piped.stderr.startswith(b"Traceback")


def test_a_channel_of_our_own_is_tried_without_loading_apprise() -> None:
    """It takes a third of the time and of the modules."""
    tried = (
        "import sys, keepstep.cli.commands.notify, keepstep.adapters.channel_directory; print('apprise' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "False\n"
