"""``python -m keepstep.admission.webhook CA_FILE``: the registration with the API server, for kubectl apply -f -."""

import base64
import json
import sys
from pathlib import Path

from keepstep.adapters.kube_json import JsonObject
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_resources import Resource
from keepstep.injection.marks import INJECT

SERVICE = "admission"
"""Name of the Service object in ``k8s/base``."""
PATH = "/inject"
NEVER = ("kube-system",)
"""Nobody trains there, and what keeps the cluster alive waits for no webhook."""


def configuration(authority: bytes, *, namespace: str = "keepstep") -> JsonObject:
    """Return the MutatingWebhookConfiguration; ``authority`` is the PEM that signed the service's certificate.

    ``k8s/base/admission.yaml`` holds the same without ``caBundle``.

    Only jobs that carry the label are sent. Where the service is away a job is created as it is written: training
    without fault tolerance is better than none.
    """
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "keepstep"},
        "webhooks": [_webhook(authority, namespace)],
    }


def _webhook(authority: bytes, namespace: str) -> JsonObject:
    where = {"namespace": namespace, "name": SERVICE, "path": PATH, "port": 443}
    return {
        "name": "inject.keepstep.io",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "reinvocationPolicy": "IfNeeded",
        "timeoutSeconds": 5,
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [*NEVER, namespace]}
            ]
        },
        "objectSelector": {"matchLabels": {INJECT: "true"}},
        "rules": [_rule(kind.resource) for kind in KINDS.values()],
        "clientConfig": {"service": where, "caBundle": base64.b64encode(authority).decode()},
    }


def _rule(jobs: Resource) -> JsonObject:
    group, _, version = jobs.api.partition("/")
    return {"apiGroups": [group], "apiVersions": [version], "resources": [jobs.plural], "operations": ["CREATE"]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(configuration(Path(sys.argv[1]).read_bytes()), indent=1) + "\n")
