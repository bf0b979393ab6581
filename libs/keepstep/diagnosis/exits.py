"""How a rank's exit is weighed: the line that ended it, else the signal, else the code."""

import signal
from pathlib import PurePosixPath

from keepstep.contracts.events import ExitEvidence, FaultDetected
from keepstep.contracts.taxonomy import Category, Phase
from keepstep.contracts.telemetry import Exit
from keepstep.diagnosis.finding import Finding, Resumed, Weight, from_rule, place
from keepstep.diagnosis.lines import exception_line, frame_before, plain, signature
from keepstep.diagnosis.rules import (
    CHECKPOINT_LOAD,
    LOADING_FRAME,
    LOADING_WORDS,
    RULES,
    RULES_BY_NAME,
    UNREADABLE,
    Rule,
)

REFUSED = frozenset({1, 2})
"""How an interpreter ends that could not start its program: 1 by an exception, 2 without the script."""

SHELL_SIGNAL = 128
"""A shell that ran the command exits 128 + n when signal n ended it."""

ASKED_TO_STOP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Somebody stopped the rank: a consequence until nothing else explains the incident."""


def of_exit(fault: FaultDetected, seen: ExitEvidence, resumed: Resumed) -> Finding:
    """Weigh an exit that nobody ordered.

    SIGKILL is never the rank's own doing, so lines it printed before do not explain it, save the kernel's.
    """
    lines = plain(seen.last_lines)
    ended_by = signal_of(seen.exit)
    if ended_by == signal.SIGKILL:
        return _killed(fault, seen, lines)
    raised = exception_line(lines)
    if raised is not None:
        found = _raised(fault, seen, resumed, lines, raised)
        return _lasting(found, fault, seen, resumed, raised == _last(lines))
    said = _first_match(lines)
    if said is not None:
        rule, line = said
        found = from_rule(fault, rule, line, rank=seen.rank, step=seen.step)
        return _lasting(found, fault, seen, resumed, line == _last(lines))
    return _bare(fault, seen, ended_by, _last(lines))


def _lasting(found: Finding, fault: FaultDetected, seen: ExitEvidence, resumed: Resumed, final: bool) -> Finding:
    """Return the finding as not retriable where the program could not even start.

    Only by the interpreter's own exit, by its ``final`` words and in the first generation: many programs print a
    missing module that they can do without, and what has started once is there.
    """
    rule = RULES_BY_NAME.get(found.rule)
    refused = final and seen.exit.code in REFUSED and (fault.generation or 1) == 1
    if rule is None or not rule.hopeless or not refused or not _before_first_step(seen, resumed):
        return found
    return found.model_copy(update={"retriable": False})


def _last(lines: tuple[str, ...]) -> str:
    return next((line for line in reversed(lines) if line), "")


def signal_of(how: Exit) -> int | None:
    """Return the signal that ended the process, also when a shell passed it on as 128 + n."""
    if how.signal is not None:
        return how.signal
    if how.code is not None and SHELL_SIGNAL < how.code <= SHELL_SIGNAL + signal.SIGRTMAX:
        return how.code - SHELL_SIGNAL
    return None


def _killed(fault: FaultDetected, seen: ExitEvidence, lines: tuple[str, ...]) -> Finding:
    memory = [
        (rule, line)
        for line in lines
        for rule in RULES
        if rule.category is Category.OOM_HOST and rule.pattern.search(line)
    ]
    if memory:
        return from_rule(fault, *memory[0], rank=seen.rank, step=seen.step)
    return _bare(fault, seen, int(signal.SIGKILL), _last(lines))


def _raised(fault: FaultDetected, seen: ExitEvidence, resumed: Resumed, lines: tuple[str, ...], raised: str) -> Finding:
    if _reads_checkpoint(seen, resumed, lines, raised):
        rule = RULES_BY_NAME[CHECKPOINT_LOAD]
        found = from_rule(fault, rule, raised, rank=seen.rank, step=seen.step)
        bad = resumed.step if resumed.step is not None else seen.step
        return found.model_copy(update={"bad_checkpoint": bad})
    matched = next((rule for rule in RULES if rule.pattern.search(raised)), None)
    if matched is not None and matched.name != CHECKPOINT_LOAD:
        found = from_rule(fault, matched, raised, rank=seen.rank, step=seen.step)
        at = "" if matched.cascade else _at(lines, raised)
        return found.model_copy(update={"because": f"{found.because}{at}"})
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.CAUSE,
        rule="traceback",
        category=Category.USER_CODE,
        culprit=place(fault, rank=seen.rank),
        confidence=0.85,
        because=f"{fault.subject_name} raised {signature(raised)}{_at(lines, raised)}",
        signature=signature(raised),
        step=seen.step,
    )


def _at(lines: tuple[str, ...], raised: str) -> str:
    place_in_code = frame_before(lines, raised)
    return f" at {place_in_code}" if place_in_code else ""


def _reads_checkpoint(seen: ExitEvidence, resumed: Resumed, lines: tuple[str, ...], raised: str) -> bool:
    """Tell whether the checkpoint that this generation resumes from is what could not be read.

    Only before the first step: later reads are of the job's own data. Device and host memory running out while a
    sound checkpoint loads is not the checkpoint's fault.
    """
    if not (seen.phase is Phase.LOAD or _before_first_step(seen, resumed)):
        return False
    if RULES_BY_NAME[CHECKPOINT_LOAD].pattern.search(raised):
        return True
    return bool(UNREADABLE.search(raised)) and _is_loading(seen, resumed, lines)


def _before_first_step(seen: ExitEvidence, resumed: Resumed) -> bool:
    return seen.step is None or seen.step == resumed.step


def _is_loading(seen: ExitEvidence, resumed: Resumed, lines: tuple[str, ...]) -> bool:
    """Tell whether the traceback stands in the reading of a checkpoint, by phase, by torch or by the job's own words.

    A data file that does not decode must not use up one good checkpoint after the other.
    """
    if seen.phase is Phase.LOAD or any(LOADING_FRAME.search(line) for line in lines):
        return True
    if resumed.step is None:
        return False
    name = PurePosixPath(resumed.path).name if resumed.path else None
    return any(LOADING_WORDS.search(line) or (name is not None and name in line) for line in lines)


def _first_match(lines: tuple[str, ...]) -> tuple[Rule, str] | None:
    """Return the first line that names a cause, else the first that shows a victim."""
    found = [(rule, line) for line in lines for rule in RULES if rule.pattern.search(line)]
    return next((pair for pair in found if not pair[0].cascade), found[0] if found else None)


def _bare(fault: FaultDetected, seen: ExitEvidence, ended_by: int | None, last: str) -> Finding:
    """Weigh an exit whose words, if any, no rule knows: its cause is unknown, its rank is not.

    A signal is not the rank's own doing, so that only of an exit the ``last`` line tells what it was.
    """
    how = _name(ended_by) if ended_by is not None else f"exit code {seen.exit.code}"
    stopped = ended_by in ASKED_TO_STOP
    words = f"; its last line: {signature(last)}" if last and ended_by is None else ""
    silent = "" if last else " without a message"
    return Finding(
        fault=fault.id,
        occurred=fault.occurred,
        weight=Weight.CASCADE if stopped else Weight.CAUSE,
        rule="asked-to-stop" if stopped else "exit",
        category=Category.UNKNOWN,
        culprit=place(fault, rank=seen.rank),
        confidence=0.4 if stopped else 0.7,
        because=f"{fault.subject_name} ended by {how}{silent} after {seen.ran_s:.1f} s{words}",
        signature=signature(last) if words else how,
        step=seen.step,
    )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
