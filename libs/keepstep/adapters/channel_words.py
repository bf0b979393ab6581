"""A notice in words of a language: title, lead, facts and links as people read them, whatever the vendor."""

import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from keepstep.adapters.channel_markup import Format, environment, safe_url
from keepstep.contracts.taxonomy import Language, Severity, Stage
from keepstep.core.words.facts import ENDS, INSTANTS, fact, name
from keepstep.core.words.instants import in_zone, written, zone_words
from keepstep.core.words.labels import label
from keepstep.core.words.reading import told
from keepstep.ports.sink import Notice

OF_PLACES = frozenset({Stage.ISOLATED, Stage.DECLINED, Stage.HELD, Stage.RELEASED, Stage.DRAINED})
"""Stages that are a node's or a device's, also in the thread of a job."""
GOOD = frozenset({Stage.RESUMED, Stage.CLOSED, Stage.SUCCEEDED, Stage.RELEASED})
"""What is over and well; an incident that closes as failed is of the stage ``failed``."""
SIGNS = {Severity.INFO: "🔵", Severity.WARNING: "🟠", Severity.CRITICAL: "🔴"}
PAGE = re.compile(r" \(\d+/\d+\)$")
"""How a digest that had to be split numbers its parts."""
SHORT_ID = 8
"""Hex digits of an id that tell the incidents of a day apart; commands take them as well."""


@dataclass(frozen=True)
class Told:
    """One message of a digest, as a person reads it."""

    sign: str
    title: str
    incident: str
    """The whole id, for no incident may be lost; the notice's own id where there is no incident."""


@dataclass(frozen=True)
class Words:
    """All that a message says; a layout puts it into a vendor's form."""

    language: Language
    sign: str
    severity: str
    title: str
    lead: str
    text: str
    facts: tuple[tuple[str, str], ...]
    links: tuple[tuple[str, str], ...]
    members: tuple[Told, ...]
    incident: str
    number: int
    notice: str
    """Start of the notice's id: two messages that show the same are one that was delivered twice."""
    at: str
    missing: tuple[str, ...]

    @property
    def footer(self) -> str:
        """One line that tells which message this is."""
        incident = f"{name('incident', self.language)} {self.incident}" if self.incident else ""
        several = bool(self.members) and not self.incident
        number = "" if several else name("nth", self.language).format(self.number)
        parts = (incident, number, self.notice, self.at)
        return " · ".join(part for part in parts if part)


def worded(notice: Notice, language: Language, zone: str = "UTC") -> Words:
    """Return the notice's words; times are shown in ``zone``."""
    notice = cleaned(notice)
    title, lead = _told(notice, language)
    local = partial(_local, zone=zone)
    values = ((word, in_zone(value, local) if word in INSTANTS else value) for word, value in notice.facts)
    facts = tuple(fact(word, value, language) for word, value in values)
    links = tuple((name(link.label, language), safe_url(link.url)) for link in notice.links)
    return Words(
        language=language,
        sign=sign(notice.severity, notice.stage),
        severity=label("severity", notice.severity, language),
        title=title,
        lead=lead,
        text=_lines(notice.text, language),
        facts=facts,
        links=tuple((called, url) for called, url in links if url),
        members=tuple(
            Told(
                sign="🟢" if one.stage in GOOD else SIGNS[one.severity],
                title=told(one.title, language),
                incident=one.incident or one.id,
            )
            for one in notice.members
        ),
        incident=notice.incident or "",
        number=notice.sequence,
        notice=notice.id[:SHORT_ID],
        at=shown(notice.at, zone, language),
        missing=notice.mentions.missing,
    )


def sign(severity: Severity, stage: Stage) -> str:
    """Return the coloured sign of a message: how urgent it is, or that it is good news."""
    return "🟢" if severity is Severity.INFO and stage in GOOD else SIGNS[severity]


def shown(at: datetime | None, zone: str, language: Language) -> str:
    """Return an instant as people of ``zone`` write it, to the second and with its offset."""
    if at is None:
        return ""
    local = _local(at, zone)
    if language is Language.EN:
        return written(local)
    return f"{local:%Y/%m/%d %H:%M:%S}{zone_words(local.utcoffset() or timedelta())}"


def _local(at: datetime, zone: str) -> datetime:
    return at.astimezone(UTC if zone == "UTC" else ZoneInfo(zone))


def _told(notice: Notice, language: Language) -> tuple[str, str]:
    """Return title and lead of the notice's stage, or of a digest."""
    called = "digest" if notice.members else str(notice.stage)
    template = environment(Format.TEXT).get_template(f"{language}/{called}.j2")
    page, known = PAGE.search(notice.title), dict(notice.facts)
    said = template.render(
        {kind: label(kind, known.get(kind, ""), language) for kind in ENDS},
        who=_who(notice, language),
        title=told(notice.title, language),
        incident=notice.incident or "",
        count=len(notice.members),
        channel=known.get("channel", ""),
        page=page[0] if page else "",
        label=partial(name, language=language),
    )
    title, _, lead = said.partition("\n")
    return " ".join(title.split()), lead.strip()


def _lines(text: str, language: Language) -> str:
    """Return the text line by line: what people added to a sentence stays as it is."""
    return "\n".join(told(line, language) for line in text.splitlines())


def _who(notice: Notice, language: Language) -> str:
    job = f"{name('job', language)} {notice.job} " if notice.job else ""
    first, _, rest = notice.subject.partition(" ")
    subject = f"{name(first, language)} {rest} " if rest else f"{notice.subject} " if first else ""
    return (subject or job) if notice.stage in OF_PLACES else (job or subject)


def cleaned(notice: Notice) -> Notice:
    """Return the notice without what is no text: control characters, halves of characters, turned writing."""
    return replace(
        notice,
        title=" ".join(plain(notice.title).split()),
        text=plain(notice.text).strip(),
        job=plain(notice.job),
        subject=plain(notice.subject),
        facts=tuple((plain(name), " ".join(plain(value).split())) for name, value in notice.facts),
        links=tuple(link.model_copy(update={"label": " ".join(plain(link.label).split())}) for link in notice.links),
        members=tuple(
            member.model_copy(update={"title": " ".join(plain(member.title).split())}) for member in notice.members
        ),
    )


def plain(text: str) -> str:
    """Return the text without control characters but line ends and tabs, and valid in UTF-8."""
    whole = text.encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    return "".join(one for one in whole if one in "\n\t" or (unicodedata.category(one) != "Cc" and one not in TURNED))


TURNED = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029")
"""Signs that turn the direction of writing, or end a line where only some readers see it."""
