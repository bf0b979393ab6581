"""What is said of a job that is about to be created: mistakes in its settings, and settings that restart too often."""

from collections.abc import Mapping

CREATING: Mapping[str, str] = {
    "recovery.{name}.window 0: nothing is ever counted, so {same} restarts for ever; write at least 3600": (
        "recovery.{name}.window 为 0：永远不计数，{same} 会无限重启；请至少写 3600"
    ),
    "recovery.{name}: {n:count} in {window:num} s are {rate} an hour, more than {most:int}; lower "
    "recovery.{same}.count or lengthen its window": (
        "recovery.{name}：{window} 秒内 {n}，即每小时 {rate} 次，超过 {most} 次；"
        "请减小 recovery.{same}.count 或加长窗口"
    ),
    "{field} {sink:text}: is no sink; write log, an http(s) address with its scheme, or the name of a channel": (
        "{field} {sink}：不是通知去处；请写 log、带协议的 http(s) 地址或渠道名"
    ),
    "{field} {sink:text}: no channels file that KEEPSTEP_NOTIFIER_CHANNELS names here has a channel of that name; until"
    " one has, what is to go there lies with the dead letters": (
        "{field} {sink}：此处 KEEPSTEP_NOTIFIER_CHANNELS 指定的渠道文件中没有该渠道；在补上之前，发往它的消息会转入死信"
    ),
    "detection.{name} {s:num} s: whatever lasts longer is restarted as a hang; write at least {least:num}": (
        "detection.{name} 为 {s} 秒：超过即按卡住重启；请至少写 {least}"
    ),
    "detection.loss_window {s:num} s: a task whose agent restarts is taken for lost; write at least {least:num}": (
        "detection.loss_window 为 {s} 秒：agent 重启期间实例会被当作丢失；请至少写 {least}"
    ),
    "nothing to run: put the script after --, as in: keepstep run -- train.py --epochs 3": (
        "没有要运行的内容：请写脚本或命令，如 train.py --epochs 3"
    ),
    "-m needs the name of a module, as in: keepstep run -- -m my.train": "-m 之后需要模块名，如 -m my.train",
    "script {path:text} is not there (looked for {script:text})": "脚本 {path} 不存在（查找了 {script}）",
    "command {program:text} was not found on PATH; a Python script's name ends in .py": (
        "PATH 中找不到命令 {program}；Python 脚本名应以 .py 结尾"
    ),
    "cannot run {argv:text}": "无法运行 {argv}",
    "the script, an argument, --env or the folder's name is not UTF-8: write it in a file": (
        "脚本、参数、--env 或目录名不是 UTF-8：请写在文件里"
    ),
    "the job has {n:int} bytes, at most {most:int} are taken: shorten --env, arguments or policy": (
        "任务有 {n} 字节，最多接受 {most} 字节：请缩短 --env、参数或策略"
    ),
    "--env {pair:text}: write NAME=VALUE": "--env {pair}：请写成 NAME=VALUE",
    "env: {pair:text}: write NAME=VALUE, one a line": "环境变量 {pair}：请写成 NAME=VALUE，每行一个",
    "--env {name}: keepstep sets {same} for every rank itself; choose another name": (
        "--env {name}：keepstep 会为每个 rank 设置 {same}，请换个名称"
    ),
    "argv: {error:text}; close what was opened": "命令：{error}；引号没有闭合",
    "{name}: at most {n:int} characters of text": "{name}：最多 {n} 个字符",
    "{name}: {value:text} is no whole number": "{name}：{value} 不是整数",
    "{name}: {value:text} is no number of seconds": "{name}：{value} 不是秒数",
    "{given:text} exclude each other: say it in one form": "{given} 不能同时使用：请只用一种形式",
    "{name}: {value:text} is no name for a job; write up to 63 lower-case letters, digits and dashes, none of them at "
    "an end": ("{name}：{value} 不是合法任务名；请用不超过 63 个小写字母、数字和连字符，且不以连字符开头或结尾"),
    "{name}: unknown field": "{name}：未知字段",
    "{name}: unknown field; known are {known:text}": "{name}：未知字段；可用的有 {known}",
    "{name}: unknown field; did you mean {near}?": "{name}：未知字段；是否想写 {near}？",
    "{name}: is missing; it has no default": "{name}：缺少且没有默认值",
    "{name}: {value:text} is not known; write one of {choices:text}": "{name}：不认识 {value}；可选 {choices}",
    "{name}: {value:text} is not known; write one of {choices:text}; did you mean {near}?": (
        "{name}：不认识 {value}；可选 {choices}；是否想写 {near}？"
    ),
    "{name}: {value:text} is out of range; write more than {n:num}": "{name}：{value} 超出范围；应大于 {n}",
    "{name}: {value:text} is out of range; write at least {n:num}": "{name}：{value} 超出范围；应不小于 {n}",
    "{name}: {value:text} is out of range; write less than {n:num}": "{name}：{value} 超出范围；应小于 {n}",
    "{name}: {value:text} is out of range; write at most {n:num}": "{name}：{value} 超出范围；应不大于 {n}",
    "{name}: {value:text} is out of range; write more than {n:num} seconds": "{name}：{value} 超出范围；应大于 {n} 秒",
    "{name}: {value:text} is out of range; write at least {n:num} seconds": "{name}：{value} 超出范围；应不小于 {n} 秒",
    "{name}: {value:text} is out of range; write less than {n:num} seconds": "{name}：{value} 超出范围；应小于 {n} 秒",
    "{name}: {value:text} is out of range; write at most {n:num} seconds": "{name}：{value} 超出范围；应不大于 {n} 秒",
    "{name}: {value:text} does not fit the pattern {pattern:text}": "{name}：{value} 不符合格式 {pattern}",
    "{name}: {value:text} is not a whole number": "{name}：{value} 不是整数",
    "{name}: {value:text} is not a number": "{name}：{value} 不是数字",
    "{name}: {value:text} is not true or false": "{name}：{value} 应为 true 或 false",
    '{name}: {value:text} is not a text: write it in quotes, as in "text"': (
        '{name}：{value} 应为带引号的文本，如 "text"'
    ),
    '{name}: {value:text} is not a list: write it in brackets, as in ["pod", "job"]': (
        '{name}：{value} 应为列表，如 ["pod","job"]'
    ),
    "{name}: {value:text} is not a table of fields": "{name}：{value} 应为字段表",
    '{name}: {value:text} is not a duration: write seconds, as in 600, or ISO 8601, as in "PT10M"': (
        '{name}：{value} 不是时长：请写秒数（如 600）或 ISO 8601（如 "PT10M"）'
    ),
    "{name}: {value:text} does not fit: {why:text}": "{name}：{value} 不符合要求：{why}",
    "--fault-tolerance-args: a quotation is not closed ({error:text})": (
        "--fault-tolerance-args：引号没有闭合（{error}）"
    ),
    "--fault-tolerance-args: --{name} does nothing here; {instead:said}": (
        "--fault-tolerance-args：--{name} 在此不起作用；{instead}"
    ),
    "leave it out: restarts keep their pods, and with them their nodes, where they can": (
        "请去掉：重启会尽量保留 Pod，从而保留节点"
    ),
    "leave it out and write checkpoints to a volume that every node has": "请去掉，并把检查点写到各节点都能访问的卷",
    "leave it out and name a sink in a policy file, [[notification.routes]]": (
        "请去掉，并在策略文件的 [[notification.routes]] 中写明通知渠道"
    ),
    "--fault-tolerance-args: {word:text} is none of its flags; they are {known:text}": (
        "--fault-tolerance-args：没有参数 {word}；可用的有 {known}"
    ),
    "--fault-tolerance-args: --{name} {value:text}: it takes {takes:takes}{between:between}": (
        "--fault-tolerance-args：--{name} {value}：应为{takes}{between}"
    ),
    "--fault-tolerance-config: {where}: {error:text}; its fields are {known:text}": (
        "--fault-tolerance-config：{where}：{error}；可用字段为 {known}"
    ),
    "--env {name}={value}: write true or false": "--env {name}={value}：请写 true 或 false",
    "--env {name}=false contradicts {other:text}: leave one of them out": (
        "--env {name}=false 与 {other} 矛盾：请去掉其中一个"
    ),
    "{name}: {value:text} is no time; write 2026-01-02T03:04, in UTC": (
        "{name}：{value} 不是时间；请写成 2026-01-02T03:04（UTC）"
    ),
    "an argument, --env or a folder's name holds a NUL byte, which no program can be given": (
        "参数、--env 或目录名含有 NUL 字节，无法传给程序"
    ),
    "--fault-tolerance-config: the JSON: {error:text}; its fields are {known:text}": (
        "--fault-tolerance-config：JSON：{error}；可用字段为 {known}"
    ),
    "{name}: regex {regex:text} cannot be used: {error:text}": "{name}：正则 {regex} 不可用：{error}",
    "{name}: pattern {regex:text} is refused: {error:text}": "{name}：正则 {regex} 不可用：{error}",
    "{name}: pattern needs a named group (?P<step>\\d+)": "{name}：正则需要命名组 (?P<step>\\d+)",
    "checkpoint_dir {path:text} must be absolute": "checkpoint_dir {path} 必须是绝对路径",
    "{name}: steps of an escalation must each come later than the one before: put them in order": (
        "{name}：升级通知的各步必须依次更晚：请按顺序排列"
    ),
    "{name}: quiet and gather need a channel: the log and addresses are told at once": (
        "{name}：quiet 与 gather 需要渠道：日志与地址总是立即通知"
    ),
    "{name}: {value:text} is not a duration: write seconds, as in 600": "{name}：{value} 不是时长：请写秒数，如 600",
}
