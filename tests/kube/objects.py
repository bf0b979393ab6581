"""Objects recorded from a real API server (tests/kube/samples), and what tests change in them."""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).with_name("samples")


def sample(name: str) -> dict[str, Any]:
    """Return a recorded object."""
    loaded: dict[str, Any] = json.loads((SAMPLES / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` with a merge patch (RFC 7386) applied."""
    result = deepcopy(dict(base))
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            inner = result.get(key)
            result[key] = merged(inner if isinstance(inner, Mapping) else {}, value)
        else:
            result[key] = deepcopy(value)
    return result


def changed(name: str, **patch: Any) -> dict[str, Any]:
    """Return a recorded object with some of its top-level parts merged over."""
    return merged(sample(name), patch)


def stripped(name: str, namespace: str) -> dict[str, Any]:
    """Return a recorded object as somebody would create it in this namespace: nothing in it that a server writes."""
    source = sample(name)
    metadata = {"name": source["metadata"]["name"], "namespace": namespace}
    return {**{key: said for key, said in source.items() if key != "status"}, "metadata": metadata}
