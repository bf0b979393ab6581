"""What a pod template gains: launcher and trainer from an init container, an agent beside, and the wrapped command."""

from keepstep.adapters.kube_json import JsonObject, flag, rows, table, text
from keepstep.adapters.kube_marks import AUDIENCE, JOB_LABEL
from keepstep.injection.entry import ROOT, Entry
from keepstep.injection.marks import AGENT, DEFAULT_CONTAINER, INSTALL, TOKEN_VOLUME, VOLUME
from keepstep.injection.ours import Ours
from keepstep.injection.put import put, without
from keepstep.injection.sub_paths import shared

_RESTRICTED: JsonObject = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
"""What the pod security standard restricted asks of every container; being the ranks' user is all that ours need."""

TOKEN_FOLDER, TOKEN = "/var/run/keepstep", "token"
TOKEN_S = 3600
"""How long a token counts; the kubelet has the next one in place at four fifths of it."""


def equipped(template: JsonObject, index: int, entry: Entry, *, job: str, ours: Ours) -> JsonObject:
    """Return the template with keepstep in it; ``index`` is the container that trains."""
    containers = list(rows(template, "spec", "containers"))
    trains = containers[index]
    containers[index] = _wrapped(trains, entry)
    agent, install = _agent(template, trains, ours), _install(template, trains, ours)
    before = [*rows(template, "spec", "initContainers"), install]
    if ours.native:
        before.append({**agent, "restartPolicy": "Always"})
    else:
        containers.append(agent)
    spec = {
        **table(template, "spec"),
        "containers": containers,
        "initContainers": before,
        "volumes": [*rows(template, "spec", "volumes"), {"name": VOLUME, "emptyDir": {}}, _token()],
    }
    if not flag(template, "spec", "hostPID"):
        spec["shareProcessNamespace"] = True
    return put(_labelled(template, job, text(trains, "name")), ("spec",), spec)


def is_equipped(template: JsonObject) -> bool:
    """Return whether an agent is in the template already."""
    both = (*rows(template, "spec", "containers"), *rows(template, "spec", "initContainers"))
    return any(text(container, "name") == AGENT for container in both)


def _labelled(template: JsonObject, job: str, container: str) -> JsonObject:
    labelled = put(template, ("metadata", "labels", JOB_LABEL), job)
    if text(template, "metadata", "annotations", DEFAULT_CONTAINER):
        return labelled
    return put(labelled, ("metadata", "annotations", DEFAULT_CONTAINER), container)


def _wrapped(container: JsonObject, entry: Entry) -> JsonObject:
    return {
        **without(container, "args"),
        "command": list(entry.command),
        "volumeMounts": [*rows(container, "volumeMounts"), _mount()],
    }


def _install(template: JsonObject, trains: JsonObject, ours: Ours) -> JsonObject:
    command = ["python", "-m", "keepstep.agent.install", ROOT]
    return {**_base(template, trains, ours, INSTALL), "command": command, "volumeMounts": [_mount()]}


def _agent(template: JsonObject, trains: JsonObject, ours: Ours) -> JsonObject:
    """Return the sidecar; it sees the trainer's volumes, where the checkpoints are, and writes none of them."""
    mounts, variables = shared(trains)
    seen = [{**without(mount, "mountPropagation", "recursiveReadOnly"), "readOnly": True} for mount in mounts]
    return {
        **_base(template, trains, ours, AGENT),
        "command": list(_forever() if not ours.native else ("python", "-m", "keepstep.agent", "--pod")),
        "env": [*variables, *_environment(ours), *_devices(trains)],
        "volumeMounts": [*seen, _mount(), {"name": TOKEN_VOLUME, "mountPath": TOKEN_FOLDER, "readOnly": True}],
    }


def _forever() -> tuple[str, ...]:
    """Start the agent again when it failed: under restartPolicy Never nobody else would."""
    again = (
        "trap 'kill \"$agent\" 2>/dev/null; ending=1' TERM INT; "
        'while :; do python -m keepstep.agent --pod & agent=$!; wait "$agent"; code=$?; '
        '[ -n "$ending" ] && wait "$agent"; [ "$code" = 0 ] || [ -n "$ending" ] && exit 0; sleep 1; done'
    )
    return ("/bin/sh", "-c", again)


def _base(template: JsonObject, trains: JsonObject, ours: Ours, name: str) -> JsonObject:
    amounts = {"cpu": ours.cpu, "memory": ours.memory}
    return {
        "name": name,
        "image": ours.image,
        "imagePullPolicy": ours.pull_policy,
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {**_same_user(template, trains), **_RESTRICTED},
    }


def _same_user(template: JsonObject, trains: JsonObject) -> JsonObject:
    """Return the user of the ranks: only he may signal them, read their stacks and reach the launcher's socket.

    Where nobody names one, images train as root.
    """
    told, of_pod = table(trains, "securityContext"), table(template, "spec", "securityContext")
    who = {name: told[name] for name in ("runAsUser", "runAsGroup", "runAsNonRoot") if name in told}
    if not unnamed_user(template, trains) and "runAsUser" not in {**of_pod, **told}:
        who["runAsUser"] = 0
    return who


def unnamed_user(template: JsonObject, trains: JsonObject) -> bool:
    """Return whether the ranks must not be root, and only their image knows who they are."""
    told = {**table(template, "spec", "securityContext"), **table(trains, "securityContext")}
    return told.get("runAsNonRoot") is True and "runAsUser" not in told


def _environment(ours: Ours) -> list[JsonObject]:
    by_pod = {
        "KEEPSTEP_POD_NAME": "metadata.name",
        "KEEPSTEP_POD_NAMESPACE": "metadata.namespace",
        "KEEPSTEP_POD_UID": "metadata.uid",
        "KEEPSTEP_NODE": "spec.nodeName",
        "KEEPSTEP_ADDRESS": "status.podIP",
    }
    return [
        _bus(ours),
        {"name": "KEEPSTEP_TOKEN_FILE", "value": f"{TOKEN_FOLDER}/{TOKEN}"},
        {"name": "KEEPSTEP_POOL", "value": ours.pool},
        {"name": "KEEPSTEP_SIDECAR", "value": "native" if ours.native else "plain"},
        *({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in by_pod.items()),
    ]


def _devices(trains: JsonObject) -> list[JsonObject]:
    """Return what tells the agent its devices: MindCluster's device plugin notes them before containers start."""
    limits = table(trains, "resources", "limits")
    if not any(name.lower().startswith("huawei.com/ascend") for name in limits):
        return []
    path = "metadata.annotations['ascend.kubectl.kubernetes.io/ascend-910-configuration']"
    return [{"name": "KEEPSTEP_ASCEND_DEVICES", "valueFrom": {"fieldRef": {"fieldPath": path}}}]


def _bus(ours: Ours) -> JsonObject:
    if address := ours.nats_url.get_secret_value():
        return {"name": "KEEPSTEP_NATS_URL", "value": address}
    return {"name": "KEEPSTEP_NATS_URL", "valueFrom": {"secretKeyRef": {"name": ours.nats_secret, "key": "url"}}}


def _token() -> JsonObject:
    """Return the volume that proves to the bus which pod this is; the training's containers do not mount it."""
    source = {"audience": AUDIENCE, "expirationSeconds": TOKEN_S, "path": TOKEN}
    return {"name": TOKEN_VOLUME, "projected": {"sources": [{"serviceAccountToken": source}]}}


def _mount() -> JsonObject:
    return {"name": VOLUME, "mountPath": ROOT}
