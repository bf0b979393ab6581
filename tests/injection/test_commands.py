"""What a container's command becomes: an entrypoint and ranks per pod, or a whole that is left as it is."""

from typing import Any

import pytest

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.contracts.taxonomy import Level
from keepstep.contracts.topology import Command, Module, Script
from tests.injection.manifests import GPUS, injected, manifest, noted, objections, pod_specs


@pytest.mark.parametrize(
    ("command", "entrypoint", "nproc"),
    [
        (("python", "train.py"), Script(path="train.py"), 1),
        (("torchrun", "--nproc_per_node", "gpu", "-m", "a.b"), Module(name="a.b"), 8),
        (("bash", "-c", "cd /w && torchrun --nproc_per_node=4 t.py"), None, 4),
        (("bash", "-ec", "torchrun --nproc_per_node=$N t.py"), None, 8),
        (("bash", "-c", "torchrun --nproc_per_node=${SEVEN} t.py"), None, 7),
        (("torchrun", "--nproc_per_node=$(SEVEN)", "t.py"), Script(path="t.py"), 7),
        (("deepspeed", "train.py"), None, 1),
    ],
)
def test_entrypoint_and_ranks_per_pod_are_read_from_the_command(
    command: tuple[str, ...], entrypoint: Any, nproc: int
) -> None:
    env = [{"name": "SEVEN", "value": "7"}]
    spec = injected(manifest(JobKind.JOB, command=command, resources=GPUS, env=env)).spec
    assert spec.entrypoint == (entrypoint or Command(argv=command))
    assert spec.nproc == nproc


@pytest.mark.parametrize(
    "launch", ["torchrun", "python -m torch.distributed.run", "pip install . && python3 -u -m torch.distributed.run"]
)
def test_a_script_that_starts_the_ranks_runs_unchanged_with_our_commands_first(launch: str) -> None:
    command = ("bash", "-c", f"{launch} --nproc_per_node=4 t.py")
    found = injected(manifest(JobKind.JOB, command=command))
    (pod,) = pod_specs(found, JobKind.JOB)
    assert pod["spec"]["containers"][0]["command"] == ["/bin/sh", "/keepstep/bin/keepstep-shims", *command]
    assert Level.IN_PLACE in found.spec.policy.recovery.levels


@pytest.mark.parametrize(
    "command",
    [
        ("deepspeed", "train.py"),
        ("accelerate", "launch", "--config_file", "c.yaml", "train.py"),
        ("bash", "-lc", "torchrun --nproc_per_node=4 t.py"),
        ("bash", "run.sh"),
        ("bash", "-c", "/opt/conda/bin/torchrun t.py"),
        ("bash", "-c", "python train.py -m torch.distributed.run"),
        ("bash", "-c", "python -m torch.distributed.launch t.py"),
        ("bash", "-c", "python3.11 -m torch.distributed.run t.py"),
        ("bash", "-c", "torchrun --run-path t.py"),
        ("bash", "-c", "if x; then torchrun --nnodes=1 a.py; else torchrun --nnodes=4 a.py; fi"),
        ("bash", "-c", "torchrun 'unfinished"),
        ("bash", "-c", "mpirun python t.py  # torchrun\n#; torchrun t.py"),
    ],
)
def test_a_command_that_is_not_understood_gets_the_job_level_alone_and_its_people_are_told(
    command: tuple[str, ...],
) -> None:
    found = injected(manifest(JobKind.JOB, command=command))
    assert found.spec.policy.recovery.levels == (Level.WAIT, Level.JOB)
    assert any("only the whole job can be restarted (level job)" in note for note in found.notes)
    refused = found.support.refusal(Level.IN_PLACE)
    assert refused is not None
    assert "its command is not one" in refused.because
    assert "torchrun" in refused.remedy
    assert "--config_file" in refused.remedy


@pytest.mark.parametrize(
    "script",
    ["# don't\ntorchrun --nproc_per_node=4 t.py # it's it", "echo $# '# ' a#b \\# && torchrun --nproc_per_node=4 t.py"],
)
def test_comments_of_a_script_start_nothing_and_end_nothing(script: str) -> None:
    assert injected(manifest(JobKind.JOB, command=("bash", "-c", script))).spec.nproc == 4


def test_ranks_per_pod_of_a_pytorchjob_may_stand_in_its_own_field() -> None:
    job = manifest(JobKind.PYTORCHJOB, command=("torchrun", "--nproc_per_node=auto", "t.py"))
    job["spec"]["nprocPerNode"] = "4"
    assert injected(job).spec.nproc == 4


@pytest.mark.parametrize(
    ("framework", "nproc"), [("mindspore", 8), ("tensorflow", 1)], ids=["one rank per device", "one worker per pod"]
)
def test_plain_python_is_as_many_ranks_as_its_framework_has(framework: str, nproc: int) -> None:
    job = manifest(JobKind.JOB, command=("python", "t.py"), resources={"limits": {"huawei.com/Ascend910": "8"}})
    found = injected(noted(job, framework=framework, rank_table="1.2"))
    assert (found.spec.framework, found.spec.nproc, found.spec.rank_table) == (framework, nproc, "1.2")
    (pod,) = pod_specs(found, JobKind.JOB)
    noted_by = pod["spec"]["initContainers"][1]["env"][-1]
    assert noted_by["name"] == "KEEPSTEP_ASCEND_DEVICES"
    assert "ascend-910-configuration" in noted_by["valueFrom"]["fieldRef"]["fieldPath"]


def test_several_tensorflow_workers_in_a_pod_are_refused() -> None:
    job = noted(manifest(JobKind.JOB, command=("python", "t.py")), framework="tensorflow", nproc="2")
    assert list(objections(job)) == ["metadata.annotations[keepstep.io/nproc]"]


def test_a_rank_table_of_a_version_that_nobody_knows_is_refused() -> None:
    job = noted(manifest(JobKind.JOB), rank_table="3.0")
    assert list(objections(job)) == ["metadata.annotations[keepstep.io/rank-table]"]


def test_ranks_per_pod_may_be_wished_for_plain_python() -> None:
    assert injected(noted(manifest(JobKind.JOB, command=("python", "t.py")), nproc="3")).spec.nproc == 3
