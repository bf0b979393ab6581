"""What a container sees: variables from everywhere, volumes, its own root, its own name and address."""

import base64
import os
from pathlib import Path

from ..server import kinds
from ..server.objects import Obj
from .manifests import phase, pod, shell, waits
from .stack import KubeStack


async def said(k: KubeStack, manifest: Obj, container: str = "main") -> str:
    """Run a pod to its good end and return what it wrote."""
    await k.apply(manifest)
    name = manifest["metadata"]["name"]
    await k.until(lambda: phase(k.pod(name)) in {"Succeeded", "Failed"})
    found = k.pod(name)
    assert found is not None
    assert phase(found) == "Succeeded", k.log(found, container)
    return k.log(found, container)


def config(k: KubeStack, kind: kinds.Kind, name: str, data: dict[str, str]) -> None:
    k.store.create(kind, {"metadata": {"name": name}, "data": data}, "default")


async def test_variables_come_from_the_pod_itself_and_from_those_before_them(k: KubeStack) -> None:
    paths = {"NAME": "metadata.name", "JOB": "metadata.labels['keepstep.io/job']", "NODE": "spec.nodeName"}
    env: list[Obj] = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in paths.items()]
    env.append({"name": "ALL", "value": "$(NAME)/$(JOB)/$(NODE)/$$(NAME)/$(NONE)"})
    main = shell('echo "$ALL"; echo $(NAME)', env=env)
    assert await said(k, pod(main, labels={"keepstep.io/job": "j"})) == "p/j/n0/$(NAME)/$(NONE)\np\n"


async def test_the_pods_address_is_its_own_and_its_name_leads_there(k: KubeStack) -> None:
    env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    script = 'getent ahostsv4 "$(hostname)" | head -1 | cut -d" " -f1; echo "$IP"; hostname'
    first, second, name = (await said(k, pod(shell(script, env=env)))).split()
    found = k.pod("p")
    assert found is not None
    assert first == second == found["status"]["podIP"]
    assert name == "p"
    await said(k, pod(shell("exit 0"), name="q"))
    other = k.pod("q")
    assert other is not None
    assert other["status"]["podIP"] != first


async def test_values_of_config_maps_and_secrets_arrive_as_variables_and_files(k: KubeStack) -> None:
    config(k, kinds.CONFIG_MAP, "c", {"colour": "red", "size": "9"})
    config(k, kinds.SECRET, "s", {"url": base64.b64encode(b"nats://bus").decode()})
    env = [
        {"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "colour"}}},
        {"name": "URL", "valueFrom": {"secretKeyRef": {"name": "s", "key": "url"}}},
        {"name": "LESS", "valueFrom": {"secretKeyRef": {"name": "none", "key": "url", "optional": True}}},
    ]
    volumes = [
        {"name": "c", "configMap": {"name": "c", "items": [{"key": "size", "path": "big/size"}]}},
        {"name": "s", "secret": {"secretName": "s"}},
    ]
    mounts = [{"name": "c", "mountPath": "/etc/app"}, {"name": "s", "mountPath": "/etc/bus", "readOnly": True}]
    script = 'echo "$COLOUR $URL [$LESS]"; cat /etc/app/big/size; echo; cat /etc/bus/url'
    more = [{"configMapRef": {"name": "c"}, "prefix": "MY_"}]
    main = shell(script + '; echo; echo "$MY_size"', env=env, envFrom=more, volumeMounts=mounts)
    assert await said(k, pod(main, volumes=volumes)) == "red nats://bus []\n9\nnats://bus\n9\n"


async def test_a_config_map_that_is_not_there_is_waited_for(k: KubeStack) -> None:
    env = [{"name": "COLOUR", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "colour"}}}]
    await k.apply(pod(shell("exit 0", env=env)))
    await k.until(lambda: waits(k.pod("p")) == "CreateContainerConfigError")
    config(k, kinds.CONFIG_MAP, "c", {"colour": "red"})
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")


async def test_a_volume_whose_source_is_missing_keeps_the_containers_from_starting(k: KubeStack) -> None:
    volumes = [{"name": "c", "configMap": {"name": "c"}}]
    await k.apply(pod(shell("exit 0", volumeMounts=[{"name": "c", "mountPath": "/c"}]), volumes=volumes))
    await k.until(lambda: waits(k.pod("p")) == "ContainerCreating")
    config(k, kinds.CONFIG_MAP, "c", {"colour": "red"})
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")


async def test_an_annotation_that_changes_changes_the_downward_file(k: KubeStack) -> None:
    items = [{"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations"}}]
    volumes = [{"name": "about", "downwardAPI": {"items": items}}]
    script = "until grep -q 'task=\"t1\"' /about/notes; do sleep 0.05; done; echo seen"
    await k.apply(pod(shell(script, volumeMounts=[{"name": "about", "mountPath": "/about"}]), volumes=volumes))
    await k.until(lambda: phase(k.pod("p")) == "Running")
    k.store.patch(kinds.POD, "p", {"metadata": {"annotations": {"task": "t1"}}}, "default")
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")


async def test_a_claim_is_the_same_folder_on_every_node_and_outlives_its_pods(k: KubeStack) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    mounts = [{"name": "data", "mountPath": "/data", "subPath": "run"}]
    await said(k, pod(shell("echo kept > /data/file", volumeMounts=mounts), volumes=volumes))
    k.store.delete(kinds.POD, "p", "default")
    k.nodes.cordon("n0")
    read = pod(shell("cat /data/file", volumeMounts=mounts), name="q", volumes=volumes)
    assert await said(k, read) == "kept\n"


async def test_a_container_cannot_write_to_the_machine_nor_leave_anything_there(k: KubeStack) -> None:
    volumes = [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]
    mounts = [{"name": "a", "mountPath": "/keepstep-test/deep"}, {"name": "b", "mountPath": "/var/run/secrets/test/b"}]
    name = f"keepstep-test-{os.getpid()}"
    script = f"touch /usr/{name} && exit 1; touch /tmp/{name}; touch /keepstep-test/deep/x /run/secrets/test/b/y"
    await said(k, pod(shell(f"{script}; ls /tmp", volumeMounts=mounts), volumes=volumes))
    left = (Path("/tmp", name), Path("/usr", name), Path("/keepstep-test"), Path("/run/secrets/test"))
    assert not any(path.exists() for path in left)


async def test_containers_of_a_pod_share_their_empty_folders(k: KubeStack) -> None:
    mounts = [{"name": "a", "mountPath": "/a"}]
    other = shell("echo hello > /a/file", "other", volumeMounts=mounts)
    main = shell("until test -s /a/file; do sleep 0.02; done; cat /a/file", volumeMounts=mounts)
    assert await said(k, pod(main, other, volumes=[{"name": "a", "emptyDir": {}}])) == "hello\n"


async def test_a_container_starts_in_its_working_directory(k: KubeStack) -> None:
    assert await said(k, pod(shell("pwd", workingDir="/opt"))) == "/opt\n"


async def test_a_pod_s_token_is_its_own_and_made_for_whom_its_volume_names(k: KubeStack) -> None:
    source = {"audience": "keepstep-bus", "expirationSeconds": 600, "path": "token"}
    volumes = [{"name": "t", "projected": {"sources": [{"serviceAccountToken": source}]}}]
    mounts = [{"name": "t", "mountPath": "/token", "readOnly": True}]
    token = (await said(k, pod(shell("cat /token/token", volumeMounts=mounts), volumes=volumes))).strip()
    found = k.pod("p")
    assert found is not None
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
    for audience, taken in (("keepstep-bus", True), ("another", False)):
        spec = {"token": token, "audiences": [audience]}
        reply = await k.http.post("/apis/authentication.k8s.io/v1/tokenreviews", json={**asked, "spec": spec})
        status = reply.json()["status"]
        assert status.get("authenticated", False) is taken
        if taken:
            assert status["user"]["extra"]["authentication.kubernetes.io/pod-uid"] == [found["metadata"]["uid"]]
