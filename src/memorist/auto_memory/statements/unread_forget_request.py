"""A typed request to forget that no sentence pattern reads. Pure.

Nothing is removed for it: it is answered by the question which memory is meant. A verb of forgetting
and what says that a memory is meant are enough, in any order. A verb that also deletes code needs
words that no code has: what you know, what I said, your memory, the rule that I gave.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.context_quoted_lines import find_lines_quoted_by_context
from memorist.auto_memory.statements.statement_filters import (
    is_question_or_supposition,
    is_reported_speech,
)
from memorist.auto_memory.statements.statement_parser import (
    CLIENT_COMMAND,
    may_be_others_words,
    split_typed_sentences,
)
from memorist.core.language_detection import COMMON_WORDS, detect_language
from memorist.core.lazy import lazy_pattern
from memorist.core.search_words import QUERY_STOP_WORDS

MAX_REQUEST_WORDS = 24
MAX_REQUEST_CHARS = 160
"""Words and characters of such a sentence at most; more of either is a task. Our choice."""

_FORGET = (
    r"(?<!the )\bforget\b|\b(?:unlearn|unremember)\b|\bvergiss|\bvergess|\boubli(?:e[rsz]?|ez|iez)\b|\bolv[ií]d(?:[ae]\w*|ar\w*)\b|\besque[cç](?:[ae]\w*)\b|\b(?:dimentic|scord)(?:a|ar\w*|ati\w*|alo|ala|h\w+)\b"
    r"|\bзабуд(?:ь|ешь|ете)|\bзабыть\b|忘掉|忘记|忘了|忘れ(?=て|ちゃ|と)|잊어"
    r"|\bstop (?:remembering|knowing)\b|\b(?:be|get) forgotten\b|\bno longer (?:\w+ ){0,3}(?:to remember|to know|knowing)\b|\bnicht mehr (?:\w+ ){0,2}(?:erinnern|merken)\b|\bplus (?:\w+ ){0,3}(?:souvenir|rappeler|retenir)\b"
    r"|\bya no\b.*\b(?:acuerd|recuerd|record)|\bnão\b.*\bmais\b.*\blembr|\bnon\b.*\bpiù\b.*\bricord|\bне (?:\w+ )?помни|(?:不用|不必|不要|别)再?记|覚えなくて"
)
_DELETE = (
    r"\b(?:delete|remov[ei]|eras(?:e|ing)|drop|wipe|scrap|scratch|discard|purge|get(?:ting)? rid of|throw|take\b.*\bout\b|clear|kill|ditch|trash|(?:nix|bin|lose)\b)"
    r"|\b(?:lösch|streich|entfern|verwirf|verwerfen|schmei(?:ß|ss)|rausschmei(?:ß|ss)|wegwerfen|tilge|wisch|verschwinden|weg\b)|\b(?:supprim|effac|enl[eè]v|retir|vire|jett?e|balaie|débarrass)"
    r"|\b(?:borr[ae]|elimin|quit[ae]|tira|saca|suprim|deshaz)|\b(?:apag|remov|tir[ae]|exclu|delet|limp[ae]|jog(?:a|ue)|descart)"
    r"|\b(?:cancell|rimuov|togli|butta|leva|liberati|sbarazz)|\b(?:удали|сотри|стереть|убери|убрать|выкин|выброс|вычеркн|избав)"
    r"|删|移除|清除|清掉|去掉|抹掉|丢掉|丢了|扔掉|消して|消しと|消去|削除|取り除|捨て|지워|삭제"
)
_SAID = (
    r"\b(?:what(?:ever)?|everything|anything|all|stuff|things?|bits?|parts?|rules?|notes?)(?: \S+){0,5}? (?:i|we|you) (?:\w+ )?(?:said|told|asked|gave|decided|know|remember(?:ed)?|learn(?:ed|t)|noted|saved|stored|memori[sz]ed)\b"
    r"|\bthing i told\b|\byou(?: still)? remember\b|\byou(?:[\'’]ve| have) (?:got )?(?:saved|stored|noted|memori[sz]ed)\b|\b(?:told|asked) you to remember\b|\b(?:rule|note) of yours\b"
    r"|(?:\b(?:was|regel|vorgabe|sache|geschichte|merksatz|das mit)\b[^.]*?\b(?:ich|du|wir)\b[^.]*?\b(?:gesagt|erzählt|gegeben|gemerkt|weißt|besprochen|beschlossen|gelernt|gebeten))"
    r"|\b(?:ce qu\w*|règle|consigne|chose|histoire)\b.*?\b(?:(?:je|j|on|nous)\b.{0,12}\b(?:dit|donnée?|demandé|décidé|raconté)\b|tu sais\b|te (?:souviens|rappelles))"
    r"|\b(?:lo que|regla|norma|eso que|cosa)\b.*?\b(?:dije|dijimos|di|he dicho|comenté|conté|pedí|recuerdas|sabes|decidimos|acordamos)\b"
    r"|\b(?:o que|aquilo|regra|coisa|isso que)\b.*?\b(?:(?:te|lhe|eu) disse|dissemos|falei|passei|contei|pedi|lembras?|sabes?|combinamos|decidimos)\b"
    r"|\b(?:quello|ciò|quanto|regola|cosa)\b.*?\b(?:(?:ho|avevo|abbiamo) (?:detto|dat[ao]|chiesto|deciso|raccontato)|ricordi|sai)\b"
    r"|(?:то|ч[её]м|что|вс[её]|правил\w+)\b.*?\b(?:я (?:тебе )?(?:говорил|сказал|дал|просил|писал)а?|говорила? тебе|ты (?:помнишь|знаешь|запомнила?)|мы решили)"
    r"|(?:我|咱们|我们).{0,8}(?:说|讲|告诉|提|教|交代).{0,12}(?:事|话|东西|规则|要求|内容)|告诉你的|你(?:还)?(?:记得|记住|知道)的"
    r"|(?:(?<!が)|(?<=[私僕俺]が))(?:言った|話した|伝えた|頼んだ|教えた|決めた)(?:こと|もの|話|内容|ルール)|覚えて?(?:い)?る|知って(?:い)?る(?:こと|話)|(?:말한|알려준|부탁한|기억하는) (?:거|것|내용|규칙)"
)
_MEMORY = (
    r"\b(?:from|out of) (?:your )?memory\b|\bin your memory\b|\byour (?:\w+ )?memor(?:y|ies)\b|\bthe (?:memory (?:about|on|that)|memories)\b|\b(?:gedächtnis|erinnerung)|\b(?:ta|votre|de) mémoire\b|\bsouvenirs?\b"
    r"|\b(?:tu|de la) memoria\b|\brecuerdos?\b|\b(?:sua|tua)s? memórias?\b|\blembranças?\b|\bdalla (?:tua )?memoria\b|\bricord[oi]\b"
    r"|\b(?:из|в) (?:\w+ )?памяти\b|\bиз головы\b|\bвоспоминани|记忆|脑子里|記憶|覚えてるなら|기억"
)
_RULE_OR_TOLD = (
    r"\brules?\b|\b(?:regel|vorgabe)n?\b|\b(?:règle|consigne)s?\b|\b(?:regla|regra|norma|regol)\w*|\bправил|规则|规定|要求|ルール|規則|규칙"
    r"|\bi (?:\w+ )?(?:told|said)\b|\bich\b.*\b(?:gesagt|erzählt)\b|\b(?:t['’]ai|t['’]avais|ai) (?:dit|parlé)\b|\bte (?:conté|dije|contei|falei|disse)\b|\bti (?:ho|avevo)\b|\bя\b.*\b(?:говорил|сказал|рассказ)|我.{0,6}(?:说|讲)过|(?:話した|言った|伝えた)(?:けど|が)"
)
_NEGATED = (
    r"\b(?:do not|don['’]?t|never|not|did|do|does|if|why|(?<!want )(?<!need )(?<!like )you|i|we|they|always|to never) (?:you |i |we |ever |just )?(?:forget|forgot)\b"
    r"|\bverg(?:iss|esst|essen)(?: sie)?(?: \w+)? nicht\b|\bnicht\b.{0,40}\bverg[ei]ss|\b(?:habe?|hast|hat|hatte) .*\bvergessen\b|\b(?:n['’e]|jamais) ?oubli|\b(?:no|nunca)(?: \w{2})? olvid|\b(?:não|nunca)(?: \w{2})? esque"
    r"|\bnon (?:\w{2} )?(?:dimentic|scord)|\bне забы|\bне забуд|(?:不要|别|別|勿|不能|不会|没)忘|(?:我|你|又|都|是)忘(?:了|记)(?!吧|它)|忘れ(?:ず|な|てた|ていた|ました|てない)|잊지"
    r"|\b(?:do not|don['’]?t|never) (?:\w+ )?(?:delete|remove|erase|drop|wipe)\b|\b(?:nicht|ne pas|no|não|non|не) (?:lösch|supprim|borr|elimin|apag|cancell|удал)|(?:不要|别)删|(?:消さ|削除し)ない"
)
_FORGET_PATTERN = lazy_pattern(_FORGET, re.IGNORECASE)
_VERB_PATTERN = lazy_pattern(f"{_FORGET}|{_DELETE}", re.IGNORECASE)
_MEANT_PATTERN = lazy_pattern(f"{_SAID}|{_MEMORY}", re.IGNORECASE)
_RULE_PATTERN = lazy_pattern(_RULE_OR_TOLD, re.IGNORECASE)
_NEGATED_PATTERN = lazy_pattern(_NEGATED, re.IGNORECASE)
_POLITE_PATTERN = lazy_pattern(
    r"\b(?:(?:can|could|would|will) (?:you|the|that|my)|you can|kannst|könntest|darfst|peux|pou(?:rr|v)\w+|puedes|podrías|pode|poderia|puoi|potresti|мож\w+)\b"
    r"|能|可以|麻烦|くれ|もら|いただけ|줄래",
    re.IGNORECASE,
)

_REQUEST_WORDS = lazy_pattern(
    rf"(?:{_FORGET}|{_DELETE}|{_RULE_OR_TOLD}|{_MEMORY})\w*"
    r"|\b(?:said|told|asked|gave|given|know|remember|please|thing|stuff|about|yours?|just|memory|gesagt|gegeben|gemerkt|weißt|sache|bitte|kannst|könntest|wieder|mal"
    r"|dit|donnée?|sais|peux|plaît|chose|histoire|maintenant|dije|dicho|puedes|sabes|recuerdas|cosa|favor|disse|falei|passei|pode|coisa|aquilo|lembra|detto|dato|puoi|ricordi|quello|pure"
    r"|говорил\w*|сказал\w*|можешь|помнишь|знаешь|пожалуйста|что)\b"
    r"|[我你您的了吧请就说]|之前|上次|告诉|记得|事情|について|言った|こと|覚えて|お願い|ください|話",
    re.IGNORECASE,
)
_MIN_WORD_LETTERS = 3


def drop_words_of_request(sentence: str) -> str:
    """The words of such a sentence that may name the memory, as far as its language is known."""
    common = QUERY_STOP_WORDS | COMMON_WORDS.get(detect_language(sentence), frozenset())
    words = re.findall(r"\w+", _REQUEST_WORDS.sub(" ", sentence))
    return " ".join(
        each
        for each in words
        if each.casefold() not in common and (not each.isascii() or len(each) >= _MIN_WORD_LETTERS)
    )


def find_unread_forget_request(typed: str) -> str:
    """The sentence of a typed text that asks to forget; empty for none."""
    text = typed.strip()
    if (
        _VERB_PATTERN.search(text) is None
        or text.startswith("!")
        or CLIENT_COMMAND.fullmatch(text)
        or may_be_others_words(text)
    ):
        return ""
    shown = find_lines_quoted_by_context(text)
    return next(
        (
            each.text
            for each in split_typed_sentences(text)
            if _asks_to_forget(each.masked) and not any(each.text in line for line in shown)
        ),
        "",
    )


def _asks_to_forget(masked: str) -> bool:
    if len(masked) > MAX_REQUEST_CHARS or len(masked.split()) > MAX_REQUEST_WORDS:
        return False
    if _VERB_PATTERN.search(masked) is None or _NEGATED_PATTERN.search(masked):
        return False
    forgets = _FORGET_PATTERN.search(masked) is not None
    if not (_MEANT_PATTERN.search(masked) or (forgets and _RULE_PATTERN.search(masked))):
        return False
    is_other = is_question_or_supposition(masked) and not _POLITE_PATTERN.search(masked)
    return not is_other and not is_reported_speech(masked)
