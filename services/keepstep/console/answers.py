"""How an order that was not given is answered: one table for API and pages; the reason is the answer."""

from keepstep.asking.refused import Refused
from keepstep.console.desk import Conflicting, Unknown
from keepstep.ports.errors import Permanent, Transient

STATUS: dict[type[Exception], int] = {Unknown: 404, Conflicting: 409, Refused: 422, Transient: 503, Permanent: 422}
