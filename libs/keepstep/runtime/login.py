"""How somebody without a password knocks at the bus: by a name that says which pod he is, and the pod's token."""

from collections.abc import Callable
from dataclasses import dataclass

from keepstep.runtime.rights_of_pods import Caller, pod_inbox


@dataclass(frozen=True)
class Login:
    """Who knocks; ``proof`` is asked for the token anew at every try."""

    user: str
    proof: Callable[[], str]
    inbox: str

    @classmethod
    def of(cls, caller: Caller, proof: Callable[[], str]) -> "Login":
        """Return the login of an agent."""
        return cls(caller.user, proof, pod_inbox(caller.pod))
