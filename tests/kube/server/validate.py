"""What the API server itself refuses: names, labels, metadata, and changes to immutable fields of native kinds.

Messages follow apimachinery's; the traces ``api/errors`` and ``job/i-mutability`` show the ones that were seen.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from . import kinds
from .config_maps import config_map_causes
from .errors import Cause, forbidden, invalid
from .objects import Obj, copied
from .pod_specs import LABEL, NO_VALUE, REGEX, VALUE, not_supported, pod_spec_causes, required
from .store import Change

_SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
_NAME_PART = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_UNIQUE = "taints must be unique by key and effect pair"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_BY_LABEL = frozenset({kinds.NAMESPACE, kinds.SERVICE})
_FREE_NAMES = frozenset({kinds.ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING})
_ANNOTATIONS_LIMIT = 256 * 1024
_MUTABLE_WHILE_SUSPENDED = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
_IMMUTABLE = "field is immutable"


def validate(change: Change) -> None:
    """Refuse (422, 403) what the real server's validation refuses."""
    if change.old is None:
        causes = [*_name_causes(change), *_metadata_causes(change.new), *_create_causes(change)]
    elif change.subresource:
        return
    else:
        causes = [*_metadata_causes(change.new), *_finalizer_causes(change), *_update_causes(change)]
    if causes:
        raise invalid(change.kind, change.name, causes)


def _name_causes(change: Change) -> Iterator[Cause]:
    name = change.name
    if change.kind in _FREE_NAMES:
        return
    one_label = change.kind in _BY_LABEL
    pattern, limit = (LABEL, 63) if one_label else (_SUBDOMAIN, 253)
    if len(name) > limit:
        yield Cause("metadata.name", f'Invalid value: "{name}": must be no more than {limit} characters')
    elif not re.fullmatch(pattern, name):
        what = "label" if one_label else "subdomain"
        must = "must consist of lower case alphanumeric characters"
        must += " or '-', and must start" if one_label else ", '-' or '.', and must start"
        regex = f"{REGEX} '{pattern}'"
        told = (
            f"a lowercase RFC 1123 {what} {must} and end with an alphanumeric character (e.g. 'example.com', {regex})"
        )
        yield Cause("metadata.name", f'Invalid value: "{name}": {told}')


def _metadata_causes(obj: Obj) -> Iterator[Cause]:
    meta = obj["metadata"]
    for key, value in (meta.get("labels") or {}).items():
        yield from _key_causes("metadata.labels", key)
        if not isinstance(value, str) or len(value) > 63 or not re.fullmatch(VALUE, value):
            yield Cause("metadata.labels", f"Invalid value: {json.dumps(value)}: {NO_VALUE}")
    annotations = meta.get("annotations") or {}
    for key in annotations:
        yield from _key_causes("metadata.annotations", key.lower())
    if sum(len(key) + len(str(value)) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        told = f"Too long: may not be more than {_ANNOTATIONS_LIMIT} bytes"
        yield Cause("metadata.annotations", told, "FieldValueTooLong")
    for finalizer in meta.get("finalizers") or []:
        if "/" not in finalizer and finalizer not in {"orphan", "foregroundDeletion", "kubernetes"}:
            told = "name is neither a standard finalizer name nor is it fully qualified"
            yield Cause("metadata.finalizers", f'Invalid value: "{finalizer}": {told}')
    yield from _owner_causes(meta.get("ownerReferences") or [])


def _owner_causes(refs: list[Obj]) -> Iterator[Cause]:
    for ref in refs:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not ref.get(field):
                told = f'Invalid value: "": {field} must not be empty'
                yield Cause(f"metadata.ownerReferences.{field}", told)
    if sum(bool(ref.get("controller")) for ref in refs) > 1:
        told = "Invalid value: Only one reference can have Controller set to true"
        yield Cause("metadata.ownerReferences", told)


def _key_causes(field: str, key: str) -> Iterator[Cause]:
    prefix, slash, name = key.rpartition("/")
    bad_prefix = slash and not re.fullmatch(_SUBDOMAIN, prefix)
    if bad_prefix or len(prefix) > 253 or len(name) > 63 or not re.fullmatch(_NAME_PART, name):
        regex = f"{REGEX} '{_NAME_PART}'"
        told = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
        told += f"alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', {regex})"
        yield Cause(field, f'Invalid value: "{key}": {told}')


def _finalizer_causes(change: Change) -> Iterator[Cause]:
    """A dying object takes no new finalizer."""
    assert change.old is not None
    if "deletionTimestamp" not in change.old["metadata"]:
        return
    held = set(change.old["metadata"].get("finalizers") or [])
    fresh = [one for one in change.new["metadata"].get("finalizers") or [] if one not in held]
    if fresh:
        told = "no new finalizers can be added if the object is being deleted, found new finalizers "
        yield Cause("metadata.finalizers", f"Forbidden: {told}{json.dumps(fresh)}", "FieldValueForbidden")


def _create_causes(change: Change) -> Iterator[Cause]:
    spec = change.new.get("spec") or {}
    if change.kind is kinds.POD:
        yield from pod_spec_causes(spec, "spec")
        _check_service_account(change)
        _check_priority_class(change)
    elif change.kind is kinds.JOB:
        yield from _job_causes(spec)
    elif change.kind is kinds.CONFIG_MAP:
        yield from config_map_causes(change.new, None)
    elif change.kind is kinds.NODE:
        yield from _taint_causes(spec)
    elif change.kind is kinds.EVENT:
        about = (change.new.get("involvedObject") or {}).get("namespace", "")
        if about != change.new["metadata"]["namespace"] and (about or change.new["metadata"]["namespace"] != "default"):
            yield Cause("involvedObject.namespace", f'Invalid value: "{about}": does not match event.namespace')
    elif change.kind is kinds.PDB and "minAvailable" in spec and "maxUnavailable" in spec:
        told = "Invalid value: minAvailable and maxUnavailable cannot be both set"
        yield Cause("spec", told)


def _job_causes(spec: Obj) -> Iterator[Cause]:
    pod = spec["template"].get("spec") or {}
    yield from pod_spec_causes(pod, "spec.template.spec")
    if pod.get("restartPolicy") not in {"Never", "OnFailure"}:
        told = 'Required value: valid values: "OnFailure", "Never"'
        yield Cause("spec.template.spec.restartPolicy", told, "FieldValueRequired")
    if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
        told = "Required value: when completion mode is Indexed"
        yield Cause("spec.completions", told, "FieldValueRequired")
    for count in ("parallelism", "completions", "backoffLimit"):
        if (spec.get(count) or 0) < 0:
            yield Cause(f"spec.{count}", f"Invalid value: {spec[count]}: must be greater than or equal to 0")


def _check_service_account(change: Change) -> None:
    """The ServiceAccount admission plugin: a named account must be there; "default" is made by a controller."""
    account = change.new["spec"]["serviceAccountName"]
    namespace = change.new["metadata"]["namespace"]
    if account != "default" and change.store.find(kinds.SERVICE_ACCOUNT, account, namespace) is None:
        why = f'error looking up service account {namespace}/{account}: serviceaccount "{account}" not found'
        raise forbidden(kinds.POD, change.name, why)


def _check_priority_class(change: Change) -> None:
    """The Priority admission plugin; the two classes of the system are always there."""
    name = change.new["spec"].get("priorityClassName", "")
    if name and not name.startswith("system-") and change.store.find(kinds.PRIORITY_CLASS, name) is None:
        raise forbidden(kinds.POD, change.name, f"no PriorityClass with name {name} was found")


def _update_causes(change: Change) -> Iterator[Cause]:
    assert change.old is not None
    old, new = change.old.get("spec") or {}, change.new.get("spec") or {}
    if change.kind is kinds.POD:
        yield from _pod_update_causes(old, new)
    elif change.kind is kinds.CONFIG_MAP:
        yield from config_map_causes(change.new, change.old)
    elif change.kind is kinds.JOB:
        yield from _job_update_causes(old, new)
    elif change.kind is kinds.NODE:
        yield from _taint_causes(new)
        if old.get("providerID") and new.get("providerID") != old["providerID"]:
            told = 'Forbidden: node updates may not change providerID except from "" to valid'
            yield Cause("spec.providerID", told, "FieldValueForbidden")


def _pod_update_causes(old: Obj, new: Obj) -> Iterator[Cause]:
    """Only images, the deadline, more tolerations and dropped scheduling gates may change."""
    allowed = copied(new)
    for group in ("containers", "initContainers"):
        for was, container in zip(old.get(group) or [], allowed.get(group) or [], strict=False):
            container["image"] = was["image"]
    held = old.get("tolerations") or []
    if all(one in (new.get("tolerations") or []) for one in held):
        _keep(allowed, old, "tolerations")
    _keep(allowed, old, "activeDeadlineSeconds")
    if set(map(str, new.get("schedulingGates") or [])) < set(map(str, old.get("schedulingGates") or [])):
        _keep(allowed, old, "schedulingGates")
    if allowed != old:
        fields = ",".join(f"`{one}`" for one in ("spec.containers[*].image", "spec.initContainers[*].image"))
        fields += ",`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations)"
        fields += ",`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
        told = f"Forbidden: pod updates may not change fields other than {fields}\n"
        yield Cause("spec", told, "FieldValueForbidden")


def _job_update_causes(old: Obj, new: Obj) -> Iterator[Cause]:
    for field in ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"):
        if old.get(field) != new.get(field):
            yield Cause(f"spec.{field}", f"Invalid value: {json.dumps(new.get(field))}: {_IMMUTABLE}")
    if old.get("completions") != new.get("completions"):
        count = new.get("completions")
        if new["completionMode"] != "Indexed":
            yield Cause("spec.completions", f"Invalid value: {count}: {_IMMUTABLE}")
        elif count != new.get("parallelism"):
            told = f"Invalid value: {count}: can only be modified in tandem with spec.parallelism"
            yield Cause("spec.completions", told)
    yield from _job_template_causes(old, new)


def _job_template_causes(old: Obj, new: Obj) -> Iterator[Cause]:
    was, template = old["template"], copied(new["template"])
    if old.get("suspend"):
        for field in _MUTABLE_WHILE_SUSPENDED:
            _keep(template["spec"], was["spec"], field)
        for part in ("labels", "annotations"):
            _keep(template["metadata"], was["metadata"], part)
        for held, container in zip(was["spec"]["containers"], template["spec"]["containers"], strict=False):
            _keep(container, held, "resources")
        if template["spec"] != was["spec"]:
            told = f"Invalid value: {json.dumps(template['spec'])}: {_IMMUTABLE}"
            yield Cause("spec.template.spec", told)
    elif template != was:
        yield Cause("spec.template", f"Invalid value: {json.dumps(template)}: {_IMMUTABLE}")


def _taint_causes(spec: Obj) -> Iterator[Cause]:
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate(spec.get("taints") or []):
        key = taint.get("key"), taint.get("effect")
        if key in seen:
            yield Cause(
                f"metadata.taints[{index}]", f"Duplicate value: {json.dumps(taint)}: {_UNIQUE}", "FieldValueDuplicate"
            )
        seen.add(key)
        yield from _key_causes(f"metadata.taints[{index}].key", taint.get("key", ""))
        if not re.fullmatch(VALUE, taint.get("value") or ""):
            yield Cause(f"metadata.taints[{index}].value", f"Invalid value: {json.dumps(taint['value'])}: {NO_VALUE}")
        if not taint.get("effect"):
            yield required(f"metadata.taints[{index}].effect")
        elif taint["effect"] not in _EFFECTS:
            yield not_supported(f"metadata.taints[{index}].effect", taint["effect"], _EFFECTS)


def _keep(target: Obj, source: Obj, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)
