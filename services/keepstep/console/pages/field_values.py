"""What a person wrote into a field of a form, as a value; what is none is refused with the field and the remedy."""

from collections.abc import Mapping

from keepstep.asking.refused import Refused


def lines(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def pairs(fields: Mapping[str, str], name: str) -> dict[str, str]:
    """Return NAME=VALUE, one a line."""
    found = lines(fields[name])
    for pair in found:
        if "=" not in pair:
            raise Refused(f"{name}: {pair}: write NAME=VALUE, one a line")
    return dict(pair.split("=", 1) for pair in found)


def number(name: str, text: str) -> int:
    """Return a whole number; ``name`` is the field."""
    try:
        return int(text)
    except ValueError as error:
        raise Refused(f"{name}: {text!r} is no whole number") from error


def whole(fields: Mapping[str, str], name: str) -> int:
    """Return the whole number in a field."""
    return number(name, fields[name])


def seconds(fields: Mapping[str, str], name: str) -> float:
    """Return the seconds in a field."""
    try:
        return float(fields[name])
    except ValueError as error:
        raise Refused(f"{name}: {fields[name]!r} is no number of seconds") from error
