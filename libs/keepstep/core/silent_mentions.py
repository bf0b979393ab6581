"""Rules that call people where nobody can be called: said when rules and channels are read, not when it matters."""

from collections.abc import Iterable

from keepstep.contracts.channels import UNADDRESSED, Channels
from keepstep.contracts.notification import Route, is_address
from keepstep.core.masking import masked


def silent_mentions(routes: Iterable[Route], channels: Channels) -> tuple[str, ...]:
    """Return what is to be told of each rule whose mention calls nobody, and what to do."""
    asked = ((sink, names) for route in routes for sink, names in _asked(route) if names and _mute(sink, channels))
    return tuple(
        f"a rule mentions {', '.join(names)} at {masked(sink)}, which calls nobody by name: "
        "name a channel of a chat, mail, SMS or phone, or leave mention out"
        for sink, names in dict.fromkeys(asked)
    )


def _asked(route: Route) -> Iterable[tuple[str, tuple[str, ...]]]:
    yield route.sink, route.mention
    for step in route.escalate:
        yield step.sink or route.sink, step.mention


def _mute(sink: str, channels: Channels) -> bool:
    """Tell whether the sink calls nobody: the log, a plain address, or a channel of such a kind."""
    channel = channels.channel(sink)
    return is_address(sink) if channel is None else channel.kind in UNADDRESSED
