"""``keepstep doctor``: checks what keepstep needs on this machine, or of a cluster."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from keepstep.adapters.kube_rights import ASKERS
from keepstep.cli.doctor import Finding, State, examine
from keepstep.cli.options import AsJson, Data, application, emit, write
from keepstep.cli.places import data_folder

app = application()

Cluster = Annotated[
    str, typer.Option("--cluster", help="kubernetes or kubernetes:<kubeconfig>: look at that instead of this machine")
]
Services = Annotated[
    list[str] | None,
    typer.Option("--service", help="whose rights on the cluster to ask for; default all six services and the gate"),
]


@app.command()
def doctor(json: AsJson = False, data: Data = None, cluster: Cluster = "", service: Services = None) -> None:
    """Check what keepstep needs here, or of a cluster; exits 1 if something is missing that it cannot do without."""
    unknown = [one for one in service or () if one not in ASKERS]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]} is none of {', '.join(ASKERS)}", param_hint="--service")
    findings = _of_cluster(cluster, service or tuple(ASKERS)) if cluster else examine(data_folder(data))
    if json:
        emit([finding.as_object() for finding in findings])
    else:
        for finding in findings:
            write(f"{finding.verdict:<7} {finding.what:<16} {finding.text}")
    raise typer.Exit(int(any(finding.verdict is State.MISSING for finding in findings)))


def _of_cluster(setting: str, services: Sequence[str]) -> tuple[Finding, ...]:
    """Ask the cluster; its client is imported here, so that the look at this machine needs none."""
    from keepstep.cli.cluster_doctor import examine_cluster  # noqa: PLC0415 - an extra of its own

    return asyncio.run(examine_cluster(setting, services, clock=lambda: datetime.now(UTC)))
