"""Where the console is served: without a login on this machine alone, and what it must know before it goes beyond."""

from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from keepstep.console import guard
from keepstep.console.app import running
from keepstep.console.settings import ConsoleSettings
from keepstep.contracts.ids import Pool
from keepstep.ports.errors import Permanent
from tests.console.login.entrance import People, bearer


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "keepstep.example"])  # noqa: S104 - it is refused
async def test_without_a_login_any_address_beyond_loopback_is_refused_with_the_remedy(host: str) -> None:
    nowhere = ConsoleSettings(nats_url=SecretStr("nats://127.0.0.1:1"), console_host=host)
    with pytest.raises(Permanent) as refused:
        async with running(nowhere):
            pass
    for word in (host, "KEEPSTEP_CONSOLE_TOKENS", "keepstep console token", "KEEPSTEP_CONSOLE_OIDC_ISSUER"):
        assert word in str(refused.value)


async def test_with_a_login_it_must_be_told_how_people_reach_it(people: People) -> None:
    told = ConsoleSettings(console_host="0.0.0.0", console_tokens=people.path)  # noqa: S104 - it is refused
    with pytest.raises(Permanent, match="KEEPSTEP_CONSOLE_URL"):
        async with running(told):
            pass


async def test_a_file_without_a_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("# nobody yet\n", encoding="utf-8")
    with pytest.raises(Permanent, match="has no line; keepstep console token NAME makes one"):
        async with running(ConsoleSettings(console_tokens=tmp_path / "tokens")):
            pass


async def test_beyond_loopback_a_token_opens_it_over_a_real_port(nats_url: str, pool: Pool, people: People) -> None:
    told = ConsoleSettings(
        nats_url=SecretStr(nats_url), pool=pool, console_host="0.0.0.0", console_port=0,  # noqa: S104 - with a login
        console_tokens=people.path, console_url="http://keepstep.example",
    )  # fmt: skip
    async with running(told) as address, httpx.AsyncClient() as web:
        place = address.replace("0.0.0.0", "127.0.0.1")  # noqa: S104 - the address that was given
        assert (await web.get(f"{place}/api/v1/overview")).status_code == 401
        assert (await web.get(f"{place}/metrics")).status_code == 401
        assert (await web.get(f"{place}/healthz")).status_code == 200
        known = bearer(people.tokens["viewer-ann"])
        assert (await web.get(f"{place}/api/v1/overview", headers=known)).status_code == 200


async def test_a_header_makes_nobody_another_where_no_proxy_was_named(
    nats_url: str, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a login the process at the other end is looked up; by X-Forwarded-For another user was nobody."""
    seen: list[object] = []

    def nobody_strange(client: object) -> bool:
        seen.append(client)
        return False

    monkeypatch.setattr(guard, "strange", nobody_strange)
    told = ConsoleSettings(nats_url=SecretStr(nats_url), pool=pool, console_port=0)
    async with running(told) as address, httpx.AsyncClient() as web:
        assert (await web.get(f"{address}/api/v1/overview", headers={"X-Forwarded-For": "6.6.6.6"})).status_code == 200
    (client,) = seen
    assert isinstance(client, tuple)
    assert client[0] == "127.0.0.1"
    assert client[1] > 0


def test_secrets_are_files_and_print_nowhere(people: People) -> None:
    told = ConsoleSettings(console_tokens=people.path)
    assert "argon2" not in repr(told)
    assert not [name for name in ConsoleSettings.model_fields if "secret" in name and name != "console_oidc_secret"]
