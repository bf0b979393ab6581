"""The example training as people write it for a cluster."""

from ..server.objects import Obj
from .manifests import indexed_job
from .stack import ROOT

SCRIPT = ROOT / "examples" / "train_ddp.py"


def training(*arguments: str, pods: int = 2, ranks: int = 2) -> Obj:
    """Return the indexed Job that people write for the example, with its checkpoints on a claim."""
    words = ["torchrun", f"--nnodes={pods}", f"--nproc-per-node={ranks}", str(SCRIPT), *arguments]
    container = {
        "name": "main",
        "image": "train:1",
        "command": words,
        "resources": {"limits": {"nvidia.com/gpu": str(ranks)}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    job = indexed_job(container, pods=pods)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    job["spec"]["template"]["spec"] |= {"volumes": volumes}
    return job
