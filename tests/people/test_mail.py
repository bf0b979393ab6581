"""Mail: whole, in both languages and both forms, one conversation for each incident, and judged by its code."""

import ssl
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from keepstep.contracts.notice import Mentions
from keepstep.contracts.taxonomy import Stage
from keepstep.ports.errors import Permanent, Transient
from tests.people.notices import INCIDENT, digest, ids, notice, sink_of
from tests.people.test_guard import certificate
from tests.people.vendors.mail import PASSWORD, USER, MailServer, serving

FROM = "keepstep@corp.example"


def mail(port: int, **fields: Any) -> dict[str, Any]:
    plain = {"kind": "mail", "host": "127.0.0.1", "port": port, "tls": "none", "sender": FROM}
    return plain | {"to": ["oncall@corp.example"]} | fields


def body(got: EmailMessage, form: str) -> str:
    """Return one of the two forms of a message."""
    (part,) = [one for one in got.walk() if one.get_content_type() == f"text/{form}"]
    return str(part.get_content())


async def test_a_mail_has_subject_job_cause_and_time_as_text_and_as_html() -> None:
    server = MailServer()
    async with serving(server) as port:
        receipt = await sink_of(mail(port, zone="Asia/Shanghai")).deliver(notice())
    assert receipt is not None
    assert receipt.code == "250"
    assert "4711" in receipt.detail
    (got,) = server.got
    assert got["Subject"] == f"Re: [keepstep] llm-70b: {INCIDENT[:8]}"
    parts = [part.get_content() for part in got.walk() if not part.is_multipart()]
    assert len(parts) == 2
    for part in parts:
        for said in ("llm-70b", "oom_device", "79.2 of 80 GiB", "2026-11-30 13:59:58 +0800", INCIDENT):
            assert said in part
    assert server.to == [["oncall@corp.example"]]


async def test_mails_of_one_incident_are_one_conversation_and_each_has_an_id_of_its_own() -> None:
    server = MailServer()
    async with serving(server) as port:
        sink = sink_of(mail(port, language="zh"))
        for number, stage in enumerate((Stage.OPENED, Stage.DIAGNOSED, Stage.RESUMED), 1):
            await sink.deliver(notice(id=f"id-{number}", sequence=number, stage=stage))
        await sink.deliver(notice(id="id-3", sequence=3, stage=Stage.RESUMED))
    assert len({got["References"] for got in server.got}) == 1
    assert len({got["Subject"].removeprefix("Re: ") for got in server.got}) == 1
    assert len({got["Message-ID"] for got in server.got}) == 3, "the same notice again is the same mail"
    assert "任务 llm-70b 已恢复训练" in body(server.got[2], "plain")


async def test_what_others_wrote_is_no_html_and_no_header() -> None:
    server = MailServer()
    async with serving(server) as port:
        evil = "<script>alert(1)</script>\r\nBcc: all@corp.example"
        await sink_of(mail(port)).deliver(notice(title=evil, text=evil, job=evil, incident=None))
    (got,) = server.got
    assert got["Bcc"] is None
    html = body(got, "html")
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


async def test_people_whom_a_rule_mentions_get_it_beside() -> None:
    server = MailServer()
    async with serving(server) as port:
        await sink_of(mail(port)).deliver(notice(mentions=Mentions(emails=("li@corp.example", "oncall@corp.example"))))
        with pytest.raises(Permanent, match="nobody to tell"):
            await sink_of(mail(port, to=[])).deliver(notice())
    assert server.to == [["oncall@corp.example", "li@corp.example"]]


async def test_a_digest_lists_every_incident_in_one_mail() -> None:
    server = MailServer()
    storm = digest(200)
    async with serving(server) as port:
        await sink_of(mail(port, language="zh")).deliver(storm)
    (got,) = server.got
    text = body(got, "plain")
    assert [one for one in ids(storm) if one not in text] == []
    assert got["Subject"] == "[keepstep] 200 条通知合并"


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        ("451 4.3.0 try later", Transient, "451"),
        ("552 5.3.4 too big", Permanent, "552"),
        ("554 5.7.1 spam", Permanent, "554"),
    ],
)
async def test_the_servers_code_decides(answer: str, kind: type[Exception], code: str) -> None:
    server = MailServer()
    server.answers.append(answer)
    async with serving(server) as port:
        with pytest.raises((Transient, Permanent), match=code) as raised:
            await sink_of(mail(port)).deliver(notice())
        assert type(raised.value) is kind
        assert raised.value.code == code
        await sink_of(mail(port)).deliver(notice())


async def test_recipients_that_are_not_taken_are_told() -> None:
    server = MailServer()
    server.refused = {"gone@corp.example": "550 no such user", "busy@corp.example": "450 greylisted"}
    async with serving(server) as port:
        receipt = await sink_of(mail(port, to=["gone@corp.example", "here@corp.example"])).deliver(notice())
        assert receipt is not None
        assert "not taken: gone@corp.example" in receipt.detail
        for to, kind in (("gone@corp.example", Permanent), ("busy@corp.example", Transient)):
            with pytest.raises(kind, match="nobody was taken"):
                await sink_of(mail(port, to=[to])).deliver(notice())


async def test_an_absent_server_is_tried_again() -> None:
    async with serving(MailServer()) as port:
        pass
    with pytest.raises(Transient, match="cannot be reached"):
        await sink_of(mail(port)).deliver(notice())


async def test_a_login_goes_over_tls_that_a_private_authority_signed_and_never_shows(tmp_path: Path) -> None:
    pem = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = MailServer()
    async with serving(server, context=context) as port:
        made = mail(port, tls="starttls", host="localhost", user=USER, password=PASSWORD, ca_file=str(pem))
        await sink_of(made).deliver(notice())
        assert server.logins == 1
        with pytest.raises(Permanent, match="535") as raised:
            await sink_of(made | {"password": "wr0ng-pa55"}).deliver(notice())
        assert "wr0ng-pa55" not in repr(raised.value)
        with pytest.raises(Transient, match=r"is not trusted .*set ca_file"):
            await sink_of(made | {"ca_file": None}).deliver(notice())
        with pytest.raises(Transient, match=r"absent\.pem cannot be read: No such file or directory; mount it there"):
            await sink_of(made | {"ca_file": str(tmp_path / "absent.pem")}).deliver(notice())
    assert len(server.got) == 1
