"""No service says a sentence that the book lacks, and the book keeps none that nobody says."""

import re

from keepstep.core.words.holes import HOLES
from keepstep.core.words.phrase import HOLE
from keepstep.core.words.reading import PHRASES
from tests.words.speakers import HELD, is_sentence, sentences

SAID = sentences()
SHAPES = [HOLE.sub(HELD, phrase.english) for phrase in PHRASES]
FRAGMENTS = [re.sub(r"\\(.)|\(\?:|\)\??", r"\1", hole.pattern) for hole in HOLES.values()]
UNSAID = frozenset(
    {
        "lost steps",
        "open since",
        "incidents of one cause",
        "dead letter",
        "dead letters",
        "from scratch: the job is over",
        f"give up/{HELD}",
        "a host without name",
        "goes on for the next incident",
        f"it is task {HELD} of {HELD}",
        'Bearer realm="keepstep"',
        f"kubelet of {HELD}",
        f"backoffLimit of {HELD}",
        f"stop job {HELD}: {HELD}",
        f"pause actions for job {HELD}",
        f"resume actions for job {HELD}",
        f"acknowledge incident {HELD}",
        f"create job {HELD}",
        f"sender {HELD} is not known; known are {HELD}",
        f"more than {HELD} nodes and devices in one report; send several",
        f"fault {HELD}: code {HELD} is not known",
        f"fault {HELD}: code {HELD} is of no {HELD}",
        f"fault {HELD}: {HELD} influences without nodeName, by which nodes are known",
        f"no job that keepstep restarts is among the documents ({HELD}); it restarts {HELD}",
        "the host has no address",
        f"; not taken: {HELD}",
        "application/json; charset=utf-8",
        "UID in the precondition",
        "UID in precondition",
        "disruption budget",
        "device npu-",
        f"ConfigMap {HELD} is not taken: {HELD}",
        f"the check code of {HELD} does not fit its content",
        f"{HELD} is no JSON ({HELD})",
        f"{HELD} is no JSON object",
        f"{HELD} is no list",
    }
)
"""Names of facts, which are labels; two sentences in one; who did it; what the API, the command line, other systems and
the log are told; words of protocols."""


def is_known(sentence: str) -> bool:
    """Tell whether a phrase has this sentence as it stands or within it; a hole may be words in the phrase."""
    shape = re.compile(f"{HELD}+".join(re.escape(piece) for piece in re.split(f"{HELD}+", sentence.strip())).replace(
        f"{HELD}+", ".*?"))  # fmt: skip
    return any(shape.search(phrase) for phrase in (*SHAPES, *FRAGMENTS))


def test_every_sentence_of_a_service_is_in_the_book() -> None:
    lacking = [f"{where}: {said}" for said, where in SAID.items() if not is_known(said) and said not in UNSAID]
    assert lacking == [], "give each a line in the book"


def test_the_sentences_were_found() -> None:
    assert len(SAID) > 300
    assert not is_known("a sentence that nobody ever put into the book")
    assert not is_sentence("rank-1")
