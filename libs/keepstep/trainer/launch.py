"""The launcher: first process of a task; starts, stops and reaps its ranks as the agent says, and outlives the agent.

One thread and one selector. Ranks run on when no agent is connected, and die when the launcher does.
``python -m keepstep.trainer.launch --dir TASK_DIRECTORY`` reads task.json there and listens on launcher.sock; with
``--wait`` it waits for that file first, as in a pod, may be told to begin anew with another and shows what ranks print.
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from typing import Callable, List, Optional, Set

from keepstep.trainer import progress, starting, system, waiting, wire
from keepstep.trainer.echo import ALL, OFF, SETTING, Echo
from keepstep.trainer.exits import Exits
from keepstep.trainer.gang import EVERYTHING, Gang, Rank
from keepstep.trainer.kept import RankLogs
from keepstep.trainer.loop import Loop
from keepstep.trainer.processes import Processes
from keepstep.trainer.server import Server
from keepstep.trainer.spares import REFILL_AFTER_S, REFILL_LATEST_S, Stock, uses_torch
from keepstep.trainer.task import Run, Task, read
from keepstep.trainer.wire import Do, Line, Say

CLOSE_LOOKS = 250
"""How often, 10 ms apart, it is looked whether processes of ours that were told to end have done so."""


ANEW = -1
"""In place of an exit code: this pod is given another task."""


class Launcher:
    """The launcher of one task."""

    def __init__(self, task: Task, processes: Processes, echo: str = OFF) -> None:
        system.adopt_orphans()
        self._task = task
        self._processes = processes
        self._loop = Loop((signal.SIGTERM, signal.SIGINT, signal.SIGHUP))
        self._page = self._open_page()
        self._base = starting.base_environment(task)
        self._stock = Stock(task, self._base, self._loop, self._say_warm)
        self._exits = Exits(task.directory)
        self._echo = Echo(task.directory, echo)
        self._logs = RankLogs(task.directory, task.log_keep)
        self._gang = Gang(processes, self._say)
        self._leave_with: Optional[int] = None
        self._fresh = False
        """The ranks have not all made their first step."""
        self._server = Server(os.path.join(task.directory, wire.SOCKET), self._loop, self._greet, self._obey)

    def run(self) -> int:
        """Serve until a signal or the agent ends the task; return the exit code, or ANEW."""
        self._stock.fill()
        while True:
            self._reap()
            if self._loop.signals and self._leave_with is None:
                self._end(128 + self._loop.signals[0])
            wait = self._gang.tick(self._spared())
            if self._leave_with is not None and not self._gang.stopping:
                return self._close(self._leave_with)
            self._loop.wait(_sooner(wait if wait is not None else self._refill(), self._bound()))

    def _say(self, line: Line) -> None:
        self._server.say(line)
        if line["say"] == Say.EXIT:
            self._exits.add(line)

    def _say_warm(self) -> None:
        self._say({"say": Say.WARM, "ready": self._stock.ready})

    def _greet(self) -> None:
        """Say hello to a new agent, and every exit that none has acknowledged."""
        self._say(
            {
                "say": Say.HELLO,
                "versions": {"python": platform.python_version(), **self._framework()},
                "warm": self._stock.ready,
                "generation": self._gang.generation,
                "stopped": self._gang.stopped,
                "ranks": [rank.line() for rank in self._gang.alive.values()],
                "pid": os.getpid(),
            }
        )
        for line in self._exits.kept:
            self._server.say(line)

    def _framework(self) -> Line:
        version = starting.installed_version("torch") if self._stock.torch_seen or uses_torch(self._task) else None
        return {} if version is None else {"torch": version, "framework": "pytorch"}

    def _obey(self, order: Line) -> None:
        what = order["do"]
        if what == Do.START:
            self._start(order)
        elif what == Do.STOP:
            self._reap()
            self._gang.stop(int(order["generation"]), float(order["grace_s"]), float(order["kill_s"]), self._spared())
        elif what == Do.ACK:
            self._exits.acknowledge(order["exits"])
        elif what == Do.END:
            waiting.note_end(self._task.directory, self._task.uid)
            self._end(int(order["code"]))
        elif what == Do.RENEW:
            self._end(ANEW)
        else:
            raise ValueError("unknown order %r" % what)

    def _open_page(self) -> progress.Page:
        """Return the task's page; one that was cut or garbled meanwhile would end whoever writes to it."""
        return progress.Page.create(os.path.join(self._task.directory, wire.PAGE), self._task.nproc)

    def _start(self, order: Line) -> None:
        generation = int(order["generation"])
        if generation == self._gang.generation > self._gang.stopped and not self._gang.stopping:
            self._gang.say_started()
            return
        why = self._gang.refusal(generation) if self._leave_with is None else "the task is ending"
        if why is not None:
            self._say({"say": Say.REFUSED, "generation": generation, "why": why})
            return
        ranks: List[Rank] = []
        try:
            for one in order["ranks"]:
                one["generation"] = generation
                self._page = self._open_page()
                ranks.append(starting.start_rank(self._task, self._stock, self._page, self._base, one))
                self._loop.watch_child(ranks[-1].pid)
        except (OSError, ValueError, OverflowError) as error:
            why = "rank %s cannot be started: %s" % (one["rank"], error)
        self._gang.take(generation, ranks)
        self._echo.follow(generation, [rank.rank for rank in ranks])
        self._logs.follow([rank.rank for rank in ranks])
        if why is not None:
            self._say({"say": Say.REFUSED, "generation": generation, "why": why})
            self._gang.stop(generation, 0.0, self._task.kill_s, self._spared())
            return
        self._gang.say_started()
        self._fresh = True
        self._stock.hold(REFILL_LATEST_S)
        self._say_warm()

    def _end(self, code: int) -> None:
        """Stop everything and leave with this code; the first order counts."""
        if self._leave_with is None:
            self._leave_with = code
            self._reap()
            self._gang.stop(EVERYTHING, self._task.grace_s, self._task.kill_s, self._spared())

    def _spared(self) -> Set[int]:
        """Return the processes of ours that belong to no rank."""
        return self._stock.pids | self._echo.pids

    def _reap(self) -> None:
        for ended in self._processes.reap():
            self._loop.forget_child(ended.pid)
            if not self._gang.collect(ended) and not self._echo.ended(ended.pid):
                self._stock.ended(ended.pid)

    def _refill(self) -> Optional[float]:
        """Keep spares coming once the ranks have made their first step; return how soon to look again."""
        if self._fresh and self._page.whole:
            slots = [self._page.read(slot) for slot in range(self._page.slots)]
            if all(slot.first_ns for slot in slots):
                self._fresh = False
                self._stock.torch_seen = any(slot.uses_torch for slot in slots)
                self._stock.hold(REFILL_AFTER_S)
        return self._stock.refill()

    def _bound(self) -> Optional[float]:
        """Bound what the ranks print; return how soon to look again, None while none prints anything."""
        return self._logs.turn() if self._gang.alive else None

    def _close(self, code: int) -> int:
        self._logs.bound()
        # Before the agent sees us go and may clear the folder that the output is in.
        self._echo.close()
        self._await_end(lambda: self._echo.pids)
        for pid in self._stock.pids:
            self._processes.send(pid, signal.SIGKILL)
        self._server.close()
        self._await_end(lambda: self._stock.pids)
        self._stock.groups.close()
        self._loop.close()
        if code == ANEW and self._gang.unkillable:
            system.log("cannot begin anew: processes %s cannot be killed" % sorted(self._gang.unkillable))
            return 1
        return code

    def _await_end(self, alive: Callable[[], Set[int]]) -> None:
        for _ in range(CLOSE_LOOKS):
            self._reap()
            if not alive():
                return
            self._loop.wait(0.01)


def _sooner(one: Optional[float], other: Optional[float]) -> Optional[float]:
    return min((each for each in (one, other) if each is not None), default=None)


def main(arguments: Optional[List[str]] = None) -> int:
    """Run the launcher of the task in ``--dir``; return its exit code."""
    parser = argparse.ArgumentParser(prog="keepstep.trainer.launch", description=__doc__)
    parser.add_argument("--dir", required=True, help="task directory with task.json")
    parser.add_argument("--wait", action="store_true", help="wait for task.json, and take another when told to")
    parser.add_argument("--run", type=Run.parse, help="what to run instead of the task's entrypoint, as JSON")
    options = parser.parse_args(arguments)
    if not options.wait:
        return _launch(options.dir, options.run)
    try:
        lock = waiting.show_up(options.dir)
    except OSError as error:
        sys.stderr.write("launcher: one is there already in %s: %s\n" % (options.dir, error))
        return 2
    code = ANEW
    while code == ANEW:
        waiting.for_task(options.dir)
        code = _launch(options.dir, options.run, os.environ.get(SETTING, ALL))
    os.close(lock)
    return code


def _launch(directory: str, instead: Optional[Run], echo: str = OFF) -> int:
    try:
        task = read(directory, instead)
    except (OSError, KeyError, ValueError) as error:
        sys.stderr.write("launcher: no task can be read from %s/task.json: %s\n" % (directory, error))
        return 2
    return Launcher(task, Processes(), echo).run()


if __name__ == "__main__":
    sys.exit(main())
