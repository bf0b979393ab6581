"""What is garbled, too long or half a character is answered as a mistake of whoever sent it, and is not repeated."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from keepstep.console.bounds import MOST, MOST_OF_REPORT
from keepstep.console.login.headers import SECURE
from keepstep.console.pages import job_form
from tests.console.pages.site import Site
from tests.console.pages.stories import told

API = "/api/v1"
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JOB = {"argv": ["python3"], "name": "toy"}


@pytest.fixture(scope="module")
def site() -> Site:
    return told(Site())


def job(**change: object) -> bytes:
    return json.dumps(JOB | change).encode()


def budget(**change: object) -> dict[str, Any]:
    return {"recovery": {"crash": {"count": 1} | change}}


BODIES = [
    pytest.param("/nodes/gpu-02/isolate", b'{"reason": "\\ud800"}', id="half a character"),
    pytest.param("/nodes/gpu-02/isolate", b'{"\\ud800": "x"}', id="half a character as a name"),
    pytest.param("/nodes/gpu-02/isolate", b'{"reason": NaN}', id="not a number"),
    pytest.param("/nodes/gpu-02/isolate", b'{"reason": 1e999}', id="infinite"),
    pytest.param("/jobs", b'{"argv": ["python3"], "policy": {"\\ud800": 1}}', id="a setting by half a character"),
    pytest.param("/jobs", job(policy=budget(count=10**400)), id="a count of 400 digits"),
    pytest.param("/jobs", job(policy={"recovery": {"restart_limit": 2**53}}), id="a limit that JSON rounds"),
    pytest.param("/jobs", job(policy=budget(window=1e300)), id="a window of for ever"),
    pytest.param("/jobs", job(cwd="a\0b"), id="a folder with NUL"),
    pytest.param("/jobs", job(checkpoint_dir="\0"), id="checkpoints in NUL"),
    pytest.param("/jobs", job(argv=["python3", "\0"]), id="an argument with NUL"),
    pytest.param("/jobs", job(env={"A": "\0"}), id="a variable with NUL"),
    pytest.param("/jobs", job(argv=["a" * 5000]), id="a command too long to be a file's"),
    pytest.param("/jobs", job(argv=["a" * 5000 + ".py"]), id="a script too long to be a file's"),
]


@pytest.mark.parametrize(("path", "body"), BODIES)
async def test_a_garbled_order_is_refused_in_words_that_can_be_read(site: Site, path: str, body: bytes) -> None:
    site.ordered.clear()
    async with site.asked() as web:
        answer = await web.post(f"{API}{path}", content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]
    assert not site.ordered


@pytest.mark.parametrize(
    ("field", "value"),
    [("cwd", "\0"), ("argv", "python3 \0"), ("checkpoint_dir", "\0"), ("crash_count", "9" * 4000),
     ("nodes", "9" * 5000), ("hang_limit", "nan"), ("crash_window", "1e300"), ("argv", "a" * 5000)],
)  # fmt: skip
async def test_a_garbled_form_comes_back_with_the_mistake(site: Site, field: str, value: str) -> None:
    sent = job_form.blank() | {"argv": "python3", "name": "toy", field: value}
    async with site.asked() as web:
        answer = await web.post("/create", data=sent)
    assert (answer.status_code, 'id="mistake"' in answer.text) == (422, True)


async def test_what_was_given_is_not_repeated_where_it_may_be_a_secret(site: Site) -> None:
    async with site.asked() as web:
        answer = await web.post(f"{API}/jobs", json=JOB | {"env": {"TOKEN": ["s3cret"]}, "name": 7})
    assert answer.status_code == 422
    assert "s3cret" not in answer.text
    assert {tuple(one) for one in answer.json()["detail"]} == {("type", "loc", "msg")}


async def pieces(of: int) -> AsyncIterator[bytes]:
    """Yield so many bytes, of which nobody said before how many they would be."""
    for _ in range(of // 65_536 + 1):
        yield b" " * 65_536


@pytest.mark.parametrize("path", [f"{API}/jobs", f"{API}/nodes/gpu-02/isolate", "/create", "/nodes/gpu-02/isolate"])
@pytest.mark.parametrize("told_before", [True, False], ids=["announced", "in pieces"])
async def test_a_body_beyond_its_bound_is_refused_whatever_it_is_for(site: Site, path: str, told_before: bool) -> None:
    kind = JSON if path.startswith(API) else FORM
    async with site.asked() as web:
        answer = await web.post(path, content=b" " * (MOST + 1) if told_before else pieces(MOST), headers=kind)
    assert (answer.status_code, "256 KiB" in answer.text) == (413, True)


async def test_a_report_of_a_whole_pool_may_be_longer_and_not_endless(site: Site) -> None:
    async with site.asked() as web:
        long = await web.post(f"{API}/public-faults", content=pieces(2 * MOST), headers=JSON)
        endless = await web.post(f"{API}/public-faults", content=b" " * (MOST_OF_REPORT + 1), headers=JSON)
    assert (long.status_code, endless.status_code) == (422, 413)


@pytest.mark.parametrize(
    ("path", "kind"), [(f"{API}/overview", "application/json"), ("/", "text/plain; charset=utf-8")]
)
async def test_a_bug_of_ours_is_answered_with_the_secure_headers_and_without_a_word_of_it(
    site: Site, monkeypatch: pytest.MonkeyPatch, path: str, kind: str
) -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise RuntimeError("nats://console:s3cret@nats:4222")

    monkeypatch.setattr(site.console.board, "overview", broken)
    async with site.asked() as web:
        answer = await web.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (500, kind)
    assert "something went wrong here" in answer.text
    assert not any(word in answer.text for word in ("s3cret", "RuntimeError", "Traceback"))
    assert {name: answer.headers.get(name) for name in SECURE} == SECURE


async def test_what_was_chosen_is_kept_only_where_it_is_a_choice(site: Site) -> None:
    async with site.asked() as web:
        asked = await web.get("/jobs", params={"lang": "zh\r\nSet-Cookie: a=b", "theme": "dark"})
    assert [one.partition("=")[0] for one in asked.headers.get_list("set-cookie")] == ["keepstep_theme"]
