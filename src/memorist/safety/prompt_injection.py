"""Finding prompt injection (SF-2): signs that a text gives an agent instructions.

The signs are for content of outside origin: what a tool, a page or another agent wrote. They are no
proof: a text that explains such attacks shows them too, and a clever injection shows none. What
keeps such content from becoming an instruction is its origin; the signs say what to show the user
first. English and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from memorist.core.lazy import lazy_pattern
from memorist.safety.encoded_text import decode_encoded_blocks
from memorist.safety.hidden_characters import (
    FoldedText,
    decode_hidden_text,
    find_spaced_letters,
    fold_hidden_and_lookalike_characters,
)
from memorist.safety.safety_finding import SafetyFinding, keep_earliest_of_overlapping_findings

# Patterns of prompt injection over folded text. In a pattern a space stands for a gap between
# words: see `_compile_signs`.


NAMED_PEOPLE = (
    r"(?:user|human|person|owner|operator|administrator|admin|developer|customer|anyone|anybody)"
)
_AGENT = (
    r"(?:ais?|a\.i\.|llms?|(?:large )?language models?|(?:ai|llm|coding|autonomous|"
    r"automated) (?:agents?|assistants?|models?|systems?)|chatbots?|gpt|claude|codex|"
    r"copilot|gemini)"
)
_SECRETS = (
    r"(?:api[ _-]?keys?|credentials?|passwords?|secrets?|(?:access |auth |api )?tokens?|"
    r"ssh[ -]keys?|private keys?|\.env\b|id_rsa|environment variables|env vars|"
    r"conversation(?: history)?|chat (?:history|logs?)|system prompt|memor(?:y|ies)|source "
    r"code|/etc/passwd)"
)
_TARGET = (
    r"(?:https?://|[\w.+-]{1,64}@[\w-]{1,64}\.\w|(?:the )?(?:following|this|attacker'?s?|"
    r"my) (?:url|address|e-?mail|server|endpoint|webhook|site)|"
    r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d)"
)
NAMED_FILES = (
    r"(?:\.env\b|id_rsa|id_ed25519|/\.ssh/|/\.aws/|\.netrc|\.npmrc|\.git-credentials|"
    r"/etc/(?:passwd|shadow)|credentials\b|\.pem\b|secrets?\.\w{2,5})"
)
_PEOPLE_HINTS = "user human person owner operator admin developer customer anyone anybody"
_FILE_HINTS = (
    ".env id_rsa id_ed25519 /.ssh/ /.aws/ .netrc .npmrc .git-credentials /etc/passwd /etc/shadow "
    "credentials .pem secret"
)
_ENGLISH_SIGNS: tuple[tuple[str, str, str], ...] = (
    (
        "override", "ignore disregard forget override bypass neglect follow obey",
        (r"\b(?:ignore|disregard|forget|override|bypass|neglect|(?:do not|don'?t|stop) "
            r"(?:follow(?:ing)?|obey(?:ing)?)) (?:(?:all|any|every|each|of|the|your|these|those|"
            r"my|everything|and|or) ){0,4}"
        r"(?:(?:previous|prior|earlier|above|preceding|foregoing|former|past|existing|original|"
            r"initial|system|safety|developer|security|other|current) (?:and |or )?){1,3}"
        r"(?:instructions?|prompts?|guidelines?|directions?|directives?|orders?|guardrails?|"
            r"safeguards?|messages? and instructions?|programming|restrictions?)\b"),
    ),
    ("override", "ignore disregard forget override", r"\b(?:ignore|disregard|forget|override) (?:all (?:of )?)?your (?:\w{1,20} "
        r"){0,2}(?:instructions?|guidelines?|training|programming|rules|restrictions?|"
        r"guardrails?)\b"),
    ("override", "everything", r"\b(?:ignore|disregard|forget) everything (?:above|before this|you (?:were|have "
        r"been) told|(?:i|we|the user) (?:said|told))\b"),
    ("override", "your", r"\byour (?:new|real|actual|true|only|primary) (?:instructions?|task|goal|"
        r"objective|purpose|mission|directives?) (?:is|are|now)\b"),
    ("override", "mode dan unrestricted uncensored different evil jailbroken bound restricted", r"\byou are (?:now|from now on|no longer) (?:in (?:developer|debug|god|admin|"
        r"maintenance|unrestricted) mode|dan\b|an? (?:unrestricted|uncensored|different|"
        r"evil)|unrestricted|jailbroken|bound by|restricted by)"),
    ("override", "instruction", r"\b(?:new|updated|revised) (?:system |priority |urgent )?instructions? (?:from|by)"
        r" (?:the )?(?:system|developer|admin\w*|operator|user|anthropic|openai)\b"),
    ("authority", "approved authorized authorised consent agreed signed granted permission approval", rf"\bthe {NAMED_PEOPLE} has (?:already |explicitly |previously |fully "
        rf"){{0,2}}(?:approved|authori[sz]ed|consented to|agreed to|signed off on|granted|"
        rf"given (?:you )?(?:full |explicit )?(?:permission|consent|approval))\b"),
    ("authority", "allowed authorized authorised permitted cleared approved free", r"\byou (?:are|have been|were) (?:hereby |now |fully |explicitly |already |"
        r"pre-?){0,3}(?:allowed|authori[sz]ed|permitted|cleared|approved|free) to (?:skip|"
        r"bypass|ignore|disable|override|omit|proceed without|act without|run any|execute "
        r"any|delete|access (?:all|any))\b"),
    ("authority", "skip bypass ignore disable", r"\byou (?:may|can|should|must|need to) (?:now |safely |always )?(?:skip|bypass|"
        r"ignore|disable) (?:the |all |any |every )?(?:user )?(?:permissions?|"
        r"confirmations?|approvals?|safety|security|consent|authori[sz]ation)\b"),
    ("authority", _PEOPLE_HINTS, rf"\b(?:no need to|there is no need to|do not|don'?t|never|without) (?:ask(?:ing)?|"
        rf"check(?:ing)? with|confirm(?:ing)? with|consult(?:ing)?|wait(?:ing)? for) "
        rf"the {NAMED_PEOPLE}\b(?! to (?:type|enter|choose|pick|select))"),
    ("authority", "pre-approved pre-authorized pre-authorised preapproved preauthorized preauthorised", rf"\bpre-?(?:approved|authori[sz]ed) by (?:the )?{NAMED_PEOPLE}\b"),
    ("authority", "permission consent authorization authorisation", r"\b(?:full |explicit )?(?:permission|consent|authori[sz]ation) (?:has (?:already "
        r")?been|was already|is hereby|is already) (?:granted|given)\b"),
    ("hide", _PEOPLE_HINTS, rf"\b(?:do not|don'?t|never|without) (?:tell(?:ing)?|inform(?:ing)?|let(?:ting)?|"
        rf"alert(?:ing)?|mention(?:ing)? (?:this|it|that|any of this) to|reveal(?:ing)? "
        rf"(?:this|it|that|any of this) to|disclos(?:e|ing) (?:this|it|that|any of this) "
        rf"to|report(?:ing)? (?:this|it|that) to) (?:the |your |any )?{NAMED_PEOPLE}\b(?! "
        rf"(?:what|which|how|where|see|choose|pick|select|edit|type|enter|change)\b)"),
    ("hide", "mention reveal disclose refer acknowledge", r"\b(?:do not|don'?t|never) (?:mention|reveal|disclose|acknowledge|refer to) "
        r"(?:this|these|the existence of (?:this|these)) (?:instructions?|messages?|notes?|"
        r"directives?|prompts?|text)\b"),
    ("hide", "hide conceal", rf"\b(?:hide|conceal) (?:this|these|it|that|what you (?:do|did)|your (?:actions?|"
        rf"reasoning|changes?)) from (?:the |your )?{NAMED_PEOPLE}\b(?! (?:until|while|when|if|"
        rf"interface)\b)"),
    ("hide", "secretly covertly surreptitiously", r"\b(?:secretly|covertly|surreptitiously) (?:send|upload|post|copy|run|execute|"
        r"install|add|insert|delete|exfiltrate|forward|include|read|call|fetch|commit|push)"
        r"\b"),
    ("exfiltrate", "send post upload forward mail exfiltrate transmit leak submit", rf"\b(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|submit) "
        rf"(?:[^\s,*_\"\'`-]{{1,40}}+ ){{0,6}}?{_SECRETS}(?: "
        rf"[^\s,*_\"\'`-]{{1,40}}+){{0,6}}? (?:to|at|via) (?:[^\s,*_\"\'`-]{{1,20}}+ "
        rf"){{0,2}}?{_TARGET}"),
    ("exfiltrate", _FILE_HINTS, rf"\b(?:curl|wget|nc)\b[^\n]{{1,200}}(?:-d|--data(?:-binary|-raw)?|-f|--form|-t|"
        rf"--upload-file|--post-file)[ =][\"']?[^\s\"']{{0,60}}{NAMED_FILES}"),
    ("exfiltrate", f"env {_FILE_HINTS}", rf"(?:\bcat\b[^\n|]{{1,120}}{NAMED_FILES}|\bprintenv\b|\benv\b)"
        rf"[^\n|]{{0,60}}\|[^\n]{{0,80}}\b(?:curl|wget|nc)\b"),
    ("exfiltrate", "curl wget", rf"\b(?:curl|wget)\b[^\n]{{1,200}}\$\([^)\n]{{0,100}}{NAMED_FILES}"),
    ("exfiltrate", "![", r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}[?&=/][{<\[$][^)\n]{0,40}(?:secret|key|"
        r"token|data|conversation|history|content|password|summary|prompt)"),
    ("exfiltrate", "your", r"\b(?:reveal|repeat|disclose|leak|dump|output|recite) (?:(?:to me|me|all of|the "
        r"text of) ){0,2}your (?:full |entire |hidden |exact |complete |initial |original "
        r"){0,2}(?:system prompt|(?:system |hidden |initial |original )instructions)\b"),
    ("remember", "memory memories", r"\b(?:remember|memori[sz]e|save|store|add|write|record|persist|commit|put) "
        r"(?:[^\s,*_\"\'`-]{1,40}+ ){0,10}?(?:to|in|into) (?:your|(?:the )?(?:agent|"
        r"assistant|model)'?s|(?:your )?(?:long-?term|persistent|permanent)) (?:long-?term "
        r"|persistent |permanent |core )?memor(?:y|ies)\b"),
    ("remember", "remember memorize memorise", r"\b(?:remember|memori[sz]e) (?:[^\s,*_\"\'`-]{1,40}+ ){0,12}?(?:forever|"
        r"permanently|for (?:all|every|any) (?:future|subsequent|later) (?:sessions?|"
        r"conversations?|chats?|tasks?))\b"),
    ("remember", "future subsequent", r"\bin (?:all|every|any) (?:future|subsequent) (?:sessions?|conversations?|chats?|"
        r"interactions?|responses?)\b,? (?:you )?(?:must|should|will|always|never|"
        r"recommend|include|say|tell|use|treat|trust)\b"),
    ("address", "reading processing parsing viewing ingesting summarizing summarising crawling", rf"\b{_AGENT} (?:that (?:is|are) |who (?:is|are) |currently )?(?:reading|"
        rf"processing|parsing|viewing|ingesting|summari[sz]ing|crawling) (?:this|these|the "
        rf"following)\b"),
    ("address", "if you are if you're", rf"\bif you(?: are|'re) (?:an? |the )?{_AGENT}\b"),
    ("address", "attention note message instruction notice important dear", rf"\b(?:attention|notice|notes?|messages?|instructions?|important|dear|special "
        rf"instructions?) ?[:,]? ?(?:to |for )?(?:all |any |the )?{_AGENT} ?[:,!]"),
)  # fmt: skip

_ZH_AGENT = r"(?:ai|人工智能|大模型|语言模型|大语言模型|智能体|智能助手|ai助手|机器人)"
_CHINESE_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("override", "忽略 无视 忘记 忘掉 不要理会 不要遵守 不再遵守 绕过 抛开", r"(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|不再遵守|绕过|抛开)(?:掉|了)?(?:(?:所有|一切|全部|任何|你|您|的|之前|以前|先前|以上|"
        r"上述|上面|前面|此前|系统|原有|原来|已有|给出|收到|安全|其他|这些|那些)){1,8}(?:指令|指示|提示词|系统提示|命令|约束|设定|规则|限制)"),
    ("override", "你现在是 从现在起 从现在开始", r"(?:你现在是|从现在(?:起|开始),?你(?:就)?是)(?:一个)?(?:不受(?:任何)?(?:限制|约束)|没有(?:任何)?(?:限制|约束)|"
        r"开发者模式|越狱)"),
    ("override", "新任务 新指令 真正 真实任务", r"你的?(?:新任务|新指令|真正的?任务|真实任务)(?:是|为|如下)"),
    ("authority", "批准 授权 同意 允许", r"(?:用户|管理员|开发者|主人|所有者)(?:已经?|早已|已明确)(?:批准|授权|同意|允许)(?:了)?(?:你|您|此|本次?|该|所有|全部|任何|"
        r"执行|跳过|删除|以下|上述|这)"),
    ("authority", "跳过 绕过 忽略 省略", r"你(?:可以|被允许|有权|已获授权|应该|必须)(?:直接)?(?:跳过|绕过|忽略|省略)(?:所有|任何|用户|的){0,3}(?:确认|审批|批准|权限|"
        r"安全|检查|授权)"),
    ("authority", "无需 不必 不用 不需要 无须", r"(?:无需|不必|不用|不需要|无须)(?:再)?(?:征得|经过|获得|取得|询问|请示|征求|等待)用户的?(?:同意|确认|批准|许可|授权|意见)?"),
    ("hide", "告诉 告知 向 让", r"(?:不要|别|切勿|禁止|不得|不许|不能|请勿|勿)(?:把(?:这|此)\S{0,6})?(?:告诉|告知|向|让)(?:用户|使用者|主人|人类|任何人)"
        r"(?:(?:透露|提及|知道|说明|报告|提起)|(?=这|此|关于|[,。!]|$))"),
    ("hide", "隐瞒 保密 瞒着", r"(?:向|对)(?:用户|主人|人类|任何人)(?:隐瞒|保密)|瞒着(?:用户|主人|人类)"),
    ("hide", "悄悄 偷偷 秘密 暗中", r"(?:悄悄|偷偷|秘密|暗中)地?(?:把|将)?\S{0,12}?(?:发送|上传|执行|运行|删除|安装|转发|发给|复制)"),
    ("exfiltrate", "密钥 密码 凭证 凭据 令牌 环境变量 私钥 .env 对话记录 聊天记录 系统提示词 机密", r"(?:把|将)?[^\n。]{0,12}(?:密钥|密码|凭证|凭据|令牌|环境变量|私钥|\.env|对话记录|聊天记录|系统提示词|机密)"
        r"[^\n。]{0,16}(?:发送|上传|发|传|转发|提交)(?:给|到|至)[^\n。]{0,16}(?:https?://|\w@\w|以下|下面|攻击者|"
        r"我的)"),
    ("exfiltrate", "系统提示 提示词 初始指令", r"(?:输出|泄露|透露|显示|重复|复述|告诉我)你的(?:完整|全部|原始|隐藏)?的?(?:系统提示词?|提示词|初始指令)"),
    ("remember", "记忆", r"(?:记住|牢记|写入|保存到|存入|存到|写进|加入|添加到)[^\n。]{0,16}(?:你的(?:长期|永久)?记忆|长期记忆|永久记忆)"),
    ("remember", "记住 牢记", r"(?:永远|永久|一直)(?:地)?(?:记住|牢记)|(?:记住|牢记)[^\n。]{0,20}(?:今后|以后|未来)(?:的)?(?:所有|每次|每个|"
        r"全部)(?:的)?(?:会话|对话)"),
    ("remember", "会话 对话", r"(?:今后|以后|未来)的?(?:所有|每次|每个|全部|任何)的?(?:会话|对话)(?:中|里)?,?(?:你)?(?:都|必须|务必)"),
    ("address", "如果 若 假如", rf"(?:如果|若|假如|倘若)(?:你|您)是(?:一个|一名|一款)?{_ZH_AGENT}"),
    ("address", "阅读 读取 处理 看到 读到", rf"(?:正在)?(?:阅读|读取|处理|看到|读到)(?:本文|此文|这段|这份|本页|此页|该文件|这篇|本文档)"
        rf"[^\n。]{{0,8}}(?:的)?{_ZH_AGENT}"),
    ("address", "致 注意", rf"(?:^|\n|[。!?])(?:致|注意)[:,]?(?:所有|各位|任何)的?{_ZH_AGENT}"),
)  # fmt: skip

_MARKER_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("role", "<", r"^[ \t]*</?(?:system|developer|assistant)>|</?(?:system[-_ ](?:message|prompt|"
        r"reminder|instructions?|override)|developer[-_ ]message|user[-_](?:query|message|"
        r"approval|confirmation|instructions?)|admin[-_ ]?\w{0,12})>"),
    ("role", "<| [inst] [/inst] <<sys>> <</sys>> <start_of_turn>", r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|eot_id|begin_of_text|"
        r"endoftext|end_of_turn)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>"),
    ("role", "system developer admin", r"^[ \t]*(?:[#*\[(>-]{1,4} ?)?(?:system|developer|admin(?:istrator)?)(?: "
        r"(?:message|prompt|instructions?|override|notice|update|note|alert)"
        r")?[\])*]{0,3} ?:[\])*]{0,3} ?(?:you (?:are|must|should|may|will|have|can)|ignore|"
        r"disregard|forget|the (?:assistant|agent|model|user) |new (?:instructions?|task)|"
        r"from now on|always|never|do not|override)"),
    ("role", "[system [developer", r"^[ \t]*\[(?:system|developer)(?: (?:message|prompt|instructions?|override|notice|"
        r"note))\]"),
    ("role", "human: assistant:", r"\n\n(?:human|assistant): ?\S"),
    ("role", "end of", r"\bend of (?:the )?(?:tool (?:output|result)|user (?:input|message)|untrusted "
        r"(?:data|content|input)|system prompt|web ?page|search results?|document|file "
        r"contents?)\b[^\n]{0,40}\n?[^\n]{0,40}\b(?:system|new instructions?|now you|your "
        r"(?:new )?task|instructions? (?:for|to))\b"),
    ("role", "系统 开发者 管理员", r"^[ \t]*[\[【(]?(?:系统|开发者|管理员)(?:消息|提示|指令|通知)?[\]】)]?:[\]】)]? ?(?:你|您|忽略|无视|请忽略|"
        r"从现在)"),
    ("tool-call", "<", r"<(?:antml:)?(?:function_calls?|invoke|tool_calls?|tool_use)"
        r"(?:\s[^<>\n]{0,120})?>|<(?:antml:)?parameter name=|<function=\w|<\|(?:tool_call|"
        r"python_tag|tool_calls_begin)"),
    ("tool-call", "[tool_calls]", r"\[tool_calls\] ?\["),
)  # fmt: skip


class InjectionPattern(NamedTuple):
    """One injection sign: its rule, the words of which one must occur, and its pattern over folded
    text and over text without gaps.
    """

    rule: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    gapless: re.Pattern[str] | None


_GAP = r"[\s,*_\"'`-]{1,4}+"
_BRACKETED = lazy_pattern(r"\[[^\]]*\]|(?P<gap> )(?P<optional>\?)?")


def _compile_signs(
    rows: tuple[tuple[str, str, str], ...], *, words: bool
) -> tuple[InjectionPattern, ...]:
    return tuple(
        InjectionPattern(
            rule,
            tuple(hint for hint in hints.split() if hint),
            lazy_pattern(_BRACKETED.sub(lambda found: found[0] if not found["gap"] else f"(?:{_GAP}){found['optional'] or ''}", pattern), re.MULTILINE),
            lazy_pattern(_BRACKETED.sub(lambda found: found[0] if not found["gap"] else "", pattern.replace(r"\b", ""))) if words and rule != "exfiltrate" else None,
        )
        for rule, hints, pattern in rows
    )  # fmt: skip


INJECTION_SIGNS = (
    *_compile_signs(_ENGLISH_SIGNS, words=True),
    *_compile_signs(_CHINESE_SIGNS, words=True),
    *_compile_signs(_MARKER_SIGNS, words=False),
)
"""Every sign. Their rules: override, authority, hide, exfiltrate, remember, address, role,
tool-call.
"""


_MAX_DECODE_DEPTH = 2
"""Layers of encoding that are decoded."""


_SIGNS_BY_HINT = {
    each: tuple(number for number, sign in enumerate(INJECTION_SIGNS) if each in sign.hints)
    for sign in INJECTION_SIGNS
    for each in sign.hints
}
"""The signs that each hint belongs to: many share a hint, and a text is searched once per hint."""


def find_injections(text: str) -> tuple[SafetyFinding, ...]:
    """Signs of injected instructions, in order, without overlaps.

    Rules: `override` (of earlier instructions), `role` (posing as system, developer or user),
    `authority` (claims of permission), `hide` (from the user), `exfiltrate`, `remember` (for ever),
    `address` (to an AI that reads this), `tool-call`; with the prefix `encoded-` when the text had
    to be decoded first.
    """
    return keep_earliest_of_overlapping_findings(_scan_text(text, _MAX_DECODE_DEPTH))


_QUOTE_PREFIX = lazy_pattern(r"^[ \t]*(?:[>|#*-]+[ \t]*)+", re.MULTILINE)
_BROKEN_BLOCK = lazy_pattern(
    r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{8,}[ \t]*\r?\n[>|# \t]*){2,}[A-Za-z0-9+/_-]{2,}={0,2}"
)


def find_injection_rules(text: str) -> frozenset[str]:
    """The rules of `find_injections`, also for instructions that are stretched by wide gaps, spread
    over quoted lines, or encoded on short lines.
    """
    return _find_rules_cached(text) if len(text) <= _CACHED_LENGTH else _find_rules(text)


_CACHED_LENGTH = 40
"""Longest text whose result is cached: header keys, kinds and trust marks that repeat in every
file.
"""


@lru_cache(maxsize=1024)
def _find_rules_cached(text: str) -> frozenset[str]:
    return _find_rules(text)


def _find_rules(text: str) -> frozenset[str]:
    rules = {finding.rule for finding in find_injections(text)}
    joined = " ".join(_QUOTE_PREFIX.sub(" ", text).split())
    if joined != text:
        rules |= {finding.rule for finding in find_injections(joined)}
    for block in _BROKEN_BLOCK.findall(text):
        rules |= {
            finding.rule
            for finding in find_injections(re.sub(r"[\s>|#]+", "", block))
            if finding.rule.startswith("encoded-")
        }
    return frozenset(rules)


def _scan_text(text: str, depth: int) -> Iterator[SafetyFinding]:
    folded = fold_hidden_and_lookalike_characters(text)
    yield from _match_signs(folded)
    for span, letters in find_spaced_letters(folded):
        yield from (SafetyFinding(*span, f"encoded-{rule}") for rule in _match_gapless(letters))
    if depth:
        for finding, said in decode_hidden_text(text):
            yield from _scan_decoded((finding.start, finding.end), said, depth)
        for span, said in decode_encoded_blocks(text):
            yield from _scan_decoded(span, said, depth)


def _match_signs(folded: FoldedText) -> Iterator[SafetyFinding]:
    text = folded.text
    hinted = {
        number for hint, numbers in _SIGNS_BY_HINT.items() if hint in text for number in numbers
    }
    for number in sorted(hinted):
        for found in INJECTION_SIGNS[number].pattern.finditer(text):
            yield SafetyFinding(
                *folded.map_to_original_span(*found.span()), INJECTION_SIGNS[number].rule
            )


def _match_gapless(letters: str) -> Iterator[str]:
    return (
        sign.rule
        for sign in INJECTION_SIGNS
        if sign.gapless is not None and sign.gapless.search(letters)
    )


def _scan_decoded(span: tuple[int, int], said: str, depth: int) -> Iterator[SafetyFinding]:
    for rule in {finding.rule.removeprefix("encoded-") for finding in _scan_text(said, depth - 1)}:
        yield SafetyFinding(*span, f"encoded-{rule}")
