"""Reads a job's roles: which train, in which container, by which command; they must all run the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from keepstep.adapters.kube_json import JsonObject, rows, table, text
from keepstep.contracts.taxonomy import Framework
from keepstep.injection import marks
from keepstep.injection.entry import Count, Entry, devices, entry_of
from keepstep.injection.objection import Objection
from keepstep.injection.pods import unnamed_user
from keepstep.injection.put import at, spelled
from keepstep.injection.shape import Role, Shape
from keepstep.injection.wishes import Wishes


@dataclass(frozen=True, slots=True)
class Trainers:
    """The pods of one role, read."""

    role: Role
    index: int
    """The container that trains."""
    entry: Entry


def read(shape: Shape, source: JsonObject, wishes: Wishes) -> list[Trainers | Objection]:
    """Return each role that trains, or why it cannot be read; ``source`` of a TrainJob is its runtime, filled in."""
    training = chosen(shape, source, wishes)
    if not training:
        there = tuple(shape.roles(source))
        if not there:
            return [Objection("spec", "the job has no pods", "write the templates of the pods that train")]
        because = f"none of the job's roles is {', '.join(wishes.roles)}"
        names = ", ".join(role.name for role in there if role.name)
        remedy = f"name some of {names}" if names else "leave it out: the job has one role, without a name"
        return [Objection(f"metadata.annotations[{marks.ROLES}]", because, remedy)]
    count = Count(wishes.nproc, shape.nproc(source), wishes.framework is Framework.MINDSPORE)
    found = [_trainers(shape, source, role, wishes, count) for role in training]
    return [*found, *_differences([one for one in found if isinstance(one, Trainers)])]


def chosen(shape: Shape, source: JsonObject, wishes: Wishes) -> tuple[Role, ...]:
    """Return the roles that train: those that are named, or all."""
    return tuple(role for role in shape.roles(source) if not wishes.roles or role.name in wishes.roles)


def _trainers(shape: Shape, source: JsonObject, role: Role, wishes: Wishes, count: Count) -> Trainers | Objection:
    template = at(source, role.template)
    containers = rows(template, "spec", "containers")
    index = _index(wishes.container or shape.container, containers)
    if index is None:
        return _unknown(f"{role.field}.spec.containers", [text(one, "name") for one in containers], wishes)
    field = f"{role.field}.spec.containers[{index}]"
    if unnamed_user(template, containers[index]):
        because = "runAsNonRoot without runAsUser: the agent must be the same user as the ranks"
        return Objection(f"{field}.securityContext.runAsUser", because, "name the user")
    entry = entry_of(containers[index], field, count)
    return entry if isinstance(entry, Objection) else Trainers(role, index, entry)


def _unknown(field: str, names: Sequence[str], wishes: Wishes) -> Objection:
    """Return why no container of a role is the one that trains."""
    if not names:
        return Objection(field, "the role has no container", "write the pod's template")
    there = ", ".join(names)
    remedy = f"name it in annotation {marks.CONTAINER} of the job"
    if wishes.container is not None:
        return Objection(field, f"none of them is {wishes.container}; they are {there}", remedy)
    return Objection(field, f"which of {there} trains is not known", remedy)


def _index(wanted: str | None, containers: Sequence[JsonObject]) -> int | None:
    names = [text(container, "name") for container in containers]
    if wanted is not None:
        return names.index(wanted) if wanted in names else None
    if len(containers) == 1:
        return 0
    with_devices = [index for index, container in enumerate(containers) if devices(container)]
    return with_devices[0] if len(with_devices) == 1 else None


def _differences(found: Sequence[Trainers]) -> list[Objection]:
    """Return what keeps the roles from being one job: other commands, other counts, another number of pods."""
    if not found:
        return []
    first = found[0]
    total = sum(one.role.replicas for one in found)
    wrong = []
    for one in found:
        if (one.entry.entrypoint, one.entry.nproc) != (first.entry.entrypoint, first.entry.nproc):
            because = f"{one.role.name} runs another command than {first.role.name}, or another number of ranks"
            remedy = f"run the same in both, or name the roles that train in annotation {marks.ROLES}"
            wrong.append(Objection(f"{one.role.field}.spec.containers[{one.index}].command", because, remedy))
        elif one.entry.nodes not in (None, total):
            because = f"the command asks for {one.entry.nodes} nodes, the job has {total} pods that train"
            wrong.append(Objection(spelled(one.role.count), because, "make both the same"))
    return wrong


def devices_of(source: JsonObject, one: Trainers) -> int:
    """Return how many accelerators each pod is given; its ranks where the manifest asks for none."""
    containers = rows(at(source, one.role.template), "spec", "containers")
    return devices(containers[one.index]) or one.entry.nproc


def limits_of(source: JsonObject, one: Trainers) -> JsonObject:
    """Return the resources that each pod's training container may use, by name."""
    return table(rows(at(source, one.role.template), "spec", "containers")[one.index], "resources", "limits")


def mounts(source: JsonObject, one: Trainers) -> tuple[str, ...]:
    """Return the folders that the training container has from volumes."""
    container = rows(at(source, one.role.template), "spec", "containers")[one.index]
    return tuple(text(mount, "mountPath") for mount in rows(container, "volumeMounts"))
