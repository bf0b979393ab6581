"""Builds and starts the control plane and runs the suite on it: ``python -m tests.kube.real [pytest arguments]``."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

import httpx2

from keepstep.adapters.kube_connect import connect
from tests.kube.admin import Admin
from tests.kube.api import REAL
from tests.kube.real.build import build
from tests.kube.real.crds import definitions
from tests.kube.real.plane import plane
from tests.kube.server import kinds

_SUITE = "tests/kube"


def main() -> None:
    """Read the arguments and exit as the suite did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache/keepstep/kubernetes-1.20")
    parser.add_argument("--serve", action="store_true", help="start it, say where its kubeconfig is, and wait")
    known, rest = parser.parse_known_args()
    sys.exit(asyncio.run(_run(known.folder.resolve(), rest, serve=known.serve)))


async def _run(folder: Path, arguments: list[str], *, serve: bool) -> int:
    binaries = await asyncio.to_thread(build, folder)
    async with plane(binaries, folder / "run") as kubeconfig:
        async with connect(kubeconfig) as http:
            await _define(http)
        if serve:
            sys.stdout.write(f"{REAL}={kubeconfig}\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)
            return 0
        settings = {**os.environ, REAL: str(kubeconfig)}
        suite = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "pytest", "-m", "any_api", "-rs", *(arguments or [_SUITE]), env=settings
        )
        return await suite.wait()


async def _define(http: httpx2.AsyncClient) -> None:
    """Create the custom kinds and wait until each is served."""
    admin = Admin(http)
    for definition in definitions():
        await admin.create(kinds.CRD, definition)
    async with asyncio.timeout(60):
        for kind in kinds.KINDS:
            while kind.crd and not await admin.serves(kind):  # noqa: ASYNC110 - served, and no event says so
                await asyncio.sleep(0.2)


if __name__ == "__main__":
    main()
