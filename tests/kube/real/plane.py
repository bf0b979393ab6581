"""Starts etcd, API server, controller manager and scheduler on loopback, with a token, and stops them."""

import asyncio
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from keepstep.adapters.kube_connect import connect
from keepstep.agent.ports import free_ports
from keepstep.ports.errors import Permanent
from keepstep.runtime.nats_server import dying_with

_LIMIT_S = 600.0
_HOST = "127.0.0.1"


@asynccontextmanager
async def plane(binaries: Path, folder: Path) -> AsyncIterator[Path]:
    """Run the control plane for the block, over an empty store in ``folder``; gives the administrator's kubeconfig."""
    await asyncio.to_thread(_emptied, folder)
    clients, peers, secure = free_ports(3)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *flags: str) -> subprocess.Popen[bytes]:
        log = (folder / f"{name}.log").open("ab")
        command = [str(binaries / name), *flags]
        # The loop's own thread is the only one that starts processes.
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, preexec_fn=dying_with(os.getpid()))  # noqa: PLW1509
        started.append(process)
        return process

    token = secrets.token_hex(16)
    try:
        start("etcd", *_etcd(folder, clients, peers))
        flags = _apiserver(folder, clients, secure, token)
        newborn = start("kube-apiserver", *flags)
        await _answering(folder, secure, token)
        # It may have begun at version 1 and forgets nothing then; one that starts over its objects knows none before.
        newborn.terminate()
        await asyncio.to_thread(newborn.wait)
        start("kube-apiserver", *flags)
        kubeconfig = await _answering(folder, secure, token)
        start("kube-controller-manager", *_manager(folder, kubeconfig))
        start("kube-scheduler", *_component(kubeconfig))
        yield kubeconfig
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def _emptied(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _etcd(folder: Path, clients: int, peers: int) -> list[str]:
    mine, theirs = f"http://{_HOST}:{clients}", f"http://{_HOST}:{peers}"
    return [
        f"--data-dir={folder}/etcd",
        f"--listen-client-urls={mine}",
        f"--advertise-client-urls={mine}",
        f"--listen-peer-urls={theirs}",
        f"--initial-advertise-peer-urls={theirs}",
        f"--initial-cluster=default={theirs}",
        "--unsafe-no-fsync",
    ]


def _apiserver(folder: Path, clients: int, secure: int, token: str) -> list[str]:
    key = folder / "accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens = folder / "tokens.csv"
    tokens.write_text(f'{token},admin,admin,"system:masters"\n', encoding="utf-8")
    tokens.chmod(0o600)
    return [
        f"--etcd-servers=http://{_HOST}:{clients}",
        f"--bind-address={_HOST}",
        f"--secure-port={secure}",
        f"--cert-dir={folder}/certs",
        f"--token-auth-file={tokens}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-cluster-ip-range=10.0.0.0/24",
        "--authorization-mode=RBAC",
        "--endpoint-reconciler-type=none",
    ]


def _manager(folder: Path, kubeconfig: Path) -> list[str]:
    key = f"--service-account-private-key-file={folder}/accounts.key"
    return [*_component(kubeconfig), key, "--use-service-account-credentials=false"]


def _component(kubeconfig: Path) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        f"--bind-address={_HOST}",
        "--port=0",
        "--secure-port=0",
    ]


async def _answering(folder: Path, secure: int, token: str) -> Path:
    """Return the kubeconfig once the server is ready; raises Permanent after ten minutes."""
    deadline = asyncio.get_running_loop().time() + _LIMIT_S
    certificate = folder / "certs" / "apiserver.crt"
    while asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(0.5)
        if certificate.exists():
            kubeconfig = _kubeconfig(folder, secure, token)
            async with connect(kubeconfig) as http:
                if await _ready(http):
                    return kubeconfig
    raise Permanent(f"the API server did not come up in {_LIMIT_S:g} s: see {folder}/kube-apiserver.log")


async def _ready(http: httpx2.AsyncClient) -> bool:
    try:
        return (await http.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False


def _kubeconfig(folder: Path, secure: int, token: str) -> Path:
    server = {"server": f"https://{_HOST}:{secure}", "certificate-authority": str(folder / "certs" / "apiserver.crt")}
    context = {"name": "real", "context": {"cluster": "real", "user": "admin"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real",
        "clusters": [{"name": "real", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [context],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config), encoding="utf-8")
    path.chmod(0o600)
    return path
