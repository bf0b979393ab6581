"""Labels that people give a job, by the rules of Kubernetes, which rules of notifications go by on every cluster.

https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
"""

import re
from collections.abc import Mapping

from keepstep.asking.refused import Refused

_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_NAME = re.compile(r"([a-z0-9][-a-z0-9.]{0,251}[a-z0-9]/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def check_labels(labels: Mapping[str, str]) -> None:
    """Raise Refused for a label that no API server takes."""
    for name, value in labels.items():
        if not _NAME.fullmatch(name):
            raise Refused(
                f"--label {name}: a name is at most 63 letters, digits and . _ -, as team or example.com/team"
            )
        if not _VALUE.fullmatch(value):
            raise Refused(f"--label {name}={value}: a value is at most 63 letters, digits and . _ -, or nothing")
