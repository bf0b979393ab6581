"""``keepstep job create`` on a cluster: from its options to manifests, and from these to objects."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_objects import ObjectRef, reference
from keepstep.cli.errors import Failed, Refused
from keepstep.injection.making import Volume, Wanted
from keepstep.injection.shape import NEVER
from keepstep.injection.shapes import SHAPES
from keepstep.ports.errors import Permanent

PREFERRED = (JobKind.VOLCANO, JobKind.JOBSET, JobKind.PYTORCHJOB, JobKind.JOB)
"""What a job is made as where nobody says: gangs first, then what lets a single pod be replaced. A TrainJob needs a
runtime, so it has to be asked for."""
LARGEST_SCRIPT = 100 * 1024
"""Bytes; the kernel takes 128 KiB in one argument, a ConfigMap one MiB."""
SCRIPTS = "/keepstep-script"
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL = re.compile(r"([a-z0-9][-a-z0-9.]{0,251}[a-z0-9]/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
"""The rules of Kubernetes' names: https://kubernetes.io/docs/concepts/overview/working-with-objects/names"""


@dataclass(frozen=True, slots=True)
class Script:
    """What the pods run, and the object that carries it there, if there is one."""

    command: tuple[str, ...]
    carrier: JsonObject | None = None
    volumes: tuple[Volume, ...] = ()


def kind_for(asked: JobKind | None, there: frozenset[JobKind]) -> JobKind:
    """Return the kind to make; raises Refused for one that the cluster has not."""
    if asked is None:
        return next((kind for kind in PREFERRED if kind in there), JobKind.JOB)
    if asked not in there:
        raise Refused(f"--kind {asked}: the cluster has none; it has {', '.join(sorted(there))}")
    return asked


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
    for name, value in found.items():
        if not _LABEL.fullmatch(name):
            raise Refused(
                f"--label {name}: a name is at most 63 letters, digits and . _ -, as team or example.com/team"
            )
        if not _VALUE.fullmatch(value):
            raise Refused(f"--label {name}={value}: a value is at most 63 letters, digits and . _ -, or nothing")
    return found


def place(namespace: str) -> str:
    """Return the namespace; raises Refused for what cannot be the name of one."""
    if not _NAMESPACE.fullmatch(namespace):
        raise Refused(f"--namespace {namespace}: a name is at most 63 small letters, digits and -, as in train-1")
    return namespace


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


def fits(kind: JobKind, wanted: Wanted) -> None:
    """Refuse what the kind has no place for."""
    if SHAPES[kind].by_runtime and wanted.volumes:
        raise Refused(f"--kind {kind}: its volumes stand in its runtime; leave out --ds-* and Python --script-file")
    if wanted.restart != NEVER and SHAPES[kind].policies.accepted == (NEVER,):
        others = " or ".join(one for one, shape in SHAPES.items() if shape.policies.accepted != (NEVER,))
        raise Refused(f"--restart-policy {wanted.restart}: only a {others} has it; the other kinds take {NEVER}")


async def create(client: KubeClient, documents: Sequence[JsonObject], *, namespace: str) -> ObjectRef:
    """Create the documents, the job last and owner of the others; what was made before a refusal is taken away.

    Raises Failed with the server's words, Transient.
    """
    made: list[ObjectRef] = []
    try:
        for document in documents:
            created = await client.create(namespace, document, why="a person creates a job")
            made.append(reference(created))
    except Permanent as refused:
        for ref in reversed(made):
            await client.delete(ref, why="the job that it was made for was refused")
        raise Failed(f"{text(documents[len(made)], 'kind')} {text(documents[len(made)], 'metadata', 'name')}"
                     f" was not created: {refused}") from refused  # fmt: skip
    job = made[-1]
    for ref in made[:-1]:
        await _own(client, ref, job)
    return job


async def _own(client: KubeClient, ref: ObjectRef, job: ObjectRef) -> None:
    """Let the cluster take the object away with its job; one that cannot be owned stays, and is named after the job."""
    owner = {"apiVersion": job.api, "kind": job.kind, "name": job.name, "uid": job.uid}
    try:
        await client.edit(ref, lambda _: {"metadata": {"ownerReferences": [owner]}}, why="it goes with its job")
    except Permanent:
        return
