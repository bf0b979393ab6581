"""What every rank carries: stacks on a signal, and automatic marks as soon as the script imports torch.

Nothing here imports torch. Actions wait for the modules they patch and run right after each has been imported.
"""

from __future__ import annotations

import faulthandler
import importlib.abc
import importlib.machinery
import os
import sys
import traceback
import types
from typing import Callable, Dict, Optional, Sequence

from keepstep import trainer
from keepstep.trainer import stacks, torch_hook, wire

Actions = Dict[str, Callable[[], None]]


def install() -> None:
    """Make this process a watched rank; does nothing outside keepstep."""
    marker = trainer.marker()
    if marker is None:
        return
    if not faulthandler.is_enabled():
        faulthandler.enable()
    stacks.register(wire.stack_path(os.environ["KEEPSTEP_TASK_DIR"], int(os.environ["RANK"])))
    after_import(torch_hook.actions(marker))


def after_import(actions: Actions) -> None:
    """Run each action once its module is imported; at once if it is already."""
    waiting: Actions = {}
    for name, action in actions.items():
        if name in sys.modules:
            _attempt(name, action)
        else:
            waiting[name] = action
    if waiting:
        sys.meta_path.insert(0, _AfterImport(waiting))


def _attempt(name: str, action: Callable[[], None]) -> None:
    """Run an action; a version of torch that it does not fit must not end the training."""
    try:
        action()
    except Exception:
        sys.stderr.write("keepstep: no automatic marks from %s of this version:\n%s" % (name, traceback.format_exc()))


class _AfterImport(importlib.abc.MetaPathFinder):
    """Lets the other finders find a module and adds an action to the end of its execution."""

    def __init__(self, actions: Actions) -> None:
        self._actions = actions

    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]], target: Optional[types.ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Return the spec of a module that an action waits for; None leaves all others alone."""
        action = self._actions.pop(fullname, None)
        if action is None:
            return None
        for finder in sys.meta_path:
            search = getattr(finder, "find_spec", None)
            spec: Optional[importlib.machinery.ModuleSpec] = search(fullname, path, target) if search else None
            if spec is not None:
                _append(spec, fullname, action)
                return spec
        return None


def _append(spec: importlib.machinery.ModuleSpec, name: str, action: Callable[[], None]) -> None:
    loader = spec.loader
    execute = getattr(loader, "exec_module", None)
    if execute is None:
        return

    def exec_module(module: types.ModuleType) -> None:
        execute(module)
        _attempt(name, action)

    setattr(loader, "exec_module", exec_module)  # noqa: B010 - an instance attribute that shadows the method
