"""Why a task has no place yet, and why it is gone: words of both kinds of cluster."""

from collections.abc import Mapping

PLACING: Mapping[str, str] = {
    "{node} is not ready": "{node} 未就绪",
    "{node} is cordoned by {by:who} ({reason:said})": "{node} 已被 {by} 封锁（{reason}）",
    "{node} is to be avoided": "{node} 需要避开",
    "{node} runs {tasks:seats}": "{node} 正在运行 {tasks}",
    "needs {n:count} in group {group}, {free:int} of {total:int} free": (
        "需要节点组 {group} 中的 {n}，{total} 个中空闲 {free} 个"
    ),
    "needs {n:count} in group {group}, {free:int} of {total:int} free: {why:said}": (
        "需要节点组 {group} 中的 {n}，{total} 个中空闲 {free} 个：{why}"
    ),
    "needs {n:count} without a group, {free:int} of {total:int} free": (
        "需要 {n}（未分组），{total} 个中空闲 {free} 个"
    ),
    "needs {n:count} without a group, {free:int} of {total:int} free: {why:said}": (
        "需要 {n}（未分组），{total} 个中空闲 {free} 个：{why}"
    ),
    "there is no job object with uid {uid} for {job}": "找不到任务 {job} 的对象（uid {uid}）",
    "{kind:thing} is being restarted, step {n:int} of {m:int}": "{kind} 正在重启，第 {n}/{m} 步",
    "pod {pod} came to {node}, which is to be avoided": "Pod {pod} 被调度到应避开的节点 {node}",
    "pod {pod} waits: {reason}: {message:text}": "Pod {pod} 在等待：{reason}：{message}",
    "no node takes pod {pod}: {message:text}": "没有节点可放置 Pod {pod}：{message}",
    "pod {pod} starts on {node}": "Pod {pod} 正在节点 {node} 上启动",
    "pod {pod} waits for a node": "Pod {pod} 在等待节点",
    "pod {pod} of seat {seat} still terminates on {node}": "席位 {seat} 的旧 Pod {pod} 仍在节点 {node} 上退出",
    "there is no pod for seat {seat} yet": "席位 {seat} 还没有 Pod",
    "there is no local cluster at {path:text}; start its nodes first": "{path} 处没有本地集群：请先启动其节点",
    "another creation has held {path:text} for {s:num} s": "另一次创建已占用 {path} 达 {s} 秒",
    "deleted before it started": "启动前已被删除",
    "launcher does not start: {error:text}": "启动进程无法启动：{error}",
    "launcher exited with code {code:int}": "启动进程退出，退出码 {code}",
    "launcher exited with code {code:int}: {line:text}": "启动进程退出，退出码 {code}：{line}",
    "launcher was killed by {signal:text}": "启动进程被 {signal} 终止",
    "the supervisor of {node} is gone": "节点 {node} 的守护进程已退出",
    "{node} is being stopped": "{node} 正在停止",
    "pod {pod} ended well": "Pod {pod} 正常结束",
    "pod {pod}: {why:said}": "Pod {pod}：{why}",
    "pod {pod}: {reason}: {message:text}": "Pod {pod}：{reason}：{message}",
    "{why:said}; by {by:text}": "{why}；由 {by} 执行",
    "pod {pod}: {why:said} and was started again, {times:times}": "Pod {pod}：{why}，已被再次启动 {times}",
    "container {name} ended with code {code:int}": "容器 {name} 结束，退出码 {code}",
    "container {name} ended with code {code:int} ({reason:text})": "容器 {name} 结束，退出码 {code}（{reason}）",
    "container {name} ended with code {code:int} (no reason given)": "容器 {name} 结束，退出码 {code}（没有给出原因）",
    "node {node} is deleted": "节点 {node} 已被删除",
    "node {node} is out of service": "节点 {node} 已停止服务（out-of-service）",
    "node {node} is not ready ({reason:text})": "节点 {node} 未就绪（{reason}）",
    "node {node} is not ready (no reason given)": "节点 {node} 未就绪（没有给出原因）",
    "deleted by keepstep for {incident}": "keepstep 为故障单 {incident} 删除",
    "{reason} by {source}: {message:text}": "{source} 执行 {reason}：{message}",
    "it is gone and nobody saw it go": "已消失，原因不明",
    "deleted at {at}, no controller says that it was": "于 {at}（UTC）被删除，没有控制器承认",
    "it failed without a container's code": "失败，且没有容器退出码",
    "it failed without a container's code ({reason}: {message:text})": (
        "失败，且没有容器退出码（{reason}：{message}）"
    ),
    "no node takes it: {message:text}": "没有节点可放置：{message}",
    "the cluster": "集群",
    "task {task} is on its way out": "实例 {task} 正在退出",
    "actions are paused; {job} waits": "处置已暂停，任务 {job} 等待",
    "task {task} is not wanted any more": "不再需要实例 {task}",
    "pod {pod} was bound to task {task} meanwhile": "Pod {pod} 期间已绑定到实例 {task}",
    "pod {pod} went before it was bound": "Pod {pod} 在绑定之前消失",
    "KEEPSTEP_CLUSTER {setting} names no cluster: write local:<folder>": (
        "KEEPSTEP_CLUSTER {setting} 没有指明集群：请写 local:<目录>"
    ),
}
