"""Why a job is taken, taken with a warning, or refused; what its object in a cluster has to do with it."""

from collections.abc import Mapping

ACCEPTANCE: Mapping[str, str] = {
    "the specification has {n:int} bytes, at most {most:int} are taken: shorten env, arguments or policy": (
        "任务规格有 {n} 字节，最多接受 {most} 字节：请缩短 env、参数或策略"
    ),
    "resume_arg needs a checkpoint to name: set checkpoint_dir, or leave resume_arg out": (
        "resume_arg 需要检查点：请设置 checkpoint_dir，或去掉 resume_arg"
    ),
    "policy.recovery.levels is empty: name a level, or set policy.recovery.enabled to false": (
        "policy.recovery.levels 为空：请至少写一级，或把 policy.recovery.enabled 设为 false"
    ),
    "policy.recovery.stop_deadline ends before policy.trainer.stop_grace: make it longer by some seconds": (
        "policy.recovery.stop_deadline 早于 policy.trainer.stop_grace：请延长几秒"
    ),
    "policy.detection.blind_share and blind_minimum are the pool's: set KEEPSTEP_DETECTOR_BLIND_SHARE there": (
        "policy.detection.blind_share 与 blind_minimum 属于资源池：请在其中设置 KEEPSTEP_DETECTOR_BLIND_SHARE"
    ),
    "nodes: where {size:said} run does not fit into one message of the bus: with nproc {n:int} at most {most:int}": (
        "nodes：{size} 的分布超出一条总线消息的容量：nproc 为 {n} 时最多 {most}"
    ),
    "no level {level:level}: {why:said}; {remedy:said}": "不支持“{level}”：{why}；{remedy}",
    "{kind:thing} goes on": "{kind} 继续运行",
    "{kind:thing} was resumed after its end, which keepstep does not undo: it is put down; create it anew": (
        "{kind} 结束后又被恢复运行，keepstep 不支持：已停下，请重新创建"
    ),
    "{kind:thing} is gone and nobody saw it go": "{kind} 已消失，原因不明",
    "{kind:thing} succeeded by its own controller's word": "{kind} 已成功（由其控制器报告）",
    "{kind:thing} failed: {why:text}": "{kind} 失败：{why}",
    "{kind:thing} failed: its controller gives no reason": "{kind} 失败：控制器没有给出原因",
    "{kind:thing} failed: no reason given": "{kind} 失败：没有给出原因",
    "{kind:thing} was deleted": "{kind} 已被删除",
    "{kind:thing} is put down by keepstep, which ended it: create it anew": (
        "{kind} 已由 keepstep 结束并停下：请重新创建"
    ),
    "{kind:thing} is put down, as it could not be obeyed: put it right, then resume it": (
        "{kind} 的规格无法执行，已停下：请改正后恢复运行"
    ),
    "{kind:thing}: {wrong:said}": "{kind}：{wrong}",
    "annotation {name} says nodes {n:int}, {m:int} of its pods carry label {label}: make both the same": (
        "注解 {name} 写明 nodes 为 {n}，而带标签 {label} 的 Pod 有 {m} 个：请改为一致"
    ),
    "annotation {name}: {where}: {error:text}; inject the job again": "注解 {name}：{where}：{error}；请重新注入任务",
    "annotation {name}: the JSON: {error:text}; inject the job again": "注解 {name}：JSON：{error}；请重新注入任务",
    "label {label} is {name}: set it to {ours}, the job's name": "标签 {label} 的值是 {name}：请改为任务名 {ours}",
    "{kind:thing} is suspended by Kueue, whose queue {queue} resumes it": "{kind} 被 Kueue 挂起，由队列 {queue} 恢复",
    "{kind:thing} is suspended, and not by keepstep: resume it": "{kind} 被挂起（并非 keepstep 所为）：请恢复它",
    "{kind:thing} is aborted, and not by keepstep: resume it": "{kind} 被中止（并非 keepstep 所为）：请恢复它",
    "{why:said} ({remedy:said})": "{why}（{remedy}）",
    "{why:said}; keepstep doctor lists the permissions that are missing": ("{why}；keepstep doctor 可列出缺少的权限"),
    "a rule mentions {names:names} at {sink}, which calls nobody by name: name a channel of a chat, mail, SMS or phone,"
    " or leave mention out": (
        "有规则在 {sink} 处 @{names}，但该处无法点名：请改用群机器人、邮件、短信或电话渠道，或去掉 mention"
    ),
}
