"""Tells beside the output what of a policy people may not have meant."""

import os
from pathlib import Path

from keepstep.asking.cautions import cautions
from keepstep.cli.options import note
from keepstep.contracts.policy import Policy
from keepstep.ports.errors import Permanent

CHANNELS = "KEEPSTEP_NOTIFIER_CHANNELS"
"""Names the channels file."""


def caution(policy: Policy, *, here: bool) -> None:
    """Note every caution; ``here``: the notifier is one of this machine, with the channels that are named here."""
    for one in cautions(policy, _channels() if here else None):
        note(f"warning: {one}")


def _channels() -> frozenset[str] | None:
    """Return the names of the channels, none without a file; None where it cannot be read, which others tell."""
    named = os.environ.get(CHANNELS, "")
    if not named:
        return frozenset()
    try:
        from keepstep.adapters.channel_file import read  # noqa: PLC0415 - YAML, which a stack without channels lacks

        return frozenset(one.name for one in read(Path(named)).channels)
    except (ModuleNotFoundError, Permanent):
        return None
