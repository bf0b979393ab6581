"""What the checkpoint-manager says: where to resume, and why newer steps are passed over."""

from collections.abc import Mapping

CHECKPOINTS: Mapping[str, str] = {
    "step {step:int} did not load": "第 {step} 步加载失败",
    "step {step:int} holds {ranks:count}": "第 {step} 步含 {ranks}",
    "step {step:int} keeps {away:int} of {parts:int} parts on nodes that its ranks left": (
        "第 {step} 步的 {parts} 个分片中有 {away} 个在 rank 已离开的节点上"
    ),
    "{n:int} whole checkpoints may be chosen, newest {step:int}": "可选完整检查点 {n} 个，最新为第 {step} 步",
    "from scratch: {why:said}": "从头开始：{why}",
    "the job is over": "任务已结束",
    "nothing was saved yet": "尚未保存过检查点",
    "the job is over: {n:int} answered on the way": "任务已结束：顺带回复 {n} 个请求",
    "step {step:int} is the newest whole one, {why:said}": "第 {step} 步是最新的完整检查点，{why}",
    "step {step:int}: {why:said}": "第 {step} 步：{why}",
    "{files:count} found": "找到 {files}",
    "{files:count} out of sight for too long to look": "{files}长时间不可访问，未作检查",
    "its files cannot be seen from here": "此处看不到其文件",
    "{path:text} is not there": "{path} 不存在",
    "{path:text} cannot be looked at ({error:text})": "{path} 无法访问（{error}）",
    "the files of {path:text} bear times that no calendar knows": "{path} 的文件时间无效",
    "{path:text} holds {n:int} bytes, {saved:int} were saved": "{path} 现有 {n} 字节，保存时为 {saved} 字节",
    "{path:text} was written to since it was found whole": "{path} 在确认完整之后又被写过",
}
