"""What the console itself says: states and symptoms that it draws from messages, and why it takes no order."""

from collections.abc import Mapping

CONSOLE: Mapping[str, str] = {
    "the cluster does not have it ready": "集群中未就绪",
    "{owner}: {reason:said}": "{owner}：{reason}",
    "waits for {what:awaited} since {at:instant}, limit {s:num} s": "自 {at} 起等待{what}，时限 {s} 秒",
    "waits for {what:awaited} since {at:instant}, no limit": "自 {at} 起等待{what}，没有时限",
    "waits for {what:awaited} since {at:instant}, limit {s:num} s: {why:said}": (
        "自 {at} 起等待{what}，时限 {s} 秒：{why}"
    ),
    "waits for {what:awaited} since {at:instant}, no limit: {why:said}": "自 {at} 起等待{what}，没有时限：{why}",
    "last mark {s:num} s ago": "上次进度在 {s} 秒前",
    "its keepstep ended while it was {state:job}": "管理它的 keepstep 已退出（当时状态：{state}）",
    "exited {how:exit}": "退出（{how}）",
    "exited {how:exit}: {line:text}": "退出（{how}）：{line}",
    "stalled, {sign:sign}": "停滞，{sign}",
    "stalled, {sign:sign} in a collective": "停滞，{sign}，停在集合通信中",
    "printed what rule {rule} looks for": "输出命中规则 {rule}",
    "and others": "以及其他",
    "loss {by:cause}": "实例丢失（{by}）",
    "there is no node {node:text}": "没有节点 {node}",
    "there is no job {job:text}": "没有任务 {job}",
    "there is no page {path:text}": "没有页面 {path}",
    "no incident, or more than one, begins with {id:text}": "没有或不止一张故障单以 {id} 开头",
    "no incidents begin with {id:text}": "没有以 {id} 开头的故障单",
    "several incidents begin with {id:text}": "不止一张故障单以 {id} 开头",
    "job {job} {uid} has ended; there is nothing to {verb:verb}": "任务 {job}（{uid}）已结束，无可{verb}",
    "the bus did not take it within {s:num} s; try again": "消息总线 {s} 秒内没有接收，请重试",
    "reason: say why, for those who read it later": "请填写原因，供以后查阅",
    "more than {n:num} queries in a second": "每秒查询超过 {n} 次",
    "{user:text} is {role:role}; this takes {needed:role}": "{user} 的角色是{role}，此操作需要{needed}",
    "there are as many streams as are served": "实时连接数已满",
    "{who:text} has as many streams as one may have": "{who} 的实时连接数已满",
    "there is no order {uid}, or it is long ago": "没有请求 {uid}，或时间过久",
    "jobs of a cluster are created by its own objects, for which the console has no right; keepstep job create "
    "--image ... makes them, --dry-run prints them": (
        "集群中的任务由其自身对象创建，控制台没有该权限；请用 keepstep job create --image ... 创建，加 --dry-run 只打印"
    ),
    "policy: {why:said}": "策略：{why}",
    "the session is over; log in again": "会话已结束，请重新登录",
    "log in first": "请先登录",
    "Prometheus shows a viewer's token by authorization.credentials_file": (
        "Prometheus 用 authorization.credentials_file 出示只读令牌"
    ),
    "the form is of another session; load the page again": "表单属于另一会话，请重新加载页面",
    "the form lacks its field {field}, or the request the header {header}; load the page again": (
        "表单缺少字段 {field}，或请求缺少 {header} 头，请重新加载页面"
    ),
    "Host and Origin must be addresses": "Host 与 Origin 必须是合法的地址",
    "a page of another site may not order anything here": "其他站点的页面不能在此下达指令",
    "a page of {origin} may not order anything here": "{origin} 的页面不能在此下达指令",
    "a form has at most {n:int} KiB": "表单最大 {n} KiB",
    "since, until: say the time zone, as in 2026-01-02T03:04:05Z": "起止时间须写明时区，如 2026-01-02T03:04:05Z",
    "cursor: only older ones": "cursor：只能查询更早的",
    "only open ones, or only closed ones": "只能查询未关闭的，或只查询已关闭的",
    "the console takes no tokens; log in through the provider": "控制台不接受令牌，请通过身份提供方登录",
    "too many wrong tokens from this address; wait": "该地址的错误令牌过多，请稍候",
    "the token is wrong or not in the file any more": "令牌不正确，或已从文件中移除",
    "without a login the console answers on this machine only, not as {host:text}": (
        "未配置登录时控制台只在本机应答，不接受 {host}"
    ),
    "without a login the console answers only the user whom it runs as": "未配置登录时控制台只应答运行它的用户",
    "a page of another site may link here and do nothing else": "其他站点的页面只能链接到这里，不能做其他操作",
    "{user:text} may not do this": "{user} 无权执行此操作",
    "the browser went before it had sent its form": "浏览器在表单发送完之前断开",
    "without a login the console answers on this machine only, not as a host without name": (
        "未配置登录时控制台只在本机应答，不接受没有主机名的请求"
    ),
}
