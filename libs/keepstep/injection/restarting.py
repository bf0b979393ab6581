"""The restart policy of pods: the kubelet starts no container again, because a new launcher is a new task."""

from keepstep.adapters.kube_json import JsonObject, text
from keepstep.injection.objection import Objection
from keepstep.injection.put import at, spelled
from keepstep.injection.shape import Policies, Role

BECAUSE = "starts containers again behind keepstep's back, which then counts a lost task as running"


def objection(policies: Policies, source: JsonObject, role: Role) -> Objection | None:
    """Return why the role's restart policy cannot stay; one that is not said becomes Never."""
    said = policy_of(source, role)
    if not said or said in policies.accepted:
        return None
    return Objection(spelled(role.restart), f"{said} {BECAUSE}", policies.remedy)


def policy_of(source: JsonObject, role: Role) -> str:
    """Return the policy as it is written, "" when it is not."""
    return text(at(source, role.restart[:-1]), str(role.restart[-1]))
