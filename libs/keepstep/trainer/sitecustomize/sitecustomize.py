"""Installs the hook in every Python that a command entrypoint starts, then lets the site's own customisation run."""

import importlib
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_root = os.path.dirname(os.path.dirname(os.path.dirname(_here)))

sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _here]
if _root not in sys.path:
    sys.path.append(_root)

_ours = sys.modules.pop("sitecustomize", None)
try:
    importlib.import_module("sitecustomize")
except ModuleNotFoundError as _error:
    if _error.name != "sitecustomize":
        raise
finally:
    if _ours is not None:
        sys.modules.setdefault("sitecustomize", _ours)
    if "--multiprocessing-fork" not in sys.argv:
        from keepstep.trainer import hook

        hook.install()
