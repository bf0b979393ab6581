"""Fault-tolerance options as people of other platforms write them, flag-style or structured, as a policy of ours.

The names are Baige's (``--fault-tolerance-args``, ``faultToleranceConfig``); each row says which field of ours it sets.
"""

import re
import shlex
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial

from pydantic import Field, ValidationError

from keepstep.asking.refused import Mistakes, Refused
from keepstep.contracts.model import Frozen, Strict
from keepstep.contracts.policy import LogPattern, Policy
from keepstep.contracts.taxonomy import Level, Phase

DAY_MINUTES = 24 * 60


class Takes(StrEnum):
    """What follows a flag."""

    SWITCH = "true or false"
    COUNT = "a whole number"
    TEXT = "a text"


class Settings(Frozen):
    """What the flags change; None leaves the default."""

    replace_pods: bool | None = None
    hang_detection: bool | None = None
    hang_minutes: int | None = None
    startup_minutes: int | None = None
    stack_minutes: int | None = None
    retries: int | None = None
    observe_seconds: int | None = None
    limit: int | None = None
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: which setting it is, what it takes, and between which bounds."""

    setting: str
    takes: Takes
    least: int = 0
    most: int = 0


FLAGS: Mapping[str, Flag] = {
    "enable-replace": Flag("replace_pods", Takes.SWITCH),
    "enable-hang-detection": Flag("hang_detection", Takes.SWITCH),
    "hang-detection-log-timeout-minutes": Flag("hang_minutes", Takes.COUNT, 1, DAY_MINUTES),
    "hang-detection-startup-toleration-minutes": Flag("startup_minutes", Takes.COUNT, 1, DAY_MINUTES),
    "hang-detection-stack-timeout-minutes": Flag("stack_minutes", Takes.COUNT, 1, DAY_MINUTES),
    "max-num-of-unconditional-retry": Flag("retries", Takes.COUNT, 0, 3),
    "unconditional-retry-observe-seconds": Flag("observe_seconds", Takes.COUNT, 1, 7 * 86_400),
    "custom-log-patterns": Flag("patterns", Takes.TEXT),
}
NOT_HERE: Mapping[str, str] = {
    "enable-use-nodes-of-last-job": "leave it out: restarts keep their pods, and with them their nodes, where they can",
    "enable-checkpoint-migration": "leave it out and write checkpoints to a volume that every node has",
    "internal-fault-tolerance-alarm-phone": "leave it out and name a sink in a policy file, [[notification.routes]]",
}
"""Flags that are known elsewhere and do nothing here; passing them over would promise what is not done."""


class Config(Strict):
    """The structured form."""

    enabledHangDetection: bool | None = None  # noqa: N815 - the name people write
    hangDetectionTimeoutMinutes: int | None = Field(default=None, ge=1, le=DAY_MINUTES)  # noqa: N815 - as it is written in --fault-tolerance-args
    faultToleranceLimit: int | None = Field(default=None, ge=0)  # noqa: N815 - as it is written in --fault-tolerance-args
    customFaultTolerancePattern: tuple[str, ...] = ()  # noqa: N815 - as it is written in --fault-tolerance-args


def in_one_form(forms: Mapping[str, object]) -> list[str]:
    """Return the name of the form in which something is asked for, none where nothing is; raises Refused for two."""
    given = [name for name, value in forms.items() if value is not None]
    if len(given) > 1:
        raise Refused(f"{' and '.join(given)} exclude each other: say it in one form")
    return given


def of_flags(text: str) -> Policy:
    """Return the policy of a line of flags; raises Refused that names each flag that is wrong and what it takes."""
    try:
        waiting = deque(shlex.split(text))
    except ValueError as error:
        raise Refused(f"--fault-tolerance-args: a quotation is not closed ({error})") from error
    found: dict[str, object] = {}
    patterns: list[str] = []
    mistakes = Mistakes()
    while waiting:
        word = waiting.popleft()
        name, equals, value = word.removeprefix("--").partition("=")
        flag = mistakes.of(partial(_known, word, name), None)
        if not equals:
            value = _next(waiting, word, flag)
        if flag is None:
            continue
        given = mistakes.of(partial(_value, name, flag, value), None)
        if flag.takes is Takes.TEXT:
            patterns.append(value)
        else:
            found[flag.setting] = given
    mistakes.refuse()
    return policy_of(Settings.model_validate({**found, "patterns": tuple(patterns)}))


def _next(waiting: deque[str], word: str, flag: Flag | None) -> str:
    """Return, and take, the word that is this flag's value: one of an unknown flag is no flag, nor is a number one."""
    if flag is not None and flag.takes is Takes.SWITCH:
        return "true"
    takes_any = flag is not None and flag.takes is Takes.TEXT
    if word.startswith("--") and waiting and (takes_any or not waiting[0].startswith("--")):
        return waiting.popleft()
    return ""


def of_config(text: str) -> Policy:
    """Return the policy of the structured form, JSON; raises Refused that names every field that is wrong."""
    try:
        config = Config.model_validate_json(text)
    except ValidationError as error:
        known = ", ".join(Config.model_fields)
        found = error.errors(include_url=False)
        mistakes = (f"{'.'.join(map(str, one['loc'])) or 'the JSON'}: {one['msg']}" for one in found)
        raise Refused(*(f"--fault-tolerance-config: {one}; its fields are {known}" for one in mistakes)) from error
    return policy_of(
        Settings(
            hang_detection=config.enabledHangDetection,
            hang_minutes=config.hangDetectionTimeoutMinutes,
            limit=config.faultToleranceLimit,
            patterns=config.customFaultTolerancePattern,
        )
    )


def policy_of(settings: Settings) -> Policy:
    """Return our policy for these settings."""
    policy = Policy()
    detection, recovery = policy.detection, policy.recovery
    if settings.replace_pods is False:
        levels = tuple(level for level in recovery.levels if level is not Level.POD)
        recovery = recovery.model_copy(update={"levels": levels})
    changed: list[tuple[str, object]] = []
    if settings.hang_detection is not None:
        changed.append(("hang_detection", settings.hang_detection))
    if settings.hang_minutes is not None:
        changed.append(("hang_limit", timedelta(minutes=settings.hang_minutes)))
    if settings.stack_minutes is not None:
        changed.append(("outlier_after", timedelta(minutes=settings.stack_minutes)))
    if settings.startup_minutes is not None:
        limit = timedelta(minutes=settings.startup_minutes)
        changed.append(("phase_limits", detection.phase_limits | {Phase.STARTING: limit, Phase.INIT: limit}))
    if settings.patterns:
        changed.append(("log_patterns", tuple(_patterns(settings.patterns))))
    budget: dict[str, object] = {}
    if settings.retries is not None:
        budget["count"] = settings.retries
    if settings.observe_seconds is not None:
        budget["window"] = timedelta(seconds=settings.observe_seconds)
    budgets = {name: getattr(recovery, name).model_copy(update=budget) for name in ("crash", "unknown")}
    recovery = recovery.model_copy(update={**budgets, "restart_limit": settings.limit})
    return policy.model_copy(update={"detection": detection.model_copy(update=dict(changed)), "recovery": recovery})


def _patterns(texts: Iterable[str]) -> Iterable[LogPattern]:
    """Return patterns that match these very words: what people write is what their script prints."""
    return (LogPattern(name=f"custom-{number}", regex=re.escape(text)) for number, text in enumerate(texts, 1))


def _known(word: str, name: str) -> Flag:
    if name in NOT_HERE:
        raise Refused(f"--fault-tolerance-args: --{name} does nothing here; {NOT_HERE[name]}")
    if not word.startswith("--") or name not in FLAGS:
        known = ", ".join(f"--{one}" for one in FLAGS)
        raise Refused(f"--fault-tolerance-args: {word} is none of its flags; they are {known}")
    return FLAGS[name]


def _value(name: str, flag: Flag, value: str) -> bool | int | str:
    match flag.takes:
        case Takes.SWITCH if value in ("true", "false"):
            return value == "true"
        case Takes.COUNT if value.isdecimal() and flag.least <= int(value) <= flag.most:
            return int(value)
        case Takes.TEXT if value:
            return value
        case _:
            raise _wrong(name, value, flag)


def _wrong(name: str, value: str, flag: Flag) -> Refused:
    between = f" from {flag.least} to {flag.most}" if flag.takes is Takes.COUNT else ""
    return Refused(f"--fault-tolerance-args: --{name} {value or 'without a value'}: it takes {flag.takes}{between}")


SWITCH = "faulttolerance"
"""The older form: ``--env faulttolerance=true``."""


def enabled(*, flag: bool, env: Sequence[str]) -> bool:
    """Return whether fault tolerance is asked for, by the flag or by the variable; raises Refused when they differ."""
    said = [value.lower() for name, _, value in (pair.partition("=") for pair in env) if name.lower() == SWITCH]
    for value in said:
        if value not in ("true", "false"):
            raise Refused(f"--env {SWITCH}={value}: write true or false")
    if "false" in said and (flag or "true" in said):
        other = "--enable-fault-tolerance" if flag else f"--env {SWITCH}=true"
        raise Refused(f"--env {SWITCH}=false contradicts {other}: leave one of them out")
    return flag or "true" in said
