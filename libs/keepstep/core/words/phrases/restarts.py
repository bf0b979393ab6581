"""What the adapters of job kinds say: how a job is restarted, what that costs, and what came of it."""

from collections.abc import Mapping

RESTARTS: Mapping[str, str] = {
    "the lost pods of {kind:thing} went by another's hand, {n:int} of {m:int} pods are there": (
        "{kind} 丢失的 Pod 已由他方清理，{m} 个 Pod 中现有 {n} 个"
    ),
    "{kind:thing} restarts by its own controller": "{kind} 正由其控制器自行重启",
    "{kind:thing} restarts by its own controller; force away {names:names}": (
        "{kind} 正由其控制器自行重启；强制清理 {names}"
    ),
    "{kind:thing}: replace {names:names}; {cost:said}": "{kind}：替换 {names}；{cost}",
    "{kind:thing}: suspend, see no pod left, resume; {cost:said}": "{kind}：挂起，等 Pod 全部退出，再恢复；{cost}",
    "{kind:thing}: suspend, force away {names:names}, see no pod left, resume; {cost:said}": (
        "{kind}：挂起，强制清理 {names}，等 Pod 全部退出，再恢复；{cost}"
    ),
    "{kind:thing}: ranks restart inside {n:int} living pods; {cost:said}": (
        "{kind}：在现有 {n} 个 Pod 内重启 rank；{cost}"
    ),
    "{kind:thing}: {how:said}; {cost:said}": "{kind}：{how}；{cost}",
    "costs nothing": "不消耗重试次数",
    "costs nothing, pods come back after {s:num} s": "不消耗重试次数，{s} 秒后重建 Pod",
    "costs {n:int} of {budget:text} ({used:int} of {limit:int} used)": (
        "消耗 {budget} 的 {n} 次（{limit} 次中已用 {used} 次）"
    ),
    "costs {n:int} of {budget:text} ({used:int} of {limit:int} used), pods come back after {s:num} s": (
        "消耗 {budget} 的 {n} 次（{limit} 次中已用 {used} 次），{s} 秒后重建 Pod"
    ),
    "delete {n:int} child Jobs, because Kueue queue {queue} owns suspend": (
        "删除 {n} 个子 Job（suspend 由 Kueue 队列 {queue} 掌管）"
    ),
    "delete all pods, because Kueue queue {queue} owns suspend": "删除全部 Pod（suspend 由 Kueue 队列 {queue} 掌管）",
    "its own policy restarts it when pod {pod} is gone; a command would kill the new pods again": (
        "Pod {pod} 消失后其自身策略会重启任务；再下命令会误杀新 Pod"
    ),
    "Command RestartJob": "下发命令 RestartJob",
    "Command RestartJob; the last restart but this ends the job": "下发命令 RestartJob；此后任务只剩最后一次机会",
    "{kind:thing} is gone": "{kind} 已消失",
    "{kind:thing} was made anew: uid {uid}, planned for {old}": "{kind} 已被重新创建：uid {uid}，计划针对 {old}",
    "{kind:thing} succeeded meanwhile": "{kind} 期间已成功结束",
    "{names:names} came to {where:names}, which was to be avoided": "{names} 被调度到应避开的 {where}",
    "{n:int} of {m:int} pods that were to stay went": "应保留的 {m} 个 Pod 中有 {n} 个消失",
    "{n:int} of {m:int} pods run": "{m} 个 Pod 中 {n} 个在运行",
    "{n:int} of {m:int} pods run, {new:int} of them new": "{m} 个 Pod 中 {n} 个在运行，其中 {new} 个是新建的",
    "{progress:said} after {s:num} s": "{s} 秒后：{progress}",
    "{progress:said}; limit {s:num} s": "{progress}；上限 {s} 秒",
    "{progress:said}; the command left no trace: same pods, counter {n:int}": (
        "{progress}；命令没有生效：Pod 未变，计数为 {n}"
    ),
    "{progress:said}; {pod} waits: {reason}": "{progress}；{pod} 在等待：{reason}",
    "{progress:said}; {names:names} still terminating": "{progress}；{names} 仍在退出",
    "{progress:said}; no node takes {pod}: {message:text}": "{progress}；没有节点可放置 {pod}：{message}",
    "somebody resumed {kind:thing} while keepstep restarts it": "keepstep 重启期间有人恢复了 {kind}",
    "somebody suspended {kind:thing} and resumed it": "有人挂起并恢复了 {kind}",
    "{said:said}; its old pods are gone": "{said}；旧 Pod 已全部退出",
    "{said:said}; suspend it once more": "{said}；再次挂起",
    "{said:said}; the restart is still to be made": "{said}；仍需重启",
    "{said:said}, and did so again; {left:said}: suspend it until keepstep resumes it": (
        "{said}，而且不止一次；{left}：请挂起它，等 keepstep 恢复"
    ),
    "{names:names} must go first": "{names} 必须先退出",
    "its nodes are chosen anew while it is suspended": "挂起期间会重新选择节点",
    "the API server refuses a step of the restart: {why:text}": "API server 拒绝了重启中的一步：{why}",
    "{why:said}; take it off once no restart is under way": "{why}；确认没有重启在进行后请删除它",
    "annotation {name} of {kind:thing} is no record of a restart: {garbled:text}": (
        "{kind} 的注解 {name} 不是重启记录：{garbled}"
    ),
    "the object of job {job} is gone: there is nothing to restart; create it anew": (
        "任务 {job} 的对象已消失：无可重启，请重新创建"
    ),
    "job {job} is not seen, and not every kind is shown now": "看不到任务 {job}，且目前并非所有类型都可见",
    "{n:int} steps over {m:int} pods make a record of {size:int} bytes, and {most:int} fit on {kind:thing}": (
        "{m} 个 Pod 的 {n} 步需要 {size} 字节的记录，而 {kind} 上最多 {most} 字节"
    ),
    "somebody else goes on with the restart of {kind:thing}": "{kind} 的重启已由他方继续",
    "the record of the restart of {kind:thing} was taken away": "{kind} 的重启记录被删除",
    "waits until no pod is left: {why:said}": "等待 Pod 全部退出：{why}",
    "this job was found on a cluster with job controllers; KEEPSTEP_CLUSTER names another one": (
        "该任务来自带控制器的集群，而 KEEPSTEP_CLUSTER 指向另一个"
    ),
    "{n:int} pods of {job} are still there": "任务 {job} 仍有 {n} 个 Pod",
    "costs {n:int} of backoffLimit of {kind:thing} ({used:int} of {limit:int} used)": (
        "消耗 {kind} 的 backoffLimit {n} 次（{limit} 次中已用 {used} 次）"
    ),
    "costs {n:int} of backoffLimit of {kind:thing} ({used:int} of {limit:int} used), pods come back after {s:num} s": (
        "消耗 {kind} 的 backoffLimit {n} 次（{limit} 次中已用 {used} 次），{s} 秒后重建 Pod"
    ),
    "delete all pods, because retryCount {n:int} of maxRetry {m:int} leaves {left:int} restart": (
        "删除全部 Pod（retryCount {n}，maxRetry {m}，只剩 {left} 次重启）"
    ),
    "delete all pods, because retryCount {n:int} of maxRetry {m:int} leaves {left:int} restarts": (
        "删除全部 Pod（retryCount {n}，maxRetry {m}，只剩 {left} 次重启）"
    ),
    "it hangs on a dead node and holds the restart up": "它滞留在已停机的节点上，阻碍重启",
    "its node is dead and nobody there would end it": "其节点已停机，无法自行退出",
    "suspend belongs to Kueue queue {queue}; the set makes a missing Job again": (
        "suspend 由 Kueue 队列 {queue} 掌管；JobSet 会重建缺失的 Job"
    ),
    "suspend belongs to Kueue; the operator makes each missing index again": (
        "suspend 由 Kueue 掌管；Operator 会重建缺失的副本"
    ),
    "suspend: the controller deletes all pods and counts nothing": "挂起：控制器删除全部 Pod，且不计次数",
    "no two pods of one index, and none that fails the job on resume": (
        "同一索引不能有两个 Pod，也不能有恢复时令任务失败的 Pod"
    ),
    "resume: all pods are made anew": "恢复：重新创建全部 Pod",
    "select nodes labelled {label}, which {nodes:names} is not": "只选带标签 {label} 的节点，{nodes} 没有该标签",
    "Restarting ends only when total - terminating reaches minAvailable": (
        "total - terminating 达到 minAvailable 后 Restarting 才结束"
    ),
    "no policy is hit: every pod is made again under its name": "不触发任何策略：每个 Pod 以原名重建",
    "the controller restarts all pods at once": "控制器会同时重启全部 Pod",
}
