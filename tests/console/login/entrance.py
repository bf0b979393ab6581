"""A console with a login on the session's bus, a clock that can be set, and people with tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from re import search
from secrets import token_urlsafe

import httpx
from argon2 import PasswordHasher
from fastapi import FastAPI

from keepstep.console.login.opening import Login
from keepstep.contracts.taxonomy import Role

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Hashes of tests cost nothing; what real ones cost is one test's business."""
HERE = "https://keepstep.example"


@dataclass
class Clock:
    """The time, as a test says."""

    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, by: timedelta) -> None:
        self.now += by


class People:
    """A file of tokens, and the tokens."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tokens: dict[str, str] = {}
        self._lines: dict[str, str] = {}
        for role in Role:
            self.put(f"{role}-ann", role)

    def put(self, name: str, role: Role, *, anew: bool = True) -> str:
        if anew:
            self.tokens[name] = f"ks_{name}_{token_urlsafe(32)}"
            hashed = CHEAP.hash(self.tokens[name])
        else:
            hashed = self._lines[name].split()[2]
        self._lines[name] = f"{name} {role} {hashed}"
        self._write()
        return self.tokens[name]

    def drop(self, name: str) -> None:
        del self._lines[name]
        self._write()

    def of(self, role: Role) -> str:
        return self.tokens[f"{role}-ann"]

    def _write(self) -> None:
        new = self.path.with_suffix(".new")
        new.write_text("# who may come in\n\n" + "\n".join(self._lines.values()) + "\n", encoding="utf-8")
        new.replace(self.path)


@asynccontextmanager
async def browser(app: FastAPI, *, at: str = HERE, client: str = "192.0.2.7") -> AsyncIterator[httpx.AsyncClient]:
    """A browser without cookies at an address."""
    transport = httpx.ASGITransport(app=app, client=(client, 4711), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url=at, headers={"Accept": "text/html"}) as found:
        yield found


def csrf_in(page: str) -> str:
    """Return the field that a form of a page hands back."""
    found = search(r'name="csrf" value="([^"]+)"', page)
    assert found is not None, page
    return found[1]


async def log_in(web: httpx.AsyncClient, token: str, *, then: str = "/") -> httpx.Response:
    """Fill in the form as a person does."""
    shown = await web.get("/login", params={"next": then})
    form = {"csrf": csrf_in(shown.text), "token": token, "next": then}
    return await web.post("/login", data=form)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def cookies(kept: dict[str, str]) -> dict[str, str]:
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in kept.items())}


def csrf_of(web: httpx.AsyncClient) -> str:
    """Return what a page would put into its forms."""
    app: FastAPI = web._transport.app  # type: ignore[attr-defined]  # the client was built over it
    login: Login = app.state.login
    session = login.keeper.sessions.read(web.cookies["__Host-keepstep_session"], login.now())
    assert session is not None
    return login.keeper.sessions.csrf(session)
