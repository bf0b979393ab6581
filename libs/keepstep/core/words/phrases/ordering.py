"""What is said of a job that is ordered on a Kubernetes: what became of the order, and why it cannot be had."""

from collections.abc import Mapping

ORDERING: Mapping[str, str] = {
    "{kind:thing} made as {by:text} ordered": "已按 {by} 的要求创建 {kind}",
    "{by:text} has it made in namespace {namespace}": "{by} 要求在命名空间 {namespace} 中创建",
    "{kind:thing} is made": "{kind} 已创建",
    "{kind:thing} was not created: {error:text}": "{kind} 未能创建：{error}",
    "kubernetes: this pool runs jobs on nodes of its own; leave image and kind out": (
        "kubernetes：该资源池在自己的节点上运行任务；请去掉镜像和类型"
    ),
    "kubernetes: this pool runs jobs on nodes of its own by now; order it anew": (
        "kubernetes：该资源池现在在自己的节点上运行任务；请重新创建"
    ),
    "kubernetes: jobs of this pool are objects of a cluster; name an image, and the command to run in it": (
        "kubernetes：该资源池的任务是集群中的对象；请写明镜像和要在其中运行的命令"
    ),
    "kubernetes has {n:int} bytes, at most {most:int} are taken: shorten the command": (
        "kubernetes 有 {n} 字节，最多接受 {most} 字节：请缩短命令"
    ),
    "name: there is a {kind:thing} already; choose another name, or delete it": (
        "名称：已有 {kind}；请换个名称，或先删除它"
    ),
    "namespace {namespace}: keepstep has no right to create a {kind:thing} there; kubectl apply -n {same} -k k8s/orders"
    " grants it": (
        "命名空间 {namespace}：keepstep 无权在其中创建 {kind}；可用 kubectl apply -n {same} -k k8s/orders 授权"
    ),
    "namespace: orders make no jobs in this pool; keepstep job create --image makes them by your own right, and whoever"
    " runs keepstep can name namespaces in KEEPSTEP_CREATE_IN": (
        "命名空间：该资源池不能由控制台创建任务；可用 keepstep job create --image 以自己的权限创建，"
        "管理员也可在 KEEPSTEP_CREATE_IN 中列出命名空间"
    ),
    "namespace {namespace}: orders make jobs of this pool in {allowed:names} alone; choose one of them": (
        "命名空间 {namespace}：该资源池的任务只能创建在 {allowed} 中；请选择其一"
    ),
    "--namespace {name:text}: a name is at most 63 small letters, digits and -, as in train-1": (
        "--namespace {name}：名称最多 63 个小写字母、数字和连字符，如 train-1"
    ),
    "--label {name:text}: a name is at most 63 letters, digits and . _ -, as team or example.com/team": (
        "--label {name}：名称最多 63 个字母、数字和 . _ -，如 team 或 example.com/team"
    ),
    "--label {name:text}={value:text}: a value is at most 63 letters, digits and . _ -, or nothing": (
        "--label {name}={value}：值最多 63 个字母、数字和 . _ -，也可为空"
    ),
    "--image: name the image that the pods train in": "--image：请写明 Pod 训练所用的镜像",
    "cwd: pods begin in the folder of their image; leave it out": "cwd：Pod 从镜像的目录开始；请去掉",
    "argv: name what to run: a command of the image": "命令：请写明要运行的内容，即镜像中的命令",
    "{name}: only for a job on a cluster; leave it out": "{name}：仅用于集群上的任务；请去掉",
    "sources: {line:text}: write TYPE NAME PATH, as pvc datasets /data, one a line": (
        "数据 {line}：请写成类型、名称和路径，如 pvc datasets /data，每行一个"
    ),
    "--kind {kind}: the cluster has none; it has {others:names}": "--kind {kind}：集群中没有；有的是 {others}",
    "--kind {kind}: is none that keepstep restarts": "--kind {kind}：不是 keepstep 能重启的类型",
    "--kind {kind}: its volumes stand in its runtime; leave out --ds-* and Python --script-file": (
        "--kind {kind}：它的卷写在 runtime 中；请去掉 --ds-* 和 Python 的 --script-file"
    ),
    "--kind {kind}: its pods stand in a runtime, which keepstep has no right to make; ask for one of {others:names}, or"
    " let keepstep job create --kind {same} make both by your own right": (
        "--kind {kind}：它的 Pod 写在 runtime 中，而 keepstep 无权创建 runtime；请改用 {others}，"
        "或用 keepstep job create --kind {same} 以自己的权限创建两者"
    ),
    "--restart-policy {policy}: only a {kinds:text} has it; the other kinds take {never}": (
        "--restart-policy {policy}：只有 {kinds} 支持；其他类型只接受 {never}"
    ),
    "--ds-name {name:text}: an nfs source is SERVER:/PATH": "--ds-name {name}：nfs 数据源应写成 SERVER:/PATH",
    "--ds-name: is empty; name what is mounted at {path:text}": "--ds-name：为空；请写明挂载到 {path} 的是什么",
    "--ds-mountpath {path:text}: write the absolute path in the pod": "--ds-mountpath {path}：请写 Pod 中的绝对路径",
    "--ds-type hostpath: a folder of a node is not mounted by keepstep's right; use a claim (pvc), or keepstep job "
    "create, which goes by your own": (
        "--ds-type hostpath：keepstep 不以自己的权限挂载节点目录；请用声明（pvc），"
        "或用 keepstep job create 以自己的权限创建"
    ),
    "--product {name:text}: is none of {products:names}": "--product {name}：不在 {products} 之中",
}
