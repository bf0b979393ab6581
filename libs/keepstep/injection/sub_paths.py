"""Which of the trainer's mounts an agent can have: a ``subPathExpr`` needs the variables that it names there too."""

import re
from collections.abc import Mapping, Sequence

from keepstep.adapters.kube_json import JsonObject, rows, text

_REFERENCE = re.compile(r"\$(?:\$|\(([-._a-zA-Z][-._a-zA-Z0-9]*)\))")


def shared(trains: JsonObject) -> tuple[Sequence[JsonObject], Sequence[JsonObject]]:
    """Return the mounts that another container can have as the trainer has them, and the variables it needs for that.

    Without a variable the kubelet would not start the container, so a mount whose variables come from an image, from
    envFrom or from a Service is left out.
    """
    variables = {text(one, "name"): one for one in rows(trains, "env")}
    mounts, needed = [], set[str]()
    for mount in rows(trains, "volumeMounts"):
        names = _named(text(mount, "subPathExpr"), variables)
        if names <= variables.keys():
            mounts.append(mount)
            needed |= names
    return mounts, [one for name, one in variables.items() if name in needed]


def _named(expression: str, variables: Mapping[str, JsonObject]) -> set[str]:
    """Return the variables in an expression, and those in their values."""
    found, open_ = set[str](), _references(expression)
    while open_:
        name = open_.pop()
        found.add(name)
        open_ |= _references(text(variables.get(name, {}), "value")) - found
    return found


def _references(expression: str) -> set[str]:
    return {name for name in _REFERENCE.findall(expression) if name}
