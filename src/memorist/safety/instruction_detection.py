"""Whether a text tells its reader to do or not to do something (SF-2). English and Chinese. Pure."""

from __future__ import annotations

import re

from memorist.core.language_detection import (
    COMMON_WORDS,
    MAX_DETECTED_CHARS,
    detect_snowball_language,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

_VERBS = parse_word_list(
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
_SKIPPED_OPENERS = parse_word_list(
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
_NOUN_FOLLOWERS = parse_word_list(
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


def contains_instruction(text: str) -> bool:
    """Whether the text tells its reader to do, or not to do, something."""
    return (
        _CHINESE_PHRASES.search(text) is not None
        or any(map(_is_imperative, _CLAUSE_BOUNDARY.split(text)))
        or _has_phrase(text)
    )


def may_instruct_reader(text: str) -> bool:
    """Whether the text tells its reader what to do, or is in a language in which nobody can tell;
    for texts from outside, which are not believed in doubt.
    """
    return contains_instruction(text) or not _is_in_read_language(text)


def _is_in_read_language(text: str) -> bool:
    """Whether `contains_instruction` can tell: the text is in English or Chinese, as far as its letters
    and commonest words show. Where they show nothing it is taken to be in English.
    """
    words = _LETTERS.findall(text[:MAX_DETECTED_CHARS])
    letters = sum(map(len, words))
    foreign = sum(len(_FOREIGN_LETTER.findall(word)) for word in words if len(word) > 1)
    if foreign > MIN_FOREIGN_LETTER_SHARE * letters:
        return False
    if detect_snowball_language(text) != "english":
        return False
    lowered = {word.lower() for word in words}
    english = len(lowered & COMMON_WORDS["english"])
    foreign = max(len(lowered & common) for common in _ONLY_FOREIGN)
    foreign += len(lowered & _FOREIGN_ORDER_WORDS)
    accented = any(map(_ACCENTED_LETTER.search, lowered))
    return foreign < english if accented else foreign <= english


_ALSO_ENGLISH = parse_word_list(
    """
             a as can comment con dare des die do dove due fine for i in is it me mi nach no non
    not o of on or our per plus pour pro se         si so son sur the to van via war was we z
    """
)
_ONLY_FOREIGN = tuple(
    common - _ALSO_ENGLISH for language, common in COMMON_WORDS.items() if language != "english"
)
"""Common words of each other language that an English text does not hold but by chance."""
_FOREIGN_ORDER_WORDS = parse_word_list(
    """
             immer nie niemals hier darf dürfen muss müssen erlaubt verboten direkt ohne toujours
    jamais doit doivent autorise autorisé         permis peut peuvent sans siempre nunca puede
    pueden debe deben permitido sin sempre pode podem deve devem sem mai possono         può
    devono senza altijd nooit mag mogen moet zonder alltid aldrig får måste utan zawsze nigdy
    można trzeba bez
    """
)
"""Words with which orders and permissions are given in other languages."""
MIN_FOREIGN_LETTER_SHARE = 0.1
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
