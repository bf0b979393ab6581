"""A message as the stream takes it: subject, body and headers."""

from dataclasses import dataclass

from keepstep.contracts.message import Message, cloud_headers
from keepstep.contracts.trace import trace_headers
from keepstep.ports.errors import Permanent
from keepstep.runtime.intake import subject_of
from keepstep.runtime.weight import weight


@dataclass(frozen=True)
class Letter:
    """What is published, under the message's id, which is the bus's too."""

    kind: str
    subject: str
    body: bytes
    headers: dict[str, str]

    @property
    def weight(self) -> int:
        """Bytes of it that count against the bus's limit."""
        return weight(self.headers, self.body)


def letter(message: Message) -> Letter:
    """Return a message to publish; raises Permanent for one without a subject."""
    kind, subject = type(message).__name__, subject_of(message)
    if not subject:
        raise Permanent(f"saying {kind}: its pool or key is empty, or its speaker another: it has no subject")
    headers = cloud_headers(message) | trace_headers(message) | {"Nats-Msg-Id": message.id}
    return Letter(kind, subject, message.model_dump_json().encode(), headers)
