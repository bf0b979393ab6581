"""Real launchers and real processes: what the agent orders happens, and nothing survives that must not."""

import os
import signal
from pathlib import Path

import pytest

from keepstep.trainer import wire
from tests.trainer.desk import SLEEP, Desk, eventually, gone, script


def test_an_exit_is_told_with_its_code_or_its_signal(tmp_path: Path) -> None:
    source = "import os, sys, time\nif os.environ['RANK'] == '1': time.sleep(600)\nsys.exit(17)\n"
    with Desk(tmp_path, script(tmp_path, source), nproc=2) as desk:
        ranks = desk.start()
        first = desk.hear("exit")
        os.kill(ranks[1]["pid"], signal.SIGKILL)
        second = desk.hear("exit")
    assert (first["rank"], first["code"], first["signal"], first["ordered"]) == (0, 17, None, False)
    assert (second["rank"], second["code"], second["signal"], second["ordered"]) == (1, None, signal.SIGKILL, False)


def test_exits_are_said_again_to_a_new_agent_until_acknowledged(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, "raise SystemExit(3)")) as desk:
        desk.start()
        told = desk.hear("exit")
        desk.connect()
        assert desk.hear("exit") == told
        desk.say("ack", exits=[told["id"]])
        desk.connect()
        desk.say("stop", generation=1, grace_s=0, kill_s=1)
        desk.hear("stopped")
        assert not [line for line in desk._heard if line["say"] == "exit"]


def test_ranks_run_on_while_no_agent_is_there(tmp_path: Path) -> None:
    source = "import time\nfor beat in range(10**6): print(beat, flush=True); time.sleep(0.01)\n"
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        (rank,) = desk.start()
        desk._socket.close()
        before = len(desk.output())
        eventually(lambda: len(desk.output()) > before + 100)
        hello = desk.connect()
    assert [one["pid"] for one in hello["ranks"]] == [rank["pid"]]
    assert hello["generation"] == 1


def test_the_spares_are_all_there_again_after_the_first_steps(tmp_path: Path) -> None:
    source = "import time\nfrom keepstep import trainer\ntrainer.step(1)\ntime.sleep(600)\n"
    with Desk(tmp_path, script(tmp_path, source), nproc=2, trainer={"warm_ranks": 3, "preload": ["json"]}) as desk:
        while desk.hear("warm")["ready"] < 3:
            pass
        assert [rank["warm"] for rank in desk.start()] == [True, True]
        assert desk.hear("warm")["ready"] == 1
        assert [desk.hear("warm")["ready"] for _ in range(2)] == [2, 3]


def words_of(pid: int | str) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


@pytest.mark.parametrize("spares", [0, 1])
def test_listings_of_processes_show_what_a_rank_runs_and_which_it_is(tmp_path: Path, spares: int) -> None:
    """In ps ranks and spares of all jobs were warm.py alike, and pkill -f train.py found none."""
    entrypoint = script(tmp_path, SLEEP) | {"args": ["--lr", "0.1", "x" * 5000]}
    with Desk(tmp_path, entrypoint, trainer={"warm_ranks": spares, "preload": ["json"]}) as desk:
        if spares:
            desk.hear("warm")
            children = Path(f"/proc/{desk.launcher.pid}/task/{desk.launcher.pid}/children").read_text().split()
            assert [words_of(pid)[2].strip() for pid in children] == ["[spare]"]
        (rank,) = desk.start()
        eventually(lambda: words_of(rank["pid"])[2].strip() == "[rank 0]")
        assert words_of(rank["pid"])[-4:] == [entrypoint["path"], "--lr", "0.1", ""], "what is short enough"


def test_sigterm_stops_the_ranks_and_leaves_with_143(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        (rank,) = desk.start()
        desk.launcher.terminate()
        assert desk.hear("stopped")["generation"] == 1
        assert desk.launcher.wait(10) == 143
        assert gone(rank["pid"])
    assert not (tmp_path / wire.SOCKET).exists()


def test_the_end_order_leaves_with_its_code(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        (rank,) = desk.start()
        desk.say("end", code=5)
        desk.hear("stopped")
        assert desk.launcher.wait(10) == 5
        assert gone(rank["pid"])


GARBAGE = (
    b"{not json}\n",
    b"[1]\n",
    b'{"do":"dance"}\n',
    b'{"do":"start"}\n',
    b"\xff\n",
    b"[" * 100_000 + b"\n",
    b'{"do":"stop","generation":Infinity,"grace_s":1,"kill_s":1}\n',
    b'{"do":"stop","generation":NaN,"grace_s":1,"kill_s":1}\n',
    b'{"do":"ack","exits":7}\n',
)


@pytest.mark.parametrize("garbage", GARBAGE)
def test_an_order_that_makes_no_sense_costs_only_the_connection(tmp_path: Path, garbage: bytes) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        (rank,) = desk.start()
        desk.send(garbage)
        assert desk.hung_up()
        assert [one["pid"] for one in desk.connect()["ranks"]] == [rank["pid"]]


def test_only_a_newer_generation_starts_and_only_when_the_older_is_gone(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        first = desk.start(2)
        assert desk.start(2) == first
        desk.say("start", generation=3, ranks=[])
        assert "still there" in desk.hear("refused")["why"]
        desk.stop(2)
        desk.say("start", generation=2, ranks=[])
        assert "over" in desk.hear("refused")["why"]
        assert desk.start(3)[0]["generation"] == 3


def test_stopping_an_older_generation_leaves_the_newer_alone(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        (rank,) = desk.start(4)
        assert desk.stop(3)["generation"] == 3
        assert not gone(rank["pid"])


def test_a_command_that_does_not_exist_exits_with_127_and_says_why(tmp_path: Path) -> None:
    with Desk(tmp_path, {"kind": "command", "argv": ["no-such-command"]}) as desk:
        desk.start()
        assert desk.hear("exit")["code"] == 127
        assert desk.output("err") == "no-such-command: No such file or directory\n"


def test_a_rank_that_cannot_be_started_is_refused_and_the_next_generation_may_try(tmp_path: Path) -> None:
    (tmp_path / wire.LOGS).write_text("in the way, as a full disk would be")
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        desk.say("start", generation=1, ranks=[{"rank": 0, "local_rank": 0, "env": {}}])
        assert "rank 0 cannot be started" in desk.hear("refused")["why"]
        assert desk.hear("stopped")["unkillable"] == []
        (tmp_path / wire.LOGS).unlink()
        assert desk.start(2)[0]["generation"] == 2


def test_a_step_that_the_page_cannot_hold_is_refused_instead_of_asked_for_again_and_again(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, SLEEP)) as desk:
        env = {"KEEPSTEP_RESUME_STEP": "20261130015258123456"}
        desk.say("start", generation=1, ranks=[{"rank": 0, "local_rank": 0, "env": env}])
        assert "rank 0 cannot be started" in desk.hear("refused")["why"]
        assert desk.hear("stopped")["unkillable"] == []
        assert desk.start(2)[0]["generation"] == 2


def test_an_exit_is_told_though_its_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "exits.json").mkdir()
    with Desk(tmp_path, script(tmp_path, "raise SystemExit(3)")) as desk:
        desk.start()
        assert desk.hear("exit")["code"] == 3
        assert desk.connect()["generation"] == 1
        assert desk.hear("exit")["code"] == 3


def test_a_missing_task_is_refused_with_its_path(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from keepstep.trainer.launch import main  # noqa: PLC0415 - importing it here keeps its signals out of other tests

    assert main(["--dir", str(tmp_path)]) == 2
    assert f"{tmp_path}/task.json" in capfd.readouterr().err


def test_a_page_that_was_cut_ends_no_launcher_and_the_next_generation_has_a_new_one(tmp_path: Path) -> None:
    with Desk(tmp_path, script(tmp_path, "import time; time.sleep(100)")) as desk:
        desk.start()
        os.truncate(tmp_path / wire.PAGE, 0)
        desk.stop()
        (rank,) = desk.start(generation=2)
        slot = desk.slot()
        assert (slot.generation, slot.pid) == (2, rank["pid"])
