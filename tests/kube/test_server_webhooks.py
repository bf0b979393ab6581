"""Mutating webhooks: the double really calls them over TLS, and does what a real server does when they fail."""

import base64
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import httpx
import orjson
import pytest
from lightkube import AsyncClient, KubeConfig
from lightkube.resources.core_v1 import Namespace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.objects import Obj
from tests.kube.server.rules import RULES
from tests.kube.server.serving import Certificate, Listener, serving
from tests.kube.server.store import Store

PODS = "/api/v1/namespaces/default/pods"


@dataclass
class Hook:
    """A webhook that answers what the test sets and keeps what it was asked."""

    response: Obj = field(default_factory=lambda: {"allowed": True})
    reviews: list[Obj] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        review = orjson.loads(await Request(scope, receive).body())
        self.reviews.append(review["request"])
        answer = {"uid": review["request"]["uid"], **self.response}
        head = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        await Response(orjson.dumps({**head, "response": answer}))(scope, receive, send)

    def patches(self, *operations: Obj) -> None:
        patch = base64.b64encode(orjson.dumps(operations)).decode()
        self.response = {"allowed": True, "patchType": "JSONPatch", "patch": patch}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("a certificate for the webhook is made with openssl")
    folder = tmp_path_factory.mktemp("certificate")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += [
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=DNS:webhook.keepstep.svc,IP:127.0.0.1",
    ]
    subprocess.run([*command, "-out", made.cert, "-keyout", made.key], check=True, capture_output=True)
    return made


@pytest.fixture
async def hook(certificate: Certificate) -> AsyncIterator[tuple[Hook, str]]:
    hook = Hook()
    listener = Listener(hook, certificate)
    await listener.up()
    yield hook, listener.url
    await listener.down()


@pytest.fixture
async def double() -> AsyncIterator[tuple[ApiServer, httpx.AsyncClient]]:
    app = ApiServer(Store(lambda: datetime.now(UTC), rules=RULES))
    async with serving(app) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as http:
        yield app, http


def configure(app: ApiServer, url: str, certificate: Certificate, **more: object) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE", "UPDATE"]}
    service = {"service": {"namespace": "keepstep", "name": "webhook", "path": "/inject"}}
    client = {**service, "caBundle": certificate.bundle}
    app.mutators.services["keepstep", "webhook"] = url
    selector = {"matchLabels": {"keepstep.io/inject": "true"}}
    head = {"name": "inject.keepstep.io", "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    one = {**head, "clientConfig": client, "rules": [rule], "objectSelector": selector, "timeoutSeconds": 2, **more}
    app.store.create(kinds.MUTATING_WEBHOOK, {"metadata": {"name": "keepstep"}, "webhooks": [one]})


def pod(name: str = "p", inject: str = "true") -> Obj:
    spec = {"containers": [{"name": "main", "image": "train:1"}]}
    return {"metadata": {"name": name, "labels": {"keepstep.io/inject": inject}}, "spec": spec}


Double = tuple[ApiServer, httpx.AsyncClient]


async def test_a_webhook_changes_what_is_stored(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    configure(app, url, certificate)
    one.patches({"op": "add", "path": "/metadata/annotations", "value": {"keepstep.io/injected": "1"}})
    reply = await http.post(PODS, json=pod())
    assert reply.json()["metadata"]["annotations"] == {"keepstep.io/injected": "1"}
    asked = one.reviews[0]
    assert (asked["operation"], asked["namespace"], asked["oldObject"]) == ("CREATE", "default", None)
    assert asked["kind"] == {"group": "", "version": "v1", "kind": "Pod"}


async def test_a_webhook_sees_the_object_that_a_patch_makes(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    app.store.create(kinds.POD, pod(), "default")
    configure(app, url, certificate)
    one.patches({"op": "add", "path": "/metadata/labels/seen", "value": "yes"})
    headers = {"content-type": "application/merge-patch+json"}
    await http.patch(f"{PODS}/p", json={"metadata": {"labels": {"x": "y"}}}, headers=headers)
    assert one.reviews[0]["object"]["metadata"]["labels"]["x"] == "y"
    stored = app.store.get(kinds.POD, "p", "default")["metadata"]["labels"]
    assert (stored["x"], stored["seen"]) == ("y", "yes")


async def test_a_webhook_is_not_asked_about_what_its_selector_leaves_out(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    configure(app, url, certificate)
    assert (await http.post(PODS, json=pod(inject="false"))).status_code == 201
    assert one.reviews == []


async def test_a_webhooks_refusal_is_told_with_its_name(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    configure(app, url, certificate)
    one.response = {"allowed": False, "status": {"message": "restartPolicy must be Never"}}
    reply = await http.post(PODS, json=pod())
    told = 'admission webhook "inject.keepstep.io" denied the request: restartPolicy must be Never'
    assert (reply.status_code, reply.json()["message"]) == (400, told)


@pytest.mark.parametrize(("policy", "code"), [("Ignore", 201), ("Fail", 500)])
async def test_a_webhook_that_cannot_be_reached_is_passed_over_or_refuses_by_its_policy(
    double: Double, certificate: Certificate, policy: str, code: int
) -> None:
    app, http = double
    configure(app, "https://127.0.0.1:9", certificate, failurePolicy=policy)
    reply = await http.post(PODS, json=pod())
    assert reply.status_code == code
    if code == 500:
        assert reply.json()["message"].startswith(
            'Internal error occurred: failed calling webhook "inject.keepstep.io": failed to call webhook: '
        )


async def test_a_webhook_whose_certificate_is_not_in_the_bundle_is_not_trusted(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    configure(app, url, certificate, failurePolicy="Fail")
    change_client(app, lambda client: client.pop("caBundle"))
    reply = await http.post(PODS, json=pod())
    assert reply.status_code == 500
    assert "CERTIFICATE_VERIFY_FAILED" in reply.json()["message"]
    assert one.reviews == []


async def test_a_webhook_whose_certificate_has_another_name_than_its_service_is_not_trusted(
    double: Double, hook: tuple[Hook, str], certificate: Certificate
) -> None:
    (app, http), (one, url) = double, hook
    configure(app, url, certificate, failurePolicy="Fail")
    app.mutators.services["keepstep", "other"] = url
    change_client(app, lambda client: client["service"].update(name="other"))
    reply = await http.post(PODS, json=pod())
    assert reply.status_code == 500
    assert "Hostname mismatch" in reply.json()["message"]
    assert one.reviews == []


def change_client(app: ApiServer, change: Callable[[Obj], object]) -> None:
    """Change where and how the webhook is called."""
    webhooks = app.store.get(kinds.MUTATING_WEBHOOK, "keepstep")["webhooks"]
    change(webhooks[0]["clientConfig"])
    app.store.patch(kinds.MUTATING_WEBHOOK, "keepstep", {"webhooks": webhooks})


async def test_the_server_itself_speaks_tls_to_a_client_with_its_kubeconfig(
    certificate: Certificate, tmp_path: Path
) -> None:
    app = ApiServer(Store(lambda: datetime.now(UTC)), rbac=True)
    async with serving(app, certificate) as server:
        config = KubeConfig.from_file(server.kubeconfig(tmp_path / "config"))
        client = AsyncClient(config=config)
        names = [one.metadata.name async for one in client.list(Namespace) if one.metadata]
        await client.close()
    assert names == ["default", "kube-node-lease", "kube-system"]
