"""What the form of a job on Kubernetes says in Chinese, and what becomes of its order."""

from collections.abc import Mapping

CHINESE_CREATE: Mapping[str, str] = {
    "A command of the image, as python train.py or torchrun --nproc-per-node=gpu train.py.": (
        "镜像中的命令，例如 python train.py 或 torchrun --nproc-per-node=gpu train.py。"
    ),
    "As atlas-800: which levels it has is known by it. Empty: any.": (
        "例如 atlas-800：据此确定可用的恢复级别。留空表示不限。"
    ),
    "Asked to create the job. What becomes of it shows here.": "已请求创建任务，结果会显示在这里。",
    "Data": "数据",
    "Devices of each pod": "每个 Pod 的设备",
    "Empty: as the command says, or one for each device.": "留空：按命令中的设置，或每个设备一个。",
    "ExitCode is PyTorchJob's alone: it has the level pod besides.": "ExitCode 仅用于 PyTorchJob：另有 pod 级恢复。",
    "Framework": "框架",
    "Go to the job": "查看任务",
    "Image": "镜像",
    "In which the pods train.": "Pod 在其中训练。",
    "Kind": "类型",
    "Labels": "标签",
    "NAME=VALUE, one a line; rules of notifications go by them": "名称=值，每行一个；通知规则据此匹配",
    "Namespace": "命名空间",
    "Not yet a job; mistakes: {count}": "还不能创建，错误 {count} 处",
    "Nothing is known of this order yet.": "暂无该请求的记录。",
    "Of the cluster's scheduler.": "集群调度器的队列。",
    "Priority class": "优先级类",
    "Product": "产品",
    "Put it right": "修改后重新创建",
    "Queue": "队列",
    "RESOURCE=NUMBER, one a line, as nvidia.com/gpu=8": "资源=数量，每行一个，例如 nvidia.com/gpu=8",
    "Restart policy": "重启策略",
    "TYPE NAME PATH, one a line, as pvc datasets /data; types are pvc, pfs, cfs, bos and nfs": (
        "类型 名称 路径，每行一个，例如 pvc datasets /data；类型有 pvc、pfs、cfs、bos 和 nfs"
    ),
    "The job is made:": "任务已创建：",
    "The job was refused:": "任务被拒绝：",
    "Where it is made": "创建位置",
    "by what the cluster has": "由集群决定",
}
