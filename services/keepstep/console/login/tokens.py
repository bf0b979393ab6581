"""Static tokens: what one looks like, and the file that says whose they are without containing them.

A token is ``ks_<name>_<43 characters>``: the name says which hash to try, the prefix lets scanners of secrets find it,
the rest is 256 random bits, so that a hash of the lightest parameters OWASP advises is far out of anybody's reach.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from argon2 import PasswordHasher, Type, extract_parameters
from argon2.exceptions import InvalidHashError, VerificationError

from keepstep.contracts.taxonomy import Role
from keepstep.ports.errors import Permanent

NAME = r"[a-z0-9][a-z0-9.-]{0,62}"
TOKEN = re.compile(rf"ks_({NAME})_([A-Za-z0-9_-]{{43}})", flags=re.ASCII)
HASHER = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
"""https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html: 19 MiB, two passes, one lane."""
MOST_KIB, MOST_PASSES, MOST_LANES = 256 * 1024, 16, 16
"""A line that costs more would let each request stop the console."""


@dataclass(frozen=True)
class Entry:
    """One line of the file."""

    name: str
    role: Role
    hash: str


@dataclass(frozen=True)
class Made:
    """A token that was just made: it is shown once, the line goes into the file."""

    token: str
    line: str


def made(name: str, role: Role) -> Made:
    """Return a new token; raises Permanent for a name that no token can have."""
    if re.fullmatch(NAME, name, flags=re.ASCII) is None:
        raise Permanent(f"name {name!r}: small letters, digits, dots and dashes, at most 63, the first no dot or dash")
    token = f"ks_{name}_{secrets.token_urlsafe(32)}"
    return Made(token=token, line=f"{name} {role} {HASHER.hash(token)}")


def name_in(token: str) -> str | None:
    """Return the name in a token; None for what is none."""
    found = TOKEN.fullmatch(token)
    return None if found is None else found[1]


@cache
def nobody() -> str:
    """Return what is tried for names that are not in the file, so that the time of an answer tells no names."""
    return HASHER.hash(secrets.token_urlsafe(32))


def matches(entry: Entry | None, token: str) -> bool:
    """Return whether the token is the entry's; takes as long for nobody's."""
    try:
        right = HASHER.verify(nobody() if entry is None else entry.hash, token)
    except VerificationError:
        return False
    return right and entry is not None


def read(text: str) -> Mapping[str, Entry]:
    """Return the entries of a file by name. Raises Permanent with the line and the remedy, and never with the hash."""
    found: dict[str, Entry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        entry = _entry(line.split(), f"line {number}")
        if entry.name in found:
            raise Permanent(f"line {number}: {entry.name} is there twice; leave one")
        found[entry.name] = entry
    return MappingProxyType(found)


def _entry(words: list[str], place: str) -> Entry:
    if len(words) != 3:
        raise Permanent(
            f"{place}: {len(words)} words; a line is name, role and hash, as keepstep console token makes it"
        )
    name, role, hashed = words
    if re.fullmatch(NAME, name, flags=re.ASCII) is None:
        raise Permanent(f"{place}: the first word is no name of a token; keepstep console token makes lines")
    if role not in tuple(Role):
        raise Permanent(f"{place}: {name} has no role; roles are {', '.join(Role)}")
    try:
        cost = extract_parameters(hashed)
    except InvalidHashError as error:
        raise Permanent(f"{place}: what follows {name} is no argon2 hash; keepstep console token makes one") from error
    costly = cost.memory_cost > MOST_KIB or cost.time_cost > MOST_PASSES or cost.parallelism > MOST_LANES
    if cost.type is not Type.ID or costly:
        raise Permanent(f"{place}: {name}'s hash is no argon2id of at most {MOST_KIB >> 10} MiB, {MOST_PASSES} passes")
    return Entry(name=name, role=Role(role), hash=hashed)
