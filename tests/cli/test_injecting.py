"""``keepstep job inject``: the manifest on stdout, what people should know on stderr, a clear no otherwise."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from keepstep.adapters.kube_job_kind import JobKind
from keepstep.cli.main import run
from tests.injection.manifests import TORCHRUN, manifest, runtime
from tests.kube.server import kinds
from tests.kube.server.discovery import VERSION
from tests.kube.server.http import ApiServer
from tests.kube.server.rules import RULES
from tests.kube.server.serving import serving
from tests.kube.server.store import Store

Capture = pytest.CaptureFixture[str]


def inject(path: Path, *more: str) -> int:
    return run(["job", "inject", "-f", str(path), *more])


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(manifest(JobKind.JOB)))
    return path


def test_the_manifest_is_printed_and_what_was_done_is_told_beside_it(job: Path, capsys: Capture) -> None:
    assert inject(job) == 0
    out, err = capsys.readouterr()
    printed = yaml.safe_load(out)
    assert printed["metadata"]["labels"] == {"keepstep.io/job": "bert"}
    assert err.splitlines() == [
        "keepstep: Job bert: 4 pods of 2 ranks; the launcher starts them in the command's place",
        "keepstep: Job bert: no checkpoint folder is named: a restart begins anew, unless the script finds what it"
        " saved by itself; name it by --checkpoint-dir or annotation keepstep.io/checkpoint-dir",
        "keepstep: Job bert: level in-place",
        "keepstep: Job bert: level pod",
        "keepstep: Job bert: level job",
    ]


def test_a_level_that_the_job_will_not_have_is_told_with_reason_and_remedy(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(manifest(JobKind.PYTORCHJOB)))
    assert inject(path) == 0
    said = capsys.readouterr().err
    assert "PyTorchJob bert: no level pod: " in said
    assert "for level pod create it with restartPolicy ExitCode" in said
    assert "OnFailure" not in said, "that policy is refused, and nobody is sent from one refusal to the next"


def test_a_job_that_is_to_be_named_by_the_server_is_refused_by_what_its_names_begin_with(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump({**manifest(JobKind.JOB), "metadata": {"generateName": "bert-"}}))
    assert inject(path) == 2
    assert "Job bert-: metadata.name: " in capsys.readouterr().err


def test_what_is_printed_can_be_injected_again_and_stays_the_same(job: Path, capsys: Capture) -> None:
    inject(job)
    once = capsys.readouterr().out
    job.write_text(once)
    assert inject(job) == 0
    out, err = capsys.readouterr()
    assert out == once
    assert "it is injected already" in err


def test_other_documents_of_the_file_pass_through_and_json_is_one_list(tmp_path: Path, capsys: Capture) -> None:
    claim = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}
    path = tmp_path / "all.yaml"
    path.write_text(yaml.safe_dump_all([claim, manifest(JobKind.JOB)]))
    assert inject(path, "-o", "json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in printed["items"]] == ["Service", "Job"]
    assert printed["items"][0] == claim


def test_a_script_of_several_lines_is_printed_as_one(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "job.yaml"
    script = "set -e\ntorchrun --nproc_per_node=2 train.py\n"
    path.write_text(yaml.safe_dump(manifest(JobKind.JOB, command=("bash", "-c", script))))
    inject(path)
    out = capsys.readouterr().out
    assert "- |\n" in out
    command = yaml.safe_load(out)["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[-1] == script


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: [", "line 1, not YAML"),
        ("", "there is no document in it"),
        ("- 1", "a document is list and no object of a cluster"),
        (
            "kind: Service\napiVersion: v1",
            "among the documents (Service); it restarts Job (batch.volcano.sh), PyTorchJob",
        ),
        (
            yaml.safe_dump(manifest(JobKind.JOB, restart="OnFailure")),
            "Job bert: spec.template.spec.restartPolicy: OnFailure starts containers again",
        ),
        (yaml.safe_dump(manifest(JobKind.TRAINJOB)), "spec.runtimeRef: ClusterTrainingRuntime torch-distributed"),
    ],
)
def test_what_cannot_be_injected_is_one_line_and_code_2(tmp_path: Path, text: str, said: str, capsys: Capture) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    assert inject(path) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_not_there_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert inject(tmp_path / "none.yaml") == 2
    assert "none.yaml: cannot be read: No such file" in capsys.readouterr().err


def test_the_policy_of_a_file_goes_with_the_job(job: Path, tmp_path: Path, capsys: Capture) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[recovery]\nlevels = ["wait", "in-place"]\n')
    assert inject(job, "--policy", str(policy)) == 0
    out, err = capsys.readouterr()
    spec = json.loads(yaml.safe_load(out)["metadata"]["annotations"]["keepstep.io/spec"])
    assert spec["policy"]["recovery"] == {"levels": ["wait", "in-place"]}
    assert "no level job: its policy leaves it out" in err


@pytest.mark.parametrize(("minor", "sidecars"), [("36", 2), ("29+", 2), ("28", 1)])
async def test_a_cluster_is_asked_for_its_version_and_for_the_runtime(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch, minor: str, sidecars: int
) -> None:
    monkeypatch.setitem(VERSION, "minor", minor)
    store = Store(lambda: datetime.now(UTC), rules=RULES)
    store.create(kinds.CLUSTER_TRAINING_RUNTIME, runtime())
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(manifest(JobKind.TRAINJOB, command=TORCHRUN)))
    async with serving(ApiServer(store)) as server:
        config = server.kubeconfig(tmp_path / "config")
        code = await asyncio.to_thread(inject, path, "--cluster", f"kubernetes:{config}")
    out, err = capsys.readouterr()
    assert code == 0, err
    own, job = yaml.safe_load_all(out)
    assert (own["kind"], job["kind"]) == ("TrainingRuntime", "TrainJob")
    template = own["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    assert len(template["spec"]["initContainers"]) == sidecars
