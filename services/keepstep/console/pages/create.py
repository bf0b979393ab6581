"""Creating a job: a form, what would be created, what to be careful about, and only then the job."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from keepstep.asking.refused import Refused
from keepstep.console.access import User
from keepstep.console.answers import STATUS
from keepstep.console.context import COUNTED, Here, Operator
from keepstep.console.desk import Checked, Conflicting
from keepstep.console.pages import job_form
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.rendering import page
from keepstep.console.pages.telling import Done, back_to
from keepstep.console.showing import showable
from keepstep.contracts.ids import derive

router = pages()


@router.get("/create")
async def blank(request: Request, here: Here, user: Operator) -> Response:
    """Show the form."""
    return _form(request, user, job_form.blank(), here.desk.creates)


@router.post("/create", dependencies=COUNTED)
async def create(request: Request, here: Here, user: Operator) -> Response:
    """Check the form, and create the job if that was asked for and nothing speaks against it.

    What would restart a job too often is warned of; it is created only by who has seen the warning of this very form.
    """
    sent = await request.form()
    try:
        fields = job_form.written(sent)
    except Refused as error:
        return _form(request, user, job_form.blank(), here.desk.creates, mistake=str(error), status=422)
    try:
        asked = job_form.asked(fields)
        checked = here.desk.check(asked)
    except (Refused, Conflicting) as error:
        status = STATUS[type(error)]
        return _form(request, user, fields, here.desk.creates, mistake=str(error), status=status)
    seen = sent.get("seen") == derive(*checked.warnings)
    if sent.get("act") != "create" or (checked.warnings and not seen):
        return _form(request, user, fields, here.desk.creates, checked=checked)
    await here.desk.create(asked, user)
    return back_to("jobs", "", Done.CREATING)


def _form(
    request: Request, user: User, fields: dict[str, str], creates: str, *, checked: Checked | None = None,
    mistake: str = "", status: int = 200,
) -> Response:  # fmt: skip
    values: dict[str, Any] = {
        "fields": fields,
        "creates": creates,
        "checked": checked,
        "spec": None if checked is None else showable(checked.spec),
        "seen": "" if checked is None else derive(*checked.warnings),
        "mistake": mistake,
        "wrong": mistake.partition(":")[0].removeprefix("policy"),
        "budgets": job_form.BUDGETS,
        "levels": job_form.LEVELS,
        "after": job_form.AFTER_BUDGET,
    }
    return page(request, user, "create.html", status=status, **values)
