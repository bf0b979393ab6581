"""What agents and launchers say: why a plan was refused, why ranks were stopped, what a node looks like."""

from collections.abc import Mapping

AGENTS: Mapping[str, str] = {
    "the plan of generation {n:int} has no ranks for this task": "第 {n} 代的计划没有给该实例分配 rank",
    "cut off from the bus for {s:num} s and none of {ranks:count} made a step for {still:num} s, limit {limit:num} s: "
    "their ranks may be given to others": (
        "与总线断开已 {s} 秒，{ranks}已 {still} 秒没有训练步，上限 {limit} 秒：这些 rank 可能已交给其他实例"
    ),
    "cut off from the bus and without a step for too long": "与总线断开且长时间没有训练步",
    "keepstep: {why:said}": "keepstep：{why}",
    "{path:text}: {share} or {mib:num} MiB and {files} of the files are left": (
        "{path}：剩余空间 {share}（{mib} MiB），剩余文件数 {files}"
    ),
    "{share} of memory is available, and {s:num} % of the last minute all waited for it": (
        "可用内存 {share}，最近一分钟有 {s}% 的时间全部进程都在等内存"
    ),
    "the bus's clock is {s:num} s from this node's": "总线与本节点的时钟相差 {s} 秒",
    "{text:said} (and {n:int} more since the last)": "{text}（上次以来另有 {n} 条）",
}
