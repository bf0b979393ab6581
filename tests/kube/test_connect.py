"""Credentials as clusters hand them out: files that are rotated, plugins of both APIs, and none at all."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepstep.adapters.kube_client import KubeClient
from keepstep.adapters.kube_connect import connect
from keepstep.adapters.kube_errors import Busy
from keepstep.adapters.kube_resources import PODS
from keepstep.ports.errors import Permanent
from tests.kube.api import Api

pytestmark = pytest.mark.any_api


def kubeconfig(there: Api, folder: Path, **user: Any) -> Path:
    """Return a kubeconfig like the server's own with these credentials."""
    path = folder / "mine"
    config = yaml.safe_load(there.kubeconfig.read_text(encoding="utf-8"))
    config["users"][0]["user"] = user
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def token_of(there: Api) -> str:
    """Return the administrator's token; skips the test where the kubeconfig has another kind of credentials."""
    (user,) = yaml.safe_load(there.kubeconfig.read_text(encoding="utf-8"))["users"]
    if "token" not in user["user"]:
        pytest.skip("the kubeconfig of this cluster has no token")
    token: str = user["user"]["token"]
    return token


async def pods(there: Api, path: Path) -> int:
    """Return how many pods a fresh client sees."""
    client = KubeClient(connect(path), audit=lambda _: None)
    try:
        page = await client.page(PODS, {}, namespace=there.namespace)
    finally:
        await client.close()
    items = page["items"]
    assert isinstance(items, list)
    return len(items)


async def test_a_token_that_was_rotated_is_read_again(there: Api, tmp_path: Path) -> None:
    await there.pod("a")
    token = tmp_path / "token"
    token.write_text("of yesterday", encoding="utf-8")
    client = KubeClient(connect(kubeconfig(there, tmp_path, tokenFile=str(token))), audit=lambda _: None)
    with pytest.raises(Busy):
        await client.page(PODS, {})
    token.write_text(token_of(there), encoding="utf-8")
    assert await client.page(PODS, {})
    await client.close()


@pytest.mark.parametrize("api", ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"])
async def test_a_plugin_of_either_api_is_asked_in_its_own_words(there: Api, tmp_path: Path, api: str) -> None:
    await there.pod("a")
    plugin = tmp_path / "plugin"
    answer = {"kind": "ExecCredential", "status": {"token": token_of(there)}}
    check = f'case "$KUBERNETES_EXEC_INFO" in *\'"{api}"\'*) ;; *) exit 1 ;; esac'
    plugin.write_text(f"#!/bin/sh\n{check}\necho '{json.dumps(answer)}'\n", encoding="utf-8")
    plugin.chmod(0o755)
    asked = {"apiVersion": api, "command": str(plugin), "interactiveMode": "Never"}
    assert await pods(there, kubeconfig(there, tmp_path, exec=asked)) == 1


@pytest.mark.parametrize("content", [None, "", "clusters: []\ncontexts: []\ncurrent-context: none\n"])
def test_without_a_readable_configuration_the_remedy_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(Permanent, match="set KUBECONFIG or run in a pod"):
        connect(path)


async def test_a_plugin_that_fails_is_asked_again_later(there: Api, tmp_path: Path) -> None:
    asked = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}
    with pytest.raises(Busy, match="no credentials"):
        await pods(there, kubeconfig(there, tmp_path, exec=asked))
