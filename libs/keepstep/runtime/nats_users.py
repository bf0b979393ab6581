"""The users of the bus as its server's configuration: ``python -m keepstep.runtime.nats_users [--pool P]``.

Passwords are no part of it: the server takes each from a variable of its environment, which a Secret fills.
"""

import argparse
import json
import sys
from collections.abc import Iterable

from keepstep.contracts.ids import Pool
from keepstep.runtime.rights import Rights, all_rights


def variable(user: str) -> str:
    """Return the variable that holds a user's password."""
    return f"KEEPSTEP_PASSWORD_{user.upper().replace('-', '_')}"


def users_text(rights: Iterable[Rights]) -> str:
    """Return the list of users for the server's configuration."""
    return f"users: [\n{''.join(map(_user, rights))}]\n"


def _user(rights: Rights) -> str:
    return (
        f"  {{\n    user: {json.dumps(rights.user)}\n    password: ${variable(rights.user)}\n    permissions: {{\n"
        f"      publish: {{ allow: [\n{_list(rights.publish)}      ] }}\n"
        f"      subscribe: {{ allow: [\n{_list(rights.subscribe)}      ] }}\n    }}\n  }}\n"
    )


def _list(subjects: Iterable[str]) -> str:
    return "".join(f"        {json.dumps(subject)}\n" for subject in subjects)


def main() -> None:
    """Print the users of a pool."""
    parser = argparse.ArgumentParser(prog="keepstep.runtime.nats_users", description=__doc__)
    parser.add_argument("--pool", default="default")
    parser.add_argument(
        "--folds-on-bus", action="store_true", help="the services keep their folds in the bus's buckets"
    )
    options = parser.parse_args()
    sys.stdout.write(users_text(all_rights(Pool(options.pool), folds_on_bus=options.folds_on_bus)))


if __name__ == "__main__":
    main()
