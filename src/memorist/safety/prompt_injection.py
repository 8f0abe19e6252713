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

from memorist.core.languages import COMMON_WORDS, MAX_DETECTED_CHARS, detect_language
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import word_set
from memorist.safety.hidden_characters import (
    FoldedText,
    find_encoded_text,
    find_spaced_letters,
    fold_text,
    read_hidden_text,
)
from memorist.safety.safety_finding import SafetyFinding, remove_overlaps

# Patterns of prompt injection over folded text. In a pattern a space stands for a gap between
# words: see `_compile_signs`.


_PEOPLE = (
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
_FILES = (
    r"(?:\.env\b|id_rsa|id_ed25519|/\.ssh/|/\.aws/|\.netrc|\.npmrc|\.git-credentials|"
    r"/etc/(?:passwd|shadow)|credentials\b|\.pem\b|secrets?\.\w{2,5})"
)
_ENGLISH_SIGNS: tuple[tuple[str, str, str], ...] = (
    (
        "override", "ignore disregard forget override bypass neglect following obey",
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
    ("override", "you are", r"\byou are (?:now|from now on|no longer) (?:in (?:developer|debug|god|admin|"
        r"maintenance|unrestricted) mode|dan\b|an? (?:unrestricted|uncensored|different|"
        r"evil)|unrestricted|jailbroken|bound by|restricted by)"),
    ("override", "new new.", r"\b(?:new|updated|revised) (?:system |priority |urgent )?instructions? (?:from|by)"
        r" (?:the )?(?:system|developer|admin\w*|operator|user|anthropic|openai)\b"),
    ("authority", "approved authorized authorised consented consent granted permission", rf"\bthe {_PEOPLE} has (?:already |explicitly |previously |fully "
        rf"){{0,2}}(?:approved|authori[sz]ed|consented to|agreed to|signed off on|granted|"
        rf"given (?:you )?(?:full |explicit )?(?:permission|consent|approval))\b"),
    ("authority", "you", r"\byou (?:are|have been|were) (?:hereby |now |fully |explicitly |already |"
        r"pre-?){0,3}(?:allowed|authori[sz]ed|permitted|cleared|approved|free) to (?:skip|"
        r"bypass|ignore|disable|override|omit|proceed without|act without|run any|execute "
        r"any|delete|access (?:all|any))\b"),
    ("authority", "you", r"\byou (?:may|can|should|must|need to) (?:now |safely |always )?(?:skip|bypass|"
        r"ignore|disable) (?:the |all |any |every )?(?:user )?(?:permissions?|"
        r"confirmations?|approvals?|safety|security|consent|authori[sz]ation)\b"),
    ("authority", "need ask asking check confirm wait consult", rf"\b(?:no need to|there is no need to|do not|don'?t|never|without) (?:ask(?:ing)?|"
        rf"check(?:ing)? with|confirm(?:ing)? with|consult(?:ing)?|wait(?:ing)? for) "
        rf"the {_PEOPLE}\b(?! to (?:type|enter|choose|pick|select))"),
    ("authority", "pre-approved pre-authorized pre-authorised preapproved preauthorized", rf"\bpre-?(?:approved|authori[sz]ed) by (?:the )?{_PEOPLE}\b"),
    ("authority", "permission consent approval", r"\b(?:full |explicit )?(?:permission|consent|authori[sz]ation) (?:has (?:already "
        r")?been|was already|is hereby|is already) (?:granted|given)\b"),
    ("hide", "tell inform telling informing mention reveal disclose know", rf"\b(?:do not|don'?t|never|without) (?:tell(?:ing)?|inform(?:ing)?|let(?:ting)?|"
        rf"alert(?:ing)?|mention(?:ing)? (?:this|it|that|any of this) to|reveal(?:ing)? "
        rf"(?:this|it|that|any of this) to|disclos(?:e|ing) (?:this|it|that|any of this) "
        rf"to|report(?:ing)? (?:this|it|that) to) (?:the |your |any )?{_PEOPLE}\b(?! "
        rf"(?:what|which|how|where|see|choose|pick|select|edit|type|enter|change)\b)"),
    ("hide", "mention reveal disclose refer acknowledge", r"\b(?:do not|don'?t|never) (?:mention|reveal|disclose|acknowledge|refer to) "
        r"(?:this|these|the existence of (?:this|these)) (?:instructions?|messages?|notes?|"
        r"directives?|prompts?|text)\b"),
    ("hide", "hide conceal keep secret", rf"\b(?:hide|conceal) (?:this|these|it|that|what you (?:do|did)|your (?:actions?|"
        rf"reasoning|changes?)) from (?:the |your )?{_PEOPLE}\b(?! (?:until|while|when|if|"
        rf"interface)\b)"),
    ("hide", "secretly covertly", r"\b(?:secretly|covertly|surreptitiously) (?:send|upload|post|copy|run|execute|"
        r"install|add|insert|delete|exfiltrate|forward|include|read|call|fetch|commit|push)"
        r"\b"),
    ("exfiltrate", "send post upload forward email exfiltrate transmit leak submit", rf"\b(?:send|post|upload|forward|e-?mail|exfiltrate|transmit|leak|submit) "
        rf"(?:[^\s,*_\"\'`-]{{1,40}}+ ){{0,6}}?{_SECRETS}(?: "
        rf"[^\s,*_\"\'`-]{{1,40}}+){{0,6}}? (?:to|at|via) (?:[^\s,*_\"\'`-]{{1,20}}+ "
        rf"){{0,2}}?{_TARGET}"),
    ("exfiltrate", "curl wget nc", rf"\b(?:curl|wget|nc)\b[^\n]{{1,200}}(?:-d|--data(?:-binary|-raw)?|-f|--form|-t|"
        rf"--upload-file|--post-file)[ =][\"']?[^\s\"']{{0,60}}{_FILES}"),
    ("exfiltrate", "curl wget nc", rf"(?:\bcat\b[^\n|]{{1,120}}{_FILES}|\bprintenv\b|\benv\b)"
        rf"[^\n|]{{0,60}}\|[^\n]{{0,80}}\b(?:curl|wget|nc)\b"),
    ("exfiltrate", "curl wget", rf"\b(?:curl|wget)\b[^\n]{{1,200}}\$\([^)\n]{{0,100}}{_FILES}"),
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
    ("address", "reading processing parsing viewing summarizing summarising that who", rf"\b{_AGENT} (?:that (?:is|are) |who (?:is|are) |currently )?(?:reading|"
        rf"processing|parsing|viewing|ingesting|summari[sz]ing|crawling) (?:this|these|the "
        rf"following)\b"),
    ("address", "if you are if you're", rf"\bif you(?: are|'re) (?:an? |the )?{_AGENT}\b"),
    ("address", "attention note message instructions notice important dear", rf"\b(?:attention|notice|notes?|messages?|instructions?|important|dear|special "
        rf"instructions?) ?[:,]? ?(?:to |for )?(?:all |any |the )?{_AGENT} ?[:,!]"),
)  # fmt: skip

_ZH_AGENT = r"(?:ai|人工智能|大模型|语言模型|大语言模型|智能体|智能助手|ai助手|机器人)"
_CHINESE_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("override", "忽略 无视 忘记 忘掉 不要理会 不要遵守 不再遵守 绕过 抛开", r"(?:忽略|无视|忘记|忘掉|不要理会|不要遵守|不再遵守|绕过|抛开)(?:掉|了)?(?:(?:所有|一切|全部|任何|你|您|的|之前|以前|先前|以上|"
        r"上述|上面|前面|此前|系统|原有|原来|已有|给出|收到|安全|其他|这些|那些)){1,8}(?:指令|指示|提示词|系统提示|命令|约束|设定|规则|限制)"),
    ("override", "你现在是 从现在起 从现在开始", r"(?:你现在是|从现在(?:起|开始),?你(?:就)?是)(?:一个)?(?:不受(?:任何)?(?:限制|约束)|没有(?:任何)?(?:限制|约束)|"
        r"开发者模式|越狱)"),
    ("override", "新任务 新指令 真正的任务", r"你的?(?:新任务|新指令|真正的?任务|真实任务)(?:是|为|如下)"),
    ("authority", "批准 授权 同意 允许", r"(?:用户|管理员|开发者|主人|所有者)(?:已经?|早已|已明确)(?:批准|授权|同意|允许)(?:了)?(?:你|您|此|本次?|该|所有|全部|任何|"
        r"执行|跳过|删除|以下|上述|这)"),
    ("authority", "跳过 绕过 忽略 无需", r"你(?:可以|被允许|有权|已获授权|应该|必须)(?:直接)?(?:跳过|绕过|忽略|省略)(?:所有|任何|用户|的){0,3}(?:确认|审批|批准|权限|"
        r"安全|检查|授权)"),
    ("authority", "无需 不必 不用 不需要", r"(?:无需|不必|不用|不需要|无须)(?:再)?(?:征得|经过|获得|取得|询问|请示|征求|等待)用户的?(?:同意|确认|批准|许可|授权|意见)?"),
    ("hide", "告诉 告知 透露 知道 提及", r"(?:不要|别|切勿|禁止|不得|不许|不能|请勿|勿)(?:把(?:这|此)\S{0,6})?(?:告诉|告知|向|让)(?:用户|使用者|主人|人类|任何人)"
        r"(?:(?:透露|提及|知道|说明|报告|提起)|(?=这|此|关于|[,。!]|$))"),
    ("hide", "隐瞒 保密 瞒着", r"(?:向|对)(?:用户|主人|人类|任何人)(?:隐瞒|保密)|瞒着(?:用户|主人|人类)"),
    ("hide", "悄悄 偷偷 秘密", r"(?:悄悄|偷偷|秘密|暗中)地?(?:把|将)?\S{0,12}?(?:发送|上传|执行|运行|删除|安装|转发|发给|复制)"),
    ("exfiltrate", "发送 上传 发给 发到 传到 转发 提交到 泄露", r"(?:把|将)?[^\n。]{0,12}(?:密钥|密码|凭证|凭据|令牌|环境变量|私钥|\.env|对话记录|聊天记录|系统提示词|机密)"
        r"[^\n。]{0,16}(?:发送|上传|发|传|转发|提交)(?:给|到|至)[^\n。]{0,16}(?:https?://|\w@\w|以下|下面|攻击者|"
        r"我的)"),
    ("exfiltrate", "系统提示 提示词", r"(?:输出|泄露|透露|显示|重复|复述|告诉我)你的(?:完整|全部|原始|隐藏)?的?(?:系统提示词?|提示词|初始指令)"),
    ("remember", "记忆", r"(?:记住|牢记|写入|保存到|存入|存到|写进|加入|添加到)[^\n。]{0,16}(?:你的(?:长期|永久)?记忆|长期记忆|永久记忆)"),
    ("remember", "记住 牢记", r"(?:永远|永久|一直)(?:地)?(?:记住|牢记)|(?:记住|牢记)[^\n。]{0,20}(?:今后|以后|未来)(?:的)?(?:所有|每次|每个|"
        r"全部)(?:的)?(?:会话|对话)"),
    ("remember", "会话 对话", r"(?:今后|以后|未来)的?(?:所有|每次|每个|全部|任何)的?(?:会话|对话)(?:中|里)?,?(?:你)?(?:都|必须|务必)"),
    ("address", "如果 若 假如", rf"(?:如果|若|假如|倘若)(?:你|您)是(?:一个|一名|一款)?{_ZH_AGENT}"),
    ("address", "阅读 读取 处理 看到", rf"(?:正在)?(?:阅读|读取|处理|看到|读到)(?:本文|此文|这段|这份|本页|此页|该文件|这篇|本文档)"
        rf"[^\n。]{{0,8}}(?:的)?{_ZH_AGENT}"),
    ("address", "致 注意", rf"(?:^|\n|[。!?])(?:致|注意)[:,]?(?:所有|各位|任何)的?{_ZH_AGENT}"),
)  # fmt: skip

_MARKER_SIGNS: tuple[tuple[str, str, str], ...] = (
    ("role", "<", r"^[ \t]*</?(?:system|developer|assistant)>|</?(?:system[-_ ](?:message|prompt|"
        r"reminder|instructions?|override)|developer[-_ ]message|user[-_](?:query|message|"
        r"approval|confirmation|instructions?)|admin[-_ ]?\w{0,12})>"),
    ("role", "<| [inst] <<sys>> [/inst]", r"<\|(?:im_start|im_end|system|user|assistant|start_header_id|eot_id|begin_of_text|"
        r"endoftext|end_of_turn)\|>|\[/?inst\]|<</?sys>>|<start_of_turn>"),
    ("role", "system developer", r"^[ \t]*(?:[#*\[(>-]{1,4} ?)?(?:system|developer|admin(?:istrator)?)(?: "
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
    ("role", "系统 开发者", r"^[ \t]*[\[【(]?(?:系统|开发者|管理员)(?:消息|提示|指令|通知)?[\]】)]?:[\]】)]? ?(?:你|您|忽略|无视|请忽略|"
        r"从现在)"),
    ("tool-call", "<", r"<(?:antml:)?(?:function_calls?|invoke|tool_calls?|tool_use)"
        r"(?:\s[^<>\n]{0,120})?>|<(?:antml:)?parameter name=|<function=\w|<\|(?:tool_call|"
        r"python_tag|tool_calls_begin)"),
    ("tool-call", "[tool_calls]", r"\[tool_calls\] ?\["),
)  # fmt: skip


class InjectionSign(NamedTuple):
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
) -> tuple[InjectionSign, ...]:
    return tuple(
        InjectionSign(
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
    return remove_overlaps(_scan_text(text, _MAX_DECODE_DEPTH))


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
    folded = fold_text(text)
    yield from _match_signs(folded)
    for span, letters in find_spaced_letters(folded):
        yield from (SafetyFinding(*span, f"encoded-{rule}") for rule in _match_gapless(letters))
    if depth:
        for finding, said in read_hidden_text(text):
            yield from _scan_decoded((finding.start, finding.end), said, depth)
        for span, said in find_encoded_text(text):
            yield from _scan_decoded(span, said, depth)


def _match_signs(folded: FoldedText) -> Iterator[SafetyFinding]:
    text = folded.text
    hinted = {
        number for hint, numbers in _SIGNS_BY_HINT.items() if hint in text for number in numbers
    }
    for number in sorted(hinted):
        for found in INJECTION_SIGNS[number].pattern.finditer(text):
            yield SafetyFinding(*folded.original_span(*found.span()), INJECTION_SIGNS[number].rule)


def _match_gapless(letters: str) -> Iterator[str]:
    return (
        sign.rule
        for sign in INJECTION_SIGNS
        if sign.gapless is not None and sign.gapless.search(letters)
    )


def _scan_decoded(span: tuple[int, int], said: str, depth: int) -> Iterator[SafetyFinding]:
    for rule in {finding.rule.removeprefix("encoded-") for finding in _scan_text(said, depth - 1)}:
        yield SafetyFinding(*span, f"encoded-{rule}")


# Whether a text instructs its reader to do, or not to do, something (SF-2). English and Chinese.


_VERBS = word_set(
    """
         abort accept add adopt agree allow alert analyse analyze answer append apply approve ask
    assign assume attach avoid back be begin block browse build     bump call cancel change check
    choose clean clear click clone close collect combine commit compare compile complete configure
    confirm connect consider     consult continue convert copy count create cut debug declare
    define delete deploy describe design disable discard disregard do document download     drop
    edit email enable encrypt encode ensure erase escape evaluate examine exclude execute exit
    expand explain export expose extend extract fetch fill     filter find finish fix flag focus
    follow force forget format forward generate get give go grant group guard guess halt handle
    hash hide     highlight hold identify ignore implement import improve include increase inform
    insert inspect install instruct invoke isolate join keep kill     launch lead leave let limit
    link list load locate lock log look lower maintain make mark memorise memorize mention merge
    migrate minimise     minimize mock modify monitor mount move name never note notify obey omit
    open optimise optimize output override overwrite pass paste patch     perform persist pick pin
    place plan point post prefer prepare present preserve prevent print prioritise prioritize
    proceed produce promise     propose protect provide publish pull push put query quote raise
    read rebase rebuild recall recommend record redirect reduce refactor     refer refresh refuse
    register reject release rely reload remember remind remove rename render repeat replace reply
    report request     require reset resolve respect respond restart restore restrict retry return
    reuse reveal revert review revoke rewrite rollback rotate run     sanitise sanitize save scan
    schedule search select send separate serve set share ship show sign simplify skip sort specify
    split stage start stash     stay stick stop store strip submit suggest summarise summarize
    switch sync tag take tell terminate test think throw toggle track train     translate transmit
    treat trigger trim trust try turn type uninstall unset update upgrade upload use validate
    verify view visit wait wake     warn watch work wrap write
    """
)
_SKIPPED_OPENERS = word_set(
    """
    please kindly just then now next first second finally also and but so instead always never
    only simply again later otherwise therefore     hereby immediately important note warning
    caution rule reminder todo tip hint instruction
    """
)
_PHRASES = lazy_pattern(
    r"\b(?:do not|don[’']?t|does not need to|never|always|make sure|be sure to|be careful|"
        r"remember to|take care|feel free to|under no circumstances"
    r"|(?:you|we|agents?|assistants?|models?|the (?:agent|assistant|model|ai|reader|developer|"
        r"user)|everyone|everybody|nobody|no one|one|developers?"
    r"|contributors?) (?:must|should|shall|need to|needs to|have to|has to|are to|is to|ought "
        r"to|may not|may only|cannot|can not|can[’']t|had better"
    r"|are (?:required|expected|asked|forbidden) to)"
    r"|(?:must|shall)(?: not| never| always| only)? (?:be )?[a-z]{2,}|should (?:not |never |"
        r"always |only )?be [a-z]{2,}ed"
    r"|(?:is|are) (?:not allowed|not permitted|forbidden|prohibited|mandatory|required to|to "
        r"be (?:used|avoided|run|done|treated|ignored))"
    r"|it is (?:required|necessary|mandatory|forbidden|best|recommended|important|essential) "
        r"(?:to|that)"
    r"|(?:i|we) (?:want|need|expect|ask|instruct|order|would like|prefer|insist|recommend|"
        r"require|suggest)s?(?: that)? you"
    r"|your (?:task|job|goal|duty|mission|role|instructions?|orders?) (?:is|are)|(?:would|"
        r"could|can|will) you (?:please )?[a-z]{2,}"
    r"|no (?:committing|pushing|merging|deploying|editing|using|mocking)\b)",
    re.IGNORECASE,
)  # fmt: skip
_WEAK_PHRASES = lazy_pattern(r"\b(?:never|always)\b", re.IGNORECASE)
_CLAUSE_BOUNDARY = lazy_pattern(
    r"[.!?;:\n,—–。！？；：，]+|\s-\s|\s\(|\b(?:and|then|but|to) (?=(?:do not|don't|never|always|"
    r"please)\b)",
    re.IGNORECASE,
)
_CLAUSE_SCAN_LENGTH = 200
_WORD = lazy_pattern(r"[A-Za-z][A-Za-z’'-]*")
_NOUN_FOLLOWERS = word_set(
    """
    is are was were has have had will would can could may might does did of fails failed fail
    passes passed takes took works worked     shows showed says said time times results result
    files requests output outputs errors error coverage status
    """
)
"""Words after a verb's form that show it to be a noun: "Build fails", "Use of", "Test coverage"."""
_CHINESE_PHRASES = lazy_pattern(
    r"请(?!求|问|假|客|愿|帖)|务必|必须|应该|应当|不应|(?<!不)需要|不要|不得|不许|不准|禁止|切勿|请勿|严禁|不可(?!能|以|用|见|靠|变)|总是|始终|"
    r"永远不|一定要|记得|记住|确保|避免|优先(?:使用|选)|改用"
    r"|不能(?:使用|提交|修改|删除|直接|把|在)|(?<![特区分级类个识性差鉴辨告])别(?![人的名称处墅扭致具])|尽量|只能|只允许|忽略|无视|执行(?:以下|下列|"
    r"此)|使用前先"
)


def is_instruction(text: str) -> bool:
    """Whether the text tells its reader to do, or not to do, something."""
    return (
        _CHINESE_PHRASES.search(text) is not None
        or any(map(_is_imperative, _CLAUSE_BOUNDARY.split(text)))
        or _has_phrase(text)
    )


def may_instruct(text: str) -> bool:
    """Whether the text tells its reader what to do, or is in a language in which nobody can tell;
    for texts from outside, which are not believed in doubt.
    """
    return is_instruction(text) or not _is_in_read_language(text)


def _is_in_read_language(text: str) -> bool:
    """Whether `is_instruction` can tell: the text is in English or Chinese, as far as its letters
    and commonest words show. Where they show nothing it is taken to be in English.
    """
    words = _LETTERS.findall(text[:MAX_DETECTED_CHARS])
    letters = sum(map(len, words))
    foreign = sum(len(_FOREIGN_LETTER.findall(word)) for word in words if len(word) > 1)
    if foreign > FOREIGN_SHARE * letters:
        return False
    if detect_language(text) != "english":
        return False
    lowered = {word.lower() for word in words}
    english = len(lowered & COMMON_WORDS["english"])
    foreign = max(len(lowered & common) for common in _ONLY_FOREIGN)
    foreign += len(lowered & _FOREIGN_ORDER_WORDS)
    accented = any(map(_ACCENTED_LETTER.search, lowered))
    return foreign < english if accented else foreign <= english


_ALSO_ENGLISH = word_set(
    """
             a as can comment con dare des die do dove due fine for i in is it me mi nach no non
    not o of on or our per plus pour pro se         si so son sur the to van via war was we z
    """
)
_ONLY_FOREIGN = tuple(
    common - _ALSO_ENGLISH for language, common in COMMON_WORDS.items() if language != "english"
)
"""Common words of each other language that an English text does not hold but by chance."""
_FOREIGN_ORDER_WORDS = word_set(
    """
             immer nie niemals hier darf dürfen muss müssen erlaubt verboten direkt ohne toujours
    jamais doit doivent autorise autorisé         permis peut peuvent sans siempre nunca puede
    pueden debe deben permitido sin sempre pode podem deve devem sem mai possono         può
    devono senza altijd nooit mag mogen moet zonder alltid aldrig får måste utan zawsze nigdy
    można trzeba bez
    """
)
"""Words with which orders and permissions are given in other languages."""
FOREIGN_SHARE = 0.1
"""Share of letters that are neither Latin nor Han from which a text is in another language: a name
may be.
"""
_LETTERS = lazy_pattern(r"[^\W\d_]+")
_ACCENTED_LETTER = lazy_pattern("[\u00c0-\u024f\u1e00-\u1eff]")
_FOREIGN_LETTER = lazy_pattern("[^\\W\\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff\u3400-\u9fff]")


def _has_phrase(text: str) -> bool:
    for found in _PHRASES.finditer(text):
        if not _WEAK_PHRASES.fullmatch(found[0]):
            return True
        after = _WORD.match(text, min(len(text), found.end() + 1))
        if after and after[0].lower() in _VERBS:
            return True
    return False


def _is_imperative(clause: str | None) -> bool:
    """Whether the clause begins with a verb in the imperative, after any polite or ordering words."""
    words = _WORD.findall(clause or "", 0, _CLAUSE_SCAN_LENGTH)
    while words and words[0].lower() in _SKIPPED_OPENERS:
        words = words[1:]
    if not words or words[0].lower() not in _VERBS:
        return False
    return len(words) == 1 or words[1].lower() not in _NOUN_FOLLOWERS


# Whether a text grants a permission in the user's name (SF-2): "the user approved …", "no
# confirmation is needed". English and Chinese. Pure.


_GRANTORS = r"(?:user|owner|administrator|admin|operator|maintainer|person|human)"
_GRANTED_ACTS = (
    r"(?:running|pushing|force|deleting|removing|executing|skipping|bypassing|disabling|"
    r"merging|deploying|installing|sending|uploading|publishing"
    r"|(?:all|any|every|full)(?: \w+)? (?:commands?|actions?|tools?|changes|requests?|"
    r"operations?|permissions?|access)"
    r"|to (?:run|push|delete|remove|execute|skip|bypass|disable|merge|deploy|install|send|"
    r"upload|publish)\b)"
)
_ALLOWS = (
    r"(?:approved?s?|allow(?:s|ed)?|authori[sz]e[sd]?|permit(?:s|ted)?|consent(?:s|ed) to|"
    r"agreed to|granted)"
)
_NAMED_GRANT = lazy_pattern(
    rf"\b{_GRANTORS}s?\b (?:has |have |already |explicitly |always |generally )*{_ALLOWS} "
    rf"(?:\w+ ){{0,3}}?{_GRANTED_ACTS}"
    rf"|\b(?:{_GRANTORS}s?|you|agents?|assistants?|claude|codex)\b[^.!?\n]{{0,80}}\b"
    r"without (?:asking(?! for)|(?:any )?(?:confirmation|approval|permission|consent))\b"
    r"|(?:用户|管理员|主人|所有者|负责人)[^。！？\n]{0,12}(?:批准|授权|同意|允许|许可)[^。！？\n]{0,24}(?:不用|无需|不必|不需要|无须|"
    r"直接|跳过|删除|执行|运行|推送|任何|所有)",
    re.IGNORECASE,
)
_WAIVED_CONFIRMATION = lazy_pattern(
    r"\bno (?:further |more |prior )?(?:confirmations?|approvals?|permissions?|consent) "
    r"(?:(?:is|are) )?(?:needed|required|necessary)\b"
    r"|\b(?:needs?|requires?) (?:no|neither) (?:\w+ ){0,2}?(?:confirmations?|approvals?|permissions?|consent|"
    r"reviews?|sign-?offs?)\b"
    rf"|\b(?:agreed|cleared|approved|okayed) (?:with|by) (?:the )?{_GRANTORS}\b"
    r"|(?:不用|无需|不必|不需要|无须)(?:再|经过|任何)*(?:确认|批准|审批|询问|授权|同意)",
    re.IGNORECASE,
)
_DENIED = lazy_pattern(
    r"\b(?:never|not|n[o']t|cannot|nobody|no one|forbidden|must ask)\b|(?:n't|n’t)\b|不要|不得|不能|"
    r"不许|禁止|切勿|没有",
    re.IGNORECASE,
)
_SENTENCE_END = lazy_pattern(r"[.!?](?=\s|$)|[。！？\n]")
_REMOTE_CODE = lazy_pattern(
    r"\b(?:curl|wget|fetch|iwr|irm|invoke-webrequest)\b[^\n|]{1,300}\|\s*(?:sudo )?(?:(?:ba|z|k|da|fi)?sh|python3?|"
    r"node|perl|ruby|iex)\b|\b(?:ba|z)?sh (?:-c )?[\"'<$(]{1,3} ?\(?(?:curl|wget)\b",
    re.IGNORECASE,
)
_HIDDEN_RESULT = lazy_pattern(
    rf"\b(?:do not|don'?t|never) (?:show|report|display|reveal|list) (?:the |any |your )?(?:failing|failed|broken|skipped|"
    rf"changed|deleted)?[ ]?(?:tests?|checks|diffs?|changes|commands|deletions|builds?) to (?:the )?{_PEOPLE}\b",
    re.IGNORECASE,
)


def is_risky_order(text: str) -> bool:
    """Whether the text has downloaded code run, work hidden from the person, keys sent away, or
    something done without anyone's leave: a rule that nobody but the person may give.
    """
    folded = " ".join(text.split())
    return (
        _REMOTE_CODE.search(folded) is not None
        or _HIDDEN_RESULT.search(folded) is not None
        or _matches_unless_denied(_SENT_SECRET, text)
        or (_matches_unless_denied(_UNCHECKED_ACT, text) and is_instruction(text))
    )


def grants_permission(text: str) -> bool:
    """Whether the text says that a named person allowed something, or that an agent needs no
    permission. A prohibition grants nothing.
    """
    return _matches_unless_denied(_NAMED_GRANT, text)


def is_planted_order(text: str) -> bool:
    """Whether the text orders an agent about as injections do, or grants a permission: neither may
    come from text that the user has not seen.
    """
    return bool(find_injection_rules(text)) or grants_permission(text)


_SPOKEN_FOR = r"(?:the|your|our) (?:user|human|person|owner|operator|maintainer|team lead|boss)s?"
_SAID_ELSEWHERE = (
    r"\b(?:der|die|unser) (?:nutzer(?:in)?|benutzer(?:in)?|anwender(?:in)?|chef(?:in)?) (?:hat|will|möchte|wünscht|erlaubt|sagte?)\b"
    r"|\bl['’]utilisat(?:eur|rice) (?:a|veut|souhaite|autorise|permet)\b"
    r"|\b(?:el|la) usuari[oa] (?:ha|dijo|dice|quiere|permite|permitió|autoriza|autorizó)\b"
    r"|\b(?:o|a) (?:usuári[oa]|utilizador(?:a)?) (?:disse|diz|quer|permite|permitiu|autoriza|autorizou)\b"
    r"|\bпользователь (?:сказал|говорит|хочет|просил|просит|разреш\w+|одобрил)\b"
    r"|(?:用户|用戶)(?:说|表示|希望|要求|允许|同意|批准)|(?:ユーザー|利用者)[はがも][^。\n]{0,40}(?:言|許可|承認|希望|望ん|求め)"
)
"""What the user is claimed to have said, wished or allowed, in seven more languages."""
_CUSTOM = lazy_pattern(
    r"\b(?:it is|it['’]s) (?:\w+ )?(?:customary|usual|common|normal|standard|established|accepted)(?: practice| policy)? (?:\w+ )?"
    r"to [a-z]{2,}",
    re.IGNORECASE,
)
"""A custom that nobody is named for, with an infinitive: an order in other words."""
_SENT_SECRET = lazy_pattern(
    rf"\b(?:send|upload|post|copy|share|forward|e-?mail|paste|publish)\b[^.!?\n]{{0,30}}[^!?\n]{{0,30}}"
    rf"(?:{_FILES}|\.ssh\b|\.aws\b|\bprivate keys?\b|\bapi keys?\b)[^!?\n]{{0,60}} to\b",
    re.IGNORECASE,
)
_UNCHECKED_ACT = lazy_pattern(
    r"\bwithout (?:a |an |any |prior |further )*(?:review|approval|confirmation|permission|consent|sign-?off|"
    r"asking|checking with)\b",
    re.IGNORECASE,
)
_CLAIMED_PERMISSION = lazy_pattern(
    rf"\b{_SPOKEN_FOR} (?:(?:has|have|had|already|also|once|explicitly|generally|always) ){{0,3}}"
    r"(?:said|says|told|agreed|agrees|approved|consent(?:s|ed)|authori[sz]e[sd]?|allow(?:s|ed)?|"
    r"permit(?:s|ted)?|waive[sd]?|grant(?:s|ed)|(?:does|do|did) not mind|doesn['’]t mind|"
    r"(?:is|are|was|were) (?:fine|ok|okay|happy) with)\b"
    rf"|\b(?:turned|switched) off (?:\w+ ){{0,3}}?by {_SPOKEN_FOR}\b"
    r"|\b(?:tests?|checks?|hooks?|ci|lint(?:s|ing|ers?)?|type ?checks?|validations?|verification|scans?|"
    r"reviews?)\b[^.!?\n]{0,30}\b(?:may|can) be (?:skipped|omitted|bypassed|ignored|left out|disabled)\b"
    r"|\b(?:force[ -]push(?:es|ing)?|sudo|(?:direct )?push(?:es|ing) (?:straight |directly )?to (?:main|master))\b"
    r"[^.!?\n]{0,20}\b(?:is|are) (?:always |also )?(?:fine|ok|okay|allowed|permitted|welcome|acceptable)\b"
    rf"|{_SAID_ELSEWHERE}"
    r"|\b(?:confirmations?|approvals?|permissions?|consent|reviews?|sign-?offs?)\b[^.!?\n]{0,30}\b"
    r"(?:(?:is|are) (?:never|not|no longer) (?:needed|required|necessary)|(?:may|can) be "
    r"(?:skipped|omitted|bypassed|ignored)|(?:is|are) (?:optional|waived|(?:turned|switched) off))\b"
    r"|\b(?:agents?|assistants?|ais?|llms?|claude|codex|copilot)\b[^.!?\n]{0,60}(?:\bwithout "
    r"(?:a |any )?(?:review|approval|confirmation|permission|consent|sign-?off)\b|\b(?:curl|wget|"
    r"sudo|rm -rf)\b|\.env\b|\b(?:secrets?|credentials|private keys?)\b)",
    re.IGNORECASE,
)


def claims_permission(text: str) -> bool:
    """Whether the text says what a person allowed or said, that a check is not needed, or that
    agents do a risky thing: of a text from outside nobody knows whether it is so.
    """
    return _CLAIMED_PERMISSION.search(" ".join(text.split())) is not None


def waives_confirmation(text: str) -> bool:
    """Whether the text says that no confirmation or approval is needed, by anyone. Weaker than
    `grants_permission`: ordinary work rules say so too.
    """
    return _matches_unless_denied(_WAIVED_CONFIRMATION, text)


def may_bind(text: str) -> bool:
    """Whether the text may tell its reader what to do or what is allowed; for texts from outside,
    which are not believed in doubt.
    """
    return (
        may_instruct(text)
        or waives_confirmation(text)
        or claims_permission(text)
        or _CUSTOM.search(text) is not None
    )


def _matches_unless_denied(pattern: re.Pattern[str], text: str) -> bool:
    return any(
        pattern.search(" ".join(part.split())) and not _DENIED.search(part)
        for part in _SENTENCE_END.split(text)
    )
