"""Opens the connection to an API server: kubeconfig, in-cluster files, rotated tokens, exec plugins. Knows lightkube.

lightkube reads the configuration and keeps the credentials fresh (a token file again on 401); the requests are ours.
"""

import json
from pathlib import Path

import httpx2
import msgspec
import yaml
from lightkube.config.client_adapter import AsyncClient, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import NameValue, UserExec
from lightkube.core.exceptions import ConfigError

from keepstep.ports.errors import Permanent

REQUEST_S = 30.0
"""No answer for this long is none: the server itself gives up after 60 s, and a retry is cheap."""
CONNECT_S = 5.0

NO_CREDENTIALS = ConfigError
"""What a request raises while a plugin fails or a token file is missing."""
_UNREADABLE = (
    ConfigError,
    KeyError,
    OSError,
    ValueError,
    AttributeError,
    TypeError,
    msgspec.MsgspecError,
    yaml.YAMLError,
)
"""lightkube takes the file's shape on trust."""
_EXEC_V1 = "client.authentication.k8s.io/v1"
_EXEC_V1BETA1 = "client.authentication.k8s.io/v1beta1"


def connect(kubeconfig: Path | None = None) -> httpx2.AsyncClient:
    """Return a client with the server as its base; connects on first use.

    Without a path: in-cluster files, then KUBECONFIG, then ``~/.kube/config``. Raises Permanent when none can be read.
    """
    try:
        config = KubeConfig.from_env() if kubeconfig is None else KubeConfig.from_file(kubeconfig)
        single = config.get()
        if single is None:
            raise ConfigError("no context is current")
        _accept_exec_v1(single)
        timeout = httpx2.Timeout(REQUEST_S, connect=CONNECT_S)
        client = AsyncClient(single, ConnectionParams(timeout=timeout))
    except _UNREADABLE as error:
        raise Permanent(f"no cluster to connect to: {error}; set KUBECONFIG or run in a pod") from error
    client.headers["User-Agent"] = "keepstep"
    return client


def _accept_exec_v1(config: SingleConfig) -> None:
    """Run plugins of the v1 API as lightkube runs v1beta1: command, environment and answer are the same."""
    plugin: UserExec | None = None if config.user is None else config.user.exec
    if plugin is None:
        return
    spoken = plugin.apiVersion
    asked = {"apiVersion": spoken, "kind": "ExecCredential", "spec": {"interactive": False}}
    plugin.env = [*(plugin.env or []), NameValue("KUBERNETES_EXEC_INFO", json.dumps(asked))]
    if spoken == _EXEC_V1:
        plugin.apiVersion = _EXEC_V1BETA1
