"""Puts the notifier together: its rules, its channels, and one try at a time."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from keepstep.contracts.message import Message
from keepstep.contracts.notification import NotificationPolicy
from keepstep.contracts.taxonomy import Service
from keepstep.core.decision import Decision, Effect
from keepstep.notifier.cautions import Cautions
from keepstep.notifier.core import (
    Bury,
    Deliver,
    Given,
    GiveUp,
    Notices,
    Send,
    deadlines,
    decide,
    effects,
    fold_key,
    hears,
    over,
)
from keepstep.notifier.settings import Settings
from keepstep.notifier.sinks import Directory, Ways, directory, objects_of, ways_of
from keepstep.notifier.tries import buried, given_up, sent, tried
from keepstep.ports.clock import Clock
from keepstep.runtime.app import App, Context
from keepstep.runtime.settings import Settings as Shared
from keepstep.runtime.stage import Stage, no_act

PATIENCE = timedelta(seconds=0.05)
"""Nobody reads faster; what is decided within it, as in one step of a recovery, is folded and written once."""
ALONE = Ways()


def build(settings: Shared) -> App[Notices]:
    """Return the notifier with the sinks ``log`` and webhook, its channels, and on Kubernetes that of its objects.

    Raises Permanent if the settings name a cluster that cannot be found.
    """
    own = Settings()
    objects = objects_of(settings.cluster, namespaces=settings.namespaces)
    ways, found = ways_of(own)

    def stage(context: Context[Notices]) -> Stage[Notices]:
        pool = NotificationPolicy(routes=own.routes)
        find = directory(own, objects, found=found)
        here = ways.burying(context.bury)
        return notifier_stage(find, context.clock, pool=pool, objects=objects is not None, ways=here)

    return App(service=Service.NOTIFIER, stage=stage)


def notifier_stage(
    find: Directory, clock: Clock, *, pool: NotificationPolicy, objects: bool = False, ways: Ways = ALONE
) -> Stage[Notices]:
    """Return the stage whose messages go to the sinks of ``find``; ``objects``: one is that of a cluster's objects."""
    cautions = Cautions(pool)
    cautions.read(ways.channels())

    def decided(fold: Notices | None, message: Message, now: datetime) -> Decision[Notices]:
        channels = ways.channels()
        cautions.hear(message, channels)
        given = Given(pool, objects=objects, channels=channels, console=ways.console)
        return decide(fold, message, now, given=given)

    async def act(effect: Effect) -> Iterable[Message]:
        match effect:
            case Deliver(pending=pending):
                return (await tried(find, ways, pending, clock),)
            case GiveUp(pending=pending):
                return (await given_up(ways, pending, pending.given_up, pending.code, clock),)
            case Send(sending=sending):
                return await sent(ways, sending, clock)
            case Bury(dead=dead):
                return (await buried(ways, dead, clock),)
            case _:
                return await no_act(effect)

    return Stage(
        service=Service.NOTIFIER,
        hears=hears(objects=objects),
        state=Notices,
        fold_key=fold_key,
        decide=decided,
        deadlines=deadlines,
        effects=effects,
        act=act,
        over=over,
        patience=PATIENCE,
        counts_unknown=True,
    )
