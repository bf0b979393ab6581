"""What phrases are filled with where a test tries all of them."""

from collections.abc import Mapping

from keepstep.core.words.holes import HOLES
from keepstep.core.words.phrase import HOLE, SAID, Phrase

WITHIN = "all tasks are gone"
"""A sentence that stands in another."""
SAMPLES: Mapping[str, str] = {
    "word": "n7",
    "int": "12",
    "num": "1.5",
    "text": "what/the:user wrote",
    "thing": "PyTorchJob default/llama",
    "names": "w-1, w-2 and 3 more",
    "numbers": "3, 4",
    "count": "2 of 3 ranks",
    "subject": "rank 3, node n2",
    "exit": "SIGKILL",
    "levels": "in-place, pod",
    "times": "3 times",
    "instant": "2026-01-02 03:04:05 UTC",
    "running": "2 tasks of the job run",
    "at": " at step 40",
    "lost": ", 10 steps lost",
    "tried": " after 2 attempts",
    "client": " from 10.0.0.7",
    "seats": "w-0 of job j1, w-1 of job j2",
    "asked": " POST /nodes/n7",
    "between": " from 1 to 3",
    "deadline": "settle/2",
    "message": "NodeIsolated",
    "found": "device npu-3 80E01801",
    "places": "n1 (w-0), n2 (w-1)",
    "who": "alice",
    "coded": "switch-0x08520003 chip 1 port 2",
    "code": "80E01801 chip 1",
    SAID: WITHIN,
}


def sample(kind: str) -> str:
    """Return what may stand in a hole of a kind: of one that takes some words the longest of them."""
    if kind in SAMPLES:
        return SAMPLES[kind]
    return HOLES[kind].pattern.split("|")[0].replace("\\", "")


def written(phrase: Phrase) -> str:
    """Return the English of a phrase, filled."""
    return HOLE.sub(lambda found: sample(found[2] or "word"), phrase.english)
