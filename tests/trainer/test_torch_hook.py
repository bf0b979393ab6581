"""Automatic marks and phases on real torch, from scripts that know nothing of it; and warming that leaves no trace."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepstep.trainer import stacks, wire
from tests.trainer.desk import LIBS, Desk, eventually, script

pytest.importorskip("torch")

WATCHED = """
import io, os, threading, time
import torch, torch.distributed as dist
from torch.distributed import init_process_group
from keepstep.trainer import master
from keepstep.trainer.progress import Page

page = Page(os.environ["KEEPSTEP_TASK_DIR"] + "/progress")
seen = {}

def look(name):
    slot = page.read(0)
    seen[name] = [slot.phase, slot.step, slot.marks, slot.estimated]

class Spy:
    "Looks at the page while it is pickled, or made from a pickle."
    def __init__(self, name): self.name = name
    def __getstate__(self): look("saving " + self.name); return {"name": self.name}
    def __setstate__(self, state): self.__dict__ = state; look("loading " + self.name)

torch.manual_seed(0)
def arrive(address, port):
    look(f"waiting for the master {address}:{port}")
    os.environ["RANK"] = "0"

master._until_open = arrive
os.environ.update(RANK="1", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
init_process_group("gloo")
seen["init done"] = page.read(0).init_ns > 0
file = io.BytesIO()
torch.save(Spy("first"), file)
file.seek(0)
torch.load(file, weights_only=False)
seen["load done"] = page.read(0).load_ns > page.read(0).init_ns
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
model.eval(); look("eval before the first step"); model.train()
one = torch.optim.SGD(model.parameters(), lr=0.1)
critic = torch.optim.Adam(torch.nn.Linear(2, 2).parameters())

def train(optimizer, times):
    for _ in range(times):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()

train(one, 3); look("three steps")
for _ in range(4):
    train(critic, 5); train(one, 1)
look("a critic with five steps per step")
model[1].eval(); look("a frozen part")
model.eval(); look("evaluation"); model.train(); look("training again")
model.eval(); train(one, 1); look("a step ends an evaluation"); model.train()
torch.save(Spy("later"), io.BytesIO()); look("saved")
thread = threading.Thread(target=lambda: torch.save(Spy("beside"), io.BytesIO()))
thread.start(); thread.join()
seen["saves"] = len(page.saves(0))
import torch.distributed.checkpoint as checkpoint
checkpoint.save({"weight": torch.ones(2)}, checkpoint_id=os.environ["KEEPSTEP_TASK_DIR"] + "/whole", no_dist=True)
seen["saves with a distributed one"] = len(page.saves(0))
copied = {"weight": torch.ones(2)}
returned = checkpoint.async_save(copied, checkpoint_id=os.environ["KEEPSTEP_TASK_DIR"] + "/beside", no_dist=True)
getattr(returned, "upload_completion", returned).result()
while len(page.saves(0)) < 5: time.sleep(0.01)  # the future's callbacks come after its result
*_, copied, written = sorted(page.saves(0), key=lambda save: save.ended_ns)
seen["began together"] = copied.began_ns == written.began_ns
seen["written later"] = written.ended_ns > copied.ended_ns
train(torch.optim.Adam(model.parameters()), 20); look("the next stage has its own optimizer")

def backend(graph, _inputs):
    look("compiling")
    return graph.forward

torch.compile(torch.nn.Linear(2, 2), backend=backend)(torch.ones(1, 2)); look("compiled")
del one
import json
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("watched")
    with Desk(directory, script(directory, WATCHED)) as desk:
        desk.start(KEEPSTEP_RESUME_STEP="100")
        told = desk.hear("exit")
        assert told["code"] == 0, desk.output("err")
        return dict(json.loads(desk.output()))


@pytest.mark.parametrize(
    ("moment", "phase", "step"),
    [
        ("waiting for the master 127.0.0.1:0", "init", 100),
        ("saving first", "checkpoint", 100),
        ("loading first", "load", 100),
        ("eval before the first step", "starting", 100),
        ("three steps", "step", 103),
        ("a critic with five steps per step", "step", 107),
        ("a frozen part", "step", 107),
        ("evaluation", "evaluation", 107),
        ("training again", "step", 107),
        ("a step ends an evaluation", "step", 108),
        ("saving later", "checkpoint", 108),
        ("saved", "step", 108),
        ("saving beside", "step", 108),
        ("compiling", "compile", 113),
        ("compiled", "step", 113),
    ],
)
def test_the_page_follows_what_the_script_does(seen: dict[str, Any], moment: str, phase: str, step: int) -> None:
    assert seen[moment][:2] == [phase, step]


def test_steps_of_the_hook_are_flagged_as_estimated(seen: dict[str, Any]) -> None:
    assert seen["three steps"][3] is True
    assert seen["init done"]
    assert seen["load done"]


def test_another_optimizer_is_counted_once_the_first_has_long_not_stepped(seen: dict[str, Any]) -> None:
    assert seen["the next stage has its own optimizer"][1] == 108 + 5


def test_what_a_rank_saves_is_kept_to_the_end_of_the_writing(seen: dict[str, Any]) -> None:
    """A save by another thread is its own business: it stops no step, and nobody knows what it belongs to."""
    assert (seen["saves"], seen["saves with a distributed one"]) == (2, 3)
    assert seen["began together"]
    assert seen["written later"]


TRACELESS = """
import json, random, signal, threading
import torch
first = torch.rand(3).tolist()
torch.manual_seed(torch.initial_seed())
again = torch.rand(3).tolist()
torch.manual_seed(7)
print(json.dumps({
    "nothing was drawn before": first == again, "seeded": torch.rand(3).tolist(), "threads": torch.get_num_threads(),
    "python threads": threading.active_count(), "grad": torch.is_grad_enabled(),
    "deterministic": torch.are_deterministic_algorithms_enabled(), "dtype": str(torch.get_default_dtype()),
    "distributed": torch.distributed.is_initialized(),
    "handlers": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD)],
}))
"""


def test_warming_leaves_no_trace_in_torch(tmp_path: Path) -> None:
    entrypoint = script(tmp_path, TRACELESS)
    plain = subprocess.run(  # a test run in the background of a shell inherits that Ctrl-C is ignored; ranks do not
        ["env", "--default-signal=INT", sys.executable, entrypoint["path"]],
        env={**os.environ, "PYTHONPATH": LIBS},
        capture_output=True,
        check=True,
    )
    with Desk(tmp_path, entrypoint, trainer={"warm_ranks": 1}) as desk:
        desk.hear("warm")
        (rank,) = desk.start()
        assert desk.hear("exit")["code"] == 0, desk.output("err")
        facts = json.loads(desk.output())
    assert facts == json.loads(plain.stdout)
    assert facts["nothing was drawn before"]
    assert rank["warm"] is True


def test_a_command_is_hooked_too_and_the_site_s_own_customisation_still_runs(tmp_path: Path) -> None:
    own = tmp_path / "site"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('site speaks')")
    (tmp_path / "train.py").write_text(
        "import os, sys\nfrom keepstep import trainer\nprint([p for p in sys.path if 'sitecustomize' in p])\n"
        "print('sitecustomize' in sys.modules, sys.modules['sitecustomize'].__file__)\n"
        "trainer.step(7)\nprint('pid', os.getpid(), flush=True)\nimport time; time.sleep(600)\n"
    )
    command = {"kind": "command", "argv": ["sh", "-c", f"{sys.executable} train.py; exit 3"]}
    with Desk(tmp_path, command, env={"PYTHONPATH": f"{own}:{LIBS}"}) as desk:
        (rank,) = desk.start()
        desk.wait_for_output("pid")
        speaks, path, module, pid = desk.output().splitlines()
        assert (speaks, path, module) == ("site speaks", "[]", f"True {own}/sitecustomize.py")
        slot = desk.slot()
        assert (slot.step, slot.estimated) == (7, False)
        assert f"pid {slot.pid}" == pid
        assert slot.pid != rank["pid"]


def test_a_rank_answers_with_its_stacks_and_a_stranger_is_left_alone(tmp_path: Path) -> None:
    source = "import time\ndef wait_for_peers():\n    print('up', flush=True)\n    time.sleep(600)\nwait_for_peers()\n"
    path = wire.stack_path(str(tmp_path), 0)
    with Desk(tmp_path, script(tmp_path, source)) as desk:
        (rank,) = desk.start()
        desk.wait_for_output("up")
        for _ in range(2):
            assert stacks.ask(rank["pid"], path)
            eventually(lambda: "in <module>" in Path(path).read_text())
        assert Path(path).read_text().count("in wait_for_peers") == 1, "each answer replaces the one before"
        assert not stacks.ask(desk.launcher.pid, path)
        assert stacks.SIGNAL == signal.SIGURG
        assert desk.launcher.poll() is None
