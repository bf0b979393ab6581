"""What the scheduler-adapter says: why this level, why not that one, and how a recovery went."""

from collections.abc import Mapping

RECOVERY: Mapping[str, str] = {
    "recovery.enabled is false and {category:category} stopped the job": (
        "recovery.enabled 为 false，任务因“{category}”中断"
    ),
    "{category:category} is not worth a retry": "“{category}”不值得重试",
    "the same failure again{at:at} without progress": "再次出现同样的失败{at}，没有进展",
    "{n:count} of this job, recovery.restart_limit is {limit:int}": (
        "该任务已恢复 {n}，recovery.restart_limit 为 {limit}"
    ),
    "all tasks failed within {s:num} s of their start {times:count} in a row": (
        "所有实例连续 {times}在启动后 {s} 秒内失败"
    ),
    "{category:category} starts at {level:level}": "“{category}”从“{level}”开始",
    "{because:said}; {used:count} used in {s:num} s": "{because}；{s} 秒内已用 {used}",
    "{because:said}; {used:count} used in {s:num} s, {each:int} for each level": (
        "{because}；{s} 秒内已用 {used}，每级 {each} 次"
    ),
    "not {level:level}: {why:said}": "不采用“{level}”：{why}",
    "{before:said}; not {level:level}: {why:said}": "{before}；不采用“{level}”：{why}",
    "recovery.levels leaves it out": "recovery.levels 未包含它",
    "the cluster cannot do it": "集群不支持",
    "it failed in this incident, or a stronger one did": "本次故障中它或更强的级别已失败",
    "the verdict takes the node out": "诊断结论要求隔离节点",
    "rank 0 is hurt and recovery.rank0_in_place is false": "rank 0 受影响，且 recovery.rank0_in_place 为 false",
    "no task is named to be replaced": "没有指明要替换的实例",
    "the task to be replaced holds rank 0": "要替换的实例包含 rank 0",
    "replacing a task needs torch >= 2.0.0, {task} has {version}": "替换实例需要 torch >= 2.0.0，{task} 为 {version}",
    "replacing a task needs Python >= 3.8.0, {task} has {version}": "替换实例需要 Python >= 3.8.0，{task} 为 {version}",
    "{task} is gone ({by:cause})": "{task} 已丢失（{by}）",
    "{task} did not confirm its stop within {s:num} s": "{task} 在 {s} 秒内没有确认停止",
    "cannot reap ranks {ranks:numbers}": "无法回收 rank {ranks}",
    "{task} cannot reap ranks {ranks:numbers}": "{task} 无法回收 rank {ranks}",
    "refused generation {n:int}: {why:said}": "拒绝第 {n} 代：{why}",
    "{task} refused generation {n:int}: {why:said}": "{task} 拒绝第 {n} 代：{why}",
    "{names:names} silent for {s:num} s": "{names} 已 {s} 秒没有回应",
    "the fault did not clear by itself": "故障没有自行消失",
    "{level:level} did not bring a first step within {limit}": "“{level}”在 {limit} 内没有完成首步",
    "the job gives no marks and all ranks lived {s:num} s": "任务不上报训练步，全部 rank 已存活 {s} 秒",
    "{joined:count} joined and {started:int} started in time": "{joined}按时就绪，{started} 个按时启动",
    "no room": "资源不足",
    "cannot be placed: {why:said}": "无法调度：{why}",
    "no room: {why:said}": "资源不足：{why}",
    "{why:said}; {level:level} was given up: {gave:said}: {because:said}": (
        "{why}；“{level}”已放弃：{gave}：{because}"
    ),
    "{level:level} was given up: {because:said}": "“{level}”已放弃：{because}",
    "{why:said}: {because:said}": "{why}：{because}",
    "{who:subject} failed again: {because:said}": "{who} 再次失败：{because}",
    "{who:names} failed again: {because:said}": "{who} 再次失败：{because}",
    "{what:deadline} was due {at:instant}": "{what}的时限于 {at} 已到",
    "{what:deadline} was due {s:num} s ago, when nobody could be heard: it waits once more": (
        "{what}的时限在 {s} 秒前已到，当时收不到任何消息：再等一次"
    ),
    "{task} was lost ({by:cause})": "{task} 丢失（{by}）",
    "{n:int} tasks in a row ended before they joined, the last was {task}: {text:said}": (
        "连续 {n} 个实例在就绪前结束，最后一个是 {task}：{text}"
    ),
    "{n:int} tasks in a row ended before they joined, the last was {task}: ": (
        "连续 {n} 个实例在就绪前结束，最后一个是 {task}"
    ),
    "{task} ended before it joined ({by:cause}): made anew": "{task} 在就绪前结束（{by}）：重新创建",
    "stopped by {by:text}": "由 {by} 停止",
    "stopped by {by}: {reason:said}": "由 {by} 停止：{reason}",
    "{by} drains {node}": "{by} 腾空 {node}",
    "{by} drains {node}: {reason:text}": "{by} 腾空 {node}：{reason}",
    "{by} drains {node}; no level can move {names:names} from there: {why:said}": (
        "{by} 腾空 {node}，但没有级别能迁走 {names}：{why}"
    ),
    "{by} drains {node}: waits for the next checkpoint, {s:num} s at most": (
        "{by} 腾空 {node}：等待下一个检查点，最多 {s} 秒"
    ),
    "all ranks exited 0": "全部 rank 以退出码 0 结束",
    "all ranks exited 0 before anything was done": "未作任何处理之前，全部 rank 已以退出码 0 结束",
    "all tasks are gone": "全部实例均已消失",
    "{n:count} not done {s:num} s after the first rank exited 0: {ranks:numbers}": (
        "首个 rank 正常退出 {s} 秒后仍有{n}未结束：{ranks}"
    ),
    "{n:count} started generation {g:int}": "{n}已启动第 {g} 代",
    "{n:count} joined, which is all": "全部 {n}已就绪",
    "all old ranks are gone and {n:count} joined": "旧 rank 均已退出，{n}已就绪",
    "the first step of generation {g:int} is done by {tasks:count}": "第 {g} 代的首步已由 {tasks}完成",
    "{n:count} of {each:count}": "{n}，各 {each}",
    "the job is {life:life} already": "任务已处于“{life}”状态",
    "the fault is of generation {n:int}, generation {m:int} runs": "故障属于第 {n} 代，现在运行的是第 {m} 代",
    "task {task} is no longer placed": "实例 {task} 已不在运行",
    "the job no longer runs on {place}": "任务已不在 {place} 上运行",
    "revision {n:int} blames {task}, which is being replaced already": "第 {n} 次修正指向 {task}，它已在替换中",
    "revision {n:int} came after RecoveryStarted": "第 {n} 次修正在恢复开始之后才到达",
    "joins incident {id}": "并入故障单 {id}",
}
