"""Why the console's login lets somebody not in, as far as it is said to him and in the stream."""

from collections.abc import Mapping

LOGIN: Mapping[str, str] = {
    "the provider tells no usable name in {claim}; KEEPSTEP_CONSOLE_OIDC_NAME names the claim": (
        "身份提供方没有在 {claim} 中给出可用的名称；可用 KEEPSTEP_CONSOLE_OIDC_NAME 指明字段"
    ),
    "{name:text} is in no group that has a role here; KEEPSTEP_CONSOLE_OIDC_ROLES gives groups roles": (
        "{name} 所在的组在此没有角色；KEEPSTEP_CONSOLE_OIDC_ROLES 为组指定角色"
    ),
    "the answer comes from nobody, not from {issuer}": "应答没有写明来源，应来自 {issuer}",
    "the answer comes from {other}, not from {issuer}": "应答来自 {other}，而非 {issuer}",
    "it sent no code": "没有给出授权码",
    "the provider gave no id_token; the scope openid is wanted": "身份提供方没有给出 id_token；需要 scope openid",
    "the provider's token is signed by a key that it does not publish": "身份提供方的令牌所用的签名密钥未公布",
    "the provider's token is refused: {why:text}": "身份提供方的令牌未通过校验：{why}",
    "the provider tells of another person than it sent": "身份提供方前后给出的用户不一致",
    "the provider answers {code:int} at {url}": "身份提供方在 {url} 返回 {code}",
    "the provider answers {code:int} at {url}: {why:text}": "身份提供方在 {url} 返回 {code}：{why}",
    "{name} is the name of a token here too: orders would not tell whose they are; rename the token": (
        "{name} 同时也是此处一个令牌的名称，指令将分不清来自谁：请给令牌改名"
    ),
    "too many attempts from this address": "该地址的尝试次数过多",
}
