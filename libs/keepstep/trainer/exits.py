"""Exits of ranks, kept until the agent has said that they are safely reported, in memory and in a small file."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Iterable, List

from keepstep.trainer import system

FILE = "exits.json"


class Exits:
    """The exits not yet acknowledged, oldest first."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE)
        self._kept: Dict[str, Dict[str, Any]] = {}

    @property
    def kept(self) -> List[Dict[str, Any]]:
        """The exit lines to say again at the next connection."""
        return list(self._kept.values())

    def add(self, line: Dict[str, Any]) -> None:
        """Keep an exit line."""
        self._kept[line["id"]] = line
        self._save()

    def acknowledge(self, ids: Iterable[str]) -> None:
        """Forget exits; unknown ids are those acknowledged before."""
        for name in ids:
            self._kept.pop(name, None)
        self._save()

    def _save(self) -> None:
        """Write the file; the exits in memory are the ones that count, so that a full disk ends nothing."""
        draft = self._path + ".new"
        try:
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(self.kept, file)
            os.replace(draft, self._path)
        except OSError as error:
            system.log("%s cannot be written: %s" % (self._path, error))
