"""``keepstep job create`` on a cluster: manifests of every kind, applied or printed, and refusals by option."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.cli.main import run
from keepstep.contracts.topology import JobSpec
from keepstep.injection.creating import PREFERRED, kind_for
from tests.injection.manifests import runtime
from tests.kube.server import kinds
from tests.kube.server.http import ApiServer
from tests.kube.server.rules import RULES
from tests.kube.server.serving import serving
from tests.kube.server.store import Store
from tests.kube.shown import STORED

Capture = pytest.CaptureFixture[str]

IMAGE = ("--image", "registry.example/train:1")


@dataclass
class Cluster:
    store: Store
    config: Path

    async def create(self, *options: str) -> int:
        command = ["job", "create", "--cluster", f"kubernetes:{self.config}", *options]
        return await asyncio.to_thread(run, command)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.CLUSTER_TRAINING_RUNTIME, runtime())
    async with serving(ApiServer(store)) as server:
        yield Cluster(store, server.kubeconfig(tmp_path / "config"))


def printed(capsys: Capture, *options: str, code: int = 0) -> Any:
    assert run(["job", "create", "--dry-run", *options]) == code
    return list(yaml.safe_load_all(capsys.readouterr().out))


@pytest.mark.parametrize("kind", JobKind)
async def test_a_job_of_every_kind_is_created_with_sidecar_and_restart_policy_never(
    cluster: Cluster, capsys: Capture, kind: JobKind
) -> None:
    options = (
        "--kind",
        kind,
        "--name",
        "bert",
        "--nodes",
        "2",
        "--gpu",
        "nvidia.com/gpu=8",
        "--enable-fault-tolerance",
    )
    code = await cluster.create(*options, *IMAGE, "--", "torchrun", "--nproc_per_node=8", "train.py")
    out, err = capsys.readouterr()
    assert code == 0, err
    job = cluster.store.get(STORED[kind], "bert", "default")
    assert out == f"{job['metadata']['uid']}\n"
    assert "level in-place" in err
    holder = job
    if kind is JobKind.TRAINJOB:
        holder = cluster.store.get(kinds.TRAINING_RUNTIME, "bert-keepstep", "default")
        assert holder["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    text = str(holder["spec"])
    assert "keepstep-agent" in text
    assert "'restartPolicy': 'Never'" in text
    assert '"nodes":2' in job["metadata"]["annotations"]["keepstep.io/spec"]


async def test_a_name_that_is_taken_is_told_and_leaves_nothing_behind(
    cluster: Cluster, tmp_path: Path, capsys: Capture
) -> None:
    script = tmp_path / "train.py"
    script.write_text("print(1)\n")
    options = ("--kind", "job", "--name", "bert", *IMAGE, "--script-file", str(script))
    assert await cluster.create(*options) == 0
    carrier = cluster.store.get(kinds.CONFIG_MAP, "bert-script", "default")
    assert carrier["data"] == {"train.py": "print(1)\n"}
    assert carrier["metadata"]["ownerReferences"][0]["kind"] == "Job"
    cluster.store.delete(kinds.CONFIG_MAP, "bert-script", "default")
    capsys.readouterr()
    assert await cluster.create(*options) == 1
    assert "Job bert was not created" in capsys.readouterr().err
    assert cluster.store.find(kinds.CONFIG_MAP, "bert-script", "default") is None


def test_the_kind_is_the_best_that_the_cluster_has() -> None:
    assert kind_for(None, frozenset(JobKind)) is PREFERRED[0]
    assert kind_for(None, frozenset({JobKind.JOB, JobKind.PYTORCHJOB})) is JobKind.PYTORCHJOB
    assert kind_for(None, frozenset({JobKind.JOB, JobKind.TRAINJOB})) is JobKind.JOB


def test_without_fault_tolerance_the_job_is_plain(capsys: Capture) -> None:
    (job,) = printed(capsys, "--name", "bert", *IMAGE, "--", "python", "t.py")
    assert "keepstep" not in str(job)


def test_the_variable_does_what_the_flag_does(capsys: Capture) -> None:
    by_flag = printed(capsys, "--name", "b", *IMAGE, "--enable-fault-tolerance", "--", "python", "t.py")
    by_variable = printed(capsys, "--name", "b", *IMAGE, "--env", "faulttolerance=true", "--", "python", "t.py")
    assert by_flag[0]["metadata"] == by_variable[0]["metadata"]


def test_the_options_of_the_seed_find_their_places(capsys: Capture) -> None:
    (job,) = printed(
        capsys, "--kind", "volcano", "-p", "pool-a", "-q", "gold", "--name", "bert", "--priority", "high", *IMAGE,
        "--label", "x.io/t=nlp", "--gpu", "nvidia.com/gpu=8", "--nodes", "2", "--env", "CUDA_DEVICE_MAX_CONNECTIONS=1",
        "--ds-type", "pfs", "--ds-name", "pfs-1", "--ds-mountpath", "/mnt/pfs", "--enable-fault-tolerance",
        "--fault-tolerance-args", "--max-num-of-unconditional-retry=1", "--checkpoint-dir", "/mnt/pfs/ckpt",
        "--", "bash", "-c", "torchrun --nproc_per_node=8 train.py",
    )  # fmt: skip
    spec = job["spec"]
    assert (spec["queue"], spec["priorityClassName"], spec["minAvailable"]) == ("gold", "high", 2)
    pod = spec["tasks"][0]["template"]
    assert pod["metadata"]["labels"] == {"x.io/t": "nlp", "keepstep.io/job": "bert"}
    (trains,) = pod["spec"]["containers"]
    assert trains["env"] == [{"name": "CUDA_DEVICE_MAX_CONNECTIONS", "value": "1"}]
    assert trains["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert trains["volumeMounts"][0] == {"name": "data-0", "mountPath": "/mnt/pfs"}
    assert pod["spec"]["volumes"][0] == {"name": "data-0", "persistentVolumeClaim": {"claimName": "pfs-1"}}
    agent = pod["spec"]["initContainers"][1]
    assert {"name": "KEEPSTEP_POOL", "value": "pool-a"} in agent["env"]
    assert '"count":1' in job["metadata"]["annotations"]["keepstep.io/spec"]


def test_a_python_script_goes_along_and_is_started_once_per_device(tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "Train_It.py"
    script.write_text("x\n")
    carrier, job = printed(capsys, *IMAGE, "--gpu", "nvidia.com/gpu=4", "--script-file", str(script))
    assert (carrier["kind"], carrier["metadata"]["name"]) == ("ConfigMap", "train-it-script")
    (trains,) = job["spec"]["template"]["spec"]["containers"]
    assert trains["command"] == ["torchrun", "--nproc_per_node=4", "/keepstep-script/Train_It.py"]


def test_a_shell_script_becomes_the_command(tmp_path: Path, capsys: Capture) -> None:
    script = tmp_path / "go.sh"
    script.write_text("cd /w\ntorchrun --nproc_per_node=2 t.py\n")
    (job,) = printed(capsys, *IMAGE, "--enable-fault-tolerance", "--script-file", str(script))
    (trains,) = job["spec"]["template"]["spec"]["containers"]
    assert trains["command"] == ["/bin/sh", "/keepstep/bin/keepstep-shims", "bash", "-c", script.read_text()]


def test_a_queue_of_other_kinds_is_kueues(capsys: Capture) -> None:
    (job,) = printed(capsys, "--kind", "jobset", "-q", "gold", *IMAGE, "--", "python", "t.py")
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "gold"}


T = ("--enable-fault-tolerance",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--image: name the image"),
        (IMAGE, "name what to run once: --script-file FILE, or a command of the image after --"),
        ((*IMAGE, "--script-file", "/no/such.sh"), "--script-file /no/such.sh: cannot be read"),
        ((*IMAGE, "--gpu", "nvidia.com/gpu"), "--gpu nvidia.com/gpu: write NAME=VALUE"),
        ((*IMAGE, "--gpu", "nvidia.com/gpu=0"), "--gpu nvidia.com/gpu=0: write how many"),
        ((*IMAGE, "--env", "A"), "--env A: write NAME=VALUE"),
        ((*IMAGE, "--env", "A=1", "--env", "A=2"), "--env A: is given twice"),
        ((*IMAGE, *T, "--env", "RANK=1"), "--env RANK: keepstep sets RANK"),
        ((*IMAGE, "--nodes", "0"), "--nodes 0: at least 1"),
        ((*IMAGE, "--label", "a b=c"), "--label a b: a name is at most 63 letters"),
        ((*IMAGE, "--label", "a=b c"), "--label a=b c: a value is at most 63 letters"),
        ((*IMAGE, "--label", "Ex_/a=b"), "--label Ex_/a: a name is"),
        ((*IMAGE, "--namespace", "Team A"), "--namespace Team A: a name is at most 63 small"),
        ((*IMAGE, "--ds-type", "pvc"), "--ds-type, --ds-name and --ds-mountpath go together"),
        (
            (*IMAGE, "--ds-type", "floppy", "--ds-name", "a", "--ds-mountpath", "/a"),
            "--ds-type floppy: is none of pvc, pfs",
        ),
        ((*IMAGE, "--restart-policy", "ExitCode", "--kind", "job"), "only a pytorchjob has it"),
        ((*IMAGE, "--fault-tolerance-args", ""), "--fault-tolerance-args without --enable-fault-tolerance"),
        (
            (*IMAGE, *T, "--fault-tolerance-args", "", "--fault-tolerance-config", "{}"),
            "--fault-tolerance-args and --fault-tolerance-config exclude each other",
        ),
        (
            (*IMAGE, *T, "--policy", "p.toml", "--fault-tolerance-config", "{}"),
            "--policy and --fault-tolerance-config exclude each other",
        ),
        ((*IMAGE, *T, "--env", "faulttolerance=false"), "contradicts --enable-fault-tolerance"),
    ],
)
def test_an_option_that_cannot_be_obeyed_is_named_with_its_remedy(
    options: tuple[str, ...], said: str, capsys: Capture
) -> None:
    command = () if options == IMAGE or "--script-file" in options else ("--", "python", "t.py")
    assert run(["job", "create", "--dry-run", *options, *command]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_options_of_a_cluster_need_an_image(capsys: Capture) -> None:
    assert run(["job", "create", "--gpu", "nvidia.com/gpu=8", "--", "true"]) == 2
    assert "--gpu: only for a job on a cluster; name its --image" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option", ["--namespace", "--pool", "--ds-name", "--ds-mountpath", "--restart-policy", "--nats-secret"]
)
def test_an_option_that_a_job_here_would_not_heed_is_refused_by_its_name(option: str, capsys: Capture) -> None:
    assert run(["job", "create", option, "default", "--", "true"]) == 2
    assert f"{option}: only for a job on a cluster" in capsys.readouterr().err


def test_labels_of_a_job_here_are_in_its_specification_and_a_wrong_one_is_refused(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[JobSpec] = []

    async def created(spec: JobSpec, _folder: Path) -> str:
        asked.append(spec)
        return ""

    monkeypatch.setattr("keepstep.cli.commands.job_create._create", created)
    assert run(["job", "create", "--label", "team=nlp", "--label", "tier=1", "--", "true"]) == 0
    assert asked[0].labels == {"team": "nlp", "tier": "1"}
    assert run(["job", "create", "--label", "team", "--", "true"]) == 2
    assert "--label team: write NAME=VALUE" in capsys.readouterr().err


def test_the_folder_of_a_stack_here_is_none_of_a_cluster(tmp_path: Path, capsys: Capture) -> None:
    assert run(["job", "create", "--data", str(tmp_path), "--dry-run", *IMAGE, "--", "true"]) == 2
    assert "--data: only for a job on the stack of this machine" in capsys.readouterr().err


async def test_a_kind_that_the_cluster_has_not_is_refused(tmp_path: Path, capsys: Capture) -> None:
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    async with serving(ApiServer(store, served=[kind for kind in kinds.KINDS if not kind.crd])) as server:
        config = server.kubeconfig(tmp_path / "config")
        options = ["job", "create", "--cluster", f"kubernetes:{config}", "--kind", "volcano", *IMAGE, "--", "true"]
        assert await asyncio.to_thread(run, options) == 2
    assert "--kind volcano: the cluster has none; it has job" in capsys.readouterr().err


def test_framework_and_product_are_the_job_s_and_narrow_its_levels_with_reason_and_remedy(capsys: Capture) -> None:
    options = ("--name=bert", "--nodes=2", "--gpu=huawei.com/Ascend910=4", "--enable-fault-tolerance", *IMAGE)
    kinds = ("--framework=mindspore", "--product=atlas-800t-a2")
    assert run(["job", "create", "--dry-run", *options, *kinds, "--", "python", "train.py"]) == 0
    out, err = capsys.readouterr()
    [job] = yaml.safe_load_all(out)
    assert json.loads(job["metadata"]["annotations"]["keepstep.io/spec"])["framework"] == "mindspore"
    because = "a job of several pods is restarted in its pods on atlas-800t-a2 with 8 devices each, not 4"
    assert because in err
    assert "change the devices per pod" in err


@pytest.mark.parametrize("option", ["--framework=jax", "--product=tpu"])
def test_a_framework_or_product_that_is_not_known_is_refused_with_those_that_are(capsys: Capture, option: str) -> None:
    name = option.partition("=")[0]
    assert run(["job", "create", "--dry-run", "--enable-fault-tolerance", option, *IMAGE, "--", "python", "x.py"]) == 2
    told = capsys.readouterr().err
    assert name in told
    assert "pytorch" in told or "atlas-800" in told


def test_a_framework_without_fault_tolerance_is_refused_with_the_remedy(capsys: Capture) -> None:
    assert run(["job", "create", "--dry-run", "--framework=mindspore", *IMAGE, "--", "python", "x.py"]) == 2
    assert "--framework without --enable-fault-tolerance: add it, or leave --framework out" in capsys.readouterr().err
