"""How long something takes or may take, as people write it: seconds or ISO 8601."""

from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, Field

LONGEST = timedelta(days=36525)
"""A hundred years: "never" for any job, and no calendar ends before it."""


def _no_truth(value: object) -> object:
    """Refuse true and false, which would be read as one second and none."""
    if isinstance(value, bool):
        raise ValueError(f"{str(value).lower()} is not a duration: write seconds, as in 600")
    return value


Duration = Annotated[timedelta, Field(ge=timedelta(0), le=LONGEST), BeforeValidator(_no_truth)]
"""Seconds or ISO 8601; never less than none, nor so long that an instant so far ahead has no date."""


def seconds(count: float) -> timedelta:
    """Return a duration of ``count`` seconds."""
    return timedelta(seconds=count)
