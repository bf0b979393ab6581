"""What may stand in the holes of a phrase: how it is found in the English, and how it reads in Chinese."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from keepstep.core.words.instants import INSTANT, moment
from keepstep.core.words.messages import MESSAGES
from keepstep.core.words.sets import SETS

Read = Callable[[str], str]


@dataclass(frozen=True)
class Hole:
    """One kind of hole: a pattern without groups, and what becomes of what it found."""

    pattern: str
    read: Read


NOUNS: Mapping[str, str] = {
    "agent": "个 agent",
    "attempt": "次尝试",
    "character": "个字符",
    "code, configuration and data recovery": "次代码、配置与数据类恢复",
    "fault": "个故障",
    "file": "个文件",
    "hang, network and time-out recovery": "次卡住、网络与超时类恢复",
    "incident": "张故障单",
    "message": "条消息",
    "node": "个节点",
    "other": "个其他 rank",
    "other fault": "个其他故障",
    "out-of-memory recovery": "次内存不足类恢复",
    "pod": "个 Pod",
    "rank": "个 rank",
    "recovery": "次恢复",
    "refusal": "次拒绝",
    "restart": "次重启",
    "sink": "个渠道",
    "step": "步",
    "task": "个实例",
    "time": "次",
    "unknown recovery": "次原因不明类恢复",
    "warm rank": "个预热 rank",
}
"""What ``counted`` counts, with the measure word."""
PLACES: Mapping[str, str] = {
    "rank": "rank {}",
    "device": "设备 {}",
    "task": "实例 {}",
    "node": "节点 {}",
    "job": "任务 {}",
    "group": "节点组 {}",
    "pool": "资源池 {}",
    "storage": "存储 {}",
    "link": "链路 {}",
}
_PLURAL = re.compile(r"(?P<number>\d+)(?: of (?P<every>\d+))? (?P<noun>.+)")
_PLACE = re.compile(r"(?P<what>[A-Za-z]+) (?P<which>[\d, ]*\d|\S+?)(?: of node (?P<node>\S+))?")
_MORE = re.compile(r"(?P<names>.+) and (?P<count>\d+) more")


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"


_SINGULAR = {form: noun for noun in NOUNS for form in (noun, _plural(noun))}


def _count(found: str) -> str:
    """Turn ``3 ranks`` and ``1 of 3 nodes`` round."""
    parts = _PLURAL.fullmatch(found)
    assert parts is not None  # noqa: S101 - the hole's own pattern is narrower
    measure = NOUNS[_SINGULAR[parts["noun"]]]
    if parts["every"] is None:
        return f"{parts['number']} {measure}"
    return f"{parts['number']}/{parts['every']} {measure}"


def _subject(found: str) -> str:
    if found in ("nobody", "the network", "the whole fleet", "fleet"):
        return {"nobody": "未定位", "the network": "网络"}.get(found, "整个集群")
    return "、".join(_place(part) for part in re.split(r", (?=[a-z]+ )", found))


def _place(found: str) -> str:
    parts = _PLACE.fullmatch(found)
    if parts is None:
        return found
    named = PLACES[parts["what"].lower()].format(parts["which"].replace(", ", "、"))
    return named if parts["node"] is None else f"节点 {parts['node']} 的{named}"


def _names(found: str) -> str:
    more = _MORE.fullmatch(found)
    if more is None:
        return found.replace(", ", "、")
    return f"{more['names'].replace(', ', '、')} 等另外 {more['count']} 个"


def _exit(found: str) -> str:
    words = {"nobody could tell what": "未知方式", "in an unknown way": "未知方式"}
    if found in words:
        return words[found]
    found = found.removeprefix("with ").removeprefix("by ").removeprefix("exit ")
    return re.sub(r"^signal ", "信号 ", re.sub(r"^code ", "退出码 ", found))


def _places(found: str) -> str:
    """Write ``n1 (w-0), n2 (w-1)`` with the signs of Chinese."""
    return found.replace(" (", "（").replace("), ", "）、").replace(")", "）")


def _seats(found: str) -> str:
    """Turn ``w-0 of job j1, w-1 of job j2`` round."""
    return re.sub(r"(\S+) of job ([^\s,]+)", r"任务 \2 的实例 \1", found).replace(", ", "、")


def _same(found: str) -> str:
    return found


def _words(table: Mapping[str, str]) -> Hole:
    """Return a hole that takes one of some words; an empty one may be left out."""
    return Hole("|".join(re.escape(word) for word in sorted(table, key=len, reverse=True)), table.__getitem__)


def _set(kind: str) -> Hole:
    return _words({word: label.zh for word, label in SETS[kind].items()})


def _optional(pattern: str, chinese: str) -> Hole:
    """Return a hole for a piece that may be missing and holds one number."""

    def read(found: str) -> str:
        number = re.search(r"\d+", found)
        return "" if number is None else chinese.format(number[0])

    return Hole(f"(?:{pattern})?", read)


def _deadline(found: str) -> str:
    """Return what a deadline is of, and of which thing: ``settle/2``, ``expiry/n1/npu-0``."""
    kind, _, which = found.partition("/")
    if kind not in SETS["deadline"]:
        return found
    return SETS["deadline"][kind].zh + (f"（{which}）" if which else "")


_LEVEL = _set("level")
_ONE_PLACE = (
    rf"(?:{'|'.join((*PLACES, *map(str.capitalize, PLACES)))}) (?:\d+(?:, \d+)*|[^\s,;:]+)(?: of node [^\s,;:]+)?"
)
HOLES: Mapping[str, Hole] = {
    "word": Hole(r"\S+?", _same),
    "int": Hole(r"-?\d+", _same),
    "num": Hole(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", _same),
    "text": Hole(r"(?s:.+)", _same),
    "code": Hole(r".+?", _same),
    "coded": Hole(r"[^\s,;:]+(?: chip \d+ port \d+| \d+ [^\s,;:]+)?", _same),
    "found": Hole(r"[^,;:]+", lambda found: re.sub(r"^device (\S+) ", r"设备 \1 的 ", found)),
    "who": Hole(r".+?", _same),
    "places": Hole(r"[^\s,;]+ \([^\s,;]+\)(?:, [^\s,;]+ \([^\s,;]+\))*", _places),
    "thing": Hole(r"[A-Z]\w*(?: [^\s;:]+)?", _same),
    "instant": Hole(INSTANT, moment),
    "names": Hole(r"[^\s,;]+(?:, [^\s,;]+)*(?: and \d+ more)?", _names),
    "numbers": Hole(r"\[?\d+(?:, \d+)*\]?", lambda found: found.strip("[]").replace(", ", "、")),
    "count": Hole(rf"\d+(?: of \d+)? (?:{'|'.join(sorted(_SINGULAR, key=len, reverse=True))})", _count),
    "subject": Hole(rf"nobody|the network|fleet|{_ONE_PLACE}(?:, {_ONE_PLACE})*", _subject),
    "exit": Hole(
        r"(?:with |exit )?code -?\d+|(?:by )?(?:SIG[A-Z]+|signal \d+)|nobody could tell what|in an unknown way", _exit
    ),
    "levels": Hole(
        rf"no level|(?:{_LEVEL.pattern})(?:, (?:{_LEVEL.pattern}))*",
        lambda found: "无" if found == "no level" else "、".join(map(_LEVEL.read, found.split(", "))),
    ),
    "at": _optional(r" at step \d+", "（第 {} 步）"),
    "lost": _optional(r", \d+ steps? lost", "，损失 {} 步"),
    "tried": _optional(r" after \d+ attempts?", "（尝试 {} 次）"),
    "proven": _words({", proven": "，已证实", "": ""}),
    "proof": _words(
        {
            "its processes are known to be gone": "进程确已终止",
            "whether its processes ended is not known": "其进程是否已终止尚不清楚",
            "not proven": "其进程是否已终止尚不清楚",
        }
    ),
    "seats": Hole(r"\S+ of job [^\s,;]+(?:, \S+ of job [^\s,;]+)*", _seats),
    "known": _words({", its processes are known to be gone": "，其进程确已终止", "": ""}),
    "ordered": _words({", as ordered": "（按计划）", "": ""}),
    "silent": _words({" without a message": "，没有输出错误信息", "": ""}),
    "harmless": _words({", no fault": "（不影响训练）", "": ""}),
    "again": _words({" again after its end": "（结束后被再次恢复）", "": ""}),
    "times": Hole(r"once|\d+ times", lambda found: "1 次" if found == "once" else f"{found.removesuffix(' times')} 次"),
    "takes": _words({"true or false": " true 或 false", "a whole number": "整数", "a text": "文本"}),
    "between": Hole(
        r"(?: from \d+ to \d+)?",
        lambda found: re.sub(r" from (\d+) to (\d+)", r"，\1 到 \2", found),
    ),
    "door": _words({label.en: label.zh for label in SETS["entrance"].values()}),
    "client": Hole(
        r"(?: from [^\s:]+(?::[^\s:]+)*)?", lambda found: found and f"（来自 {found.removeprefix(' from ')}）"
    ),
    "asked": Hole(r"(?: (?!from )\S[^:]*)?", lambda found: found and f" 的{found}"),
    "verb": _words({"stop": "停止", "pause": "暂停", "resume": "恢复"}),
    "running": Hole(
        r"a task of the job runs|\d+ tasks of the job run",
        lambda found: f"该任务的 {found.split(' ')[0].replace('a', '1')} 个实例",
    ),
    "message": Hole(r"\S+?", lambda found: MESSAGES.get(found, found)),
    "scope": _words({"task": "该角色（task）", "job": "任务", "end": "任务"}),
    "address": _words(
        {
            "the metadata service of a cloud": "云的元数据服务",
            "this machine itself": "本机",
            "a link-local address": "链路本地地址",
            "a multicast address": "组播地址",
            "a private address": "内网地址",
        }
    ),
    "awaited": _words({label.en: label.zh for label in SETS["awaits"].values()}),
    **{kind: _set(kind) for kind in SETS},
    "deadline": Hole(r".+?", _deadline),
}
