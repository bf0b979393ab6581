"""Labels of the members of closed sets and of messages, in a language."""

import re
from functools import cache

from keepstep.contracts.taxonomy import Language
from keepstep.core.words.messages import MESSAGES
from keepstep.core.words.sets import SETS

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def label(kind: str, word: str, language: Language) -> str:
    """Return what a word of a kind is called; a word of tomorrow that the kind lacks is shown as it is."""
    found = SETS[kind].get(word)
    if found is None:
        return word
    return found.zh if language is Language.ZH else found.en


@cache
def message_label(name: str, language: Language) -> str:
    """Return what a message is called: in English its own name in words, ``Recovery planned``."""
    if language is Language.ZH:
        return MESSAGES.get(name, name)
    return _CAPITAL.sub(" ", name).capitalize()
