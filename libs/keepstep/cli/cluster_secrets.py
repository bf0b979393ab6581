"""Makes the Secrets of a cluster's bus and store: ``python -m keepstep.cli.cluster_secrets [--pool P]... FOLDER``.

Writes ``secrets.yaml`` for ``kubectl apply -f``, readable by its owner alone, and prints no secret. After a change of
them the bus, the store and the services are restarted. Needs openssl.
"""

import argparse
import base64
import json
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from keepstep.cli.certificates import signed
from keepstep.cli.errors import Failed
from keepstep.contracts.ids import Pool
from keepstep.runtime.address import inline
from keepstep.runtime.nats_users import ISSUER, variable
from keepstep.runtime.nkeys import KeyPair, Role
from keepstep.runtime.rights import DEFAULT
from keepstep.runtime.rights_of_pods import cluster_rights

NAMESPACE = "keepstep"
ADDRESS = f"nats.{NAMESPACE}.svc:4222"
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


def password() -> str:
    """Return a random password; it begins with a letter, as the bus reads a variable of digits as a number."""
    return f"k{secrets.token_hex(24)}"


def documents(tls: Mapping[str, bytes], *pools: Pool) -> list[dict[str, object]]:
    """Return the objects: one Secret per user, so that each pod is given its own alone, and the public certificate.

    Agents have no password: theirs is the address alone, and the gate has a key by which it lets each in.
    """
    words = {rights.user: password() for rights in cluster_rights(*pools)}
    key = KeyPair.new(Role.ACCOUNT)
    known = {variable(user): word.encode() for user, word in words.items()} | {ISSUER: key.public.encode()}
    found = [_user(user, word, tls["ca.crt"]) for user, word in words.items()]
    found.append(_secret("bus-agent", {"url": inline(f"tls://{ADDRESS}", tls["ca.crt"]).encode()}))
    found += [_secret("bus-users", known), _secret("gate", {"seed": key.seed.encode()})]
    found += [_secret("store", {"password": password().encode()}), _secret("bus-tls", tls)]
    public = {"kind": "ConfigMap", "data": {"ca.crt": tls["ca.crt"].decode()}}
    return [*found, _named("bus-ca", public)]


def _user(user: str, word: str, ca: bytes) -> dict[str, object]:
    url = inline(f"tls://{user}:{word}@{ADDRESS}", ca)
    return _secret(f"bus-{user}", {"password": word.encode(), "url": url.encode()})


def _secret(name: str, held: Mapping[str, bytes]) -> dict[str, object]:
    encoded = {key: base64.b64encode(value).decode() for key, value in held.items()}
    return _named(name, {"kind": "Secret", "type": "Opaque", "data": encoded})


def _named(name: str, body: Mapping[str, object]) -> dict[str, object]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": _LABELS}
    return {"apiVersion": "v1", "metadata": metadata, **body}


def write(folder: Path, pools: Sequence[Pool]) -> Path:
    """Write the file and return where; raises Failed rather than replace one, whose passwords may be in use."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    target = folder / "secrets.yaml"
    if target.exists():
        raise Failed(f"{target} exists: its passwords may be in use; move it away to make others")
    made = documents(signed(HOSTS, "keepstep bus"), *pools)
    text = "---\n".join(json.dumps(document) + "\n" for document in made)
    target.touch(mode=0o600)
    target.write_text(text, encoding="utf-8")
    return target


def main() -> None:
    """Write the Secrets into the folder that is named."""
    parser = argparse.ArgumentParser(prog="keepstep.cli.cluster_secrets", description=__doc__)
    parser.add_argument("--pool", action="append", help="a pool of the bus; may be repeated; default: default")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    try:
        target = write(options.folder, [Pool(pool) for pool in options.pool or [DEFAULT]])
    except Failed as error:
        raise SystemExit(str(error)) from error
    sys.stdout.write(f"{target}: kubectl apply -f it, and keep it where nobody else reads\n")


if __name__ == "__main__":
    main()
