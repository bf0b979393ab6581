"""The words of the pages in the language of who reads; sentences of decisions are English in both, as on the bus."""

from collections.abc import Callable
from functools import cache

from keepstep.console.pages.chinese import CHINESE
from keepstep.console.pages.chinese_sets import CHINESE_SETS
from keepstep.console.pages.english import ENGLISH
from keepstep.contracts.taxonomy import Language

Translator = Callable[..., str]


@cache
def translator(language: Language) -> Translator:
    """Return what gives a phrase in a language, with its fields filled in.

    Templates are written in English: a phrase that a table lacks is its own translation.
    """
    table = {Language.ZH: {**CHINESE, **CHINESE_SETS}, Language.EN: ENGLISH}[language]

    def translated(phrase: str, **fields: object) -> str:
        found = table.get(phrase, phrase)
        return found.format(**fields) if fields else found

    return translated
