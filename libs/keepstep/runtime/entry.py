"""How a process beside the pipeline begins, an admission or a gate: what is set wrong is one line and no traceback."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import ValidationError
from pydantic_settings import SettingsError

from keepstep.ports.errors import Permanent
from keepstep.runtime import log

WRONG = 2
"""Exit status for a setting that is missing or wrong."""


def main(name: str, serve: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """Serve until it ends by itself and return the exit status; ``name``: as in KEEPSTEP_<NAME>_<SETTING>."""
    log.configure()
    try:
        asyncio.run(serve())
    except ValidationError as error:
        fields = ", ".join("_".join(("KEEPSTEP", name, *map(str, one["loc"]))).upper() for one in error.errors())
        sys.stderr.write(f"keepstep.{name}: missing or wrong: {fields}\n")
        return WRONG
    except (Permanent, SettingsError) as error:
        sys.stderr.write(f"keepstep.{name}: {error}\n")
        return WRONG
    return 0
