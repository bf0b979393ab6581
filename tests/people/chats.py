"""Three fake chats, a channels file that names them, and what people read there."""

import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.people.vendors.robots import SECRET, DingTalk, Feishu, WeCom
from tests.people.vendors.server import Answer, Asked, Vendor, running

NUMBER = re.compile(r"(?:message|第) (\d+)(?: 条)? · ([0-9a-f]{6,})")
"""The foot of each message: its number in the thread, and the beginning of its own id."""
HEX = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Line:
    """One message as it came: when, by the wall clock, and all that it says."""

    at: float
    text: str

    @property
    def number(self) -> int:
        """Its place in its thread."""
        found = NUMBER.search(self.text)
        assert found is not None, self.text
        return int(found[1])

    @property
    def notice(self) -> str:
        """The beginning of its id; two lines with the same one are one message that was delivered twice."""
        found = NUMBER.search(self.text)
        assert found is not None, self.text
        return found[2]

    @property
    def ids(self) -> set[str]:
        """All ids in it."""
        return set(HEX.findall(self.text))


class _Timed(Vendor):
    """Notes when each request that was taken came."""

    def judge(self, asked: Asked) -> Answer:
        before = len(self.taken)
        answer = super().judge(asked)
        if len(self.taken) > before:
            self.lines.append(Line(time.time(), json.dumps(asked.json, ensure_ascii=False)))
        return answer

    @property
    def lines(self) -> list[Line]:
        """What people read, oldest first."""
        found: list[Line] = self.__dict__.setdefault("_lines", [])
        return found


class DingTalkChat(_Timed, DingTalk):
    """DingTalk's robot, as people read it."""


class FeishuChat(_Timed, Feishu):
    """Feishu's bot."""


class WeComChat(_Timed, WeCom):
    """WeCom's robot."""


@dataclass(frozen=True)
class Chats:
    """The three, by the names that rules call them."""

    dingtalk: DingTalkChat
    feishu: FeishuChat
    wecom: WeComChat

    @property
    def all(self) -> dict[str, _Timed]:
        """The chats by their channels' names."""
        return {"dingtalk": self.dingtalk, "feishu": self.feishu, "wecom": self.wecom}

    def written(self, folder: Path) -> Path:
        """Write the channels file, secrets in files of their own as a Secret is mounted."""
        (folder / "secret").write_text(f"{SECRET}\n")
        for name, chat in self.all.items():
            (folder / f"{name}-url").write_text(chat.url)  # type: ignore[attr-defined]  # the chats are fakes, each with a url
        robots = [{"name": name, "kind": name, "url_file": str(folder / f"{name}-url")} for name in self.all]
        for robot in robots:
            if robot["kind"] != "wecom":
                robot["secret_file"] = str(folder / "secret")
        path = folder / "channels.json"
        path.write_text(json.dumps({"channels": robots, "allow": ["127.0.0.1"]}))
        return path


@contextmanager
def chats() -> Iterator[Chats]:
    """Run the three until the block ends."""
    now = datetime.now(UTC)
    with ExitStack() as stack:
        yield Chats(
            stack.enter_context(running(DingTalkChat(now))),
            stack.enter_context(running(FeishuChat(now))),
            stack.enter_context(running(WeComChat())),
        )
