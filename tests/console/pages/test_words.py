"""No phrase of a page lacks its Chinese, and none is kept that no page says."""

import re

import pytest

from keepstep.console.objects import OnObjects
from keepstep.console.pages import job_form, words
from keepstep.console.pages.chinese import CHINESE
from keepstep.console.pages.reader import preferred
from keepstep.console.pages.rendering import TEMPLATES
from keepstep.console.pages.telling import SENTENCES
from keepstep.console.pages.words import Translator, beside, translator
from keepstep.contracts.taxonomy import Language
from tests.console.pages.site import Site
from tests.console.pages.stories import told
from tests.console.pages.test_pages import PATHS

COUNTED = ("/", "/jobs", "/incidents", "/faults", "/nodes")
LOGIN = "login.html"
"""Has a table of its own: it is drawn for strangers."""
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in sorted(TEMPLATES.glob("*.html")) if path.name != LOGIN)


async def test_every_phrase_that_a_page_asks_for_has_its_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()

    def recording(language: Language) -> Translator:
        def translated(phrase: str, **fields: object) -> str:
            asked.add(phrase)
            return translator(language)(phrase, **fields)

        return translated

    monkeypatch.setattr(words, "translator", recording)
    full, closed = told(Site()), Site(ground=OnObjects())
    of_objects = Site(ground=OnObjects(("train",)))
    for site in (full, closed, of_objects):
        async with site.asked() as browser:
            for path in PATHS:
                await browser.get(path)
            await browser.post("/create", data=job_form.blank() | {"argv": "python3", "crash_count": "100"})
    await full_of_done(full)
    assert {phrase for phrase in asked if phrase not in CHINESE} == set()
    assert len(asked) > 150, "the pages were drawn"


async def full_of_done(site: Site) -> None:
    """Ask for every answer to an order."""
    async with site.asked() as browser:
        for done in SENTENCES:
            await browser.get("/nodes/gpu-02", params={"done": done})


@pytest.mark.parametrize("phrase", sorted(set(re.findall(r'\bt\("([^"]+[^ "])"[,)]', TEXT)) | set(SENTENCES.values())))
def test_a_phrase_that_only_some_pools_show_has_its_chinese_too(phrase: str) -> None:
    assert phrase in CHINESE


def test_no_chinese_is_kept_that_no_page_says() -> None:
    said = {phrase for phrase in CHINESE if f'"{phrase}"' in TEXT or f'"{phrase}#"' in TEXT}
    assert set(CHINESE) - said - set(SENTENCES.values()) == set()


def test_chinese_phrases_hold_the_fields_of_the_english() -> None:
    for phrase, chinese in CHINESE.items():
        assert set(re.findall(r"{\w+}", phrase)) == set(re.findall(r"{\w+}", chinese)), phrase


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("", "en"), ("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("de-DE,en;q=0.5,zh;q=0.1", "en"), ("fr", "en"), ("ZH", "zh")],
)
def test_the_dearest_language_of_the_browser_that_we_speak_is_taken(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


def test_a_sentence_does_not_repeat_the_name_that_it_stands_beside() -> None:
    said = "isolation declined: no node named"
    assert beside("IsolationDeclined", said, Language.EN) == "no node named"
    assert beside("IsolationDeclined", said, Language.ZH) == "没有指明节点"
    assert beside("JobResumed", "resumed: all ranks exited 0", Language.EN) == "resumed: all ranks exited 0"


async def test_days_signs_and_counts_of_a_chinese_page_are_written_as_chinese_is() -> None:
    """No ISO day, no half-width colon or list, and a number is counted by a word."""
    async with told(Site()).asked() as browser:
        for path in PATHS:
            page = (await browser.get(path, params={"lang": "zh"})).text
            shown = re.sub(r"<[^>]*>", " ", page.partition("<body")[2])
            assert re.findall(r"\d{4}-\d\d-\d\d", shown) == [], path
            assert re.findall(r"[\u4e00-\u9fff] ?[:,](?= )", shown) == [], path
            assert re.search(r"共 \d+ 项", shown) or path not in COUNTED, path
            assert path == "/create" or re.search(r"<time [^>]*>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d<", page), path
