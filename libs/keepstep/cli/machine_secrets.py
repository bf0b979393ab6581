"""Draws the passwords of docker-compose.yml's bus: ``python -m keepstep.cli.machine_secrets FILE``.

Compose reads ``.env`` beside its file by itself. The file is its owner's alone, and nothing is printed.
"""

import sys
from pathlib import Path

from keepstep.cli.cluster_secrets import password
from keepstep.runtime.nats_users import variable
from keepstep.runtime.rights import DEFAULT, all_rights


def text() -> str:
    """Return one line per user of the bus."""
    return "".join(f"{variable(rights.user)}={password()}\n" for rights in all_rights(DEFAULT))


def main() -> None:
    """Write the file that is named; one that exists is left, as its passwords may be in use."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m keepstep.cli.machine_secrets FILE")
    target = Path(sys.argv[1])
    if target.exists():
        raise SystemExit(f"{target} exists: its passwords may be in use; move it away to make others")
    target.touch(mode=0o600)
    target.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
