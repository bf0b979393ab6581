"""The words of the pages in the language of who reads: phrases of templates here, all else from ``core.words``."""

from collections.abc import Callable, Mapping
from functools import cache, partial

from keepstep.console.pages.chinese import CHINESE
from keepstep.contracts.taxonomy import Language
from keepstep.core.words.labels import label, message_label
from keepstep.core.words.reading import placed, told

Translator = Callable[..., str]


@cache
def translator(language: Language) -> Translator:
    """Return what gives a phrase in a language, with its fields filled in.

    Templates are written in English: a phrase that a table lacks is its own translation.
    """
    table: Mapping[str, str] = CHINESE if language is Language.ZH else {}

    def translated(phrase: str, **fields: object) -> str:
        found = table.get(phrase, phrase)
        return found.format(**fields) if fields else found

    return translated


def speaking(language: Language) -> Mapping[str, Callable[..., str]]:
    """Return what templates speak with: their own phrases, words of sets, names of messages, sentences of services."""
    return {
        "t": translator(language),
        "word": partial(label, language=language),
        "event": partial(message_label, language=language),
        "say": partial(told, language=language),
        "place": partial(placed, language=language),
        "beside": partial(beside, language=language),
    }


def beside(name: str, sentence: str, language: Language) -> str:
    """Return a message's sentence as it stands beside the message's name, which it need not say again."""
    text, called = told(sentence, language), message_label(name, language)
    colon = "：" if language is Language.ZH else ": "
    repeated = text[: len(called) + len(colon)].casefold() == f"{called}{colon}".casefold()
    return text[len(called) + len(colon) :] if repeated else text
