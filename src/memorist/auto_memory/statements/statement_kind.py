"""Choose which of the four kinds of memory a statement is, by its words. Pure."""

from __future__ import annotations

import re
from typing import Literal

from memorist.auto_memory.fact_paraphrases import say_fact_in_short
from memorist.auto_memory.statements.statement_patterns import ORDER
from memorist.core.lazy import lazy_pattern

StatementKind = Literal["user", "feedback", "project", "reference"]
"""About the user; how to work; who, what, why and by when; where to look outside (Claude Code).
"""

_OUTSIDE_SYSTEM = lazy_pattern(
    r"https?://|\b(?:dashboard|tracker|wiki|runbook|jira|linear|confluence|notion|grafana|"
    r"datadog|sentry|slack|trello|asana"
    r"|figma|kibana|pagerduty|miro|channel|kanban|board|zendesk|intercom|airtable)\b|"
    r"#[a-z][\w-]{2,}"
    r"|面板|看板|文档地址|工单系统|飞书|钉钉|禅道|频道|监控",
    re.IGNORECASE,
)
_LOCATION_WORD = lazy_pattern(
    r"\b(?:is at|are at|at|go to|goes to|tracked|tracks|live|lives|look|looks|see|find|found|"
    r"belongs?|posted|reported|filed"
    r"|under|in|on|through|via|address|url|link)\b|在|看|查|地址",
    re.IGNORECASE,
)
_ABOUT_USER = lazy_pattern(
    r"""(?:^|[,;]\s?|\bthat\s|\band\s)(?:i['’]m|i\ am|i\ work(?:ed)?\ (?:from|in|at|for|as|with)|i\ live|i['’]ve\
    (?:been|worked|never\ used|only\ used)|i\ have\ (?:(?:\w+|\d+)\ ){1,3}(?:years|decades?)|my\ (?:name|pronouns
    |time\ ?zone|native|first\ language|job|role|team\ is)
    |call\ me|i\ (?:don['’]t|do\ not)\ (?:know|speak|understand)|i\ (?:speak|know|teach|study))\b|我(?:是|叫|用的是
    |在.{1,8}(?:工作|上班)|住|不太?(?:熟|懂|会))|叫我|称呼我|新手
    |^(?:ich\ (?:bin|arbeite|spreche|heiße)|je\ (?:suis|travaille|parle|m['’]appelle)|(?:yo\ )?(?:soy|trabajo|hablo|me\ llamo)
    |(?:eu\ )?(?:sou|trabalho|falo)|meu\ nome|я\ (?:работаю|говорю|живу|—|-)|меня\ зовут)\b|^私は|^(?:저는|나는|난|전|제\ |내\ )""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT_PROJECT = lazy_pattern(
    r"""\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday
    |wednesday|thursday|friday|saturday|sunday|deadline|due|freeze|launch|go-live|sunset(?:ting)?|sprint|milestone
    |quarter|q[1-4]|owns?|owner|leads?|responsible|in\ charge
    |decided|agreed|settled|sign(?:s|ed)?\ off|legal|compliance|stakeholders?|customers?|budget|contract|audit|roadmap
    |release\ date|staging|password\ rotation|migrat(?:e|ing|ion)\ to|deprecat(?:e|ed|ing))\b|\bin\ may\b|\d{4}-\d\d-\d\d
    |截止|上线|发布|决定|负责|之前必须|[月日]号?(?:之前|前)|下个?(?:季度|月|周)|迁移|商定|敲定|预算|合同|마감|출시|결정했""",
    re.IGNORECASE | re.VERBOSE,
)
_WORKING_STYLE = lazy_pattern(
    r"\b(?:always|never|please|prefer|hate|rather|you|your|use|run|write|avoid|instead|commit|"
    r"commits|tests?|code|naming"
    r"|names?|lint\w*|squash|merg\w+|review\w*|comments?|diff|no|not|don['’]t)\b"
    r"|\b(?:immer|nie|niemals|bitte|nicht|keine?[nr]?|nur|verwende|nutze|antworte|schreibe?|toujours|jamais|ne|pas|utilise[rz]?|"
    r"réponds|écris|préfère|siempre|nunca|sempre|não|usa|usar|responde|responda|escribe|escreva|prefiero|prefiro|всегда|"
    r"никогда|не|только|используй|отвечай|пиши)\b|常に|必ず|いつも|ください|しないで|使わない|使う|答え"
    r"|不要|别|必须|用|写|每次|都|回复|一律|总是|喜欢|风格|规则|测试|提交|缩进|항상|절대|반드시|마세요|지 ?(?:마|말)|말고|사용|하세요|주세요|해줘|금지|답|써",
    re.IGNORECASE,
)
_DECISION_START = lazy_pattern(
    r"(?:we|they)(?:['’]ve| have)? (?:decided|agreed|settled)|(?:我们|团队|公司)(?:已经|最终)?(?:决定|商定)|"
    r".{0,30}\b(?:deadline|freeze)\b",
    re.IGNORECASE,
)
_INSTRUCTION_START = lazy_pattern(
    rf"{ORDER}|whenever|every time|when you|in (?:this|our) ", re.IGNORECASE
)


def choose_memory_kind(text: str) -> StatementKind:
    """Choose the kind of memory that a statement becomes: pointers to outside systems first, then
    user facts, then orders and ways of working, then the project.
    """
    if (
        _OUTSIDE_SYSTEM.search(text)
        and _LOCATION_WORD.search(text)
        and not re.match(r"(?:always|never|use|run)\b", text, re.IGNORECASE)
    ):
        return "reference"
    if _ABOUT_USER.search(say_fact_in_short(text)):
        return "user"
    if _DECISION_START.match(text):
        return "project"
    if not _INSTRUCTION_START.match(text) and _ABOUT_PROJECT.search(text):
        return "project"
    return (
        "feedback" if _INSTRUCTION_START.match(text) or _WORKING_STYLE.search(text) else "project"
    )
