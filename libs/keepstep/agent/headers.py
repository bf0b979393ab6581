"""Whether a file begins and ends like a whole checkpoint; nothing in it is executed or unpickled."""

import zipfile
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from keepstep.contracts.model import Frozen
from keepstep.core.json_text import parsed

_ZIP = b"PK\x03\x04"
_PICKLE = b"\x80"
_LEGACY_TORCH = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
"""The magic number that torch.save wrote first before 1.6; storages follow the pickles, so there is no end to check."""
_JSON_LIMIT = 64 * 1024 * 1024
_HEADER_LIMIT = 100_000_000
"""The format's own limit: a longer header is garbage, and reading it would cost the memory of the ranks."""
_NAMES = {".pt", ".pth", ".bin", ".ckpt"}


class _Tensor(Frozen):
    """One entry of a safetensors header; ``__metadata__`` is one without offsets."""

    data_offsets: tuple[int, int] | None = None


_HEADER = TypeAdapter(dict[str, _Tensor])


def loads(path: Path) -> bool:
    """Return whether the header loads and agrees with the file's size; a file that vanished does not load."""
    try:
        size = path.stat().st_size
        if size == 0:
            return False
        if path.suffix == ".json":
            return _json_loads(path, size)
        if path.suffix == ".safetensors":
            return _safetensors_loads(path, size)
        return _torch_loads(path, size)
    except OSError:
        return False


def _torch_loads(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        start = file.read(64)
        file.seek(size - 1)
        end = file.read(1)
    if start.startswith(_ZIP):
        return _zip_loads(path)
    if _LEGACY_TORCH in start:
        return True
    if start.startswith(_PICKLE):
        return end == b"."
    # Blocks of zeros in front are a file whose beginning is not written yet.
    return path.suffix not in _NAMES or start.strip(b"\0") != b""


def _zip_loads(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return False


def _json_loads(path: Path, size: int) -> bool:
    if size > _JSON_LIMIT:
        return True
    try:
        parsed(path.read_bytes())
    except ValueError:
        return False
    return True


def _safetensors_loads(path: Path, size: int) -> bool:
    """Check the layout of https://huggingface.co/docs/safetensors: length, JSON header, tensors to the end."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 0 < length <= min(size - 8, _HEADER_LIMIT):
            return False
        try:
            tensors = _HEADER.validate_json(file.read(length))
        except ValidationError:
            return False
    ends = [tensor.data_offsets[1] for tensor in tensors.values() if tensor.data_offsets is not None]
    return 8 + length + max(ends, default=0) == size
