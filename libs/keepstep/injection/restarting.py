"""The restart policy of pods: the kubelet starts no container again, because a new launcher is a new task."""

from dataclasses import dataclass

from keepstep.adapters.kube_json import JsonObject, text
from keepstep.adapters.kube_owner import JobKind
from keepstep.injection.objection import Objection
from keepstep.injection.put import at, spelled
from keepstep.injection.shapes import Role

NEVER, EXIT_CODE = "Never", "ExitCode"
BECAUSE = "starts containers again behind keepstep's back, which then counts a lost task as running"


@dataclass(frozen=True, slots=True)
class Rule:
    """What a kind may say; its pods have Never in each case."""

    accepted: tuple[str, ...]
    remedy: str


_ALONE = Rule((NEVER,), "set Never")
RULES: dict[JobKind, Rule] = {
    JobKind.VOLCANO: _ALONE,
    JobKind.PYTORCHJOB: Rule(
        (NEVER, EXIT_CODE), "set Never; or ExitCode, whose pods are Never too, to have level pod besides"
    ),
    JobKind.TRAINJOB: _ALONE,
    JobKind.JOBSET: _ALONE,
    JobKind.JOB: _ALONE,
}


def objection(kind: JobKind, source: JsonObject, role: Role) -> Objection | None:
    """Return why the role's restart policy cannot stay; one that is not said becomes Never."""
    said, rule = policy_of(source, role), RULES[kind]
    if not said or said in rule.accepted:
        return None
    return Objection(spelled(role.restart), f"{said} {BECAUSE}", rule.remedy)


def policy_of(source: JsonObject, role: Role) -> str:
    """Return the policy as it is written, "" when it is not."""
    return text(at(source, role.restart[:-1]), str(role.restart[-1]))
