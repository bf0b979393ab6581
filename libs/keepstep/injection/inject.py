"""Injection: one manifest of any of the five kinds in, the fault-tolerant one out, or every objection at once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_kinds import kind_at, spelled
from keepstep.adapters.kube_marks import JOB_LABEL, SPEC
from keepstep.adapters.kube_view import Refusal, Support
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework, Level
from keepstep.contracts.topology import JobSpec
from keepstep.core.sentences import counted
from keepstep.injection import marks, restarting, runtimes
from keepstep.injection.entry import Way
from keepstep.injection.levels import forecast, narrowed
from keepstep.injection.objection import Objection
from keepstep.injection.ours import Ours, speaks_out
from keepstep.injection.own_names import in_the_way
from keepstep.injection.pods import equipped, is_equipped
from keepstep.injection.products import Size, product_of, refusals
from keepstep.injection.put import at, put
from keepstep.injection.reading import Trainers, chosen, devices_of, limits_of, mounts, read
from keepstep.injection.shape import NEVER, Shape
from keepstep.injection.shapes import SHAPES
from keepstep.injection.wishes import Wishes, written_on

OF_A_WHOLE = frozenset({Level.WAIT, Level.JOB, Level.FAIL})
"""What is open to a command that is not understood: how its processes find each other again is its own affair."""
TAKEN_OVER = (
    "run python, torchrun, python -m torch.distributed.run or accelerate launch as the command itself, or one of the"
    " last three, without a path, in sh -c or bash -c (not bash -lc); accelerate without"
    " DeepSpeed, FSDP and --config_file"
)
"""The commands that ``entry`` understands, for people."""


@dataclass(frozen=True, slots=True)
class Injected:
    """A fault-tolerant job: ``documents`` are to be applied in their order, the job last."""

    kind: JobKind
    documents: tuple[JsonObject, ...]
    spec: JobSpec
    support: Support
    notes: tuple[str, ...] = ()

    @property
    def job(self) -> JsonObject:
        """The job itself."""
        return self.documents[-1]


def written(spec: JobSpec) -> str:
    """Return the specification as the annotation carries it: what was said, and defaults left to who reads it."""
    said = spec.model_dump(mode="json", exclude_defaults=True)
    said["entrypoint"]["kind"] = spec.entrypoint.kind
    return json.dumps(said, separators=(",", ":"))


def kind_of(job: JsonObject) -> JobKind | Objection:
    """Return which of the five kinds a manifest is."""
    api, kind = text(job, "apiVersion"), text(job, "kind")
    found = kind_at(api, kind)
    if found is None:
        known = ", ".join(f"{word} of {prefix}" for word, prefix in spelled())
        return Objection("kind", f"{kind or 'nothing'} of {api or 'no API'} is none that keepstep restarts", known)
    return found.name


def inject(
    job: JsonObject, ours: Ours, *, beside: Wishes | None = None, runtime: JsonObject | None = None
) -> Injected | tuple[Objection, ...]:
    """Return the job with keepstep in it; ``runtime`` is the one that a TrainJob refers to, None for other kinds.

    A job that is injected already is returned as it is.
    """
    kind, (wishes, unread) = kind_of(job), written_on(job, beside or Wishes())
    if isinstance(kind, Objection):
        return (kind, *unread)
    shape, source = SHAPES[kind], job
    if shape.by_runtime:
        if runtime is None:
            return (runtimes.missing(job), *unread)
        source = runtimes.filled(job, runtime)
    done = None if unread else _already(shape, job, source)
    if done is not None:
        return done
    found = read(shape, source, wishes)
    trainers = [one for one in found if isinstance(one, Trainers)]
    spec = _spec(job, source, trainers, wishes) if trainers else ()
    further = () if isinstance(spec, JobSpec) else spec
    restarts = (restarting.objection(shape.policies, source, role) for role in chosen(shape, source, wishes))
    own = (each for one in trainers for each in in_the_way(at(source, one.role.template), one.role.field, one.index))
    wrong = (speaks_out(ours), *_named(job), *shape.odd_counts(source), *found, *further, *restarts, *own)
    objections = _together(unread, [one for one in wrong if isinstance(one, Objection)])
    if objections or not isinstance(spec, JobSpec):
        return objections
    source = _equipped(source, trainers, spec, ours)
    documents = _marked(shape, job, source, spec)
    more = (*_of_product(source, trainers, wishes), *_of_way(trainers[0].entry.way))
    support = narrowed(forecast(shape, documents[-1], source), more)
    return Injected(kind, documents, spec, support, tuple(_notes(source, trainers, spec, ours)))


def _together(unread: Sequence[Objection], others: Sequence[Objection]) -> tuple[Objection, ...]:
    """Return all objections, but of a field that could not be read no other than that."""
    fields = {one.field for one in unread}
    return (*unread, *(one for one in others if one.field not in fields))


def _marked(shape: Shape, job: JsonObject, source: JsonObject, spec: JobSpec) -> tuple[JsonObject, ...]:
    """Return the documents of an equipped job, the job with its label and its specification last."""
    made = runtimes.split(job, source) if shape.by_runtime else (source,)
    marked = put(made[-1], ("metadata", "labels", JOB_LABEL), spec.name)
    return (*made[:-1], put(marked, ("metadata", "annotations", SPEC), written(spec)))


def _equipped(source: JsonObject, trainers: Sequence[Trainers], spec: JobSpec, ours: Ours) -> JsonObject:
    for one in trainers:
        template = equipped(at(source, one.role.template), one.index, one.entry, job=spec.name, ours=ours)
        source = put(source, one.role.template, template)
        if not restarting.policy_of(source, one.role):
            source = put(source, one.role.restart, NEVER)
    return source


def _already(shape: Shape, job: JsonObject, source: JsonObject) -> Injected | None:
    text_of = text(job, "metadata", "annotations", SPEC)
    if not text_of or not any(is_equipped(at(source, role.template)) for role in shape.roles(source)):
        return None
    try:
        spec = JobSpec.model_validate_json(text_of)
    except ValidationError:
        return None
    notes = ("it is injected already, and left as it is",)
    return Injected(shape.kind.name, (job,), spec, forecast(shape, job, source), notes)


def _named(job: JsonObject) -> Sequence[Objection]:
    if text(job, "metadata", "name"):
        return ()
    because = "the job has no name of its own, and its pods are found by it"
    return (Objection("metadata.name", because, "name the job; generateName is not enough"),)


def _of_product(source: JsonObject, trainers: Sequence[Trainers], wishes: Wishes) -> tuple[Refusal, ...]:
    product = wishes.product or product_of(limits_of(source, trainers[0]))
    if product is None:
        return ()
    size = Size(sum(one.role.replicas for one in trainers), devices_of(source, trainers[0]))
    return refusals(product, wishes.framework, size, wishes.chip_mode)


def _of_way(way: Way) -> tuple[Refusal, ...]:
    if way is not Way.WHOLE:
        return ()
    because = "its command is not one that keepstep can take over"
    return tuple(Refusal(level, because, TAKEN_OVER) for level in Level if level not in OF_A_WHOLE)


def _spec(
    job: JsonObject, source: JsonObject, trainers: Sequence[Trainers], wishes: Wishes
) -> JobSpec | tuple[Objection, ...]:
    first, policy = trainers[0].entry, wishes.policy or Policy()
    refused = _of_product(source, trainers, wishes)
    closed = {one.level for one in refused}
    if {Level.IN_PLACE, Level.POD, Level.JOB} <= closed:
        return (Objection(f"metadata.annotations[{marks.FRAMEWORK}]", refused[0].because, refused[0].remedy),)
    if first.way is Way.WHOLE:
        closed |= frozenset(Level) - OF_A_WHOLE
    levels = tuple(level for level in policy.recovery.levels if level not in closed)
    policy = policy.model_copy(update={"recovery": policy.recovery.model_copy(update={"levels": levels})})
    if wishes.framework is Framework.TENSORFLOW and first.nproc > 1:
        because = f"a TensorFlow worker takes all devices of its pod, and {first.nproc} ranks are asked for"
        return (Objection(f"metadata.annotations[{marks.NPROC}]", because, "run one rank per pod"),)
    try:
        return JobSpec(
            name=text(job, "metadata", "name") or "unnamed",
            entrypoint=first.entrypoint,
            nodes=sum(one.role.replicas for one in trainers),
            nproc=first.nproc,
            checkpoint_dir=wishes.checkpoint_dir,
            resume_arg=wishes.resume_arg,
            framework=wishes.framework,
            rank_table=wishes.rank_table,
            policy=policy,
        )
    except ValidationError as error:
        return tuple(_amiss(one) for one in error.errors(include_url=False))


def _amiss(wrong: ErrorDetails) -> Objection:
    field = ".".join(map(str, wrong["loc"])) or "spec"
    where = "metadata.name" if field == "name" else f"keepstep's {field}"
    return Objection(where, wrong["msg"], "see keepstep schema json JobSpec")


def _notes(source: JsonObject, trainers: Sequence[Trainers], spec: JobSpec, ours: Ours) -> list[str]:
    """Return what people should know of what was done."""
    first = trainers[0].entry
    told = [f"{counted(spec.nodes, 'pod')} of {counted(spec.nproc, 'rank')}; {_WAYS[first.way]}"]
    if not ours.native:
        told.append("the server is older than 1.29: the agent is a plain container, which ends with its launcher")
    folder = spec.checkpoint_dir
    if folder is None:
        told.append(
            "no checkpoint folder is named: a restart begins anew, unless the script finds what it saved by itself;"
            f" name it by --checkpoint-dir or annotation {marks.CHECKPOINT_DIR}"
        )
    elif not any(_below(folder, mount) for mount in mounts(source, trainers[0])):
        told.append(f"checkpoint folder {folder} is on no volume: it is lost with its pod, and the agent cannot see it")
    return told


_WAYS = {
    Way.RANKS: "the launcher starts them in the command's place",
    Way.SHIMS: "the script runs as it is, and its torchrun or accelerate is ours",
    Way.WHOLE: "the command is not understood and runs whole: only the whole job can be restarted (level job)",
}


def _below(folder: str, mount: str) -> bool:
    return (folder.rstrip("/") + "/").startswith(mount.rstrip("/") + "/")
