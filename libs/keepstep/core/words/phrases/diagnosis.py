"""What the diagnoser says: the verdict's sentence and what becomes of an incident before recovery."""

from collections.abc import Mapping

DIAGNOSIS: Mapping[str, str] = {
    "{who:subject} opens the incident: {because:said}": "{who} 触发故障单：{because}",
    "{because:said}, {faults:count} while the incident before this one ended": (
        "{because}；上一张故障单关闭期间又有{faults}"
    ),
    "every fault was over before its verdict: {because:said}": "所有故障在定位之前都已消失：{because}",
    "hearsay alone restarts nothing, and no rank has told of a fault: {because:said}": (
        "仅凭第三方上报不重启任务，且没有 rank 报告故障：{because}"
    ),
    "open past {s:num} s, the sum of its recovery's deadlines": "打开已超过 {s} 秒，即各级恢复时限之和",
    "{by:text} looks after it": "{by} 已认领",
    "{who:subject} said: {line:text}": "{who} 输出：{line}",
    "{who:subject} said: {line:text} at {file}, line {n:int}": "{who} 输出：{line}（{file} 第 {n} 行）",
    "{who:subject} raised {line:text}": "{who} 抛出 {line}",
    "{who:subject} raised {line:text} at {file}, line {n:int}": "{who} 抛出 {line}（{file} 第 {n} 行）",
    "{who:subject} ended by {how:exit}{silent:silent} after {s:num} s": "{who} 运行 {s} 秒后退出（{how}）{silent}",
    "{who:subject} ended by {how:exit}{silent:silent} after {s:num} s; its last line: {line:text}": (
        "{who} 运行 {s} 秒后退出（{how}）{silent}；最后一行输出：{line}"
    ),
    "{who:subject} printed a line of pattern {rule}: {line:text}": "{who} 的输出命中规则 {rule}：{line}",
    "{who:subject} made no progress for {s:num} s ({sign:sign})": "{who} 已 {s} 秒没有进展（{sign}）",
    "{who:subject} made no progress for {s:num} s ({sign:sign}, in {frame:text})": (
        "{who} 已 {s} 秒没有进展（{sign}，停在 {frame}）"
    ),
    "{who:subject} made no progress for {s:num} s ({sign:sign}, in {frame:text}, called from {caller:text})": (
        "{who} 已 {s} 秒没有进展（{sign}，停在 {frame}，由 {caller} 调用）"
    ),
    "{who:subject} is moved as planned: {text:said}": "{who} 按计划迁走：{text}",
    "{who:subject} is gone: {by:cause}, {proof:proof}": "{who} 已丢失：{by}，{proof}",
    "{who:subject} is gone: {by:cause}, {proof:proof} ({text:said})": "{who} 已丢失：{by}，{proof}（{text}）",
    "{who:subject} was not heard for {s:num} s": "{who} 已 {s} 秒没有心跳",
    "rank {ranks:numbers} could not be reaped after SIGKILL": "rank {ranks} 在 SIGKILL 之后仍无法回收",
    "{who:subject} reported {what:said}": "{who} 上报 {what}",
    "{because:said}; it came before or outweighs {n:count}": "{because}；它早于或重于{n}",
    "{because:said}; all that {ranks:count} could tell of is a lost peer": "{because}；{ranks}都只报告了对端丢失",
    "{because:said}; {ranks:count} told of a lost peer and only {who:subject} says nothing": (
        "{because}；{ranks}报告了对端丢失，只有 {who} 没有报告"
    ),
    "{because:said}; stack in {frame:text}": "{because}；调用栈停在 {frame}",
    "{because:said}; the same at step {step:int} before": "{because}；此前在第 {step} 步已同样失败",
    "{because:said}; the same at step {step:int} before, so another try is in vain": (
        "{because}；此前在第 {step} 步已同样失败，重试无益"
    ),
}
