"""The webhook as a process: called by the test API server over HTTPS, with a certificate that is renewed."""

import asyncio
import base64
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_job_kind import JobKind
from keepstep.admission.app import Admission
from keepstep.admission.settings import Settings
from keepstep.admission.webhook import SERVICE, configuration
from keepstep.cli.admission_certificate import renew
from keepstep.cli.errors import Failed
from keepstep.runtime.nats_server import dying_with
from tests.agent.makers import until
from tests.injection.manifests import manifest
from tests.kube.objects import merged
from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.rules import RULES
from tests.kube.server.serving import Certificate, Listener, Serving, serving
from tests.kube.server.store import Store
from tests.rights.manifests import BASE, documents, named

JOBS = "/apis/batch/v1/namespaces/default/jobs"
LABEL = {"metadata": {"labels": {"keepstep.io/inject": "true"}}}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Stage:
    """An API server that calls the webhook, and the webhook's process."""

    def __init__(self, folder: Path, server: Serving) -> None:
        self.folder, self.server, self.port = folder, server, free_port()
        self.store = server.app.store
        server.app.mutators.services["keepstep", SERVICE] = f"https://127.0.0.1:{self.port}"
        self.http = httpx.AsyncClient(base_url=server.url, trust_env=False)
        self.client = KubeClient(connect(server.kubeconfig(folder / "own")), audit=lambda _: None)

    def mount(self) -> None:
        """Bring the Secret into the folder as a kubelet does: all its files change at once, by one link."""
        data = self.store.get(kinds.SECRET, "admission-tls", "keepstep")["data"]
        made = Path(tempfile.mkdtemp(dir=self.folder))
        for name, value in data.items():
            (made / name).write_bytes(base64.b64decode(value))
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(Path("..data") / name)
        (self.folder / "..next").symlink_to(made)
        (self.folder / "..next").replace(self.folder / "..data")

    def believed(self) -> int:
        """Return how many authorities the API server takes the webhook's certificate from."""
        [hook] = self.store.get(kinds.MUTATING_WEBHOOK, "keepstep")["webhooks"]
        return base64.b64decode(hook["clientConfig"]["caBundle"]).count(b"BEGIN CERTIFICATE")

    @asynccontextmanager
    async def webhook(self, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
        told = {
            "CERTIFICATE": self.folder / "tls.crt",
            "KEY": self.folder / "tls.key",
            "PORT": self.port,
            "HOST": "127.0.0.1",
            "LOOK_SECONDS": "0.05",
            "IMAGE": "registry.example/keepstep:1",
        }
        environ = os.environ | {f"KEEPSTEP_ADMISSION_{name}": str(value) for name, value in (told | settings).items()}
        environ["KEEPSTEP_CLUSTER"] = f"kubernetes:{self.server.kubeconfig(self.folder / 'config')}"
        log = (self.folder / "log").open("ab")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "keepstep.admission", env=environ, stderr=log, preexec_fn=dying_with(os.getpid())
        )
        log.close()
        try:
            await until(self.listens)
            yield process
        finally:
            if process.returncode is None:
                process.terminate()
                await asyncio.wait_for(process.wait(), 10)

    def listens(self) -> bool:
        with socket.socket() as knock:
            return knock.connect_ex(("127.0.0.1", self.port)) == 0

    def serial(self) -> str:
        return ssl.get_server_certificate(("127.0.0.1", self.port))

    async def create(self, name: str, **patch: Any) -> httpx.Response:
        job = merged(manifest(JobKind.JOB), merged(LABEL, {"metadata": {"name": name}}))
        return await self.http.post(JOBS, json=merged(job, patch))

    def agents(self, name: str) -> int:
        pod = self.store.get(kinds.JOB, name, "default")["spec"]["template"]["spec"]
        return len(pod.get("initContainers") or ())


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    if shutil.which("openssl") is None:
        pytest.skip("a certificate for the webhook is made with openssl")
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.NAMESPACE, {"metadata": {"name": "keepstep"}})
    store.create(kinds.MUTATING_WEBHOOK, named("MutatingWebhookConfiguration", "keepstep"))
    async with serving(ApiServer(store)) as server:
        stage = Stage(tmp_path, server)
        await renew(stage.client)
        stage.mount()
        yield stage
        await stage.http.aclose()
        await stage.client.close()


@pytest.mark.system
async def test_a_labelled_job_is_stored_with_keepstep_and_another_as_it_is(stage: Stage) -> None:
    async with stage.webhook():
        assert (await stage.create("bert")).status_code == 201
        assert stage.agents("bert") == 2
        plain = await stage.create("plain", metadata={"labels": {"keepstep.io/inject": "false"}})
        assert plain.status_code == 201
        assert stage.agents("plain") == 0


@pytest.mark.system
async def test_a_job_that_cannot_be_obeyed_is_refused_with_field_and_remedy(stage: Stage) -> None:
    async with stage.webhook():
        pod = {"spec": {"restartPolicy": "OnFailure"}}
        reply = await stage.create("bert", spec={"template": pod})
    assert reply.status_code == 403
    told = reply.json()["message"]
    assert told.startswith(
        'admission webhook "inject.keepstep.io" denied the request: spec.template.spec.restartPolicy'
    )
    assert told.endswith("set Never")


@pytest.mark.system
async def test_an_address_with_credentials_is_refused_at_the_start_by_the_name_of_its_setting(stage: Stage) -> None:
    told = {"CERTIFICATE": stage.folder / "tls.crt", "KEY": stage.folder / "tls.key", "NATS_URL": "tls://a:s3cret@nats"}
    environ = os.environ | {f"KEEPSTEP_ADMISSION_{name}": str(value) for name, value in told.items()}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "keepstep.admission", env=environ, stderr=subprocess.PIPE
    )
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 2
    assert b"KEEPSTEP_ADMISSION_NATS_URL" in said
    assert b"KEEPSTEP_ADMISSION_NATS_SECRET" in said
    assert b"s3cret" not in said


@pytest.mark.system
async def test_where_the_webhook_is_away_a_job_is_created_as_it_is_written(stage: Stage) -> None:
    assert (await stage.create("bert")).status_code == 201
    assert stage.agents("bert") == 0


@pytest.mark.system
async def test_a_component_that_is_upgraded_lets_jobs_in_within_a_look(stage: Stage) -> None:
    labels = {"app.kubernetes.io/version": "1.6.9"}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}
    deployment = {"metadata": {"name": "operator", "labels": labels}, "spec": spec}
    stage.store.create(kinds.DEPLOYMENT, deployment, "kube-system")
    async with stage.webhook(OPERATOR="kube-system/operator"):
        refused = await stage.create("a")
        assert refused.status_code == 403
        assert "kube-system/operator is 1.6.9; 1.6.10 or newer is needed" in refused.text
        labels["app.kubernetes.io/version"] = "1.6.10"
        stage.store.patch(kinds.DEPLOYMENT, "operator", {"metadata": {"labels": labels}}, "kube-system")
        count = 0
        async with asyncio.timeout(20):
            while (await stage.create(f"b{count}")).status_code != 201:
                count += 1


@pytest.mark.system
async def test_a_renewed_certificate_is_served_without_a_restart_and_believed_all_the_while(stage: Stage) -> None:
    async with stage.webhook():
        before = stage.serial()
        await renew(stage.client)
        assert (await stage.create("before")).status_code == 201
        assert stage.agents("before") == 2
        stage.mount()
        await until(lambda: stage.serial() != before)
        assert (await stage.create("after")).status_code == 201
        assert stage.agents("after") == 2
    assert stage.believed() == 2
    await renew(stage.client)
    assert stage.believed() == 2, "what is served no longer is believed no longer"


async def test_the_certificate_that_is_made_is_believed_under_the_service_s_name(stage: Stage) -> None:
    files = Certificate(stage.folder / "tls.crt", stage.folder / "tls.key")
    settings = Settings(certificate=files.cert, key=files.key)
    listener = Listener(Admission(settings).web, files)
    listener.port = stage.port
    await listener.up()
    assert (await stage.create("bert")).status_code == 201
    assert stage.agents("bert") == 2
    stage.server.app.mutators.services["keepstep", SERVICE] = "https://localhost:1"
    assert (await stage.create("alone")).status_code == 201
    assert stage.agents("alone") == 0
    await listener.down()


async def test_a_certificate_for_a_webhook_that_is_not_installed_is_refused_with_the_remedy(stage: Stage) -> None:
    stage.store.delete(kinds.MUTATING_WEBHOOK, "keepstep")
    with pytest.raises(Failed, match="kubectl apply -k k8s/base first"):
        await renew(stage.client)


def test_the_registration_that_is_shipped_is_the_one_that_the_module_prints() -> None:
    [shipped] = [one for one in documents(BASE / "admission.yaml") if one["kind"] == "MutatingWebhookConfiguration"]
    printed: Any = configuration(b"pem")
    assert printed["webhooks"][0]["clientConfig"].pop("caBundle") == "cGVt"
    assert shipped == printed


async def test_a_missing_setting_is_named(tmp_path: Path) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "keepstep.admission"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "keepstep.admission: missing or wrong: KEEPSTEP_ADMISSION_CERTIFICATE, KEEPSTEP_ADMISSION_KEY\n"
    )
