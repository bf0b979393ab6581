"""The entrance as fixtures."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from keepstep.console.api import application
from keepstep.console.context import Console
from keepstep.console.login.opening import CALLBACK, Login, opened
from keepstep.console.login.settings import LoginSettings
from tests.console.login.entrance import HERE, Clock, People, browser
from tests.console.login.identity import Identity, identity
from tests.console.login.oidc import Trip, settings


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def people(tmp_path: Path) -> People:
    return People(tmp_path / "tokens")


@pytest.fixture
def login(people: People, clock: Clock) -> Login:
    found = opened(LoginSettings(console_tokens=people.path, console_url=HERE), clock)
    assert found is not None
    return found


@pytest.fixture
def app(console: Console, login: Login) -> FastAPI:
    return application(console, login=login)


@pytest.fixture
async def web(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with browser(app) as found:
        yield found


@pytest.fixture
async def there() -> AsyncIterator[Identity]:
    async with identity(HERE + CALLBACK) as found:
        yield found


@pytest.fixture
async def trip(console: Console, there: Identity, tmp_path: Path, clock: Clock) -> AsyncIterator[Trip]:
    app = application(console, login=opened(settings(there, tmp_path), clock))
    async with browser(app) as web:
        yield Trip(web, app)
