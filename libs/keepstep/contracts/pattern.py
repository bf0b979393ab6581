"""Regular expressions that people write and ranks' output is matched by: each takes time linear in the text.

A pattern such as ``(a+)+$`` holds Python's own engine, and the whole process with it, for years on one long line. The
engine behind pydantic has no backtracking, and so neither look-around nor back-references.
"""

from pydantic_core import SchemaError, SchemaValidator, core_schema


class Pattern:
    """A compiled regular expression; raises ValueError with what is wrong with it."""

    def __init__(self, regex: str) -> None:
        try:
            self._validator = SchemaValidator(core_schema.str_schema(pattern=regex))
        except SchemaError as error:
            raise ValueError(_reason(str(error))) from error

    def found_in(self, text: str) -> bool:
        """Return whether the text has a part that matches."""
        return self._validator.isinstance_python(text)


def _reason(text: str) -> str:
    """Return the engine's own last line, as in ``error: look-around ... is not supported``."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reasons = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (reasons or lines[-1:] or ["it does not compile"])[-1].rstrip('"')
