"""What the API server refuses of a ConfigMap: keys, size, and changes of one that is immutable."""

import re
from collections.abc import Iterator

from .errors import Cause
from .objects import Obj

_KEY = "[-._a-zA-Z0-9]+"
_MOST = 1 << 20


def config_map_causes(new: Obj, old: Obj | None) -> Iterator[Cause]:
    """Yield what is wrong with it; ``old`` is None at its creation."""
    held = new.get("data") or {}
    for key in held:
        if not re.fullmatch(_KEY, key):
            told = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            told += f"'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY}')"
            yield Cause(f"data[{key}]", f'Invalid value: "{key}": {told}')
    if sum(len(value.encode()) for value in held.values()) > _MOST:
        yield Cause("[]", f"Too long: must have at most {_MOST} bytes", "FieldValueTooLong")
    if old is not None and old.get("immutable") and held != (old.get("data") or {}):
        yield Cause("data", "Forbidden: field is immutable when `immutable` is set", "FieldValueForbidden")
