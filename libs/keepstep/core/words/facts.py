"""What the facts of a message to people are called, how their values read, and the few words around them."""

import re
from collections.abc import Mapping

from keepstep.contracts.taxonomy import Language
from keepstep.core.words.holes import HOLES
from keepstep.core.words.labels import label
from keepstep.core.words.reading import told
from keepstep.core.words.sets import Label

FACTS: Mapping[str, Label] = {
    "after": Label("after the fault", "距故障开始"),
    "attempt": Label("attempt", "第几次尝试"),
    "attempts": Label("attempts", "尝试次数"),
    "category": Label("category", "类别"),
    "cause": Label("cause", "原因"),
    "channel": Label("channel", "渠道"),
    "console": Label("console", "控制台"),
    "culprit": Label("culprit", "故障点"),
    "dead letters": Label("dead letters", "死信数"),
    "dead letter": Label("dead letter", "死信"),
    "device": Label("device", "设备"),
    "cut": Label("… (cut)", "…（已截断）"),
    "everyone": Label("all", "所有人"),
    "evidence": Label("evidence", "证据"),
    "group": Label("group", "同因分组"),
    "incident": Label("incident", "故障单"),
    "incidents of one cause": Label("incidents of one cause", "同因故障单数"),
    "isolated": Label("isolated", "隔离期限"),
    "job": Label("job", "任务"),
    "kind": Label("kind", "类型"),
    "last line": Label("last line", "最后一行日志"),
    "level": Label("level", "恢复级别"),
    "levels": Label("levels", "恢复级别"),
    "lost steps": Label("lost steps", "损失步数"),
    "missing": Label("could not be called", "未能提及"),
    "message": Label("message", "消息"),
    "node": Label("node", "节点"),
    "notice": Label("notice", "通知"),
    "nth": Label("message {}", "第 {} 条"),
    "open since": Label("open since", "开始于"),
    "outcome": Label("outcome", "处理结果"),
    "pool": Label("pool", "资源池"),
    "rank": Label("rank", "rank"),
    "resume from": Label("resume from", "恢复起点"),
    "rule": Label("rule", "规则"),
    "seconds": Label("seconds", "耗时（秒）"),
    "service": Label("service", "服务"),
    "spoken": Label("keepstep. {}. {}", "keepstep。{}。{}"),
    "spoken digest": Label("keepstep. {} messages. The first: {}", "keepstep。{} 条故障通知。第一条：{}"),
    "still there": Label("still there", "仍在节点上"),
    "thread": Label("thread", "会话"),
    "time": Label("time", "时间"),
    "until": Label("until", "隔离至"),
    "why": Label("why", "原因"),
}
KINDS: Mapping[str, str] = {
    "category": "category", "level": "level", "levels": "level", "outcome": "outcome", "service": "service",
}  # fmt: skip
"""Facts whose values are members of a closed set."""
INSTANTS = ("isolated", "open since", "time", "until")
"""Facts whose values are instants, or hold some in a sentence of ours."""
ENDS = ("category", "level", "outcome")
"""Facts that a title ends with."""
BETWEEN = " > "
"""What stands between the levels that were tried."""


def name(word: str, language: Language) -> str:
    """Return what a fact, a link or a part of a message is called; a word that is none of ours stays as it is."""
    found = FACTS.get(word)
    if found is None:
        return word
    return found.zh if language is Language.ZH else found.en


def fact(word: str, value: str, language: Language) -> tuple[str, str]:
    """Return a fact's name and value; in English the value is the contracts' own word, as commands take it."""
    if language is Language.EN:
        return name(word, language), value
    if word in INSTANTS and re.fullmatch(HOLES["instant"].pattern, value):
        return name(word, language), HOLES["instant"].read(value)
    if (kind := KINDS.get(word)) is None:
        return name(word, language), told(value, language)
    if value == "none":
        return name(word, language), told(value, language)
    return name(word, language), " → ".join(label(kind, one, language) for one in value.split(BETWEEN))
