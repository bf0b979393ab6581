"""Data sources of a job as people write them, ``--ds-type --ds-name --ds-mountpath`` in step."""

from typing import NamedTuple

from keepstep.cli.errors import Refused
from keepstep.contracts.kubernetes import DataSource, SourceType


class Sources(NamedTuple):
    """The three options as they were given; the first of each makes the first source, and so on."""

    types: tuple[str, ...]
    names: tuple[str, ...]
    paths: tuple[str, ...]


def data_sources(sources: Sources) -> tuple[DataSource, ...]:
    """Return the sources; raises Refused for an unknown type, or unless each source has all three options."""
    types, names, paths = sources
    if not len(types) == len(names) == len(paths):
        counts = f"{len(types)}, {len(names)} and {len(paths)} times"
        raise Refused(f"--ds-type, --ds-name and --ds-mountpath go together, and were given {counts}")
    return tuple(_source(*each) for each in zip(types, names, paths, strict=True))


def _source(kind: str, name: str, path: str) -> DataSource:
    if kind.lower() not in tuple(SourceType):
        raise Refused(f"--ds-type {kind}: is none of {', '.join(SourceType)}")
    return DataSource(type=SourceType(kind.lower()), name=name, path=path)
