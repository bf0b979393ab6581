"""Automatic marks for PyTorch 2.0 and later: optimizer steps and phases, without a line in the script.

Steps are counted of one optimizer, from the resume step on, and flagged as estimated. Phases are entered only from
the main thread, because asynchronous savers call torch.save from theirs while training steps on.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
import weakref
from typing import Any, Callable, Dict, Optional

from keepstep.trainer import master
from keepstep.trainer.mark import Marker, resume_step
from keepstep.trainer.progress import Phase

TAKE_OVER = 16
"""An optimizer that stepped this often without the counted one is counted instead (the next stage of a curriculum);
alternating optimizers, such as a critic with five steps per step of its generator, stay far below."""


def actions(marker: Marker) -> Dict[str, Callable[[], None]]:
    """Return what to do after the import of which module."""
    counter = StepCounter(marker, resume_step())
    return {
        "torch": lambda: _patch_torch(marker, counter),
        "torch.distributed.checkpoint": lambda: _wrap_checkpoint(marker),
        "torch._dynamo.callback": lambda: _watch_compiler(marker),
    }


class StepCounter:
    """Counts the steps of one optimizer and shows life for the others."""

    def __init__(self, marker: Marker, resume: int) -> None:
        self._marker = marker
        self._step = resume
        self._others = 0
        self._counted: Callable[[], Any] = lambda: None

    def after_step(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        """Be called by torch after each step of any optimizer."""
        counted = self._counted()
        if counted is not optimizer:
            self._others += 1
            if counted is not None and self._others < TAKE_OVER:
                self._marker.touch()
                return
            self._counted = weakref.ref(optimizer)
        self._others = 0
        self._step += 1
        self._marker.count(self._step)

    def trains(self, module: Any) -> bool:
        """Say whether ``module`` holds most of what the counted optimizer steps: one frozen layer does not."""
        optimizer = self._counted()
        if optimizer is None:
            return True
        stepped = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
        return 2 * sum(id(parameter) in stepped for parameter in module.parameters()) > len(stepped)


def _patch_torch(marker: Marker, counter: StepCounter) -> None:
    marker.uses_torch()
    torch = sys.modules["torch"]
    optimizers = importlib.import_module("torch.optim.optimizer")
    after_step = counter.after_step
    after_step.__func__._torchdynamo_disable = True  # type: ignore[attr-defined]  # dynamo asks for it by this name
    register = getattr(optimizers, "register_optimizer_step_post_hook", None)
    if register is not None:
        register(after_step)
    _wrap(marker, Phase.CHECKPOINT, "save", torch, "torch.serialization")
    _wrap(marker, Phase.LOAD, "load", torch, "torch.serialization")
    places = "torch.distributed", "torch.distributed.distributed_c10d"
    _wrap(marker, Phase.INIT, "init_process_group", *places, first=master.wait_for)
    _watch_mode(marker, counter, importlib.import_module("torch.nn.modules.module").Module)


def _wrap_checkpoint(marker: Marker) -> None:
    saver, loader = "torch.distributed.checkpoint.state_dict_saver", "torch.distributed.checkpoint.state_dict_loader"
    for name in ("save", "save_state_dict"):
        _wrap(marker, Phase.CHECKPOINT, name, "torch.distributed.checkpoint", saver)
    _wrap(marker, Phase.CHECKPOINT, "async_save", "torch.distributed.checkpoint", saver, last=_goes_on(marker))
    for name in ("load", "load_state_dict"):
        _wrap(marker, Phase.LOAD, name, "torch.distributed.checkpoint", loader)


def _goes_on(marker: Marker) -> Callable[[Any], None]:
    """Return what sees to the end of a save that goes on beside the training: the call itself only copies.

    Newer versions of torch return a future for the copy and one for the writing.
    """

    def watch(returned: Any) -> None:
        began = marker.saving
        future = getattr(returned, "upload_completion", returned)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(lambda _done: marker.saved(began))

    return watch


def _wrap(
    marker: Marker,
    phase: Phase,
    name: str,
    *places: Any,
    first: Optional[Callable[..., None]] = None,
    last: Optional[Callable[[Any], None]] = None,
) -> None:
    """Put one wrapper that keeps the phase around ``name`` wherever it can be found.

    ``first`` is called in it with the arguments, ``last`` with what was returned.
    """
    modules = [sys.modules.get(place) if isinstance(place, str) else place for place in places]
    original = next((getattr(module, name) for module in modules if hasattr(module, name)), None)
    if original is None:
        return
    phased = _phased(marker, phase, original, first, last)
    for module in modules:
        if hasattr(module, name):
            setattr(module, name, phased)


def _phased(
    marker: Marker,
    phase: Phase,
    original: Callable[..., Any],
    first: Optional[Callable[..., None]],
    last: Optional[Callable[[Any], None]],
) -> Callable[..., Any]:
    """Return ``original`` with the phase around it where the main thread calls it."""
    main = threading.main_thread()

    @functools.wraps(original)
    def phased(*args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is not main:
            return original(*args, **kwargs)
        before = marker.enter(phase)
        try:
            if first is not None:
                first(args, kwargs)
            returned = original(*args, **kwargs)
            if last is not None:
                last(returned)
            return returned
        finally:
            marker.leave(before)

    return phased


def _watch_mode(marker: Marker, counter: StepCounter, module_type: Any) -> None:
    """Take eval() and train() of the outermost trained module as the beginning and the end of an evaluation."""
    original = module_type.train
    inside = [False]
    main = threading.main_thread()

    @functools.wraps(original)
    def train(self: Any, mode: bool = True) -> Any:
        if inside[0] or not marker.stepped or threading.current_thread() is not main:
            return original(self, mode)
        inside[0] = True
        try:
            return original(self, mode)
        finally:
            inside[0] = False
            if marker.phase in (Phase.STEP, Phase.EVALUATION) and counter.trains(self):
                marker.enter(Phase.STEP if mode else Phase.EVALUATION)

    module_type.train = train


def _watch_compiler(marker: Marker) -> None:
    handler = sys.modules["torch._dynamo.callback"].callback_handler
    before = []

    def start(*_args: Any) -> None:
        before.append(marker.enter(Phase.COMPILE))

    def end(*_args: Any) -> None:
        if before:
            marker.leave(before.pop())

    handler.register_start_callback(start)
    handler.register_end_callback(end)
