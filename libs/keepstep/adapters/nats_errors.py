"""What the NATS client raises, in the two words that keepstep understands."""

from collections.abc import Iterator
from contextlib import contextmanager

from nats.errors import Error, MaxPayloadError
from nats.js.errors import APIError, KeyWrongLastSequenceError

from keepstep.ports.errors import Conflict, Permanent, Transient

WRONG_LAST_SEQUENCE = (10071, 10164)
"""JetStream's codes for a compare-and-set that lost."""


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn errors of nats-py inside the block into Transient, Conflict or Permanent; ``what`` names the attempt."""
    try:
        yield
    except KeyWrongLastSequenceError as error:
        raise Conflict(f"{what}: somebody else wrote first") from error
    except APIError as error:
        if error.err_code in WRONG_LAST_SEQUENCE:
            raise Conflict(f"{what}: somebody else wrote first") from error
        raise Transient(f"{what}: the bus refused ({error.description or error})") from error
    except MaxPayloadError as error:
        raise Permanent(f"{what}: larger than the bus takes; raise max_payload") from error
    except (Error, OSError, TimeoutError) as error:
        raise Transient(f"{what}: the bus cannot be reached ({error or type(error).__name__})") from error
