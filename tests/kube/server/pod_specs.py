"""What the API server refuses of a pod's spec, in a pod and in the template of a Job.

Read from pkg/apis/core/validation/validation.go; test_api_refusals asks a real server the same.
"""

import json
import re
from collections.abc import Iterator

from .errors import Cause
from .objects import Obj

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
REGEX = "regex used for validation is"
VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
NO_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', {REGEX} '{VALUE}')"
)
_ENV_NAME = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
_FIELDS = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)
"""What the downward API gives to a variable, with labels and annotations by key."""
_POLICIES = ("Always", "OnFailure", "Never")
_COUNTED = re.compile(r"[a-z0-9.-]+/.+")
"""Resources with a domain, such as nvidia.com/gpu, come in whole pieces and are not overcommitted."""


def pod_spec_causes(spec: Obj, at: str) -> Iterator[Cause]:
    """Yield what is wrong with a pod's spec."""
    yield from _policy_causes(spec, at)
    volumes: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or []):
        yield from _name_causes(volume.get("name", ""), volumes, f"{at}.volumes[{index}].name")
    if not spec.get("containers"):
        yield required(f"{at}.containers")
    seen: set[str] = set()
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or []):
            here = f"{at}.{group}[{index}]"
            yield from _name_causes(container.get("name", ""), seen, f"{here}.name")
            yield from _container_causes(container, here, volumes)
            if group == "initContainers":
                yield from _init_causes(container, here)


def required(field: str) -> Cause:
    """Return the cause for a field that is missing."""
    return Cause(field, "Required value", "FieldValueRequired")


def not_supported(field: str, value: object, known: tuple[str, ...]) -> Cause:
    """Return the cause for a value that is none of those known."""
    listed = ", ".join(f'"{one}"' for one in known)
    told = f"Unsupported value: {json.dumps(value)}: supported values: {listed}"
    return Cause(field, told, "FieldValueNotSupported")


def _policy_causes(spec: Obj, at: str) -> Iterator[Cause]:
    policy = spec.get("restartPolicy")
    if at == "spec" and policy is not None and policy not in _POLICIES:
        yield not_supported(f"{at}.restartPolicy", policy, _POLICIES)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        told = "Invalid value: true: ShareProcessNamespace and HostPID cannot both be enabled"
        yield Cause(f"{at}.securityContext.shareProcessNamespace", told)
    for value in (spec.get("nodeSelector") or {}).values():
        if not re.fullmatch(VALUE, value) or len(value) > 63:
            yield Cause(f"{at}.nodeSelector", f'Invalid value: "{value}": {NO_VALUE}')
    for index, one in enumerate(spec.get("tolerations") or []):
        if one.get("operator") == "Exists" and one.get("value"):
            told = "value must be empty when `operator` is 'Exists'"
            yield Cause(f"{at}.tolerations[{index}].operator", f"Invalid value: {json.dumps(one)}: {told}")


def _name_causes(name: str, seen: set[str], at: str) -> Iterator[Cause]:
    if not name:
        yield required(at)
    elif name in seen:
        yield Cause(at, f'Duplicate value: "{name}"', "FieldValueDuplicate")
    elif not re.fullmatch(LABEL, name) or len(name) > 63:
        told = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
        told += f"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', {REGEX} '{LABEL}')"
        yield Cause(at, f'Invalid value: "{name}": {told}')
    seen.add(name)


def _container_causes(container: Obj, at: str, volumes: set[str]) -> Iterator[Cause]:
    if not container.get("image"):
        yield required(f"{at}.image")
    for index, variable in enumerate(container.get("env") or []):
        yield from _env_causes(variable, f"{at}.env[{index}]")
    paths: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or []):
        here, path = f"{at}.volumeMounts[{index}]", mount.get("mountPath", "")
        if mount.get("name") not in volumes:
            yield Cause(f"{here}.name", f'Not found: "{mount.get("name", "")}"', "FieldValueNotFound")
        if not path:
            yield required(f"{here}.mountPath")
        elif path in paths:
            yield Cause(f"{here}.mountPath", f'Invalid value: "{path}": must be unique')
        paths.add(path)
    yield from _resource_causes(container.get("resources") or {}, f"{at}.resources")


def _env_causes(variable: Obj, at: str) -> Iterator[Cause]:
    name, source = variable.get("name", ""), variable.get("valueFrom")
    if not name:
        yield required(f"{at}.name")
    elif not re.fullmatch(_ENV_NAME, name):
        told = "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and "
        told += f"must not start with a digit (e.g. 'my.env-name', {REGEX} '{_ENV_NAME}')"
        yield Cause(f"{at}.name", f'Invalid value: "{name}": {told}')
    if source and variable.get("value"):
        yield Cause(f"{at}.valueFrom", 'Invalid value: "": may not be specified when `value` is not empty')
    path = ((source or {}).get("fieldRef") or {}).get("fieldPath")
    if path is not None and path not in _FIELDS and not re.fullmatch(r"metadata\.(labels|annotations)\['.+'\]", path):
        told = f"error converting fieldPath: field label not supported: {path}"
        yield Cause(f"{at}.valueFrom.fieldRef.fieldPath", f'Invalid value: "{path}": {told}')


def _init_causes(container: Obj, at: str) -> Iterator[Cause]:
    """A sidecar may be probed; what has to end before the pod runs may not."""
    policy = container.get("restartPolicy")
    if policy not in (None, "Always"):
        yield not_supported(f"{at}.restartPolicy", policy, ("Always",))
    if policy == "Always":
        return
    for probe in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
        if container.get(probe):
            told = "Forbidden: may not be set for init containers without restartPolicy=Always"
            yield Cause(f"{at}.{probe}", told, "FieldValueForbidden")


def _resource_causes(resources: Obj, at: str) -> Iterator[Cause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name, amount in limits.items():
        if _COUNTED.fullmatch(name) and not str(amount).isdecimal():
            yield Cause(f"{at}.limits[{name}]", f"Invalid value: {json.dumps(amount)}: must be an integer")
    for name, amount in requests.items():
        if not _COUNTED.fullmatch(name):
            continue
        if name not in limits:
            told = "Limit must be set for non overcommitable resources"
            yield Cause(f"{at}.limits", f"Required value: {told}", "FieldValueRequired")
        elif amount != limits[name]:
            told = f"must be equal to {name} limit of {limits[name]}"
            yield Cause(f"{at}.requests", f'Invalid value: "{amount}": {told}')
