"""What systems beside keepstep report of nodes and devices, in the words that keepstep gives it."""

from collections.abc import Mapping

_FOUND: Mapping[str, str] = {
    "MindCluster level {level}, public: {text:text}": "MindCluster 级别 {level}，公共故障：{text}",
    "MindCluster level {level}, public": "MindCluster 级别 {level}，公共故障",
    "MindCluster level {level}, switch": "MindCluster 级别 {level}，交换芯片",
    "MindCluster level {level}, host": "MindCluster 级别 {level}，主机",
    "MindCluster level {level}, CardUnhealthy": "MindCluster 级别 {level}，芯片故障（CardUnhealthy）",
    "MindCluster level {level}, {kind}": "MindCluster 级别 {level}，{kind}",
}
REPORTS: Mapping[str, str] = {
    **_FOUND,
    **{f"{{code:coded}} {english}": f"{{code}} {chinese}" for english, chinese in _FOUND.items()},
}
"""A verdict on a report begins with its code."""
