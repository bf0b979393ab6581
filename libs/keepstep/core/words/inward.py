"""What services call among themselves what people see now and then: kind, word, English and Chinese."""

from collections.abc import Mapping

INWARD: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "life": {
        "absent": ("absent", "未受理"),
        "placing": ("being placed", "调度中"),
        "launching": ("being launched", "启动中"),
        "running": ("running", "运行中"),
        "ending": ("ending", "结束中"),
        "ended": ("ended", "已结束"),
    },
    "deadline": {
        "look": ("look again", "复查"),
        "launch": ("launch", "启动"),
        "pending": ("wait for a place", "等待资源"),
        "finish": ("finish", "收尾"),
        "drain": ("drain", "腾空节点"),
        "end": ("end", "结束任务"),
        "join": ("both answers", "汇合答复"),
        "wait": ("self-healing", "等待自愈"),
        "stop": ("stop of the old ranks", "停止旧 rank"),
        "fence": ("fence", "隔断旧实例"),
        "level": ("level of recovery", "本级恢复"),
        "alive": ("all ranks alive", "存活确认"),
        "remove": ("removal", "清理"),
        "forget": ("forgetting", "清除记录"),
        "over": ("end of a report", "上报失效"),
        "overdue": ("overdue", "恢复超时"),
        "settle": ("settling", "汇集故障"),
        "expiry": ("expiry of an isolation", "隔离到期"),
        "send": ("send", "发送通知"),
        "again": ("send again", "重发通知"),
        "escalate": ("escalate", "升级通知"),
        "retry": ("retry", "重试通知"),
    },
}
