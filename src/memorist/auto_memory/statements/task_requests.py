"""Requests of the turn in hand: what is to be done once, and holds for no later session. Pure.

A sentence is one where it begins with an order or asks for an answer, and no clause of it states a
rule, a preference or a fact for later. In doubt it is none: a model's memory of it is then kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.statement_parser import DURABLE, TASK_START
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.unconfirmed_score import CUES
from memorist.auto_memory.statements.unconfirmed_statements import (
    matches_certain_or_probable_pattern,
)
from memorist.auto_memory.statements.user_prose import ProseSentence, mask_quotations
from memorist.auto_memory.write_evidence import split_script_words
from memorist.core.lazy import lazy_pattern
from memorist.transcript_analysis.answer_check import CoveredLineDetector

MIN_SHARED_WORD_SHARE = 0.7
"""Share of the words of a request and of a memory that each has of the other's. Our choice: a
memory turns a request into the third person, which changes two or three words of ten.
"""

_LASTING_CUES = (
    "never_always", "negated_order", "many", "only", "future", "rule_verb", "should", "we_state",
    "i_state", "reason", "contrast", "plural_process",
)  # fmt: skip
"""Cues of `CUES` that speak for a rule. Chosen on half of the labelled repositories."""
_LASTING_WORDS = lazy_pattern(
    r"\b(?:when|if|unless|before|after|while|remember|note|tell|share|write down|decided|rules?|convention|default|in (?:english|german|french))\b"
    r"|\b(?:explain|show|tell|call|name|describe) things\b|\bwithout (?:any |too much |too many |so many )?(?:technical|jargon|fancy|foreign|legal|special|difficult|"
    r"complicated|long)\b|\bin (?:the |a )?(?:formal|informal|plain|simple|polite|friendly|short|british|american)\b"
    r"|\bto (?:my|our) (?:customers|clients|users|readers|students|parents|guests|patients|team|colleagues)\b|^(?:please )?(?:ignore|leave out|stay out of) (?:the |my |all )?(?:\S+ )?(?:folders?|director)"
    r"|\b(?:immer|nie|niemals|nur|stets|keine?[nrms]?|nicht|statt|wenn|bevor|jede[nrms]?|alle[nrms]?|künftig|"
    r"merk\w*|auf (?:deutsch|englisch))\b"
    r"|\b(?:toujours|jamais|pas|sans|chaque|tou(?:te)?s|seulement|plutôt|quand|avant|désormais|en (?:français|anglais))\b"
    r"|\b(?:siempre|nunca|no|sin|cada|tod[oa]s?|solo|sólo|cuando|antes|en (?:español|inglés))\b"
    r"|\b(?:sempre|não|sem|apenas|somente|quando|em (?:português|inglês))\b"
    r"|\b(?:всегда|никогда|не|без|кажд\w+|все\w*|только|если|когда|перед)\b"
    r"|以后|今后|永远|总是|一律|每|都|不要|别|不|必须|所有|只|统一|用.{0,4}[文语]|常に|必ず|いつも|毎|すべて|全て|ない|前に|だけ|語で"
    r"|항상|절대|반드시|앞으로|매번|마다|모든|말고|지 ?(?:마|말)|금지|때|전에|어로",
    re.IGNORECASE,
)
"""Conditions, negations and words for all of a kind, in the languages of the statement patterns."""
_ASKS_FOR_DEED = lazy_pattern(
    r"(?:can|could|would|will) (?:you|we)\b|let['’]?s\b"
    r"|(?:bitte )?(?:(?:kannst|könntest|könnt) (?:du|ihr)|behebe?|reparier\w*|korrigier\w*|füge?|entferne?|lösch\w*|"
    r"änder\w*|erstell\w*|implementier\w*|aktualisier\w*|zeig\w*|erklär\w*|baue?|schau)\b"
    r"|(?:(?:peux|pourrais)-tu|pouvez-vous|corrige[rz]?|répare[rz]?|ajoute[rz]?|supprime[rz]?|renomme[rz]?|"
    r"montre[rz]?|explique[rz]?|crée[rz]?|regarde[rz]?)\b"
    r"|(?:por favor,? )?(?:(?:puedes|podrías|(?:você )?pode(?:ria)?)|corr[ií]j[ae]|corrig[ei]r?|arregla|conserta|"
    r"añade|agrega|adicion[ae]|elimina|remov[ae]|renombra|muestra|mostr[ae]|explica|explique|crea|cri[ae]|implement[ae])\b"
    r"|(?:пожалуйста,? )?(?:можешь|исправь|почини|добавь|удали|переименуй|покажи|объясни|создай|реализуй)(?:те)?\b"
    r"|(?:帮我|把)?(?:修复|修一?下|改一?下|加一?下|添加|删除|实现|看一?下|重命名|解释)|帮我|把"
    r"|.*(?:を|に)[^。]{0,8}(?:修正|直し|追加|削除|実装|変更|説明|作成)(?:して|て)(?:ください|下さい|くれ)?[。.]*$"
    r"|.*(?:고쳐|수정해|추가해|삭제해|만들어|설명해|알려|바꿔|봐) ?(?:줘|주세요)\S*[.!]*$",
    re.IGNORECASE,
)
"""The beginning of a request for a deed that is mostly done once."""
_CLAUSE_END = lazy_pattern(
    r"[,;:–—，；：、。]|\s-\s|\b(?:and|but|so|und|aber|et|mais|y|pero|e|mas|и|но|а)\b",
    re.IGNORECASE,
)


_ONE_THING = lazy_pattern(
    r"\b(?:the|an?|it|them|him|her|me|my|its|one|this|that|these|those|here|now|again)\b|[#/_\d]|\w\.\w",
    re.IGNORECASE,
)
"""What makes an order one about a single thing; an order about things in general may be a rule."""
_TOLD = lazy_pattern(
    r"\s*(?:the )?(?:user|person) (?:wants?|wanted|needs?|asks?|asked|requests?|requested|would like)"
    r"(?: (?:you|me|us|the (?:agent|assistant|model)|for))?(?: to)?\s",
    re.IGNORECASE,
)
"""How a model begins what it tells of a request."""
MIN_CLAUSE_WORDS = 3
"""Words of the shortest clause that may state a fact of its own."""


def is_task_request(sentence: str) -> bool:
    """Whether a sentence asks for something to be done or answered now, and states nothing else."""
    masked = mask_quotations(sentence).lstrip("¿¡ ")
    request = masked[find_lead_in_end(masked) :]
    return (
        _asks(request)
        and not may_hold_lasting_statement(sentence)
        and (
            is_question_or_supposition(request)
            or all(
                _asks(clause.strip()) or len(split_script_words(clause)) < MIN_CLAUSE_WORDS
                for clause in _STRONG_JOINT.split(request)
            )
        )
    )


_FORBIDS = lazy_pattern(
    r"(?:please |also |and )*(?:do not|don['’]?t|never)\s+(?!(?:forget|worry|know|think|need|have|want|see|"
    r"understand|get|you|we|i)\b)\w+\s+\w(?!.*\b(?:yet|until|anything|(?:code )?changes)\b)",
    re.IGNORECASE,
)


def is_general_prohibition(sentence: str) -> bool:
    """Whether a sentence begins with what is not to be done, and names no single thing."""
    masked = mask_quotations(sentence)
    request = masked[find_lead_in_end(masked) :]
    return _FORBIDS.match(request) is not None and _ONE_THING.search(request) is None


def _asks(request: str) -> bool:
    return (
        _ASKS_FOR_DEED.match(request) is not None
        or is_question_or_supposition(request.rstrip(" ?？"))
        or (TASK_START.match(request) is not None and _ONE_THING.search(request) is not None)
    )


def may_hold_lasting_statement(sentence: str) -> bool:
    """Whether anything in a sentence may be a rule, a preference or a fact for later."""
    masked = mask_quotations(sentence)
    return (
        DURABLE.search(masked) is not None
        or _LASTING_WORDS.search(masked) is not None
        or any(CUES[name].search(masked) for name in _LASTING_CUES)
        or any(
            matches_certain_or_probable_pattern(ProseSentence(clause, mask_quotations(clause)))
            for clause in _split_clauses(sentence)
        )
    )


_STRONG_JOINT = lazy_pattern(r"[,;:–—，；：、。]|\s-\s")
"""Ends a clause that may be followed by a statement of another kind."""


def _split_clauses(sentence: str) -> Iterator[str]:
    """Yield the sentence, and what follows each of its joints, to the next one and to its end."""
    yield sentence
    start = 0
    for joint in _CLAUSE_END.finditer(mask_quotations(sentence)):
        yield sentence[start : joint.start()].strip()
        start = joint.end()
        yield sentence[start:].strip()


def repeats_only_task_requests(memory: Sequence[str], said: Sequence[str]) -> bool:
    """Whether a memory's sentences say no more than requests among the user's sentences."""
    return bool(memory) and all(
        _repeats_request(_TOLD.sub("", sentence), said) for sentence in memory
    )


def _repeats_request(sentence: str, said: Sequence[str]) -> bool:
    if may_hold_lasting_statement(sentence):
        return False
    mine, asks = CoveredLineDetector(sentence), is_task_request(sentence)
    return any(
        CoveredLineDetector(other).covers_line(sentence, MIN_SHARED_WORD_SHARE)
        and (asks or mine.covers_line(other, MIN_SHARED_WORD_SHARE))
        and is_task_request(other)
        for other in said
    )
