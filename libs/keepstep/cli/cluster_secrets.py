"""Makes the Secrets of a cluster's bus and store: ``python -m keepstep.cli.cluster_secrets FOLDER``.

Writes ``secrets.yaml`` for ``kubectl apply -f``, readable by its owner alone, and prints no secret. After a change of
them the bus, the store and the services are restarted. Needs openssl.
"""

import base64
import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from keepstep.cli.certificates import signed
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import Pool
from keepstep.runtime.address import inline
from keepstep.runtime.rights import all_rights

NAMESPACE = "keepstep"
HOSTS = (
    "nats",
    f"nats.{NAMESPACE}",
    f"nats.{NAMESPACE}.svc",
    f"nats.{NAMESPACE}.svc.cluster.local",
    "*.nats-peers",
    f"*.nats-peers.{NAMESPACE}.svc.cluster.local",
    "redis",
    "localhost",
)
"""By these names the bus and the store are called: by services, by agents of other namespaces, by each other."""
_LABELS = {"app.kubernetes.io/part-of": "keepstep"}


def users() -> tuple[str, ...]:
    """Return everybody who has a password."""
    return tuple(str(rights.user) for rights in all_rights(Pool("default")))


def password() -> str:
    """Return a random password; it begins with a letter, as the bus reads a variable of digits as a number."""
    return f"k{secrets.token_hex(24)}"


def documents(tls: Mapping[str, bytes]) -> list[dict[str, object]]:
    """Return the objects: one Secret per user, so that each pod is given its own alone, and the public certificate."""
    found = []
    for user in users():
        word = password()
        url = inline(f"tls://{user}:{word}@nats.{NAMESPACE}.svc:4222", tls["ca.crt"])
        found.append(_secret(f"bus-{user}", {"password": word.encode(), "url": url.encode()}))
    found.append(_secret("store", {"password": password().encode()}))
    found.append(_secret("bus-tls", tls))
    public = {"kind": "ConfigMap", "data": {"ca.crt": tls["ca.crt"].decode()}}
    return [*found, _named("bus-ca", public)]


def _secret(name: str, held: Mapping[str, bytes]) -> dict[str, object]:
    encoded = {key: base64.b64encode(value).decode() for key, value in held.items()}
    return _named(name, {"kind": "Secret", "type": "Opaque", "data": encoded})


def _named(name: str, body: Mapping[str, object]) -> dict[str, object]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": _LABELS}
    return {"apiVersion": "v1", "metadata": metadata, **body}


def write(folder: Path) -> Path:
    """Write the file and return where; raises Failed rather than replace one, whose passwords may be in use."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / "secrets.yaml"
    if target.exists():
        raise Failed(f"{target} exists: its passwords may be in use; move it away to make others")
    text = "---\n".join(json.dumps(document) + "\n" for document in documents(signed(HOSTS, "keepstep bus")))
    target.touch(mode=0o600)
    target.write_text(text, encoding="utf-8")
    return target


def main() -> None:
    """Write the Secrets into the folder that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m keepstep.cli.cluster_secrets FOLDER")
    try:
        target = write(Path(sys.argv[1]))
    except Failed as error:
        raise SystemExit(str(error)) from error
    sys.stdout.write(f"{target}: kubectl apply -f it, and keep it where nobody else reads\n")


if __name__ == "__main__":
    main()
