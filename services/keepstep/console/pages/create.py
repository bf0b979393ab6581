"""Creating a job: a form, what would be created, what to be careful about, and only then the job."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from keepstep.asking.refused import Mistakes, Refused
from keepstep.console.access import User
from keepstep.console.answers import STATUS
from keepstep.console.asked import Checked, JobAsked
from keepstep.console.context import COUNTED, Console, Here, Operator
from keepstep.console.desk import Conflicting
from keepstep.console.pages import job_form
from keepstep.console.pages.asked import Text
from keepstep.console.pages.failing import router as pages
from keepstep.console.pages.live import Follow
from keepstep.console.pages.rendering import page
from keepstep.console.pages.telling import Done, back_to
from keepstep.console.showing import showable
from keepstep.console.views import OrderView
from keepstep.contracts.ids import JobUid, derive

router = pages()


@router.get("/create")
async def blank(request: Request, here: Here, user: Operator, *, order: Text = "") -> Response:
    """Show the form; after an ``order`` also what became of that."""
    refused = here.board.model.orders.refused(JobUid(order))
    if refused is None or refused.kubernetes is None:
        return _form(request, user, here, _blank(here), order=order)
    return _form(request, user, here, job_form.again(refused.spec, refused.kubernetes), order=order)


@router.post("/create", dependencies=COUNTED)
async def create(request: Request, here: Here, user: Operator) -> Response:
    """Check the form, and create the job if that was asked for and nothing speaks against it.

    What would restart a job too often is warned of; it is created only by who has seen the warning of this very form.
    """
    sent = await request.form()
    try:
        fields = job_form.written(sent)
    except Refused as error:
        return _form(request, user, here, _blank(here), mistakes=error.mistakes, status=422)
    try:
        asked, checked = _checked(fields, here)
    except Refused as error:
        return _form(request, user, here, fields, mistakes=error.mistakes, status=STATUS[Refused])
    except Conflicting as error:
        return _form(request, user, here, fields, mistakes=(str(error),), status=STATUS[Conflicting])
    seen = sent.get("seen") == derive(*checked.warnings)
    if sent.get("act") != "create" or (checked.warnings and not seen):
        return _form(request, user, here, fields, checked=checked)
    said = await here.desk.create(asked, user)
    if checked.kubernetes is None or said.job is None:
        return back_to("jobs", "", Done.CREATING)
    return RedirectResponse(f"/create?order={said.job.uid}", 303)


def _checked(fields: dict[str, str], here: Console) -> tuple[JobAsked, Checked]:
    """Return the job of the fields, and what would come of it. Raises Refused with all mistakes at once, Conflicting.

    What could not be read is checked as if it were blank: of such a field only the first mistake is told.
    """
    mistakes = Mistakes()
    asked = job_form.read(fields, mistakes, on_objects=bool(here.desk.ground.kinds))
    wrong = {job_form.field_of(one) for one in mistakes.told}
    found = Mistakes()
    checked = found.of(lambda: here.desk.check(asked), None)
    mistakes.told += [one for one in found.told if job_form.field_of(one) not in wrong]
    mistakes.refuse()
    assert checked is not None  # noqa: S101 - refused above without one
    return asked, checked


def _blank(here: Console) -> dict[str, str]:
    namespaces = here.desk.ground.namespaces
    return job_form.blank() if not here.desk.ground.kinds else job_form.blank_object(next(iter(namespaces), ""))


def _form(
    request: Request, user: User, here: Console, fields: dict[str, str], *, checked: Checked | None = None,
    mistakes: tuple[str, ...] = (), status: int = 200, order: str = "",
) -> Response:  # fmt: skip
    ground = here.desk.ground
    asked = here.board.model.orders.get(JobUid(order)) if order else None
    values: dict[str, Any] = {
        "fields": fields,
        "ground": ground,
        "creates": ground.closed,
        "checked": checked,
        "spec": None if checked is None else showable(checked.spec),
        "seen": "" if checked is None else derive(*checked.warnings),
        "mistakes": mistakes,
        "wrong": frozenset(map(job_form.field_of, mistakes)),
        "budgets": job_form.BUDGETS,
        "levels": job_form.LEVELS,
        "after": job_form.AFTER_BUDGET,
        "frameworks": job_form.FRAMEWORKS,
        "restarts": job_form.RESTARTS,
        "asked_for": order,
        "order": asked,
    }
    return page(request, user, "create.html", follow=_follow(order, asked), status=status, **values)


def _follow(order: str, known: OrderView | None) -> Follow | None:
    """Return the news that tell of an order: any, until the order itself has come back from the bus."""
    if known is not None:
        return Follow(job=known.ordered.name)
    return Follow() if order else None
