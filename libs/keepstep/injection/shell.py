"""Shell commands of containers: which of them start the ranks by a name that our shims stand for."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import dropwhile

from keepstep.trainer.command import ACCELERATE_MODULES, ALONE, TORCHRUN_MODULES, Asked, recognise

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_PYTHONS = frozenset({"python", "python3"})
"""The names of Python that a shim stands for."""
MODULES = (*TORCHRUN_MODULES, *ACCELERATE_MODULES)
_LONGEST = 5
"""Words that tell a launch: ``python -u -B -m torch.distributed.run``."""
_CLUSTER = re.compile(r"-[a-z]+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|\((\w+)\)|(\w+))")
_COMMENT = re.compile(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<![^\s;&|()])#[^\n]*""", re.DOTALL)
"""Comments, and before them what a # may stand in that begins none."""
_COUNT = re.compile(r"--(nproc[-_]per[-_]node|nnodes|num[-_]processes|num[-_]machines)(?:=(.*))?")


def script_of(argv: Sequence[str]) -> str | None:
    """Return the text of ``sh -c TEXT`` in any of its spellings, None for other commands.

    A login shell is another command: it sets PATH anew, and our shims are not on it.
    """
    if not argv or os.path.basename(argv[0]) not in _SHELLS:  # noqa: PTH119 - a path of the image, not of this machine
        return None
    words = iter(argv[1:])
    for word in words:
        if word in ("-o", "+o"):
            next(words, None)
        elif _CLUSTER.fullmatch(word) and "l" not in word:
            if "c" in word:
                return next(words, None)
        else:
            return None
    return None


def asked_by(script: str, environ: Mapping[str, str]) -> Asked | None:
    """Return what the script's torchrun or accelerate asks for; None if it has none, or several that differ.

    A number that only the pod will know is left to the job; the launcher compares it there.
    """
    found = [recognise(_settled(words, environ), environ) for words in _commands(script)]
    first = found[0] if found else None
    if first is None:
        return None
    same = all(one is not None and (one.run.nproc, one.nodes) == (first.run.nproc, first.nodes) for one in found)
    return first if same else None


def _commands(script: str) -> Iterator[list[str]]:
    """Yield the words of every call of torchrun, accelerate launch or their modules, up to the end of that command."""
    script = _COMMENT.sub(lambda found: "" if found[0].startswith("#") else found[0], script)
    lexer = shlex.shlex(script.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return
    for start in range(len(words)):
        if _launches(words[start : start + _LONGEST]):
            yield list(_until_operator(words[start:]))


def _launches(words: Sequence[str]) -> bool:
    """Return whether a shim would meet these words and hand them to the launcher."""
    name, *rest = words
    if name in _PYTHONS:
        flag, module, *_ = (*dropwhile(ALONE.__contains__, rest), "", "")
        return flag == "-m" and module in MODULES
    return name == "torchrun" or (name == "accelerate" and rest[:1] == ["launch"])


def _until_operator(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word and set(word) <= set(";&|<>()"):
            return
        yield word


def _settled(words: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the words with variables put in; a count that stays unknown is taken out of the command."""
    settled: list[str] = []
    waiting = iter(words)
    for word in waiting:
        count = _COUNT.fullmatch(word)
        if count is None:
            settled.append(_filled(word, environ))
            continue
        value = _filled(count[2] if count[2] is not None else next(waiting, ""), environ)
        if "$" not in value:
            settled.append(f"--{count[1]}={value}")
        elif count[1].startswith("nproc"):
            settled.append(f"--{count[1]}=auto")
    return settled


def _filled(word: str, environ: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: environ.get(found[1] or found[2] or found[3], found[0]), word)
