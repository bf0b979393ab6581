"""An OpenID provider that changes, fails or lies: what is asked of it again, told, or not followed."""

from pathlib import Path
from typing import Any

import pytest

from keepstep.console.login import provider as provider_module
from keepstep.console.login.opening import opened
from keepstep.contracts.taxonomy import Role
from keepstep.ports.errors import Permanent
from tests.console.login import identity as i
from tests.console.login.entrance import HERE, Clock
from tests.console.login.identity import Identity
from tests.console.login.oidc import Trip, settings


async def test_a_provider_that_turned_its_key_is_asked_for_the_new_one(
    trip: Trip, there: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await trip.come_in()).status_code == 303
    there.key = i.key("k2")
    there.published = [there.key]
    assert (await trip.come_in()).status_code == 502, "once a minute at most"
    monkeypatch.setattr(provider_module, "RENEW_S", 0.0)
    assert (await trip.come_in()).status_code == 303
    assert there.asked.count("discovery") == 2


async def test_groups_that_only_userinfo_tells_are_asked_for_and_of_the_same_person_alone(
    trip: Trip, there: Identity
) -> None:
    there.person = {"sub": "u1", "preferred_username": "ann"}
    there.userinfo = {"sub": "u2", "groups": ["sre"]}
    assert (await trip.come_in()).status_code == 502
    there.userinfo = {"sub": "u1", "groups": ["sre"], "preferred_username": "root"}
    assert (await trip.come_in()).status_code == 303
    who = trip.app.state.login.keeper.sessions.read(
        trip.web.cookies["__Host-keepstep_session"], trip.app.state.login.now()
    )
    assert (who.name, who.role) == ("ann", Role.ADMIN), "what the signed token says counts more"


async def test_a_provider_that_is_out_of_order_is_told_and_used_again_when_it_is_back(
    trip: Trip, there: Identity
) -> None:
    there.down = True
    answer = await trip.web.get("/login/oidc")
    assert (answer.status_code, there.issuer in answer.text) == (503, False)
    there.down = False
    assert (await trip.come_in()).status_code == 303


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://evil.example"},
        {"token_endpoint": "http://192.0.2.1/token"},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": ""},
    ],
)
async def test_a_document_that_would_send_secrets_elsewhere_is_not_followed(
    trip: Trip, there: Identity, document: dict[str, str]
) -> None:
    there.document = document
    assert (await trip.web.get("/login/oidc")).status_code == 502
    assert there.asked == ["discovery"]


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"console_url": ""}, "KEEPSTEP_CONSOLE_URL"),
        ({"console_oidc_roles": {}}, "KEEPSTEP_CONSOLE_OIDC_ROLES"),
        ({"console_oidc_scopes": ("profile",)}, "lacks openid"),
        (
            {"console_oidc_secret": Path("/nowhere/secret")},
            "KEEPSTEP_CONSOLE_OIDC_SECRET /nowhere/secret cannot be read",
        ),
    ],
)
def test_a_provider_that_lacks_something_is_refused_at_the_start_with_the_remedy(
    tmp_path: Path, told: dict[str, Any], says: str
) -> None:
    with pytest.raises(Permanent, match=says):
        opened(settings(Identity(HERE, issuer="https://id.example"), tmp_path, **told), Clock())
