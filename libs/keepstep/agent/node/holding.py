"""What flaps is no flood: a condition must last to be told, stay away to be over, and longer each time it comes back.

Pure; all instants and durations are monotonic seconds.
"""

from dataclasses import dataclass, replace

CONFIRM_S = 30.0
"""How long a condition lasts before it is told: a checkpoint that fills a disk for a moment is none."""
CALM_S = 60.0
"""How long it is away before it is over, the first time."""
LONGEST_CALM_S = 3600.0
AGAIN_S = 60.0
"""How soon the same line of the kernel's log is told again, the first time."""
LONGEST_AGAIN_S = 3600.0
FORGIVEN_S = 7200.0
"""Without a relapse for this long the first waits count again."""


@dataclass(frozen=True)
class Held:
    """One condition: since when it looks as it does, whether it is told, and how long it must stay away to be over."""

    wrong: bool = False
    since: float = 0.0
    told: bool = False
    calm_s: float = CALM_S
    over_at: float | None = None
    episode: int = 0


def hold(held: Held | None, *, wrong: bool, now: float) -> tuple[Held, bool]:
    """Return the condition after one more look, and whether that it has begun or is over is to be told."""
    before = held or Held(since=now)
    after = before if wrong == before.wrong else replace(before, wrong=wrong, since=now)
    lasted = now - after.since
    if wrong and not after.told and lasted >= CONFIRM_S:
        relapse = after.over_at is not None and now - after.over_at < FORGIVEN_S
        calm_s = min(2 * after.calm_s, LONGEST_CALM_S) if relapse else CALM_S
        return replace(after, told=True, episode=after.episode + 1, calm_s=calm_s), True
    if not wrong and after.told and lasted >= after.calm_s:
        return replace(after, told=False, over_at=now), True
    return after, False


@dataclass(frozen=True)
class Quiet:
    """One kind of record of the kernel's log: when it was last told, and how many came since."""

    told_at: float
    wait_s: float = AGAIN_S
    left_out: int = 0


def again(quiet: Quiet | None, now: float) -> tuple[Quiet, int | None]:
    """Return what is known after one more such record, and if it is to be told how many were left out before it."""
    if quiet is None or now - quiet.told_at >= FORGIVEN_S:
        return Quiet(now), 0
    if now - quiet.told_at < quiet.wait_s:
        return replace(quiet, left_out=quiet.left_out + 1), None
    return Quiet(now, min(2 * quiet.wait_s, LONGEST_AGAIN_S)), quiet.left_out
