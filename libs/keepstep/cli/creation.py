"""``keepstep job create`` on a cluster: what its options say, and from manifests to objects."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_create import create_all
from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_objects import ObjectRef
from keepstep.asking.labels import check_labels
from keepstep.cli.errors import Failed, Refused
from keepstep.injection.making import Volume
from keepstep.ports.errors import Permanent

LARGEST_SCRIPT = 100 * 1024
"""Bytes; the kernel takes 128 KiB in one argument, a ConfigMap one MiB."""
SCRIPTS = "/keepstep-script"


@dataclass(frozen=True, slots=True)
class Script:
    """What the pods run, and the object that carries it there, if there is one."""

    command: tuple[str, ...]
    carrier: JsonObject | None = None
    volumes: tuple[Volume, ...] = ()


def pairs(option: str, given: Sequence[str]) -> Mapping[str, str]:
    """Return NAME=VALUE options; raises Refused for what is none, or for a name that is given twice."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise Refused(f"{option} {pair}: write NAME=VALUE")
        if name in found:
            raise Refused(f"{option} {name}: is given twice")
        found[name] = value
    return found


def labels(given: Sequence[str]) -> Mapping[str, str]:
    """Return labels by name; raises Refused for one that no API server takes."""
    found = pairs("--label", given)
    check_labels(found)
    return found


def amounts(given: Sequence[str]) -> Mapping[str, str]:
    """Return devices by resource; raises Refused for a number that is none."""
    found = pairs("--gpu", given)
    for name, count in found.items():
        if not count.isdecimal() or not int(count):
            raise Refused(f"--gpu {name}={count}: write how many each pod is given, as in --gpu nvidia.com/gpu=8")
    return found


def script(file: Path | None, argv: Sequence[str], *, name: str, namespace: str, nproc: int) -> Script:
    """Return what to run: a local file that goes with the job, or a command of the image after ``--``.

    A shell script becomes the command itself; a Python script is carried by a ConfigMap. Raises Refused.
    """
    if (file is None) == (not argv):
        raise Refused("name what to run once: --script-file FILE, or a command of the image after --")
    if file is None:
        return Script(tuple(argv))
    try:
        content = file.read_text(encoding="utf-8")
    except OSError as error:
        raise Refused(f"--script-file {file}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Refused(f"--script-file {file}: byte {error.start} is not UTF-8") from error
    if len(content.encode()) > LARGEST_SCRIPT:
        raise Refused(f"--script-file {file}: larger than {LARGEST_SCRIPT} bytes; put it into the image or on a volume")
    if file.suffix != ".py":
        return Script(("bash", "-c", content))
    carrier = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-script", "namespace": namespace},
        "data": {file.name: content},
    }
    source = {"configMap": {"name": f"{name}-script"}}
    volume = Volume(name="script", path=SCRIPTS, source=source, read_only=True)
    where = f"{SCRIPTS}/{file.name}"
    command = ("python", where) if nproc == 1 else ("torchrun", f"--nproc_per_node={nproc}", where)
    return Script(command, carrier, (volume,))


async def create(client: KubeClient, documents: Sequence[JsonObject], *, namespace: str) -> ObjectRef:
    """Create the documents, the job last and owner of the others; what was made before a refusal is taken away.

    Raises Failed with the server's words, Transient.
    """
    try:
        return await create_all(client, documents, namespace=namespace, why="a person creates a job")
    except Permanent as refused:
        raise Failed(str(refused)) from refused
