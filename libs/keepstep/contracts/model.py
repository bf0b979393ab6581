"""The one pydantic configuration that every contract shares."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value; readers ignore fields they do not know, so that a newer writer does not break them."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Strict(BaseModel):
    """An immutable value that people write (policy, job): an unknown field is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
