"""The sentences of the login in the languages that the console speaks."""

from keepstep.contracts.taxonomy import Language

WRONG = "The token is wrong, or nobody's any more."
SLOW = "Too many attempts. Wait some minutes, then try again."
STALE = "This page was open too long. Try again."
NOT_LET_IN = "The provider did not let you in:"
LOST = "You come back from the provider in another browser, too late, or for the second time. Try again."

TROUBLE = "The provider cannot be used now; the log of the console says why."

CHINESE = {
    "Log in": "登录",
    "Log in through": "通过以下方式登录：",
    "Token": "令牌",
    WRONG: "令牌不正确，或已失效。",
    SLOW: "尝试次数过多，请几分钟后重试。",
    STALE: "页面打开时间过长，请重试。",
    NOT_LET_IN: "身份提供方未允许登录：",
    TROUBLE: "目前无法使用身份提供方，原因见控制台日志。",
    LOST: "从身份提供方返回时浏览器不同、超时或重复，请重试。",
}


def told(sentence: str, language: Language) -> str:
    """Return a sentence in a language."""
    return CHINESE[sentence] if language is Language.ZH else sentence
