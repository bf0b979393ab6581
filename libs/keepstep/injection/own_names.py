"""What a pod template must not have already where keepstep is to enter it: its names, its folders, another system.

An API server refuses a pod that has a name twice, in words that blame the person who wrote the job.
"""

from collections.abc import Iterator

from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.injection.entry import ROOT
from keepstep.injection.marks import AGENT, INSTALL, TOKEN_VOLUME, VOLUME
from keepstep.injection.objection import Objection
from keepstep.injection.pods import TOKEN_FOLDER

_LISTS = {
    "containers": frozenset({AGENT, INSTALL}),
    "initContainers": frozenset({AGENT, INSTALL}),
    "volumes": frozenset({VOLUME, TOKEN_VOLUME}),
}


def in_the_way(template: JsonObject, field: str, index: int) -> Iterator[Objection]:
    """Yield everything; ``field`` is where the template stands, ``index`` the container that trains."""
    if (system := text(template, "spec", "os", "name")) not in ("", "linux"):
        because = f"keepstep's launcher and agent run on Linux, and these pods on {system}"
        yield Objection(f"{field}.spec.os.name", because, "train in pods of Linux")
    for name, own in _LISTS.items():
        for place, one in enumerate(rows(template, "spec", name)):
            if text(one, "name") in own:
                because = f"{text(one, 'name')} is the name of what keepstep adds itself"
                remedy = "name yours otherwise; of a manifest that was injected before, take the one from before"
                yield Objection(f"{field}.spec.{name}[{place}].name", because, remedy)
    for place, mount in enumerate(rows(rows(template, "spec", "containers")[index], "volumeMounts")):
        if (folder := text(mount, "mountPath").rstrip("/")) in (ROOT, TOKEN_FOLDER):
            where = f"{field}.spec.containers[{index}].volumeMounts[{place}].mountPath"
            yield Objection(where, f"{folder} is where keepstep has its own files", "mount it elsewhere")
