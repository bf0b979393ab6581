"""What every answer says beside its body, in clear, under TLS and behind a proxy."""

from dataclasses import replace

import httpx

from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.login.headers import SECURE
from keepstep.console.login.opening import opened
from keepstep.console.login.settings import LoginSettings
from keepstep.contracts.taxonomy import Role
from tests.console.login.entrance import Clock, People, bearer, browser, log_in

PAGE = "/api/v1/overview"


async def test_every_answer_has_the_secure_headers(web: httpx.AsyncClient) -> None:
    for path, status in (("/login", 200), (PAGE, 401), ("/jobs", 303), ("/healthz", 200), ("/static/none", 404)):
        answer = await web.get(path)
        assert answer.status_code == status
        assert {name: answer.headers.get(name) for name in SECURE} == SECURE
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        assert path.startswith("/static") or answer.headers["cache-control"] == "no-store"
    policy = SECURE["Content-Security-Policy"]
    assert "unsafe-inline" not in policy
    assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy.split("; "))
    shown = (await web.get("/login")).text
    assert not any(word in shown for word in ("<script", "<style", " style=", " onclick="))


async def test_in_clear_on_this_machine_the_cookie_is_not_for_tls_alone_and_nothing_promises_tls(
    console: Console, people: People, clock: Clock
) -> None:
    login = opened(LoginSettings(console_tokens=people.path), clock)
    async with browser(application(console, login=login), at="http://127.0.0.1:8700") as web:
        answer = await log_in(web, people.of(Role.VIEWER))
        (cookie,) = [one for one in answer.headers.get_list("set-cookie") if one.startswith("keepstep_session=")]
        assert "Secure" not in cookie
        assert "strict-transport-security" not in answer.headers
        assert (await web.get(PAGE)).status_code == 200


async def test_behind_a_proxy_tls_and_the_client_are_believed_of_a_named_address_alone(
    console: Console, people: People, clock: Clock
) -> None:
    settings = LoginSettings(console_tokens=people.path, console_proxies=("10.0.0.0/8",))
    told_all = console.settings.model_copy(update={"console_proxies": settings.console_proxies})
    app = application(replace(console, settings=told_all), login=opened(settings, clock))
    told = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.1"}
    for peer, secure in (("10.1.2.3", True), ("192.0.2.7", False)):
        async with browser(app, at="http://keepstep.example", client=peer) as web:
            answer = await web.get("/login", headers=told)
            assert ("Secure" in answer.headers["set-cookie"]) is secure
    async with browser(app, at="http://keepstep.example", client="10.1.2.3") as web:
        for n in range(10):
            await web.get(PAGE, headers=told | bearer(f"ks_admin-ann_{n:043}"))
        wrong = bearer("ks_admin-ann_" + "a" * 43)
        assert (await web.get(PAGE, headers=told | wrong)).status_code == 429
        assert (await web.get(PAGE, headers=told | wrong | {"X-Forwarded-For": "198.51.100.2"})).status_code == 401
