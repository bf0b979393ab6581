"""``keepstep run`` as people use it: a real stack, real ranks, real signals, and nothing left afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

import pytest

from keepstep.cli.watch import Summary

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.system
WAIT_S = 60.0


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("KEEPSTEP_")}


STARTED: "list[subprocess.Popen[str]]" = []


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """End the commands of a test that failed half-way; what they started ends with them."""
    yield
    while STARTED:
        STARTED[-1].kill()
        STARTED.pop().communicate()


def start(folder: Path, *arguments: str, **more: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "keepstep.cli", "run", "--name", "job", *arguments],
        cwd=folder,
        env=environment() | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    STARTED.append(process)
    return process


def until(condition: Callable[[], bool]) -> None:
    end = monotonic() + WAIT_S
    while not condition():
        assert monotonic() < end, "the condition did not come true"
        sleep(0.05)


def left(folder: Path) -> list[str]:
    """Return the processes that have the folder in environment or command line: ranks, agents, nodes, the bus."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            told = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            if int(process.name) != os.getpid() and f"{folder}/.keepstep".encode() in told:
                found.append(told.decode(errors="replace"))
    return found


def ranks(folder: Path) -> list[int]:
    """Return the processes that print into the log of a rank, as no spare does."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            prints_to = (process / "fd" / "1").readlink()
            if prints_to.is_relative_to(folder) and prints_to.name.startswith("rank-"):
                found.append(int(process.name))
    return found


def story(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob(".keepstep/runs/*/events.jsonl"))


def summary(folder: Path) -> Summary:
    (path,) = folder.glob(".keepstep/runs/*/summary.json")
    return Summary.model_validate_json(path.read_text())


def loop(*options: str) -> tuple[str, ...]:
    return ("--nodes", "2", "--nproc", "1", "--", str(ROOT / "examples" / "plain_loop.py"), *options)


def test_a_run_whose_rank_is_killed_goes_on_and_ends_well(tmp_path: Path) -> None:
    process = start(tmp_path, "--checkpoint-dir", "ck", *loop("--steps", "240", "--checkpoint-dir", "ck"))
    until(lambda: "CheckpointCommitted\t" in story(tmp_path))
    inject = ["fault", "inject", "kill", "--rank", "1", "--job", "job"]
    subprocess.run([sys.executable, "-m", "keepstep.cli", *inject], cwd=tmp_path, env=environment(), check=True)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out + err
    assert not err
    (incident,) = summary(tmp_path).incidents
    assert (incident.outcome, incident.levels) == ("resumed", ("in-place",))
    assert incident.culprit is not None
    assert incident.culprit.rank == 1
    assert sum(stage.seconds for stage in incident.stages) == pytest.approx(incident.wall_s)
    assert "effective training time" in out
    assert not left(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_job_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path, *loop("--steps", "100000"))
    until(lambda: "JobStarted\t" in story(tmp_path))
    process.send_signal(number)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 128 + number, out + err
    assert "JobStopRequested" in out
    assert not left(tmp_path)


def test_a_signal_does_not_wait_for_nodes_that_do_not_come_up(tmp_path: Path) -> None:
    """It took half a minute, the limit of a node's start, until Ctrl-C was heard."""
    slow = "import sys, time\nif 'keepstep.adapters.local_node' in sys.orig_argv:\n    time.sleep(600)\n"
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "sitecustomize.py").write_text(slow)
    path = os.pathsep.join(filter(None, (str(tmp_path / "slow"), os.environ.get("PYTHONPATH"))))
    process = start(tmp_path, *loop("--steps", "100000"), PYTHONPATH=path)
    until(lambda: any("local_node" in told for told in left(tmp_path)))
    began = monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, out + err
    assert "SIGINT: stopped while it was still coming up" in err
    assert monotonic() - began < 20
    assert not left(tmp_path)


def test_a_stop_is_told_to_its_end_where_no_task_is_left(tmp_path: Path) -> None:
    """A job that waits for a place has nothing to wait for at its stop but the words about it."""
    process = start(tmp_path, *loop("--steps", "100000"))
    until(lambda: "FirstStepDone\t" in story(tmp_path))
    inject = ["fault", "inject", "node-lost", "--node", "n1", "--job", "job"]
    subprocess.run([sys.executable, "-m", "keepstep.cli", *inject], cwd=tmp_path, env=environment(), check=True)
    until(lambda: "JobWaiting\t" in story(tmp_path))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, out + err
    told = summary(tmp_path)
    assert told.state == "stopped"
    assert [incident.outcome for incident in told.incidents] == ["job_gone"]
    assert "JobDeleted\t" in story(tmp_path)
    assert not left(tmp_path)


def test_ranks_end_when_the_command_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, *loop("--steps", "100000"))
    until(lambda: "JobStarted\t" in story(tmp_path))
    assert left(tmp_path)
    process.kill()
    process.communicate()
    until(lambda: not left(tmp_path))


def test_a_run_whose_bus_lost_all_it_kept_ends_with_the_remedy(tmp_path: Path) -> None:
    """The server came back with nothing: no service knew the job, and the run said for ever that it ran."""
    process = start(tmp_path, *loop("--steps", "100000"))
    until(lambda: "JobStarted\t" in story(tmp_path))
    lose_stream(tmp_path)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1, out + err
    assert "the bus has lost its stream, and with it the job" in err
    assert "run the job again" in err
    assert not left(tmp_path)


def lose_stream(folder: Path) -> None:
    """Take away what the bus has kept, and the server with it."""
    (data,) = folder.glob(".keepstep/**/nats")
    (server,) = (path for path in Path("/proc").glob("[0-9]*") if runs_in(path, data))
    os.kill(int(server.name), signal.SIGSTOP)  # it would write into the folder that is being emptied
    shutil.rmtree(data)
    os.kill(int(server.name), signal.SIGKILL)


@pytest.mark.slow
def test_a_run_whose_bus_hangs_says_so_is_given_another_and_ends_in_order(tmp_path: Path) -> None:
    """It said for ever that it ran, with no word about the rank that had died meanwhile."""
    process = start(tmp_path, "--no-output", *loop("--steps", "100000"))
    until(lambda: "JobStarted\t" in story(tmp_path))
    (data,) = tmp_path.glob(".keepstep/**/nats")
    (server,) = (path for path in Path("/proc").glob("[0-9]*") if runs_in(path, data))
    os.kill(int(server.name), signal.SIGSTOP)
    until(lambda: len(ranks(tmp_path)) == 2)
    os.kill(ranks(tmp_path)[0], signal.SIGKILL)
    until(lambda: "JobResumed\t" in story(tmp_path))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130, out + err
    assert "the bus has not answered for 1" in out
    assert "job job stopped, exit code 130" in out
    assert not left(tmp_path)


def test_a_stack_tells_that_its_folder_is_gone_and_ends_with_its_stream(tmp_path: Path) -> None:
    """It stayed up for ever without a word, and no job that was run on it came to anything."""
    up = subprocess.Popen(
        [sys.executable, "-m", "keepstep.cli", "up", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert up.stdout is not None
    assert "keepstep is up" in up.stdout.readline()
    shutil.rmtree(tmp_path / ".keepstep" / "cluster")
    assert "was taken away: ranks that run go on" in up.stdout.readline()
    lose_stream(tmp_path)
    _, err = up.communicate(timeout=WAIT_S)
    assert up.returncode == 1, err
    assert "the bus has lost its stream, and with it all jobs" in err
    assert "start keepstep up again" in err
    assert not left(tmp_path)


def runs_in(process: Path, data: Path) -> bool:
    """Return whether this is the server that keeps its data there."""
    try:
        told = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"nats-server" in told[0] and any(str(data).encode() in part for part in told)


def test_a_job_that_fails_by_itself_gives_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text(json.dumps({"recovery": {"enabled": False}}))
    arguments = ("--policy", "policy.json", "--nodes", "1", "--nproc", "1", "--", "sh", "-c", "exit 7")
    process = start(tmp_path, *arguments)
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 7, out + err
    assert summary(tmp_path).state == "failed"


def test_what_rank_0_prints_is_shown_once_and_whole(tmp_path: Path) -> None:
    (tmp_path / "talk.py").write_text("for line in range(5):\n    print('line', line)\nprint('no end', end='')\n")
    process = start(tmp_path, "--nodes", "1", "--nproc", "1", "--", "talk.py")
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0, out + err
    shown = [line for line in out.splitlines() if line.startswith("[rank 0]")]
    assert shown == [*(f"[rank 0] line {number}" for number in range(5)), "[rank 0] no end"]


def test_a_run_on_a_shared_stack_keeps_its_nodes_folders_and_is_stopped_with_it(tmp_path: Path) -> None:
    up = subprocess.Popen(
        [sys.executable, "-m", "keepstep.cli", "up", "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert up.stdout is not None
        assert "keepstep is up" in up.stdout.readline()
        out, err = start(tmp_path, *loop("--steps", "5")).communicate(timeout=WAIT_S)
        assert not err, err
        assert summary(tmp_path).exit_code == 0, out
        assert not list(tmp_path.glob(".keepstep/cluster/nodes/*"))
        assert len(list(tmp_path.glob(".keepstep/runs/*/cluster/nodes/*"))) == 2
        last = start(tmp_path, *loop("--steps", "100000"))
        until(lambda: story(tmp_path).count("FirstStepDone\t") >= 4)
    finally:
        up.send_signal(signal.SIGINT)
        said, _ = up.communicate(timeout=WAIT_S)
    assert up.returncode == 0
    assert "SIGINT: stopping 1 job first; once more ends everything at once: job, running" in said
    out, err = last.communicate(timeout=WAIT_S)
    assert "JobStopRequested" in out, out + err
    assert not left(tmp_path)


def test_a_stack_whose_port_is_taken_is_never_up_and_says_how_to_choose_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        up = subprocess.run(
            [sys.executable, "-m", "keepstep.cli", "up", "--port", port],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_S,
            check=False,
        )
    assert (up.returncode, up.stdout) == (1, "")
    (line,) = up.stderr.splitlines()
    assert f"port {port} " in line
    assert "--port" in line
    assert not left(tmp_path)
