"""Why a channel did not take a message, and what a person can do: what lies with dead letters and drops."""

from collections.abc import Mapping

VENDORS: Mapping[str, str] = {
    "channel {channel}: {why:said}": "渠道 {channel}：{why}",
    "channel {channel}: {why:said} (code {code})": "渠道 {channel}：{why}（返回码 {code}）",
    "{name} answered {code}: {remedy:said}": "{name} 返回 {code}：{remedy}",
    "{name} answered {code} ({text:text}): {remedy:said}": "{name} 返回 {code}（{text}）：{remedy}",
    "{name} answered {code}": "{name} 返回 {code}",
    "{name} answered {code} ({text:text})": "{name} 返回 {code}（{text}）",
    "{name} cannot be asked so ({error}): correct url, headers and params": (
        "无法这样请求 {name}（{error}）：请检查 url、headers 和 params"
    ),
    "{name} gave no answer in time ({error})": "{name} 未及时应答（{error}）",
    "{name} cannot be reached ({error})": "无法连接 {name}（{error}）",
    "a fault of keepstep: please report it": "keepstep 自身的缺陷：请上报",
    "a code that keepstep does not know": "keepstep 不认识的返回码",
    "DingTalk is busy": "钉钉繁忙",
    "WeCom is busy": "企业微信繁忙",
    "Slack is busy": "Slack 繁忙",
    "more than 20 messages a minute; lower limit.per_minute": "每分钟超过 20 条：请调低 limit.per_minute",
    "sent too fast; lower limit.per_minute": "发送过快：请调低 limit.per_minute",
    "too many messages; lower limit": "消息过多：请调低 limit",
    "more than one message a second; lower limit": "每秒超过一条：请调低 limit",
    "set keyword to one of the robot's keywords": "请把 keyword 设为机器人的某个关键词",
    "set keyword to one of the bot's keywords": "请把 keyword 设为机器人的任一关键词",
    "this machine's clock or the secret is wrong": "本机时钟或签名密钥不对",
    "set secret to the one that DingTalk shows, beginning with SEC": "请把 secret 设为钉钉显示的以 SEC 开头的密钥",
    "add this cluster's way out to the robot's addresses": "请把本集群的出口地址加入机器人的 IP 白名单",
    "add this cluster's way out to the bot's addresses": "请把本集群的出口地址加入该机器人的 IP 白名单",
    "compare the robot's security settings with the channel's": "请核对机器人的安全设置与渠道配置",
    "no such token: copy the robot's address anew": "没有这个 token：请重新复制机器人地址",
    "no such token: copy the bot's address anew": "没有这个 token：请重新复制该机器人地址",
    "no such key: copy the robot's address anew": "没有这个 key：请重新复制机器人地址",
    "the robot is stopped: enable it in the group": "机器人已停用：请在群里启用",
    "the group is dissolved: make a robot in another": "群已解散：请在别的群新建机器人",
    "the robot is gone: make a new one and set its address": "机器人已不存在：请新建并填写其地址",
    "the address lacks its access_token": "地址中缺少 access_token",
    "a Slack id in people is nobody's": "people 中有无效的 Slack id",
    "the Slack channel is gone: make a webhook in another": "该 Slack 频道已不存在：请在别的频道新建 webhook",
    "the Slack channel is archived: make a webhook in another": "该 Slack 频道已归档：请在别的频道新建 webhook",
    "the workspace's administrator forbids it": "被工作区管理员禁止",
    "the webhook is disabled or gone: make a new one": "webhook 已停用或不存在：请新建",
    "the address is cut short: copy it anew": "地址不完整：请重新复制",
    "the workspace is gone": "工作区已不存在",
    "the workspace is disabled": "工作区已停用",
    "the webhook is gone: make a new one": "webhook 已不存在：请新建",
    "{host} is {address}, {what:address}: if it is to be called, add it to allow in the channels file": (
        "{host} 的地址是 {address}（{what}）：如需访问，请把它加入渠道文件的 allow"
    ),
    "{name}: apprise falls short for {scheme}: write kind {kind} instead": (
        "{name}：apprise 对 {scheme} 支持不足：请改用 kind {kind}"
    ),
    "{name}: apprise knows no such address: see its list of services for the form": (
        "{name}：apprise 不认识该地址：格式见其服务列表"
    ),
    "{name}: apprise could not deliver: {why:said}": "{name}：apprise 未能送达：{why}",
    "it does not say why": "未说明原因",
    "{name}: nobody to tell: set to, or mention people with an email in the rule": (
        "{name}：没有收件人：请设置 to，或在规则中 mention 有邮箱的人"
    ),
    "{name}: nobody to tell: set to, or mention people with a mobile in the rule": (
        "{name}：没有接收人：请设置 to，或在规则中 mention 有手机号的人"
    ),
    "nobody was taken: {why:text}": "收件人均被拒绝：{why}",
    "{name}: {server} is not trusted ({error}): set ca_file to the certificates of who signed its own, and host to the"
    " name in it": "{name}：{server} 的证书不受信任（{error}）：请把 ca_file 设为其签发方的证书，host 设为证书中的名称",
    "{name}: {path:text} cannot be read: {error:text}; mount it there": (
        "{name}：{path} 无法读取（{error}）：请挂载到该处"
    ),
    "{name}: {error:text}: correct user, password and tls": "{name}：{error}：请检查 user、password 和 tls",
    "{name}: {server} cannot be reached ({error})": "{name}：无法连接 {server}（{error}）",
    "no answer of the vendor's: is something in between?": "不是厂商的应答：中间是否有代理？",
    "{path:text} cannot be read: {error:text}; mount the Secret there": (
        "{path} 无法读取（{error}）：请把 Secret 挂载到该处"
    ),
    "{path:text} holds no secret in one line of UTF-8: write it anew": ("{path} 中不是一行 UTF-8 的密钥：请重新写入"),
    "{address} is no http(s) address: correct the url of {name}": "{address} 不是 http(s) 地址：请检查 {name} 的 url",
    "{name}: call.body makes no JSON ({error:text}): put texts in quotes, or use tojson without any": (
        "{name}：call.body 得不到 JSON（{error}）：请给文本加引号，或使用 tojson 而不加引号"
    ),
    "{field} is none of call.answer's success and retry": "{field} 不在 call.answer 的 success 和 retry 之中",
    "{name} takes {least:severity} and above, this is {severity:severity}": (
        "{name} 只接收“{least}”及以上级别，本条为“{severity}”"
    ),
    "no channel {name}: {why:said}": "没有渠道 {name}：{why}",
    "there is no sink {name}: a route names log, an http(s) address or a channel": (
        "没有渠道 {name}：规则须指定 log、http(s) 地址或渠道名"
    ),
    "there is no channel {name}: put the channels file where KEEPSTEP_NOTIFIER_CHANNELS says and run keepstep"
    " deadletter replay": (
        "没有渠道 {name}：请把渠道文件放到 KEEPSTEP_NOTIFIER_CHANNELS 指定处，再执行 keepstep deadletter replay"
    ),
    "there is no sink {name}: a route names one of {known:names}, or an http(s) address": (
        "没有渠道 {name}：规则须指定 {known} 之一，或 http(s) 地址"
    ),
    "name one of them, or add it to {path} and run keepstep deadletter replay": (
        "请改用其中之一，或把它加入 {path}，再执行 keepstep deadletter replay"
    ),
    "keepstep reaches {channel}: this is a test": "渠道 {channel} 可以收到 keepstep 的通知：这是测试",
    "keepstep notify test sent this; nothing is wrong.": "这条消息由 keepstep notify test 发出，无需处理。",
}
