"""What the isolator says: why a node is out, why it is not, and why it may take jobs again."""

from collections.abc import Mapping

ISOLATION: Mapping[str, str] = {
    "{because:said}; {n:int} incidents share one cause: {cause:subject}": "{because}；{n} 张故障单同因：{cause}",
    "{reason:said} (by {by:text})": "{reason}（来自 {by}）",
    "{reason:said} (by rule {rule})": "{reason}（规则 {rule}）",
    "{reason:said}; {out:count} out": "{reason}；已隔离 {out}",
    "{reason:said}; {out:count} out, of {node} its device {device} alone": (
        "{reason}；已隔离 {out}，其中 {node} 只隔离设备 {device}"
    ),
    "the fleet is asked for {node}: {reason:said}": "申请隔离 {node}：{reason}",
    "no node named": "没有指明节点",
    "rule {rule}": "规则 {rule}",
    "{category:category}: {because:said}": "{category}：{because}",
    "the verdict was revised: {because:said}": "诊断结论已修正：{because}",
    "drain: {reason:text}": "腾空：{reason}",
    "drain: {reason:text} (by {by})": "腾空：{reason}（来自 {by}）",
    "the order names no node": "指令没有指明节点",
    "{by:text} asks for {node}: {reason:said}": "{by} 申请隔离 {node}：{reason}",
    "asked for by {by}": "由 {by} 发起",
    "asked for by {by}: {reason:said}": "由 {by} 发起：{reason}",
    "job {job} is over: there is nothing to pause": "任务 {job} 已结束，无可暂停",
    "{node} is cordoned by {by:text}: left as it is": "{node} 已被 {by} 封锁（cordon），保持原样",
    "{node} is not in this cluster of {n:count}": "{node} 不在本集群（共 {n}）中",
    "{place} is already isolated since {at:instant}: {reason:said}": "{place} 自 {at} 起已隔离：{reason}",
    "guard: {out:count} of the fleet out, at most {most:int} may be": (
        "隔离上限保护：整个集群已隔离 {out}，最多允许 {most} 个"
    ),
    "guard: {out:count} of the group {group} out, at most {most:int} may be": (
        "隔离上限保护：节点组 {group} 已隔离 {out}，最多允许 {most} 个"
    ),
    "guard: {out:count} of the job out, at most {most:int} may be": (
        "隔离上限保护：该任务已隔离 {out}，最多允许 {most} 个"
    ),
    "device {device} was given back by hand": "设备 {device} 已被人工归还",
    "uncordoned by hand": "已被人工解除封锁（uncordon）",
    "its cordon was taken over by {by:text}": "封锁已由 {by} 接管",
    "its cordon is not keepstep's any more: {why:said}": "封锁已不属于 keepstep：{why}",
    "{node} left the cluster, and its isolation expired": "{node} 已离开集群，隔离到期",
    "{node} was ready for {s:num} s, {asked:num} s asked ({reason:said})": (
        "{node} 已连续就绪 {s} 秒，要求 {asked} 秒（{reason}）"
    ),
    "{node} left the cluster ({because:said})": "{node} 已离开集群（{because}）",
    "{node} carried no cordon ({because:said})": "{node} 本来就没有封锁（{because}）",
    "{node} is cordoned by {by:text}, who alone may release it": "{node} 由 {by} 封锁，只能由其解除",
    "nothing of others is left there": "其上已没有其他 Pod",
    "{pods:count} did not leave by {at:instant}; driven out, as the policy asks": (
        "到 {at} 仍有{pods}未离开；按策略强制驱逐"
    ),
    "{pods:count} did not leave by {at:instant}; left there: their budgets say so": (
        "到 {at} 仍有{pods}未离开；受 PodDisruptionBudget 限制，保留"
    ),
    "{pod}: {why:said}": "{pod}：{why}",
    "every pod: {why:said}": "全部 Pod：{why}",
    "not drained: {why:said}": "未腾空：{why}",
    "{place} is isolated since {at:instant}: expired, released once it is healthy": (
        "{place} 自 {at} 起隔离，现已到期，健康后解除"
    ),
    "expired: {reason:said}": "已到期：{reason}",
    "a verdict of {category:category} by rule {rule} isolates nothing": (
        "规则 {rule} 给出的“{category}”结论不隔离任何节点"
    ),
    "rule {rule} names no node": "规则 {rule} 没有指明节点",
    "isolation is off by policy": "策略已关闭自动隔离",
    "actions are paused by {by:text}": "自动处理已被 {by} 暂停",
    "the detector is blind since {at:instant}: {because:said}": "检测自 {at} 起失明：{because}",
    "held for a person: {n:int} isolations in {s:num} s, limit {limit:int}": (
        "等待人工确认：{s} 秒内已隔离 {n} 次，上限 {limit} 次"
    ),
    "dry run of rule {rule}: would isolate {node}: {because:said}": "规则 {rule} 试运行：本应隔离 {node}：{because}",
    "{why:said}: left as it is": "{why}：保持原样",
    "device {device} of {node} cannot be withheld for {owner}: isolate the node": (
        "无法为 {owner} 单独隔离 {node} 的设备 {device}：请隔离整个节点"
    ),
    "cordoned outside keepstep": "由 keepstep 之外封锁",
    "node {node} is cordoned by {by:who} ({reason:said}); it stays theirs": (
        "节点 {node} 已被 {by} 封锁（{reason}），不作改动"
    ),
    "node {node} was cordoned by {by:text}, not by {owner}: ask them to release it": (
        "节点 {node} 由 {by} 封锁，而非 {owner}：请联系其解除"
    ),
    "somebody uncordoned it by hand": "有人手动解除了封锁",
    "{node} is none of the {n:int} nodes of this cluster": "本集群 {n} 个节点中没有 {node}",
    "{device} is no device that the ConfigMap {map} could keep out": "ConfigMap {map} 无法隔离设备 {device}",
    "there is no node {node} in this cluster": "本集群中没有节点 {node}",
    "ended meanwhile": "期间已结束",
    "until a person releases it": "直到人工解除",
    "until {at:instant}, sooner by a person, or where it was lost once it is ready again": (
        "至 {at}；可由人工提前解除，失联的节点恢复就绪后也会提前解除"
    ),
    "until it was ready for {s:num} s, or by a person": "连续就绪 {s} 秒后自动解除，也可由人工解除",
    "until {at:instant}, then released once it was ready for {s:num} s; sooner by a person": (
        "至 {at}，此后连续就绪 {s} 秒即解除；可由人工提前解除"
    ),
}
