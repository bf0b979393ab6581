"""What a pod proves itself by: the token that the kubelet keeps in a file and renews at four fifths of its life."""

import asyncio
from pathlib import Path

LOOK_S = 10.0
"""How often the file is looked at; its token counts for minutes yet when it is renewed."""


class Proof:
    """A pod's token, as it is on disk."""

    def __init__(self, path: Path, *, look_s: float = LOOK_S) -> None:
        self._path, self._look_s = path, look_s
        self._shown = ""

    def __call__(self) -> str:
        """Return the token, to be shown now. Raises OSError while there is none; whoever connects tries again."""
        self._shown = self._path.read_text(encoding="utf-8").strip()
        return self._shown

    async def changed(self) -> None:
        """Return once the file has another token than the one that was shown last."""
        while True:
            await asyncio.sleep(self._look_s)
            try:
                if self._path.read_text(encoding="utf-8").strip() not in {"", self._shown}:
                    return
            except OSError:
                continue
