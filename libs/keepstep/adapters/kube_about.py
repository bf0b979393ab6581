"""What a server is and has: its version, and which of the five job kinds."""

import re
from dataclasses import dataclass

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.adapters.kube_json import JsonObject, rows, text
from keepstep.adapters.kube_kinds import KINDS
from keepstep.adapters.kube_resources import Resource
from keepstep.ports.errors import Permanent


@dataclass(frozen=True, slots=True)
class About:
    """One server."""

    version: tuple[int, int]
    """Major and minor."""
    kinds: frozenset[JobKind]


async def about(client: KubeClient) -> About:
    """Ask a server what it is. Raises the errors of ``kube_errors``, Permanent for a version that is no number."""
    said = await client.document("/version")
    return About(_version(said), frozenset([kind.name for kind in KINDS.values() if await has(client, kind.resource)]))


async def has(client: KubeClient, resource: Resource) -> bool:
    """Return whether the server serves a collection."""
    path = f"/api/{resource.api}" if "/" not in resource.api else f"/apis/{resource.api}"
    try:
        listed = await client.document(path)
    except Missing:
        return False
    return any(text(one, "name") == resource.plural for one in rows(listed, "resources"))


def _version(said: JsonObject) -> tuple[int, int]:
    """Return major and minor; managed servers write ``29+``."""
    found = [re.match(r"\d+", text(said, name)) for name in ("major", "minor")]
    if found[0] is None or found[1] is None:
        raise Permanent(f"the server says it is version {text(said, 'gitVersion') or said}, which is no number")
    return int(found[0][0]), int(found[1][0])
