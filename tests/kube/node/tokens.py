"""The tokens that kubelets put into the volumes of pods, made by the API server: new at four fifths of their life."""

import time
from dataclasses import dataclass, field

from ..server.objects import Obj
from ..server.reviews import OWN_AUDIENCE, Reviews

LIFE_S = 3600
"""What a volume gets that asks for none."""
RENEWED = 0.8


@dataclass
class PodTokens:
    """Every kubelet's tokens in one, by pod and audience."""

    reviews: Reviews
    _held: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def __call__(self, pod: Obj, source: Obj) -> str:
        """Return the token that a ``serviceAccountToken`` source asks for, the same until it is to be renewed."""
        audience, life = source.get("audience") or OWN_AUDIENCE, source.get("expirationSeconds", LIFE_S)
        key = pod["metadata"]["uid"], audience
        renew, token = self._held.get(key, (0.0, ""))
        if time.monotonic() >= renew:
            token = self.reviews.pod_token(pod, audience=audience, seconds=life)
            self._held[key] = time.monotonic() + RENEWED * life, token
        return token
