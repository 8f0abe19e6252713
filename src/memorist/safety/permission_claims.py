"""Whether a text grants a permission in the user's name, or claims that one was given (SF-2): "the
user approved …", "no confirmation is needed". English and Chinese. Pure.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern
from memorist.safety.instruction_detection import contains_instruction, may_instruct_reader
from memorist.safety.prompt_injection import NAMED_FILES, NAMED_PEOPLE, find_injection_rules

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
_FETCHES = r"(?:curl|wget|fetch (?=-|http)|iwr|irm|invoke-(?:webrequest|restmethod))"
_SHELLS = r"(?:(?:ba|z|k|da|fi|tc|c)?sh|pwsh|powershell|iex|invoke-expression|eval|source)"
_INTERPRETERS = r"(?:python3?|node|deno|bun|perl|ruby|php)"
_RUNS = rf"(?:{_SHELLS}|{_INTERPRETERS})"
_OWN_PROGRAM = r"(?: -\w+)* (?:-\w*[cemnpr]\b|[\w./-]+\.\w)"
"""A program behind an interpreter's name: what is piped into it is data (`python3 -m json.tool`)."""
_REMOTE_CODE = lazy_pattern(
    rf"\b{_FETCHES}[^|]{{1,300}}(?:\|&? ?(?:sudo )?tee [^|]{{1,80}})?\|&?[\s`\"']*(?:sudo (?:-u \w+ |-\w+ )*)?"
    rf"(?:/[a-z/]{{1,20}}/)?(?:env )?(?:{_SHELLS}\b|{_INTERPRETERS}\b(?!{_OWN_PROGRAM}))"
    rf"|(?:\b{_RUNS}|(?<!\S)\.) (?:-\w+ )*[\"'`<$(]{{1,4}} ?{_FETCHES}(?!`)"
    rf"|\b{_FETCHES}.{{1,300}}(?:&&|;|\b(?:and|then)) (?:sudo )?(?:chmod \+x|(?:{_RUNS} )?\./|{_RUNS} /)",
    re.IGNORECASE,
)
_HIDDEN_RESULT = lazy_pattern(
    rf"\b(?:do not|don'?t|never) (?:show|report|display|reveal|list) (?:the |any |your )?(?:failing|failed|broken|skipped|"
    rf"changed|deleted)?[ ]?(?:tests?|checks|diffs?|changes|commands|deletions|builds?) to (?:the )?{NAMED_PEOPLE}\b",
    re.IGNORECASE,
)


def runs_downloaded_code(text: str) -> bool:
    """Whether the text holds a command that fetches code and runs it unseen."""
    return _REMOTE_CODE.search(" ".join(text.split())) is not None


def is_order_reserved_for_user(text: str) -> bool:
    """Whether the text has downloaded code run, work hidden from the person, keys sent away, or
    something done without anyone's leave: a rule that nobody but the person may give.
    """
    folded = " ".join(text.split())
    return (
        runs_downloaded_code(text)
        or _HIDDEN_RESULT.search(folded) is not None
        or _matches_unless_denied(_SENT_SECRET, text)
        or (_matches_unless_denied(_UNCHECKED_ACT, text) and contains_instruction(text))
    )


def grants_permission(text: str) -> bool:
    """Whether the text says that a named person allowed something, or that an agent needs no
    permission. A prohibition grants nothing.
    """
    return _matches_unless_denied(_NAMED_GRANT, text)


def is_injected_order_or_permission(text: str) -> bool:
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
    rf"(?:{NAMED_FILES}|\.ssh\b|\.aws\b|\bprivate keys?\b|\bapi keys?\b)[^!?\n]{{0,60}} to\b",
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


def may_instruct_or_permit_reader(text: str) -> bool:
    """Whether the text may tell its reader what to do or what is allowed; for texts from outside,
    which are not believed in doubt.
    """
    return (
        may_instruct_reader(text)
        or waives_confirmation(text)
        or claims_permission(text)
        or _CUSTOM.search(text) is not None
    )


def _matches_unless_denied(pattern: re.Pattern[str], text: str) -> bool:
    return any(
        pattern.search(" ".join(part.split())) and not _DENIED.search(part)
        for part in _SENTENCE_END.split(text)
    )
