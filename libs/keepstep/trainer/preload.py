"""What a spare interpreter imports before it is needed, and the private training step that pulls in the rest."""

from __future__ import annotations

import importlib
import io
import random
import sys
import traceback
from typing import Any, Callable, Iterable

TORCH = "@torch"
"""Stands for TORCH_MODULES and, in a CPU build, one private step."""

SPARE = "[spare]".ljust(len("[rank 99999]"))
"""Stands first on a spare's command line, with room for the rank that it becomes."""
SHOWN = "--"
"""Comes after the names on a spare's command line; what follows is for those who list processes."""

TORCH_MODULES = (
    "torch",
    "torch.distributed",
    "torch.nn.parallel",
    "torch.optim",
    "torch._dynamo",
    "torch.distributed.algorithms.join",
    "torch.distributed.rendezvous",
    "torch.distributed.optim",
    "torch.utils.data",
    "torch._weights_only_unpickler",
)
"""DDP's constructor and the first step import the later ones: 1.5 s of the 3.3 s that they take cold."""


def load(names: Iterable[str], wanted: Callable[[], bool]) -> bool:
    """Import everything named; stop early and return False as soon as the spare is ``wanted``."""
    for name in names:
        for module in TORCH_MODULES if name == TORCH else (name,):
            if wanted():
                return False
            _import(module)
        if name == TORCH and "torch" in sys.modules:
            if wanted():
                return False
            _private_step(sys.modules["torch"])
    return True


def _import(name: str) -> None:
    """Import one module; one that fails is the script's to import, and to report."""
    try:
        importlib.import_module(name)
    except Exception:
        sys.stderr.write("a spare cannot import %s:\n%s" % (name, traceback.format_exc()))


def _private_step(torch: Any) -> None:
    """Run one tiny step so that its late imports are done; the random state is left as it was found.

    Backward asks the driver of an accelerator build for its devices, after which a rank's CUDA_VISIBLE_DEVICES would
    come too late. Only a CPU build may do it here.
    """
    if torch.version.cuda or torch.version.hip or "torch_npu" in sys.modules:
        return
    seeds, state = random.getstate(), torch.get_rng_state()
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    torch.nn.functional.mse_loss(model(torch.ones(1, 2)), torch.ones(1, 2)).backward()
    optimizer.step()
    optimizer.zero_grad()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    torch.load(file)
    torch.set_rng_state(state)
    random.setstate(seeds)
