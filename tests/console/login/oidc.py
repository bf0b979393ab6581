"""A browser that goes to an OpenID provider and back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from keepstep.console.login.settings import LoginSettings
from keepstep.contracts.taxonomy import Role
from tests.console.login.entrance import HERE
from tests.console.login.identity import CLIENT, SECRET, Identity

ROLES = {"ml": Role.OPERATOR, "sre": Role.ADMIN}


@dataclass
class Trip:
    """A browser, and the application it asks."""

    web: httpx.AsyncClient
    app: FastAPI

    async def leave(self, then: str = "/jobs") -> str:
        """Go to the provider; returns where it sends the browser back to."""
        left = await self.web.get("/login/oidc", params={"next": then})
        assert left.status_code == 303, left.text
        async with httpx.AsyncClient() as elsewhere:
            sent = await elsewhere.get(left.headers["location"])
        return sent.headers["location"].removeprefix(HERE)

    async def come_in(self, then: str = "/jobs") -> httpx.Response:
        return await self.web.get(await self.leave(then))


def settings(there: Identity, tmp_path: Path, **told: Any) -> LoginSettings:
    secret = tmp_path / "secret"
    secret.write_text(SECRET + "\n", encoding="utf-8")
    return LoginSettings(
        **{
            "console_url": HERE, "console_oidc_issuer": there.issuer, "console_oidc_client": CLIENT,
            "console_oidc_secret": secret, "console_oidc_roles": ROLES,
        } | told  # type: ignore[arg-type]  # each field is checked by the model
    )  # fmt: skip
