"""What people are told of nodes and devices: isolated, drained, released, or not, and why."""

from dataclasses import replace

from keepstep.contracts import events as e
from keepstep.contracts.taxonomy import Severity
from keepstep.core.isolation_end import isolation_end
from keepstep.notifier.core.wording import Words, name_of, told, words


@words.register
def _isolated(message: e.NodeIsolated) -> Words:
    facts = (("why", message.reason), ("isolated", isolation_end(message)), *_shared(message))
    return told(message, f"Node {message.node} isolated", message.because, *facts)


@words.register
def _device_isolated(message: e.DeviceIsolated) -> Words:
    title = f"Device {message.device} of node {message.node} isolated"
    facts = (("why", message.reason), ("isolated", isolation_end(message)), *_shared(message))
    return told(message, title, message.because, *facts)


@words.register
def _declined(message: e.IsolationDeclined) -> Words:
    dry = " (dry run)" if message.dry_run else ""
    shared = _shared(message)
    title = f"Node {message.node or 'without a name'} not isolated{dry}"
    said = told(message, _title_shared(message) if shared else title, message.because, *shared)
    return _held(message, said) if message.held else said


def _held(message: e.IsolationDeclined, said: Words) -> Words:
    """Return what calls a person: no rule isolates anything any more, so broken nodes stay in."""
    title = f"Isolation stopped: node {message.node or 'without a name'} waits for a person"
    return replace(said, severity=Severity.CRITICAL, title=title)


def _title_shared(message: e.IsolationDeclined) -> str:
    return f"{message.incidents} incidents share one cause, {name_of(message)} too"


def _shared(message: e.NodeIsolated | e.DeviceIsolated | e.IsolationDeclined) -> tuple[tuple[str, str], ...]:
    """Return how many incidents of its group there are, so that one cause is not looked for in each."""
    if message.group is None or message.incidents < 2:
        return ()
    return (("incidents of one cause", str(message.incidents)), ("group", message.group))


@words.register
def _released(message: e.NodeReleased) -> Words:
    return told(message, f"Node {message.node} released", message.because)


@words.register
def _device_released(message: e.DeviceReleased) -> Words:
    return told(message, f"Device {message.device} of node {message.node} released", message.because)


@words.register
def _drained(message: e.NodeDrained) -> Words:
    left = (("still there", ", ".join(message.left)),) if message.left else ()
    said = told(message, f"Node {message.node} drained", message.because, *left)
    return replace(said, severity=Severity.WARNING) if message.left else said


@words.register
def _not_released(message: e.ReleaseDeclined) -> Words:
    return told(message, f"Node {message.node or 'without a name'} not released", message.because)
