"""Gets etcd from Debian's packages and builds three binaries of Kubernetes 1.20 from its source: a real API server.

Needs apt on Debian, its Go, jq and rsync, and half an hour of one core; writes into one folder only.
"""

import os
import shutil
import subprocess
from pathlib import Path

from keepstep.ports.errors import Permanent

PARTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_NEEDED = {
    "go": "golang-go",
    "jq": "jq",
    "rsync": "rsync",
    "apt-get": "apt",
    "dpkg-source": "dpkg-dev",
    "patch": "patch",
}


def build(folder: Path) -> Path:
    """Return the folder of the binaries; those that are there are not built again. Raises Permanent without a tool."""
    binaries = folder / "bin"
    if all((binaries / name).exists() for name in ("etcd", *PARTS)):
        return binaries
    missing = [package for tool, package in _NEEDED.items() if shutil.which(tool) is None]
    if missing:
        raise Permanent(
            f"a build needs {' '.join(missing)}: apt-get install --no-install-recommends {' '.join(missing)}"
        )
    binaries.mkdir(parents=True, exist_ok=True)
    _etcd(folder, binaries)
    source = _source(folder)
    _mend_reflect2(source, folder)
    _kubernetes(source, binaries)
    return binaries


def _etcd(folder: Path, binaries: Path) -> None:
    """Unpack it: an installed package would start a service."""
    shutil.copy2(_unpacked(folder, "etcd-server") / "usr/bin/etcd", binaries)


def _unpacked(folder: Path, package: str) -> Path:
    """Fetch a package and return where it lies unpacked."""
    _run("apt-get", "download", package, cwd=folder)
    into = folder / package
    _run("dpkg-deb", "--extract", str(next(folder.glob(f"{package}_*.deb"))), str(into), cwd=folder)
    return into


def _source(folder: Path) -> Path:
    """Fetch and unpack the source under a list of sources of our own, so that the machine's stays as it is."""
    listed = folder / "sources.list"
    listed.write_text(f"deb-src [signed-by={_KEYRING}] {_mirror()} main\n", encoding="utf-8")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    places = (f"Etc::sourcelist={listed}", "Etc::sourceparts=-", f"State::lists={folder}/lists")
    options = [part for place in (*places, f"Cache={folder}/cache") for part in ("-o", f"Dir::{place}")]
    _run("apt-get", *options, "update", cwd=folder)
    _run("apt-get", *options, "source", "--download-only", "kubernetes", cwd=folder)
    source = folder / "kubernetes"
    shutil.rmtree(source, ignore_errors=True)
    _run("dpkg-source", "--extract", next(folder.glob("kubernetes_*.dsc")).name, str(source), cwd=folder)
    return source


def _mirror() -> str:
    """Return address and suite that this machine has Debian's packages from."""
    asked = ("--format", "$(REPO_URI) $(CODENAME) $(ORIGIN)", "Created-By: Packages", "Component: main")
    listed = subprocess.run(["apt-get", "indextargets", *asked], check=True, capture_output=True, text=True).stdout
    for line in listed.splitlines():
        address, suite, origin = line.split()
        if origin == "Debian" and "-" not in suite:
            return f"{address} {suite}"
    raise Permanent("this machine's apt knows no Debian mirror: the source package cannot be fetched")


def _mend_reflect2(source: Path, folder: Path) -> None:
    """Put a newer reflect2 in: the one of 1.20 reads maps as Go had them before 1.18, and the server dies of it."""
    newer = _unpacked(folder, "golang-github-modern-go-reflect2-dev")
    old = source / "vendor/github.com/modern-go/reflect2"
    shutil.rmtree(old)
    shutil.copytree(newer / "usr/share/gocode/src/github.com/modern-go/reflect2", old)


def _kubernetes(source: Path, binaries: Path) -> None:
    """Build as debian/rules does, for the parts that Debian leaves out, without the cloud providers."""
    inside = source / ".go/src/k8s.io"
    inside.mkdir(parents=True)
    (inside / "kubernetes").symlink_to("../../..")
    version = source.parent / "version"
    said = {"COMMIT": "debian", "TREE_STATE": "archive", "VERSION": "v1.20.2", "MAJOR": "1", "MINOR": "20"}
    version.write_text("".join(f"KUBE_GIT_{name}='{word}'\n" for name, word in said.items()), encoding="utf-8")
    settings = {
        "GOPATH": str(source / ".go"),
        "GOFLAGS": "-p=1 -tags=providerless",
        "CGO_ENABLED": "0",
        "KUBE_GIT_VERSION_FILE": str(version),
        "HOME": str(source.parent),
    }
    wanted = " ".join(f"cmd/{name}" for name in PARTS)
    _run("nice", "-n", "19", "make", f"WHAT={wanted}", cwd=source, **settings)
    for name in PARTS:
        shutil.copy2(source / "_output/bin" / name, binaries)


def _run(*command: str, cwd: Path, **settings: str) -> None:
    subprocess.run(command, cwd=cwd, env={**os.environ, **settings}, check=True)
