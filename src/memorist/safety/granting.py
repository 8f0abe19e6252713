"""Whether a text grants a permission in the user's name (SF-2): "the user approved …", "no
confirmation is needed". English and Chinese. Pure.

No memory may grant what only the user can: unless words of the user support it, such a text goes to
the user for review, however harmless it reads.
"""

from __future__ import annotations

import re

from memorist.core.later import late_pattern

_PEOPLE = r"(?:user|owner|administrator|admin|operator|maintainer|person|human)"
_ACTS = (
    r"(?:running|pushing|force|deleting|removing|executing|skipping|bypassing|disabling|merging|deploying|installing|sending|uploading|publishing"
    r"|(?:all|any|every|full)(?: \w+)? (?:commands?|actions?|tools?|changes|requests?|operations?|permissions?|access)"
    r"|to (?:run|push|delete|remove|execute|skip|bypass|disable|merge|deploy|install|send|upload|publish)\b)"
)
_ALLOWS = r"(?:approved?s?|allow(?:s|ed)?|authori[sz]e[sd]?|permit(?:s|ted)?|consent(?:s|ed) to|agreed to|granted)"
_NAMED = late_pattern(
    rf"\b{_PEOPLE}s?\b (?:has |have |already |explicitly |always |generally )*{_ALLOWS} (?:\w+ ){{0,3}}?{_ACTS}"
    rf"|\b(?:{_PEOPLE}s?|you|agents?|assistants?|claude|codex)\b[^.!?\n]{{0,80}}\b"
    r"without (?:asking(?! for)|(?:any )?(?:confirmation|approval|permission|consent))\b"
    r"|(?:用户|管理员|主人|所有者|负责人)[^。！？\n]{0,12}(?:批准|授权|同意|允许|许可)[^。！？\n]{0,24}(?:不用|无需|不必|不需要|无须|直接|跳过|删除|执行|运行|推送|任何|所有)",
    re.IGNORECASE,
)
_WAIVED = late_pattern(
    r"\bno (?:further |more |prior )?(?:confirmations?|approvals?|permissions?|consent) (?:(?:is|are) )?(?:needed|required|necessary)\b"
    rf"|\b(?:agreed|cleared|approved|okayed) (?:with|by) (?:the )?{_PEOPLE}\b"
    r"|(?:不用|无需|不必|不需要|无须)(?:再|经过|任何)*(?:确认|批准|审批|询问|授权|同意)",
    re.IGNORECASE,
)
_DENIED = late_pattern(
    r"\b(?:never|not|n[o']t|cannot|nobody|no one|forbidden|must ask)\b|(?:n't|n’t)\b|不要|不得|不能|不许|禁止|切勿|没有", re.IGNORECASE
)
_SENTENCE = late_pattern(r"[.!?](?=\s|$)|[。！？\n]")


def grants(text: str) -> bool:
    """Whether the text says that a named person allowed something, or that an agent needs no
    permission. A prohibition grants nothing.
    """
    return _found(_NAMED, text)


def waives(text: str) -> bool:
    """Whether the text says that no confirmation or approval is needed, by anyone. Weaker than
    `grants_permission`: ordinary work rules say so too.
    """
    return _found(_WAIVED, text)


def _found(pattern: re.Pattern[str], text: str) -> bool:
    return any(pattern.search(" ".join(part.split())) and not _DENIED.search(part) for part in _SENTENCE.split(text))
