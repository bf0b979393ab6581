"""Fields that the native kinds know: what fieldValidation warns of or refuses, and what is dropped."""

from collections.abc import Iterator

from . import kinds
from .kinds import Kind
from .objects import Obj


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POD_SPEC = _words(
    """activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets
    initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates
    resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup
    securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes"""
)
_CONTAINER = _words(
    """args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy
    resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty volumeDevices volumeMounts workingDir"""
)
_SPECS: dict[Kind, frozenset[str]] = {
    kinds.POD: _POD_SPEC,
    kinds.NODE: _words("configSource externalID podCIDR podCIDRs providerID taints unschedulable"),
    kinds.JOB: _words(
        """activeDeadlineSeconds backoffLimit backoffLimitPerIndex completionMode completions managedBy manualSelector
        maxFailedIndexes parallelism podFailurePolicy podReplacementPolicy selector successPolicy suspend template
        ttlSecondsAfterFinished"""
    ),
    kinds.PDB: _words("maxUnavailable minAvailable selector unhealthyPodEvictionPolicy"),
    kinds.VOLCANO_JOB: _words(
        """maxRetry minAvailable minSuccess networkTopology plugins policies priorityClassName queue runningEstimate
        schedulerName tasks ttlSecondsAfterFinished volumes"""
    ),
    kinds.PYTORCH_JOB: _words("elasticPolicy nprocPerNode pytorchReplicaSpecs runPolicy"),
    kinds.TRAIN_JOB: _words("activeDeadlineSeconds initializer managedBy runtimePatches runtimeRef suspend trainer"),
    kinds.JOB_SET: _words(
        """coordinator failurePolicy managedBy network replicatedJobs startupPolicy successPolicy suspend
        ttlSecondsAfterFinished volumeClaimPolicies"""
    ),
}


def known_fields(kind: Kind) -> frozenset[str]:
    """Return the fields of a kind's spec, none where it is not looked at."""
    return _SPECS.get(kind, frozenset())


def drop_unknown(kind: Kind, obj: Obj) -> list[str]:
    """Take unknown fields out of ``obj`` and return their paths."""
    return list(_dropped(kind, obj))


def _dropped(kind: Kind, obj: Obj) -> Iterator[str]:
    spec = obj.get("spec")
    if not isinstance(spec, dict) or kind not in _SPECS:
        return
    yield from _drop(spec, _SPECS[kind], "spec")
    if kind is kinds.POD:
        yield from _drop_in_containers(spec, "spec")
    elif kind is kinds.JOB and isinstance(spec.get("template"), dict):
        pod = spec["template"].get("spec") or {}
        yield from _drop(pod, _POD_SPEC, "spec.template.spec")
        yield from _drop_in_containers(pod, "spec.template.spec")


def _drop(target: Obj, known: frozenset[str], at: str) -> Iterator[str]:
    for key in [key for key in target if key not in known and not key.startswith("$")]:
        del target[key]
        yield f"{at}.{key}"


def _drop_in_containers(spec: Obj, at: str) -> Iterator[str]:
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield from _drop(container, _CONTAINER, f"{at}.{group}[{index}]")
