"""Whom the bus knows, as its server's configuration: ``python -m keepstep.runtime.nats_users [--pool P]...``.

Passwords are no part of it: the server takes each from a variable of its environment, which a Secret fills.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from keepstep.contracts.ids import Pool
from keepstep.runtime.rights import DEFAULT, Rights, all_rights
from keepstep.runtime.rights_of_pods import CORE, EDGE, GATE, INBOXES, at_edge, cluster_rights, crossings

ISSUER = "KEEPSTEP_GATE_ISSUER"
"""The variable that holds the public half of the gate's key."""
ANSWER_S = 8
"""For the gate, whom the server asks; a client gives up well before that (``runtime/connection.py``)."""
CONTROL_LINE = 16384
"""Bytes of what a client says at once to be let in: a pod's token takes 1 to 2 KiB, and 4 KiB are the server's own."""


def variable(user: str) -> str:
    """Return the variable that holds a user's password."""
    return f"KEEPSTEP_PASSWORD_{re.sub('[^A-Z0-9]', '_', user.upper())}"


def users_text(rights: Iterable[Rights]) -> str:
    """Return the list of users for the server's configuration. Raises ValueError where two share a variable."""
    users = tuple(rights)
    shared = [name for name, count in Counter(variable(one.user) for one in users).items() if count > 1]
    if shared:
        raise ValueError(f"{shared[0]} would be the password of two users: name the pools less alike")
    return _many("users", map(_user, users))


def cluster_text(pools: Sequence[Pool]) -> str:
    """Return what a cluster's server knows: the bus's own account, that of agents, and who lets these in."""
    users = cluster_rights(*pools)
    edge = [one for one in users if at_edge(one)]
    core = [one for one in users if not at_edge(one)]
    exports = [f"{{ service: {json.dumps(there)}, accounts: [{json.dumps(EDGE)}] }}" for _, there in crossings(pools)]
    exports.append(f'{{ stream: "{INBOXES}.>", accounts: [{json.dumps(EDGE)}] }}')
    imports = [_import(here, there) for here, there in crossings(pools)]
    imports.append(f'{{ stream: {{ account: {json.dumps(CORE)}, subject: "{INBOXES}.>" }} }}')
    skipped = json.dumps([GATE, *(one.user for one in edge)])
    return (
        f"max_control_line: {CONTROL_LINE}\n"
        f"authorization: {{ timeout: {ANSWER_S}, auth_callout: {{\n"
        f"  issuer: ${ISSUER}, account: {json.dumps(CORE)}\n"
        f"  auth_users: {skipped}, allowed_accounts: [{json.dumps(EDGE)}]\n}} }}\n"
        f"accounts: {{\n{json.dumps(CORE)}: {{\njetstream: enabled\n{users_text(core)}{_many('exports', exports)}}}\n"
        f"{json.dumps(EDGE)}: {{\n{users_text(edge)}{_many('imports', imports)}}}\n}}\n"
    )


def machine_text(pools: Sequence[Pool], *, folds_on_bus: bool = False) -> str:
    """Return what the server of one machine knows, where no agent need be kept from another."""
    return f"authorization: {{\n{users_text(all_rights(*pools, folds_on_bus=folds_on_bus))}}}\n"


def _import(here: str, there: str) -> str:
    to = "" if here == there else f", to: {json.dumps(here)}"
    return f"{{ service: {{ account: {json.dumps(CORE)}, subject: {json.dumps(there)} }}{to} }}"


def _many(name: str, lines: Iterable[str]) -> str:
    listed = "".join(f"  {line}\n" for line in lines)
    return f"{name}: [\n{listed}]\n"


def _user(rights: Rights) -> str:
    responds = "      allow_responses: true\n" if rights.responds else ""
    return (
        f"{{\n    user: {json.dumps(rights.user)}\n    password: ${variable(rights.user)}\n    permissions: {{\n"
        f"      publish: {{ allow: [\n{_list(rights.publish)}      ] }}\n"
        f"      subscribe: {{ allow: [\n{_list(rights.subscribe)}      ] }}\n"
        f"{responds}    }}\n  }}"
    )


def _list(subjects: Iterable[str]) -> str:
    return "".join(f"        {json.dumps(subject)}\n" for subject in subjects)


def main() -> None:
    """Print what the bus of a cluster knows, or that of one machine."""
    parser = argparse.ArgumentParser(prog="keepstep.runtime.nats_users", description=__doc__)
    parser.add_argument("--pool", action="append", help="a pool of this bus; may be repeated; default: default")
    parser.add_argument("--machine", action="store_true", help="one machine: agents share a user, and there is no gate")
    parser.add_argument(
        "--folds-on-bus", action="store_true", help="with --machine: services keep their folds in the bus's buckets"
    )
    options = parser.parse_args()
    pools = [Pool(pool) for pool in options.pool or [DEFAULT]]
    folds = bool(options.folds_on_bus)
    sys.stdout.write(machine_text(pools, folds_on_bus=folds) if options.machine else cluster_text(pools))


if __name__ == "__main__":
    main()
