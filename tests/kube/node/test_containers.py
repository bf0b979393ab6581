"""Containers as real processes: how they start, end, restart, and what a pod's status says of it."""

from .manifests import end, phase, pod, shell, state, waits
from .stack import KubeStack


async def test_a_pod_that_ends_well_succeeds_and_its_output_is_its_log(k: KubeStack) -> None:
    await k.apply(pod(shell("echo hello; exit 0")))
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")
    assert end(k.pod("p")) == (0, "Completed")
    reply = await k.http.get("/api/v1/namespaces/default/pods/p/log")
    assert reply.text == "hello\n"


async def test_a_program_that_fails_under_never_fails_the_pod_with_its_code(k: KubeStack) -> None:
    await k.apply(pod(shell("exit 3")))
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert (end(k.pod("p")), state(k.pod("p"))["restartCount"]) == ((3, "Error"), 0)


async def test_a_program_that_is_not_there_is_a_start_error(k: KubeStack) -> None:
    await k.apply(pod({"name": "main", "image": "train:1", "command": ["/no/such/program"]}))
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert end(k.pod("p")) == (128, "StartError")
    told = state(k.pod("p"))["state"]["terminated"]["message"]
    assert told == 'failed to start container: exec: "/no/such/program": No such file or directory'


async def test_a_container_without_a_program_waits_with_a_config_error(k: KubeStack) -> None:
    await k.apply(pod({"name": "main", "image": "train:1"}))
    await k.until(lambda: waits(k.pod("p")) == "CreateContainerConfigError")
    assert phase(k.pod("p")) == "Pending"


async def test_on_failure_a_container_is_started_again_at_once_and_then_backs_off(k: KubeStack) -> None:
    await k.apply(pod(shell("exit 3"), restartPolicy="OnFailure"))
    await k.until(lambda: waits(k.pod("p")) == "CrashLoopBackOff")
    found = state(k.pod("p"))
    assert (phase(k.pod("p")), found["restartCount"]) == ("Running", 1)
    assert found["lastState"]["terminated"]["exitCode"] == 3
    assert found["state"]["waiting"]["message"].startswith(
        "back-off 10s restarting failed container=main pod=p_default("
    )
    await k.until(lambda: state(k.pod("p"))["restartCount"] == 2)


async def test_always_starts_again_what_ended_well(k: KubeStack) -> None:
    await k.apply(pod(shell("exit 0"), restartPolicy="Always"))
    await k.until(lambda: state(k.pod("p")).get("restartCount", 0) >= 2)
    assert phase(k.pod("p")) == "Running"


async def test_init_containers_run_one_after_the_other_before_the_others(k: KubeStack) -> None:
    mounts = [{"name": "shared", "mountPath": "/deep/below"}]
    inits = [shell(f"echo {name} >> /deep/below/order", name, volumeMounts=mounts) for name in ("one", "two")]
    main = shell("echo main >> /deep/below/order; cat /deep/below/order", volumeMounts=mounts)
    await k.apply(pod(main, initContainers=inits, volumes=[{"name": "shared", "emptyDir": {}}]))
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")
    found = k.pod("p")
    assert found is not None
    assert k.log(found, "main") == "one\ntwo\nmain\n"


async def test_while_an_init_container_runs_the_pod_waits(k: KubeStack) -> None:
    await k.apply(pod(shell("exit 0"), initContainers=[shell("sleep 600", "first")]))
    await k.until(lambda: "running" in state(k.pod("p"), "first")["state"])
    found = k.pod("p")
    assert found is not None
    assert (phase(found), waits(found)) == ("Pending", "PodInitializing")
    told = next(one for one in found["status"]["conditions"] if one["type"] == "Initialized")
    assert (told["status"], told["message"]) == ("False", "containers with incomplete status: [first]")


async def test_an_init_container_that_fails_under_never_fails_the_pod(k: KubeStack) -> None:
    await k.apply(pod(shell("exit 0"), initContainers=[shell("exit 4", "first")]))
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert (end(k.pod("p"), "first"), end(k.pod("p"))) == ((4, "Error"), None)


async def test_a_sidecar_starts_before_the_others_and_is_ended_after_them(k: KubeStack) -> None:
    mounts = [{"name": "shared", "mountPath": "/shared"}]
    stay = "echo up > /shared/side; trap 'cat /shared/order; exit 0' TERM; while :; do sleep 0.02; done"
    side = shell(stay, "side", restartPolicy="Always", volumeMounts=mounts)
    main = shell("until test -e /shared/side; do sleep 0.02; done; echo main > /shared/order", volumeMounts=mounts)
    await k.apply(pod(main, initContainers=[side], volumes=[{"name": "shared", "emptyDir": {}}]))
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")
    found = k.pod("p")
    assert found is not None
    assert (k.log(found, "side"), end(found, "side")) == ("main\n", (0, "Completed"))


async def test_a_sidecar_that_ends_is_started_again_while_the_others_run(k: KubeStack) -> None:
    await k.apply(pod(shell("sleep 600"), initContainers=[shell("sleep 0.1", "side", restartPolicy="Always")]))
    await k.until(lambda: state(k.pod("p"), "side").get("restartCount", 0) >= 2)
    assert ("running" in state(k.pod("p"))["state"], state(k.pod("p"))["restartCount"]) == (True, 0)


async def test_an_image_that_cannot_be_pulled_is_waited_for(k: KubeStack) -> None:
    k.kubelet.unpullable.add("train:1")
    await k.apply(pod(shell("exit 0")))
    await k.until(lambda: waits(k.pod("p")) == "ErrImagePull")
    await k.until(lambda: waits(k.pod("p")) == "ImagePullBackOff")
    assert phase(k.pod("p")) == "Pending"
    k.kubelet.unpullable.clear()
    await k.until(lambda: phase(k.pod("p")) == "Succeeded")


async def test_a_container_killed_for_want_of_memory_says_so(k: KubeStack) -> None:
    await k.apply(pod(shell("sleep 600 & sleep 600")))
    await k.until(lambda: phase(k.pod("p")) == "Running")
    found = k.pod("p")
    assert found is not None
    k.kill(found, "main", oom=True)
    await k.until(lambda: phase(k.pod("p")) == "Failed")
    assert end(k.pod("p")) == (137, "OOMKilled")
