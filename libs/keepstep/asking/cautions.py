"""Where a policy would restart a job too often or tell nobody: allowed, people may have their reasons, and told."""

from collections.abc import Container, Iterable
from datetime import timedelta

from keepstep.contracts.channel_parts import RESERVED
from keepstep.contracts.notification import is_address
from keepstep.contracts.policy import Budget, DetectionPolicy, Policy
from keepstep.core.masking import masked
from keepstep.core.sentences import counted

MOST_AN_HOUR = 12
"""Restarts of one kind. The mildest takes some ten seconds and loses what no checkpoint holds; at one in five minutes
a job of ordinary checkpoints (ten minutes) does not get on."""
SHORTEST_HANG = timedelta(seconds=60)
"""Steps with gradient accumulation, a slow file system or a compilation that is not marked last tens of seconds."""
SHORTEST_LOSS = timedelta(seconds=5)
"""An agent that restarts is silent for two seconds, a server for as long again."""
HOUR = timedelta(hours=1)


def cautions(policy: Policy, channels: Container[str] | None = None) -> tuple[str, ...]:
    """Return everything of the policy that people may not have meant; ``channels`` as of ``untold``."""
    return (*too_often(policy), *untold(policy, channels))


def too_often(policy: Policy) -> tuple[str, ...]:
    """Return a sentence with field, number and remedy for every setting that would restart a job too often."""
    if not policy.recovery.enabled:
        return ()
    recovery = policy.recovery
    budgets = {name: getattr(recovery, name) for name in ("crash", "unknown", "user", "memory")}
    found = [caution for name, budget in budgets.items() for caution in _budget(name, budget)]
    return (*found, *_hangs(policy.detection), *_losses(policy.detection))


def _budget(name: str, budget: Budget) -> Iterable[str]:
    allowed = counted(budget.count, "restart")
    if budget.count and not budget.window:
        yield f"recovery.{name}.window 0: nothing is ever counted, so {name} restarts for ever; write at least 3600"
        return
    rate = budget.count * (HOUR / budget.window) if budget.count else 0.0
    if rate > MOST_AN_HOUR:
        window = f"{budget.window.total_seconds():g} s"
        yield (
            f"recovery.{name}: {allowed} in {window} are {rate:g} an hour, more than {MOST_AN_HOUR};"
            f" lower recovery.{name}.count or lengthen its window"
        )


def _hangs(detection: DetectionPolicy) -> Iterable[str]:
    if not detection.hang_detection:
        return
    limits = {"hang_limit": detection.hang_limit}
    limits |= {f"phase_limits.{phase}": limit for phase, limit in sorted(detection.phase_limits.items())}
    for name, limit in limits.items():
        if limit < SHORTEST_HANG:
            yield (
                f"detection.{name} {limit.total_seconds():g} s: whatever lasts longer is restarted as a hang;"
                f" write at least {SHORTEST_HANG.total_seconds():g}"
            )


def _losses(detection: DetectionPolicy) -> Iterable[str]:
    if detection.loss_window < SHORTEST_LOSS:
        yield (
            f"detection.loss_window {detection.loss_window.total_seconds():g} s: a task whose agent restarts is taken"
            f" for lost; write at least {SHORTEST_LOSS.total_seconds():g}"
        )


def untold(policy: Policy, channels: Container[str] | None) -> tuple[str, ...]:
    """Return a sentence for every sink of the policy that is none; ``channels``: the names of all, None: not known."""
    routes = policy.notification.routes
    sinks = {f"notification.routes.{number}.sink": route.sink for number, route in enumerate(routes)}
    for number, route in enumerate(routes):
        for step, escalation in enumerate(route.escalate):
            if escalation.sink:
                sinks[f"notification.routes.{number}.escalate.{step}.sink"] = escalation.sink
    return tuple(f"{field} {masked(sink)}: {why}" for field, sink in sinks.items() if (why := _no_sink(sink, channels)))


def _no_sink(sink: str, channels: Container[str] | None) -> str:
    if sink == "log" or sink in RESERVED or sink.startswith(("http://", "https://")):
        return ""
    if is_address(sink):
        return "is no sink; write log, an http(s) address with its scheme, or the name of a channel"
    if channels is None or sink in channels:
        return ""
    return (
        "no channels file that KEEPSTEP_NOTIFIER_CHANNELS names here has a channel of that name; until one has,"
        " what is to go there lies with the dead letters"
    )
