"""Why a job's own kind rules a level out, and what would make it possible."""

from collections.abc import Mapping

REFUSALS: Mapping[str, str] = {
    "{kind:thing} is {phase}; no kind starts a finished job again": "{kind} 已是 {phase}；已结束的任务不能再启动",
    "create it anew": "请重新创建",
    "create the job anew": "请重新创建任务",
    "resume it": "请恢复它",
    "isolate it first": "请先隔离",
    "take level job": "请改用 Job 级",
    "take level job: suspension counts nothing": "请改用 Job 级：挂起不计次数",
    "watch the restart that is under way": "请等待正在进行的重启",
    "set spec.active of its Workload to false and back to true": (
        "请把其 Workload 的 spec.active 先改为 false 再改回 true"
    ),
    "{kind:thing} is being deleted": "{kind} 正在被删除",
    "{kind:thing} is managed by {manager}; its own controller ignores it": "{kind} 由 {manager} 管理，自身控制器不处理",
    "restart it where {manager} runs it": "请在 {manager} 处重启",
    "{kind:thing} is suspended, and not by this recovery": "{kind} 被挂起（并非本次恢复所为）",
    "pod {pod} is on node {node}, which does not answer and is not proved dead: it may still run": (
        "Pod {pod} 所在节点 {node} 失联且未证实已停机：Pod 可能仍在运行"
    ),
    "fence {node}, or set taint {taint} on it once it is known to be off": (
        "请对 {node} 做 fencing，或确认已关机后打上污点 {taint}"
    ),
    "pod {pod} hangs on node {node} and podReplacementPolicy Failed holds it by a finalizer": (
        "Pod {pod} 滞留在节点 {node} 上，podReplacementPolicy Failed 以 finalizer 保留了它"
    ),
    "set taint {taint} on {node}": "请给 {node} 打上污点 {taint}",
    "{nodes:names} would take the new pods: neither cordoned nor tainted": (
        "{nodes} 仍会接收新 Pod：既未封锁也没有污点"
    ),
    "isolate it, or label {n:int} usable nodes {label}=yes ({m:int} are)": (
        "请隔离它，或给 {n} 个可用节点打标签 {label}=yes（现有 {m} 个）"
    ),
    "{kind:thing} has completionMode NonIndexed: a new pod does not take the rank of the old one": (
        "{kind} 的 completionMode 为 NonIndexed：新 Pod 不会接替旧 Pod 的 rank"
    ),
    "set completionMode Indexed": "请设置 completionMode 为 Indexed",
    "podFailurePolicy of {kind:thing} fails it when a pod ends with code 143 or 137, as a deleted one does": (
        "{kind} 的 podFailurePolicy 在 Pod 以 143 或 137 退出（被删除即如此）时判任务失败"
    ),
    "take level job, or leave these codes out of the rule": "请改用 Job 级，或从规则中去掉这些退出码",
    "{kind:thing} counts {n:int} failures of backoffLimit {m:int}; a deleted pod is one more and ends it": (
        "{kind} 已计 {n} 次失败（backoffLimit {m}）；再删一个 Pod 就会结束任务"
    ),
    "{kind:thing} has backoffLimitPerIndex 0: a deleted pod is the end of its index": (
        "{kind} 的 backoffLimitPerIndex 为 0：删除 Pod 即终结其索引"
    ),
    "suspend of {kind:thing} belongs to Kueue queue {queue}, and deleting {n:int} pods counts as many failures": (
        "{kind} 的 suspend 由 Kueue 队列 {queue} 掌管，而删除 {n} 个 Pod 会计为同样多次失败"
    ),
    "{n:int} deleted pods are more failures than the {m:int} that {kind:thing} has left": (
        "删除 {n} 个 Pod 超过 {kind} 剩余的 {m} 次失败额度"
    ),
    "{kind:thing} restarts by its own failurePolicy": "{kind} 会按自己的 failurePolicy 重启",
    "the JobSet of {kind:thing} restarts by its own failurePolicy": "{kind} 的 JobSet 会按自己的 failurePolicy 重启",
    "no child Job of {kind:thing} lets a pod be replaced: {why:said}": "{kind} 没有可替换 Pod 的子 Job：{why}",
    "it has no child Jobs now": "它现在没有子 Job",
    "no pod of {kind:thing} can be replaced alone: {why:said}": "{kind} 的 Pod 都不能单独替换：{why}",
    "it has no JobSet yet": "它还没有 JobSet",
    "{kind:thing} has restartPolicy Never for {roles:names}: a deleted or evicted pod fails the whole job within "
    "20 ms": ("{kind} 的 {roles} 为 restartPolicy Never：Pod 被删除或驱逐会在 20 毫秒内令整个任务失败"),
    "take level in-place or job; for level pod create it with restartPolicy ExitCode": (
        "请改用原地重启或 Job 级；若要 Pod 级，请以 restartPolicy ExitCode 创建"
    ),
    "suspend of {kind:thing} belongs to Kueue queue {queue}, and restartPolicy Never allows no deletion of pods": (
        "{kind} 的 suspend 由 Kueue 队列 {queue} 掌管，而 restartPolicy Never 不允许删除 Pod"
    ),
    "create the job anew; maxRetry of a live job cannot be raised (the webhook answers 400)": (
        "请重新创建任务；运行中任务的 maxRetry 不能调大（webhook 返回 400）"
    ),
    "{kind:thing} is Restarting; another command would kill the pods made since": (
        "{kind} 正在 Restarting；再下命令会误杀新建的 Pod"
    ),
    "{kind:thing} was aborted by somebody; only ResumeJob starts it, and it costs a retry": (
        "{kind} 被人中止；只有 ResumeJob 能启动它，且消耗一次重试"
    ),
    "resume it with vcctl job resume": "请用 vcctl job resume 恢复",
    "{kind:thing} is ending: {why:text}": "{kind} 正在结束：{why}",
    "{kind:thing} has retryCount {n:int} of maxRetry {m:int}: the next restart ends it": (
        "{kind} 的 retryCount 为 {n}（maxRetry {m}）：再重启一次任务即结束"
    ),
    "policies of {kind:thing} widen the deletion of any pod beyond that pod": (
        "{kind} 的 policies 会把删除单个 Pod 扩大到其他 Pod"
    ),
    "take level job, or leave PodEvicted and PodFailed without a policy": (
        "请改用 Job 级，或不要为 PodEvicted 与 PodFailed 设置策略"
    ),
    "policy RestartPod of {kind:thing} costs a retry and retryCount is {n:int} of maxRetry {m:int}": (
        "{kind} 的策略 RestartPod 消耗一次重试，而 retryCount 已为 {n}（maxRetry {m}）"
    ),
    "policy RestartPod takes {r:int} of maxRetry {m:int}, retryCount is {n:int}": (
        "策略 RestartPod 需要 {r} 次重试，而 retryCount 已为 {n}（maxRetry {m}）"
    ),
    "deleting {pod} restarts or ends the {what:scope}: the job's own policy says so": (
        "按任务自身策略，删除 {pod} 会重启或结束整个 {what}"
    ),
}
