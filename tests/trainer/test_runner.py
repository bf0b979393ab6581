"""A rank is what ``python SCRIPT`` would have been: the same table, run plainly, cold, and in a warm interpreter."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.desk import LIBS, Desk, eventually

FACTS = """
import json, os, sys
print(json.dumps({
    "argv": sys.argv, "path": [p for p in sys.path if p != %r], "cwd": os.getcwd(), "file": __file__, "name": __name__,
    "main": sys.modules["__main__"].__dict__ is globals(), "package": __package__, "spec": __spec__ is None,
    "env": {k: v for k, v in os.environ.items() if k.startswith(("JOB_", "RANK_"))},
    "names": sorted(k for k in globals() if k != "__annotations__"), "stdin": sys.stdin.read(),
    "threads": __import__("threading").active_count(), "flags": (sys.flags.optimize, sys.flags.safe_path),
    "session": os.getsid(0) == os.getpid() or %r,
}))
"""

LATE = """
import atexit, threading, time
def report(): print("at exit", name)
name = "still there"
atexit.register(report)
threading.Thread(target=lambda: (time.sleep(0.05), print("thread", name))).start()
"""

PICKLE = """
import multiprocessing, pickle
class Box: pass
def double(n): return 2 * n
if __name__ == "__main__":
    print(type(pickle.loads(pickle.dumps(Box()))).__module__)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(double, [1, 2]))
"""

SCRIPTS = {
    "facts": FACTS,
    "late": LATE,
    "exit 0": "raise SystemExit",
    "exit 5": "import sys\nsys.exit(5)",
    "exit text": "import sys\nsys.exit('no data')",
    "exit true": "import os\nos._exit(6)",
    "raise": "def deep():\n    raise ValueError('bad sample')\n\ndeep()\n",
    "cause": "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise KeyError('x') from error\n",
    "context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    int('z')\n",
    "syntax": "print('never')\nfor\n",
    "import": "import no_such_module_anywhere\n",
    "in a library": "import json\njson.loads('{')\n",
    "hook": "import sys\nsys.excepthook = lambda kind, value, trace: print('mine', kind, trace.tb_lineno)\n1 / 0\n",
    "group": "raise ExceptionGroup('two', [ValueError('a'), KeyError('b')])",
    "interrupt": "raise KeyboardInterrupt",
    "signal": "import os, signal\nos.kill(os.getpid(), signal.SIGABRT)",
    "pickle": PICKLE,
    "neighbour": "import neighbour\nprint(neighbour.__file__)",
    "tail": "print('no newline', end='')",
}


def _source(name: str, plain: bool) -> str:
    text = SCRIPTS[name]
    return text % (LIBS, plain) if name == "facts" else text


def _write(directory: Path, name: str, *, plain: bool) -> Path:
    (directory / "code").mkdir(exist_ok=True)
    (directory / "code" / "neighbour.py").write_text("")
    path = directory / "code" / "script.py"
    path.write_text(_source(name, plain))
    return path


Result = tuple[Any, str, str]


def _plain(directory: Path, arguments: list[str]) -> Result:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": LIBS, "PYTHONUNBUFFERED": "1", "JOB_SAYS": "a b", "RANK_SAYS": "ü"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def _under_keepstep(directory: Path, entrypoint: dict[str, Any], *, warm: bool) -> Result:
    trainer = {"warm_ranks": int(warm), "preload": ["json", "decimal"]}
    with Desk(directory, entrypoint, env={"JOB_SAYS": "a b"}, trainer=trainer) as desk:
        if warm:
            desk.hear("warm")
        (rank,) = desk.start(args=("extra",), RANK_SAYS="ü")
        assert rank["warm"] is warm
        told = desk.hear("exit")
        code = told["code"] if told["signal"] is None else -told["signal"]
        return code, desk.output("out"), desk.output("err")


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_ends_and_speaks_as_it_does_plainly(tmp_path: Path, name: str, warm: bool) -> None:
    path = _write(tmp_path, name, plain=True)
    plain = _plain(tmp_path, [str(path), "--flag", "extra"])
    path = _write(tmp_path, name, plain=False)
    ours = _under_keepstep(tmp_path, {"kind": "script", "path": str(path), "args": ["--flag"]}, warm=warm)
    if name == "facts":
        assert (ours[0], json.loads(ours[1]), ours[2]) == (plain[0], json.loads(plain[1]), plain[2])
    elif name == "signal":  # the launcher's ranks have faulthandler on, which adds the Python stack
        assert (ours[0], ours[1]) == (plain[0], plain[1])
        assert "script.py" in ours[2]
    else:
        assert ours == plain


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("name", ["package.train", "package", "no_such_module"])
def test_a_module_ends_and_speaks_as_with_m(tmp_path: Path, name: str, warm: bool) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("print('package comes up')")
    (package / "__main__.py").write_text("import sys\nprint(sys.argv, __spec__.name, sys.path[0])")
    (package / "train.py").write_text("import sys\nfrom . import __file__\nprint(sys.argv, sys.path[0])\n1 / 0\n")
    plain = _plain(tmp_path, ["-m", name, "extra"])
    ours = _under_keepstep(tmp_path, {"kind": "module", "name": name}, warm=warm)
    # runpy's own frames come and go with the version of Python; all else must be the same.
    assert (ours[0], ours[1]) == (plain[0], plain[1])
    assert ours[2].splitlines()[-1:] == plain[2].splitlines()[-1:]


def test_a_script_that_is_not_there_says_so_and_exits_with_2(tmp_path: Path) -> None:
    path = str(tmp_path / "nope.py")
    assert _under_keepstep(tmp_path, {"kind": "script", "path": path}, warm=False) == _plain(tmp_path, [path, "extra"])


def test_a_rank_takes_the_spare_that_is_still_warming(tmp_path: Path) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import time, pathlib\nhere = pathlib.Path(__file__).parent\n(here / 'began').touch()\n"
        "while not (here / 'go').exists(): time.sleep(0.01)\n"
    )
    (tmp_path / "script.py").write_text("import sys\nprint('slow_to_import' in sys.modules, 'decimal' in sys.modules)")
    trainer = {"warm_ranks": 1, "preload": ["slow_to_import", "decimal"]}
    env = {"PYTHONPATH": f"{LIBS}:{tmp_path}"}
    with Desk(tmp_path, {"kind": "script", "path": str(tmp_path / "script.py")}, env=env, trainer=trainer) as desk:
        eventually((tmp_path / "began").exists)
        (rank,) = desk.start()
        (tmp_path / "go").touch()
        desk.hear("exit")
        assert desk.output() == "True False\n", "it stops importing once it is wanted"
    assert rank["warm"] is False


def test_a_spare_with_other_start_variables_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import os\nprint(os.environ['OMP_NUM_THREADS'])")
    with Desk(
        tmp_path, {"kind": "script", "path": str(tmp_path / "script.py")}, trainer={"warm_ranks": 1, "preload": []}
    ) as desk:
        desk.hear("warm")
        (rank,) = desk.start(OMP_NUM_THREADS="7")
        desk.hear("exit")
        assert (rank["warm"], desk.output()) == (False, "7\n")


def test_spares_come_back_after_the_first_step(tmp_path: Path) -> None:
    source = "import time\nfrom keepstep import trainer\ntrainer.step(1)\ntime.sleep(600)"
    (tmp_path / "script.py").write_text(source)
    with Desk(
        tmp_path, {"kind": "script", "path": str(tmp_path / "script.py")}, trainer={"warm_ranks": 1, "preload": []}
    ) as desk:
        assert desk.hear("warm")["ready"] == 1
        desk.start()
        assert desk.hear("warm")["ready"] == 0
        assert desk.hear("warm")["ready"] == 1
