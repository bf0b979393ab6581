"""How a sentence for people may not read: one of many, or the None of a language that few of them speak."""

import re

from keepstep.contracts.message import Message
from keepstep.core.sentences import sentence

_MANY = "tasks|files|nodes|ranks|sinks|faults|steps|recoveries|times|tries|agents|messages|attempts|others|devices|jobs"
_ONE_OF_MANY = re.compile(rf"(?<![\w.-])(?<!of )1 (?:{_MANY})\b|\bof 1 (?:{_MANY})\b")
_NOTHING = re.compile(r"\bNone\b")


def slips(text: str) -> list[str]:
    """Return what reads badly in a text."""
    return [found.group() for pattern in (_ONE_OF_MANY, _NOTHING) for found in pattern.finditer(text)]


def texts(message: Message) -> list[str]:
    """Return every sentence for people in a message."""
    fields = [getattr(message, name, "") for name in ("because", "text", "title")]
    return [sentence(message), *(field for field in fields if isinstance(field, str))]
