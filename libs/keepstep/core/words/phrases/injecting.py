"""What is said where a manifest is made fault-tolerant: what cannot be taken over and why, and what was done."""

from collections.abc import Mapping

INJECTING: Mapping[str, str] = {
    "{field}: {because:said}; {remedy:said}": "{field}：{because}；{remedy}",
    "{job:text}: no level {level:level}: {why:said}; {remedy:said}": "{job}：不支持“{level}”：{why}；{remedy}",
    "{job:text}: no level {level:level}: its policy leaves it out": "{job}：不采用“{level}”：其策略未包含",
    "{job:thing}: level {level:level}": "{job}：支持“{level}”",
    "{job:thing}: {note:said}": "{job}：{note}",
    "it is one text, and Kubernetes takes a list of words": "这是一整段文本，而 Kubernetes 需要词的列表",
    "write each word as an item: [python, train.py]": "请把每个词写成一项，如 [python,train.py]",
    "the image's own entrypoint is not known here and cannot be wrapped": "镜像自带的入口在此未知，无法接管",
    "write the command that the image would run": "请写出镜像要运行的命令",
    "{program} asks for as many ranks as there are devices, and none is asked for": (
        "{program} 要求每个设备一个 rank，但没有申请设备"
    ),
    "write --nproc-per-node N, or annotate the job with keepstep.io/nproc": (
        "请写 --nproc-per-node N，或给任务加注解 keepstep.io/nproc"
    ),
    "{kind} of {group:text} is none that keepstep restarts": "{group} 的 {kind} 不是 keepstep 能重启的类型",
    "it is injected already, and left as it is": "已经注入过，保持原样",
    "the job has no name of its own, and its pods are found by it": "任务没有自己的名称，而 Pod 要按名称查找",
    "name the job; generateName is not enough": "请给任务命名；只有 generateName 不够",
    "its command is not one that keepstep can take over": "keepstep 无法接管它的命令",
    "run python, torchrun, python -m torch.distributed.run or accelerate launch as the command itself, or one of the"
    " last three, without a path, in sh -c or bash -c (not bash -lc); accelerate without DeepSpeed, FSDP and"
    " --config_file": (
        "请直接以 python、torchrun、python -m torch.distributed.run 或 accelerate launch 为命令，"
        "或把后三者之一（不带路径）写在 sh -c 或 bash -c 中（不能用 bash -lc）；"
        "accelerate 不要带 DeepSpeed、FSDP 和 --config_file"
    ),
    "a TensorFlow worker takes all devices of its pod, and {n:int} ranks are asked for": (
        "一个 TensorFlow worker 占用其 Pod 的全部设备，而这里要求 {n} 个 rank"
    ),
    "run one rank per pod": "请每个 Pod 只运行一个 rank",
    "see keepstep schema json JobSpec": "见 keepstep schema json JobSpec",
    "see keepstep schema json Policy": "见 keepstep schema json Policy",
    "{n:int} pods of {m:int} ranks; {how:said}": "{n} 个 Pod，每个 {m} 个 rank；{how}",
    "the launcher starts them in the command's place": "由启动进程代替命令拉起",
    "the script runs as it is, and its torchrun or accelerate is ours": (
        "脚本照常运行，其中的 torchrun 或 accelerate 由 keepstep 接管"
    ),
    "the command is not understood and runs whole: only the whole job can be restarted (level job)": (
        "无法解析该命令，只能整体运行：只支持 Job 级重调度"
    ),
    "the server is older than 1.29: the agent is a plain container, which ends with its launcher": (
        "API server 低于 1.29：agent 是普通容器，随启动进程结束"
    ),
    "no checkpoint folder is named: a restart begins anew, unless the script finds what it saved by itself; name it by"
    " --checkpoint-dir or annotation {name}": (
        "没有指明检查点目录：除非脚本自行查找，重启将从头开始；请用 --checkpoint-dir 或注解 {name} 指明"
    ),
    "checkpoint folder {path:text} is on no volume: it is lost with its pod, and the agent cannot see it": (
        "检查点目录 {path} 不在卷上：会随 Pod 丢失，agent 也无法看到"
    ),
    "it holds credentials, and whoever may read a pod would read them": "其中含有凭据，能读取 Pod 的人都会看到",
    "put the address into key url of a Secret beside the job, and name that": (
        "请把地址放进任务旁一个 Secret 的 url 键，并写明该 Secret"
    ),
    "{framework} is not restarted on {product}": "{product} 不支持重启 {framework}",
    "{framework} is not restarted in its pods on {product}": "{product} 不支持原地重启 {framework}",
    "train with {names:text}": "请改用 {names}",
    "take level pod or job": "请改用 Pod 级或 Job 级",
    "chips of {product} in mode SMP do not let {n:int} devices per pod be given anew": (
        "{product} 的芯片在 SMP 模式下，不支持每个 Pod {n} 个设备的重新分配"
    ),
    "ask for 4 or 8 devices per pod, or set mode AMP": "请每个 Pod 申请 4 或 8 个设备，或设为 AMP 模式",
    "a job of one pod is restarted in its pods on {product} with {counts:text} devices each, not {n:int}": (
        "{product} 上单个 Pod 的任务，每个 Pod 有 {counts} 个设备时才支持原地重启，现为 {n}"
    ),
    "a job of several pods is restarted in its pods on {product} with {counts:text} devices each, not {n:int}": (
        "{product} 上多个 Pod 的任务，每个 Pod 有 {counts} 个设备时才支持原地重启，现为 {n}"
    ),
    "change the devices per pod, or take level pod or job": "请调整每个 Pod 的设备数，或改用 Pod 级或 Job 级",
    "the job has no pods": "任务没有 Pod",
    "write the templates of the pods that train": "请写出训练 Pod 的模板",
    "none of the job's roles is {names:names}": "任务的角色中没有 {names}",
    "name some of {names:names}": "请从 {names} 中指明",
    "leave it out: the job has one role, without a name": "请去掉：任务只有一个角色，没有名称",
    "runAsNonRoot without runAsUser: the agent must be the same user as the ranks": (
        "设了 runAsNonRoot 而没有 runAsUser：agent 必须与 rank 是同一用户"
    ),
    "name the user": "请指明用户",
    "the role has no container": "角色没有容器",
    "write the pod's template": "请写出 Pod 的模板",
    "none of them is {name}; they are {names:names}": "其中没有 {name}；现有 {names}",
    "which of {names:names} trains is not known": "不知道 {names} 中哪个负责训练",
    "name it in annotation {name} of the job": "请在任务的注解 {name} 中指明",
    "{role} runs another command than {other}, or another number of ranks": "{role} 与 {other} 的命令或 rank 数不同",
    "run the same in both, or name the roles that train in annotation {name}": (
        "请让两者一致，或在注解 {name} 中指明负责训练的角色"
    ),
    "the command asks for {n:int} nodes, the job has {m:int} pods that train": (
        "命令要求 {n} 个节点，而任务有 {m} 个训练 Pod"
    ),
    "make both the same": "请改为一致",
    "keepstep's launcher and agent run on Linux, and these pods on {system:text}": (
        "keepstep 的启动器和 agent 运行在 Linux 上，而这些 Pod 在 {system} 上"
    ),
    "train in pods of Linux": "请在 Linux 的 Pod 中训练",
    "{name} is the name of what keepstep adds itself": "{name} 是 keepstep 自己要加的名称",
    "name yours otherwise; of a manifest that was injected before, take the one from before": (
        "请给您的另起名称；若清单曾被注入，请用注入之前的那一份"
    ),
    "{folder:text} is where keepstep has its own files": "{folder} 是 keepstep 存放自身文件之处",
    "mount it elsewhere": "请挂载到别处",
    "faulty nodes are not kept away from jobs in this pool": "该资源池不会隔离故障节点",
    "switch automatic isolation on, or create the job without keepstep": "请开启自动隔离，或不经 keepstep 创建任务",
    "the version of {name} cannot be seen: {why:text}": "看不到 {name} 的版本：{why}",
    "let the webhook read its Deployment, as k8s/components/versions does": (
        "请允许 webhook 读取其 Deployment，做法见 k8s/components/versions"
    ),
    "{name} is not there; {least} or newer is needed": "没有安装 {name}；需要 {least} 或更新的版本",
    "{name} is {found}; {least} or newer is needed": "{name} 的版本是 {found}；需要 {least} 或更新的版本",
    "install it": "请安装",
    "upgrade it": "请升级",
    "{policy:text} starts containers again behind keepstep's back, which then counts a lost task as running": (
        "{policy} 会绕过 keepstep 重启容器，使其把丢失的实例当作仍在运行"
    ),
    "pods of mode NonIndexed have no index, and ranks are given by it": (
        "NonIndexed 模式的 Pod 没有索引，而 rank 按索引分配"
    ),
    "{n:int} completions of {m:int} pods at once never run together": "completions 为 {n}、并行 {m} 个，不会同时运行",
    "set Never": "请设为 Never",
    "set Indexed": "请设为 Indexed",
    "set it to parallelism, {n:int}": "请设为 parallelism 的值 {n}",
    "set Never; or ExitCode, whose pods are Never too, to have level pod besides": (
        "请设为 Never；或设为 ExitCode（其 Pod 同样是 Never），另有 Pod 级重调度"
    ),
    "{n:int} mistakes more": "还有 {n} 处错误",
    "put these right first": "请先改正以上各处",
    "{value:text} is no number of ranks": "{value} 不是 rank 数",
    "write how many ranks a pod has": "请写明每个 Pod 有几个 rank",
    "{value:text} is not supported": "不支持 {value}",
    "it is one of {names:names}": "可选 {names}",
    "{value:text} is no version of a rank table": "{value} 不是 rank table 的版本",
    "{name} is not at hand, and the job's pods stand in it": "没有找到 {name}，而任务的 Pod 写在其中",
    "put its manifest into the same file, or have a cluster asked that has it: --cluster kubernetes": (
        "请把它的清单放进同一文件，或用 --cluster kubernetes 向集群查询"
    ),
    "the pods of a TrainJob stand in its runtime, {name}, which others share and which no webhook can change": (
        "TrainJob 的 Pod 写在其 runtime {name} 中，它由多个任务共用，webhook 无法修改"
    ),
    "create what keepstep job inject -f prints, a runtime of its own": (
        "请创建 keepstep job inject -f 输出的内容，其中有它自己的 runtime"
    ),
}
