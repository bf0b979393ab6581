"""Running the script or module as ``python SCRIPT`` or ``python -m MODULE`` would, inside an interpreter already up.

Same ``__main__``, argv, path, traceback and exit code; the frames of this package never show in a traceback.
"""

from __future__ import annotations

import importlib.machinery
import os
import runpy
import sys
import types
from typing import Any, NoReturn, Optional, Sequence, Type

from keepstep.trainer.task import Kind

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = (_HERE + os.sep, runpy.__file__, "<frozen runpy>", "<frozen importlib")


def run(kind: Kind, target: str, argv: Sequence[str]) -> None:
    """Run a script (its path) or a module (its name) to its end; raises whatever it raises."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    try:
        if kind is Kind.MODULE:
            _run_module(target, argv)
        else:
            _run_script(main, target, argv)
    except SystemExit:
        raise
    except BaseException:
        _hide_our_frames()
        raise


def _run_module(name: str, argv: Sequence[str]) -> None:
    _set_first_path(os.getcwd())
    sys.argv = ["-m", *argv]
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]  # what python -m itself calls


def _run_script(main: types.ModuleType, path: str, argv: Sequence[str]) -> None:
    sys.argv = [path, *argv]
    if os.path.isdir(path):
        _set_first_path(path)
        runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]  # what python FOLDER calls
        return
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        _leave("%s: can't open file %r: [Errno %s] %s" % (sys.executable, path, error.errno, error.strerror))
    main.__dict__.update(
        __file__=path,
        __cached__=None,
        __spec__=None,
        __loader__=importlib.machinery.SourceFileLoader("__main__", path),
    )
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - this is what a runner does


def _set_first_path(entry: str) -> None:
    """Put the script's folder first, as the interpreter does unless it was told to be safe."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, entry)


def _leave(message: str) -> NoReturn:
    sys.stderr.write(message + "\n")
    raise SystemExit(2)


def _hide_our_frames() -> None:
    """Have the traceback, which the interpreter will print, begin at the script's own first frame."""
    show = sys.excepthook

    def shown(kind: Type[BaseException], value: BaseException, trace: Optional[types.TracebackType]) -> Any:
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
            trace = trace.tb_next
        return show(kind, value.with_traceback(trace), trace)

    sys.excepthook = shown
