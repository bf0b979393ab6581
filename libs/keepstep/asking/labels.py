"""Labels that people give a job, by the rules of Kubernetes, which rules of notifications go by on every cluster.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

import re
from collections.abc import Mapping

from keepstep.asking.refused import Refused

_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_NAME = re.compile(r"([a-z0-9][-a-z0-9.]{0,251}[a-z0-9]/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise Refused with every label that no API server takes."""
    mistakes = [wrong for name, value in labels.items() if (wrong := _wrong(name, value))]
    if mistakes:
        raise Refused(*mistakes)


def _wrong(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        return f"--label {name}: a name is at most 63 letters, digits and . _ -, as team or example.com/team"
    if not _VALUE.fullmatch(value):
        return f"--label {name}={value}: a value is at most 63 letters, digits and . _ -, or nothing"
    return ""
