"""What a provider tells of a person, made a user: the name from one claim, the role from the groups of another."""

from collections.abc import Mapping
from typing import Any

from keepstep.asking.refused import Refused
from keepstep.console.access import User
from keepstep.contracts.taxonomy import Role

LONGEST = 100
Claims = Mapping[str, Any]


def claim(claims: Claims, name: str) -> Any:
    """Return a claim by its name, or by the way to it through objects; None where there is none."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def groups_in(claims: Claims, name: str) -> tuple[str, ...] | None:
    """Return the groups of a claim, None where the provider tells none here; some tell a single one as text."""
    found = claim(claims, name)
    if found is None:
        return None
    if isinstance(found, str):
        return (found,)
    return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()


def user_of(claims: Claims, *, name_claim: str, groups_claim: str, roles: Mapping[str, Role]) -> User:
    """Return the user with the highest role of his groups. Raises Refused for somebody without a role or a name."""
    name = claim(claims, name_claim)
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > LONGEST:
        raise Refused(f"the provider tells no usable name in {name_claim}; KEEPSTEP_CONSOLE_OIDC_NAME names the claim")
    held = [roles[group] for group in groups_in(claims, groups_claim) or () if group in roles]
    if not held:
        raise Refused(f"{name} is in no group that has a role here; KEEPSTEP_CONSOLE_OIDC_ROLES gives groups roles")
    return User(name=name.strip(), role=max(held, key=tuple(Role).index))
