"""Classify a statement as one of the four kinds of memory, by its words. Pure."""

from __future__ import annotations

import re
from typing import Literal

from memorist.auto_memory.said_words import ORDER
from memorist.core.later import late_pattern

Kind = Literal["user", "feedback", "project", "reference"]
"""About the user; how to work; who, what, why and by when; where to look outside (claude-code.md
section 7.5).
"""

_POINTER = late_pattern(
    r"https?://|\b(?:dashboard|tracker|wiki|runbook|jira|linear|confluence|notion|grafana|datadog|sentry|slack|trello|asana"
    r"|figma|kibana|pagerduty|miro|channel|kanban|board|zendesk|intercom|airtable)\b|#[a-z][\w-]{2,}"
    r"|面板|看板|文档地址|工单系统|飞书|钉钉|禅道|频道|监控",
    re.IGNORECASE,
)
_WHERE = late_pattern(
    r"\b(?:is at|are at|at|go to|goes to|tracked|tracks|live|lives|look|looks|see|find|found|belongs?|posted|reported|filed"
    r"|under|in|on|through|via|address|url|link)\b|在|看|查|地址",
    re.IGNORECASE,
)
_PERSON = late_pattern(
    r"""(?:^|[,;]\s?|\bthat\s|\band\s)(?:i['’]m|i\ am|i\ work(?:ed)?\ (?:from|in|at|for|as|with)|i\ live|i['’]ve\
    (?:been|worked|never\ used|only\ used)|i\ have\ (?:(?:\w+|\d+)\ ){1,3}(?:years|decades?)|my\ (?:name|pronouns
    |time\ ?zone|native|first\ language|job|role|team\ is)
    |call\ me|i\ (?:don['’]t|do\ not)\ (?:know|speak|understand)|i\ (?:speak|know|teach|study))\b|我(?:是|叫|用的是
    |在.{1,8}(?:工作|上班)|住|不太?(?:熟|懂|会))|叫我|称呼我|新手""",
    re.IGNORECASE | re.VERBOSE,
)
_PROJECT = late_pattern(
    r"""\b(?:january|february|march|april|june|july|august|september|october|november|december|monday|tuesday
    |wednesday|thursday|friday|saturday|sunday|deadline|due|freeze|launch|go-live|sunset(?:ting)?|sprint|milestone
    |quarter|q[1-4]|owns?|owner|leads?|responsible|in\ charge
    |decided|agreed|settled|sign(?:s|ed)?\ off|legal|compliance|stakeholders?|customers?|budget|contract|audit|roadmap
    |release\ date|staging|password\ rotation|migrat(?:e|ing|ion)\ to|deprecat(?:e|ed|ing))\b|\bin\ may\b|\d{4}-\d\d-\d\d
    |截止|上线|发布|决定|负责|之前必须|[月日]号?(?:之前|前)|下个?(?:季度|月|周)|迁移|商定|敲定|预算|合同""",
    re.IGNORECASE | re.VERBOSE,
)
_WAY = late_pattern(
    r"\b(?:always|never|please|prefer|hate|rather|you|your|use|run|write|avoid|instead|commit|commits|tests?|code|naming"
    r"|names?|lint\w*|squash|merg\w+|review\w*|comments?|diff|no|not|don['’]t)\b"
    r"|不要|别|必须|用|写|每次|都|回复|一律|总是|喜欢|风格|规则|测试|提交|缩进",
    re.IGNORECASE,
)
_DECISION = late_pattern(
    r"(?:we|they)(?:['’]ve| have)? (?:decided|agreed|settled)|(?:我们|团队|公司)(?:已经|最终)?(?:决定|商定)|.{0,30}\b(?:deadline|freeze)\b",
    re.IGNORECASE,
)
_ORDERS = late_pattern(rf"{ORDER}|whenever|every time|when you|in (?:this|our) ", re.IGNORECASE)


def kind_of(text: str) -> Kind:
    """Classify a statement: pointers to outside systems first, then user facts, then orders and
    ways of working, then the project.
    """
    if _POINTER.search(text) and _WHERE.search(text) and not re.match(r"(?:always|never|use|run)\b", text, re.IGNORECASE):
        return "reference"
    if _PERSON.search(text):
        return "user"
    if _DECISION.match(text):
        return "project"
    if not _ORDERS.match(text) and _PROJECT.search(text):
        return "project"
    return "feedback" if _ORDERS.match(text) or _WAY.search(text) else "project"
