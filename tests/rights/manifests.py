"""The manifests of k8s/ as objects, read without kubectl."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

K8S = Path(__file__).parents[2] / "k8s"
BASE = K8S / "base"
Obj = dict[str, Any]


def documents(path: Path) -> list[Obj]:
    """Return the objects of one file."""
    return [one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one is not None]


def kustomization(folder: Path) -> Obj:
    """Return a folder's kustomization."""
    [found] = documents(folder / "kustomization.yaml")
    return found


def base() -> list[tuple[str, Obj]]:
    """Return every object of the base with its file's name."""
    return [(name, one) for name in kustomization(BASE)["resources"] for one in documents(BASE / name)]


def of_kind(*kinds: str) -> list[Obj]:
    """Return the objects of these kinds."""
    return [one for _, one in base() if one["kind"] in kinds]


def workloads() -> list[Obj]:
    """Return what makes pods."""
    return of_kind("Deployment", "StatefulSet", "DaemonSet")


def pod(workload: Obj) -> Obj:
    """Return the specification of its pods."""
    found: Obj = workload["spec"]["template"]["spec"]
    return found


def containers(workload: Obj) -> Iterator[Obj]:
    """Yield all containers of its pods."""
    yield from pod(workload).get("initContainers", ())
    yield from pod(workload)["containers"]


def named(kind: str, name: str) -> Obj:
    """Return one object."""
    [found] = [one for one in of_kind(kind) if one["metadata"]["name"] == name]
    return found


def name_of(one: Obj) -> str:
    """Return an object's name, for the names of tests."""
    return f"{one['kind']}/{one['metadata']['name']}"


def rendered(folder: Path) -> list[Obj]:
    """Return what kubectl makes of a folder."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed; the other tests read the files themselves")
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [one for one in yaml.safe_load_all(done.stdout) if one]


def way(folder: Path, to: Path) -> str:
    """Return the way to a folder as kustomize takes it: never absolute."""
    return os.path.relpath(to, folder.resolve())
