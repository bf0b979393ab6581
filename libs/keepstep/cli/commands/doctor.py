"""``keepstep doctor``: checks what keepstep needs on this machine."""

import typer

from keepstep.cli.doctor import State, examine
from keepstep.cli.options import AsJson, Data, application, emit, write
from keepstep.cli.places import data_folder

app = application()


@app.command()
def doctor(json: AsJson = False, data: Data = None) -> None:
    """Check what keepstep needs here; exits 1 if something is missing that a run cannot do without."""
    findings = examine(data_folder(data))
    if json:
        emit([finding.as_object() for finding in findings])
    else:
        for finding in findings:
            write(f"{finding.verdict:<7} {finding.what:<16} {finding.text}")
    raise typer.Exit(int(any(finding.verdict is State.MISSING for finding in findings)))
