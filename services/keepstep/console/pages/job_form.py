"""The form that a job is created with: its fields, and the same job as ``keepstep job create`` would ask for it."""

import shlex
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from keepstep.asking.mistakes import explained
from keepstep.asking.refused import Mistakes, Refused
from keepstep.console.asked import JobAsked
from keepstep.console.pages.field_values import lines, number, pairs, seconds, whole
from keepstep.contracts.kubernetes import KubernetesJob
from keepstep.contracts.policy import Policy
from keepstep.contracts.taxonomy import Framework, Level
from keepstep.contracts.topology import JobSpec

BUDGETS = ("crash", "unknown", "user", "memory")
LEVELS = (Level.WAIT, Level.IN_PLACE, Level.POD, Level.JOB)
AFTER_BUDGET = (Level.IN_PLACE, Level.POD, Level.JOB, Level.FAIL)
OBJECT = ("image", "namespace", "kind", "queue", "priority", "resources", "sources", "product")
"""Fields of a job that is an object of a Kubernetes; empty as they begin."""
OPTIONS: Mapping[str, str] = {
    "--gpu": "resources",
    "--label": "labels",
    "--ds-type": "sources",
    "--ds-name": "sources",
    "--ds-mountpath": "sources",
    "--restart-policy": "restart",
    **{f"--{name}": name for name in ("image", "namespace", "kind", "queue", "priority", "product", "env")},
    "namespace": "namespace",
}
"""Which field of the form an option of the command line is: both are refused in the same words."""
FRAMEWORKS = tuple(Framework)
RESTARTS = ("Never", "ExitCode")
ON, OFF = "on", ""
SOME: tuple[str, ...] = ("true",)
"""A command in place of one that cannot be read, so that the other fields can be checked."""
SOURCE = ("type", "name", "path")
LONGEST = 20_000
"""Characters of one field: policies and environments are long, and nobody types more."""


def blank() -> dict[str, str]:
    """Return the form as it is before anybody wrote into it: the defaults of a job and of its policy."""
    return {
        "argv": "",
        "name": "",
        "nodes": "1",
        "nproc": "1",
        "cwd": "",
        "env": "",
        "labels": "",
        **dict.fromkeys(OBJECT, ""),
        "restart": RESTARTS[0],
        "framework": Framework.PYTORCH,
        "checkpoint_dir": "",
        "resume_arg": "",
        "form": "fields",
        "flags": "",
        "config": "",
        **_of_policy(Policy()),
    }


def _of_policy(policy: Policy) -> dict[str, str]:
    recovery, detection = policy.recovery, policy.detection
    wait = recovery.pending_limit
    fields = {
        "enabled": ON if recovery.enabled else OFF,
        "restart_limit": "" if recovery.restart_limit is None else str(recovery.restart_limit),
        "pending": recovery.pending,
        "pending_limit": "" if wait is None else f"{wait.total_seconds():g}",
        "hang_detection": ON if detection.hang_detection else OFF,
        "hang_limit": f"{detection.hang_limit.total_seconds():g}",
        "loss_window": f"{detection.loss_window.total_seconds():g}",
        "isolation": ON if policy.isolation.enabled else OFF,
        **{f"level_{level}": ON if level in recovery.levels else OFF for level in LEVELS},
    }
    for name in BUDGETS:
        budget = getattr(recovery, name)
        fields |= {
            f"{name}_count": str(budget.count),
            f"{name}_window": f"{budget.window.total_seconds():g}",
            f"{name}_then": budget.then,
        }
    return fields


def again(spec: JobSpec, work: KubernetesJob) -> dict[str, str]:
    """Return the form of what was ordered, to be put right; without the environment, in which secrets may stand."""
    told = {name: getattr(work, name) or "" for name in ("image", "kind", "queue", "priority", "product", "restart")}
    return {
        **blank_object(work.namespace),
        **_of_policy(spec.policy),
        **told,
        "argv": shlex.join(work.command),
        "name": spec.name,
        "nodes": str(spec.nodes),
        "nproc": "" if work.nproc is None else str(work.nproc),
        "labels": _spelled(spec.labels),
        "resources": _spelled(work.resources),
        "sources": "\n".join(f"{one.type} {one.name} {one.path}" for one in work.sources),
        "framework": spec.framework,
        "checkpoint_dir": spec.checkpoint_dir or "",
        "resume_arg": spec.resume_arg or "",
    }


def _spelled(pairs: Mapping[str, object]) -> str:
    return "\n".join(f"{name}={value}" for name, value in pairs.items())


def blank_object(namespace: str) -> dict[str, str]:
    """Return the form of a job that is an object: its command and devices say the ranks of a pod."""
    return blank() | {"nproc": "", "namespace": namespace}


def field_of(mistake: str) -> str:
    """Return the field that a mistake names, by its own name or by the option of the command line; "" for none."""
    named = mistake.removeprefix("policy: ")
    name = named.partition(":")[0].removeprefix("policy")
    match name.split("."):
        case ["kubernetes" | "detection" | "isolation", field, *_]:
            return field
        case ["recovery", budget, field] if budget in BUDGETS:
            return f"{budget}_{field}"
        case ["recovery", field, *_]:
            return field
    return OPTIONS.get(name.partition(" ")[0], name)


def written(form: Mapping[str, Any]) -> dict[str, str]:
    """Return what was sent in, by field; a box that is not ticked is not sent. Raises Refused for too much of it."""
    found = dict.fromkeys(blank(), "")
    for name in found:
        value = form.get(name, "")
        if not isinstance(value, str) or len(value) > LONGEST:
            raise Refused(f"{name}: at most {LONGEST} characters of text")
        found[name] = value.strip()
    return found


def read(fields: Mapping[str, str], mistakes: Mistakes, *, on_objects: bool) -> JobAsked:
    """Return the job that the fields describe; a field that says nothing sensible is noted and read as the blank one.

    Raises Refused where not even that is a job.
    """
    of = mistakes.of
    settings: dict[str, Any] = of(lambda: _object(fields), dict[str, Any]()) if on_objects else {}
    match fields["form"]:
        case "flags":
            settings["fault_tolerance_args"] = fields["flags"]
        case "config":
            settings["fault_tolerance_config"] = fields["config"]
        case _:
            settings["policy"] = _policy(fields, mistakes)
    try:
        return JobAsked(
            argv=of(lambda: _argv(fields["argv"]), SOME),
            name=fields["name"] or None,
            nodes=of(lambda: whole(fields, "nodes"), 1),
            nproc=of(lambda: whole(fields, "nproc"), 1) if fields["nproc"] else None,
            cwd=fields["cwd"] or None,
            env=of(lambda: pairs(fields, "env"), dict[str, str]()),
            labels=of(lambda: pairs(fields, "labels"), dict[str, str]()),
            checkpoint_dir=fields["checkpoint_dir"] or None,
            resume_arg=fields["resume_arg"] or None,
            **settings,
        )
    except ValidationError as error:
        raise Refused(*explained(error, JobAsked)) from error


def _policy(fields: Mapping[str, str], mistakes: Mistakes) -> dict[str, Any]:
    """Return the policy as a policy file has it: tables of fields, durations in seconds."""

    def whole_of(name: str) -> int:
        return mistakes.of(lambda: whole(fields, name), 1)

    def seconds_of(name: str) -> float:
        return mistakes.of(lambda: seconds(fields, name), 1.0)

    recovery: dict[str, Any] = {
        "enabled": fields["enabled"] == ON,
        "levels": [level for level in LEVELS if fields[f"level_{level}"] == ON],
        "restart_limit": whole_of("restart_limit") if fields["restart_limit"] else None,
        "pending": fields["pending"],
        "pending_limit": seconds_of("pending_limit") if fields["pending_limit"] else None,
    }
    for name in BUDGETS:
        recovery[name] = {
            "count": whole_of(f"{name}_count"), "window": seconds_of(f"{name}_window"), "then": fields[f"{name}_then"],
        }  # fmt: skip
    detection = {
        "hang_detection": fields["hang_detection"] == ON,
        "hang_limit": seconds_of("hang_limit"),
        "loss_window": seconds_of("loss_window"),
    }
    return {"recovery": recovery, "detection": detection, "isolation": {"enabled": fields["isolation"] == ON}}


def _argv(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise Refused(f"argv: {error}; close what was opened") from error


def _object(fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what of the form is about the object. Raises Refused with field and remedy."""
    if not fields["image"]:
        raise Refused("--image: name the image that the pods train in")
    about = {name: fields[name] for name in ("image", "queue", "priority", "product", "restart")}
    about |= {name: fields[name] for name in ("namespace", "kind") if fields[name]}
    resources = {name: number("resources", count) for name, count in pairs(fields, "resources").items()}
    sources = [_source(line) for line in lines(fields["sources"])]
    about = {name: value for name, value in about.items() if value} | {"image": fields["image"]}
    return {
        "framework": fields["framework"] or None,
        "kubernetes": about | {"resources": resources, "sources": sources},
    }


def _source(line: str) -> dict[str, str]:
    """Return ``TYPE NAME PATH``."""
    words = line.split()
    if len(words) != len(SOURCE):
        raise Refused(f"sources: {line}: write TYPE NAME PATH, as pvc datasets /data, one a line")
    return dict(zip(SOURCE, words, strict=True))
