"""What the detector says: why something is a fault, and why it is over."""

from collections.abc import Mapping

DETECTION: Mapping[str, str] = {
    "rank {rank:int} ended by {how:exit} after {s:num} s, unasked": "rank {rank} 运行 {s} 秒后意外退出（{how}）",
    "rank {rank:int} is in state {state} for {s:num} s ({sign:sign})": (
        "rank {rank} 处于 {state} 状态已 {s} 秒（{sign}）"
    ),
    "rank {rank:int} runs again without help": "rank {rank} 已自行恢复运行",
    "rank {rank:int} printed a line of pattern {rule} at offset {offset:int}": (
        "rank {rank} 的输出命中规则 {rule}（偏移 {offset}）"
    ),
    "task {task} is gone after {ranks:count} had finished": "{ranks}正常结束后，实例 {task} 消失",
    "task {task} on {node} is to move: {text:said}": "节点 {node} 上的实例 {task} 需要迁走：{text}",
    "task {task} on {node} is gone: {by:cause}": "节点 {node} 上的实例 {task} 已丢失：{by}",
    "{ranks:count} could not be reaped after SIGKILL": "{ranks}在 SIGKILL 之后仍无法回收",
    "node {node} reports that {what:found} is over": "节点 {node} 上报 {what} 已恢复",
    "node {node} reported {what:found} while {there:running} there": "节点 {node} 上报 {what}，其上正运行{there}",
    "the job runs on node {node} no more: {what:found} is the node's": (
        "任务已不在节点 {node} 上运行：{what} 只算节点自身的故障"
    ),
    "{what:found} of node {node} reported, where no job runs": "节点 {node} 上报 {what}，其上没有任务运行",
    "{what:found} of node {node} hurts no training": "节点 {node} 的 {what} 不影响训练",
    "a report that names no node is about nothing": "上报没有指明节点，无法处理",
    "rank {ranks:numbers} used no CPU time and stands still for {s:num} s while a collective keeps {n:count} waiting; "
    "limit {limit:num} s": ("rank {ranks} 已 {s} 秒不占用 CPU、停在原处，{n}在集合通信中等待；上限 {limit} 秒"),
    "rank {ranks:numbers} made no step for {s:num} s while {n:count} stepped; limit {limit:num} s": (
        "rank {ranks} 已 {s} 秒没有完成训练步，而{n}仍在训练；上限 {limit} 秒"
    ),
    "rank {rank:int} made no step for {s:num} s and no other rank runs; limit {limit:num} s": (
        "rank {rank} 已 {s} 秒没有完成训练步，且没有其他 rank 在运行；上限 {limit} 秒"
    ),
    "none of {ranks:count} made a step for {s:num} s; limit {limit:num} s": (
        "{ranks}都已 {s} 秒没有完成训练步；上限 {limit} 秒"
    ),
    "none of {ranks:count} made a step for {s:num} s; limit {limit:num} s; only rank {busy:numbers} is not waiting in "
    "a collective": ("{ranks}都已 {s} 秒没有完成训练步；上限 {limit} 秒；只有 rank {busy} 不在集合通信中等待"),
    "the agent of {task} on {node} was not heard for {s:num} s": "节点 {node} 上实例 {task} 的 agent 已 {s} 秒没有心跳",
    "the agent is heard again": "agent 心跳恢复",
    "steps are made again without help": "训练步已自行恢复",
    "heartbeats show rank {rank:int} ended by {how:exit} and nobody reported it": (
        "心跳显示 rank {rank} 已退出（{how}），但没有收到退出上报"
    ),
    "{silent:int} of {total:int} agents fell silent in one window, more than {share}: no silence is called": (
        "同一窗口内 {total} 个 agent 中有 {silent} 个失去心跳，超过比例 {share}：暂不判定失联"
    ),
    "missing from the cluster's listing": "集群列表中已没有它",
}
