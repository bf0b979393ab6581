"""What became of the newest orders to create a job: a job on a Kubernetes has another uid than its order."""

from collections import OrderedDict

from keepstep.console.views.orders import OrderState, OrderView
from keepstep.contracts import events as e
from keepstep.contracts.ids import JobUid
from keepstep.contracts.message import Message
from keepstep.contracts.orders import CreateJob

KEPT = 500
"""Orders: people look at one for minutes."""


class Orders:
    """The newest orders, by the uid that each gave its job."""

    def __init__(self, kept: int = KEPT) -> None:
        self._orders: OrderedDict[JobUid, OrderView] = OrderedDict()
        self._asked: dict[JobUid, CreateJob] = {}
        self._kept = kept

    def get(self, uid: JobUid) -> OrderView | None:
        """Return the order that gave a job this uid."""
        return self._orders.get(uid)

    def refused(self, uid: JobUid) -> CreateJob | None:
        """Return an order that was refused, as it was given: whoever gave it may put it right."""
        return self._asked.get(uid) if (known := self.get(uid)) and known.state is OrderState.REFUSED else None

    def hear(self, message: Message) -> None:
        """Take in a message."""
        match message:
            case CreateJob(job=job) if job is not None:
                self._orders[job.uid] = OrderView(ordered=job, by=message.by, at=message.time)
                self._asked[job.uid] = message
                while len(self._orders) > self._kept:
                    del self._asked[self._orders.popitem(last=False)[0]]
            case e.JobCreated():
                self._change(message.ordered.uid, state=OrderState.CREATED, because=message.kind, job=message.job)
            case e.JobAccepted(job=job) if job is not None:
                self._change(job.uid, state=OrderState.CREATED, job=job)
            case e.JobFailed(job=job) if job is not None:
                self._change(job.uid, state=OrderState.REFUSED, because=message.because)
            case _:
                return

    def _change(self, uid: JobUid, **changes: object) -> None:
        known = self._orders.get(uid)
        if known is not None and known.state is OrderState.WAITING:
            self._orders[uid] = known.model_copy(update=changes)
