"""The one pydantic configuration that every contract shares."""

from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError


class Frozen(BaseModel):
    """An immutable value; readers ignore fields they do not know, so that a newer writer does not break them.

    A number is a number: infinity and NaN are refused, since JSON has no word for them and limits no meaning.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    @classmethod
    def read(cls, text: str | bytes) -> Self:
        """Return the value of its JSON, without what a newer writer added, also in a Strict part. ValidationError."""
        return cls.model_validate_json(text, extra="ignore")


class Strict(BaseModel):
    """An immutable value that people write (policy, job): an unknown field is an error that names it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def mistakes(error: ValidationError) -> str:
    """Return what is wrong, in one line for a log: the first three fields and what ails each; never what stands there.

    Pydantic's own text has several lines, and repeats the value, which may be a secret.
    """
    details = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, detail['loc'])) or 'body'}: {detail['msg']}" for detail in details[:3])
