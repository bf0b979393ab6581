"""Gives the webhook a certificate: ``python -m keepstep.cli.admission_certificate [CLUSTER]``, again to renew it.

Makes an authority and a certificate, has the API server trust it beside the one in use, and only then puts it into
Secret ``admission-tls``: while pods take it up, within two minutes and without a restart, either is believed. Run by
whoever installs keepstep; prints no key. ``k8s/components/cert-manager`` is the other way.
"""

import asyncio
import base64
import sys
from collections.abc import Mapping

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_errors import Missing
from keepstep.adapters.kube_json import JsonObject, rows, table, text
from keepstep.adapters.kube_named import client_of
from keepstep.adapters.kube_objects import ObjectRef, ObjectUid
from keepstep.admission.webhook import SERVICE
from keepstep.cli.certificates import AUTHORITY, DAYS, signed
from keepstep.cli.errors import Failed
from keepstep.ports.errors import KeepstepError

NAMESPACE = "keepstep"
HOSTS = (f"{SERVICE}.{NAMESPACE}.svc", f"{SERVICE}.{NAMESPACE}.svc.cluster.local")
"""The API server asks for the first."""
SECRET = ObjectRef("v1", "Secret", NAMESPACE, "admission-tls", ObjectUid(""))
REGISTRATION = ObjectRef(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "keepstep", ObjectUid("")
)
WHY = "a certificate for the webhook"


def secret(made: Mapping[str, bytes]) -> JsonObject:
    """Return the Secret that the webhook's pods mount."""
    held = {name: base64.b64encode(value).decode() for name, value in made.items()}
    metadata = {"name": SECRET.name, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/part-of": "keepstep"}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": held}


def trusting(registration: JsonObject, authorities: bytes) -> JsonObject:
    """Return the change that has the API server believe certificates of these authorities alone."""
    bundle = {"caBundle": base64.b64encode(authorities).decode()}
    hooks = [
        {**hook, "clientConfig": {**table(hook, "clientConfig"), **bundle}} for hook in rows(registration, "webhooks")
    ]
    return {"webhooks": hooks}


async def renew(client: KubeClient) -> None:
    """Make a certificate and have it trusted and served.

    Raises Failed where the webhook is not installed, and the errors of ``kube_errors``.
    """
    made = signed(HOSTS, "keepstep admission")
    served = await _served(client)
    try:
        await client.edit(REGISTRATION, lambda found: trusting(found, served + made[AUTHORITY]), why=WHY)
    except Missing as error:
        raise Failed(f"{REGISTRATION} is not there: kubectl apply -k k8s/base first") from error
    await _serve(client, secret(made))


async def _served(client: KubeClient) -> bytes:
    """Return the authority of the certificate in use, nothing before the first."""
    try:
        return base64.b64decode(text(await client.get(SECRET), "data", AUTHORITY))
    except Missing:
        return b""


async def _serve(client: KubeClient, body: JsonObject) -> None:
    try:
        await client.edit(SECRET, lambda _: {"data": body["data"]}, why=WHY)
    except Missing:
        await client.create(NAMESPACE, body, why=WHY)


async def _run(cluster: str) -> None:
    client = client_of(cluster, audit=lambda _: None)
    if client is None:
        raise Failed(f"{cluster}: say kubernetes, or kubernetes:<kubeconfig>")
    try:
        await renew(client)
    finally:
        await client.close()


def main() -> None:
    """Renew the certificate on the cluster that is named, else the one of the current context."""
    try:
        asyncio.run(_run(*sys.argv[1:2] or ("kubernetes",)))
    except (Failed, KeepstepError) as error:
        raise SystemExit(str(error)) from error
    sys.stdout.write(f"{HOSTS[0]} has a certificate for {DAYS} days; its pods take it within two minutes\n")


if __name__ == "__main__":
    main()
