"""What a lone confirmation ("yes exactly, keep doing that") confirms: a sentence of the agent's
about its own way of working. Pure.

Most replies end in something else: a link, a result, the next step, an offer. Kept as a rule, that
would be nonsense; then nothing waits. "The second, in general" chooses one of the options there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.auto_memory.statements.plain_facts import NAMED_TOOLS
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.user_prose import split_prose_sentences
from memorist.core.lazy import lazy_pattern

LASTING_ANSWER = lazy_pattern(
    r"(?:(?:yes|yeah|yep|ok(?:ay)?|sure|no(?:pe)?|ja|nein|oui|non|sí|si|sim|não|да|нет|对|好的?|是的?|不|はい|いいえ|네|예|응|아니요?)\b[\s,.!，、。]*|(?:please|bitte|do (?:it|that))\b[\s,]*)*"
    r"(?:always|never|every ?time|each time|from now on|by default|immer|nie(?:mals)?|jedes mal|ab jetzt|toujours|jamais|à chaque fois|siempre|nunca|cada vez|sempre|всегда|никогда|каждый раз"
    r"|以后都要?|每次都?要?|永远|从现在开始|毎回|いつも|常に|항상|절대|매번|언제나|앞으로도?)(?:[\s,]+(?:please|bitte|do (?:it|that)|그렇게|해줘|해주세요))*[\s.!。！]*",
    re.IGNORECASE,
)
"""A whole message that answers a question for good: "yes, always". The question says what it means."""
_HOLDS_FOR_GOOD = lazy_pattern(
    r"\b(?:always|never|every ?time|each time|from now on|by default|in general|generally|going forward"
    r"|(?:in|for) (?:the )?future|everywhere|as (?:a|the|our) rule|(?:for )?all future"
    r"|(?:let['’]s )?make (?:that|it|this) (?:the|a|our) (?:rule|default|standard)"
    r"|(?:that (?:goes|holds) |also )?(?:for|in) (?:the whole|the entire|all of the|every) \w+"
    r"|immer|niemals|nie|jedes mal|ab (?:jetzt|sofort)|generell|grundsätzlich|künftig|in zukunft|überall"
    r"|toujours|jamais|à chaque fois|en général|partout|désormais|à l['’]avenir"
    r"|siempre|nunca|cada vez|en general|en todas partes|a partir de ahora|de ahora en adelante"
    r"|sempre|em geral|em todo lugar|a partir de agora|daqui (?:para|pra) frente"
    r"|всегда|никогда|каждый раз|в общем|везде|впредь)\b"
    r"|(?:以后|今后|将来)(?:都|也)?|每次都?|永远|一律|默认|毎回|いつも|常に|今後は?|これからは?|항상|매번|앞으로는?|언제나",
    re.IGNORECASE,
)
"""Says that an answer holds for more than the question that was asked."""
_ANSWER_WORD = lazy_pattern(
    r"\b(?:yes|yeah|yep|ok(?:ay)?|sure|no(?:pe)?|please|do|that|this|one|it|the|a|an|and|so|also|then|but|option|number|commits?|let['’]s"
    r"|first|second|third|fourth|last|former|latter|both|either|neither|use|go|with|for|in|to|is|be|will|like|me|goes"
    r"|ja|nein|bitte|das|die|der|so|auch|option|nummer|erste|zweite|dritte|letzte|mach|oui|non|le|la|les|ça|premi(?:er|ère)|deuxième|seconde?|dernière?"
    r"|sí|si|el|lo|eso|así|primer[oa]?|segund[oa]|últim[oa]|sim|não|o|isso|assim|да|нет|так|это|первый|второй|последний|[a-e]|\d{1,2})\b"
    r"|对|好的?|是的?|不|这样|那样|这么|就|做|第[一二三四]|个|はい|いいえ|そう|それで|して|ください|お願いします|네|예|응|아니요?|그렇게|해\s?줘|해주세요|[\s,.!:;()，。！、—–-]",
    re.IGNORECASE,
)
_OPTION = lazy_pattern(
    r"(?:^[ \t>*-]*|\boption )\(?(?P<label>\d{1,2}|[A-Ea-e])(?:[.):]|\*\*)[ \t]+(?P<text>[^\n]{2,200}?)(?=\s*(?:\n|\Z|[.;] option\b))",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL = r"(?:\d{1,2}|[a-e])"
_CHOSEN_LABELS = lazy_pattern(
    r"\A\W*(?:the\s+)?(?P<named>(?:options?|number|nummer)\s+)?"
    rf"(?P<labels>{_LABEL}(?:\s*(?:,|&|\+|and|und|et|y)\s*{_LABEL}(?!\w))*)(?(named)\b|(?=\s*(?:[,.;:!)–—-]|\Z|(?:please|pls|bitte|por favor)\b)))",
    re.IGNORECASE,
)
"""One label or several; `a` and `2` begin other answers as well (`a partir de`, `2 spaces`)."""
_ORDINALS = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:first|former|erste|premi(?:er|ère)|primer[oa]?|primeir[oa]|первый)\b|第一",
        r"\b(?:second|latter|zweite|deuxième|seconde|segund[oa]|второй)\b|第二",
        r"\b(?:third|dritte|troisième|tercer[oa]?|terceir[oa]|третий)\b|第三",
        r"\b(?:fourth|vierte|quatrième|cuart[oa]|quart[oa]|четвёртый)\b|第四",
        r"\b(?:last|letzte|dernière?|últim[oa]|последний)\b",
    )
)
"""The last one names the last option, however many there are."""
MAX_ANSWER_CHARS = 60
"""Characters of the longest answer that is read beside the question. Our choice."""
MIN_QUESTION_CHARS = 40
"""Characters of the shortest question that says what it asks without the sentence before it."""
_POINTS_BACK = lazy_pattern(
    r"\b(?:that|this|it|so|those|these|one|which|das|dies|ça|cela|eso|esto|isso|это|так)\b|这样|そう|それ|그렇게",
    re.IGNORECASE,
)
MAX_SENTENCES_BACK = 3
"""Last sentences of a reply that a confirmation may mean. Our choice."""

MIN_MANNER_CHARS = 16
"""Characters of the shortest sentence that says how something was done. Our choice."""

_OWN_MANNER = lazy_pattern(
    r"(?:so |also,? |this time,? |as before,? |note:? )?(?:"
    r"(?:i|we)(?:['’]ve| have)? (?:(?:also|only|always|first|deliberately|just|\w+ly) )?(?!need|proceed)(?:\w{2,}ed|ran|"
    r"kept|put|wrote|made|took|used|left|split|set|chose|built|held|gave|went|read|did(?: not|n['’]t))\b"
    r"|(?:ich|wir) hab(?:e|en)?\b|(?:j['’]ai|nous avons|on a)\b|(?:yo |nosotros )?(?:he|hemos) \w+(?:[ai]do|to|cho)\b"
    r"|(?:eu )?\w+(?:ei|amos) (?:a|o|os|as|cada|tudo|em)\b|(?:я|мы) (?:\w+ )?\w+(?:л|ла|ли)\b"
    r"|我(?:们)?(?:先|只|都|把|用|没|按|将))",
    re.IGNORECASE,
)
_JAPANESE_MANNER = lazy_pattern(r".*(?:ました|しています)[。.!]?")
_ONE_RESULT = lazy_pattern(
    r"https?://|\b[0-9a-f]{7,40}\b|#\d+|\b\d+ (?:tests?|files?|checks?)\b|"
    r"\b(?:commit(?:ted)?|pushed|merged|posted|opened|fixed|verified|confirmed|checked|found)\b",
    re.IGNORECASE,
)
"""What came of one task, which no later one repeats."""


def find_working_habit_in_reply(reply: str) -> str:
    """The newest sentence at the end of a reply that says how the agent works; empty for none."""
    sentences = [one.text for one in split_prose_sentences(reply)][-MAX_SENTENCES_BACK:]
    return next(filter(_is_manner, reversed(sentences)), "")


def find_confirmed_text(answer: str, reply: str) -> str:
    """What a lone answer stands for: a question at the end of the reply, with the answer, or how the
    agent says that it works; empty for none.
    """
    if not LASTING_ANSWER.fullmatch(answer):
        return find_working_habit_in_reply(reply)
    asked = _find_question(reply)
    return f"{asked} – {answer}" if asked else ""


def find_lasting_choice(answer: str, reply: str) -> str:
    """The question or the option at the end of a reply that a short answer chooses for good, with
    the answer; empty for any other text. `The second, in general` has no words of its own.
    """
    if len(answer) > MAX_ANSWER_CHARS or _HOLDS_FOR_GOOD.search(answer) is None or "?" in answer:
        return ""
    options = [(found["label"], found["text"].strip(" *")) for found in _OPTION.finditer(reply)]
    asked = _find_question(_OPTION.sub("", reply))
    if not asked and len(options) < 2:
        return ""
    said = reply[-MAX_REPLY_CHARS:].casefold()
    own = _ANSWER_WORD.sub(" ", _HOLDS_FOR_GOOD.sub(" ", answer)).casefold().split()
    if any(word not in said for word in own) and not _is_lasting_answer_with_more(answer):
        return ""
    chosen = _find_option(answer, options)
    return " – ".join(filter(None, (asked, f"{answer}: {chosen}" if chosen else answer)))


_DECISION = lazy_pattern(
    r"(?:(?:ok(?:ay)?|yes|yeah|sure|great|fine|then|so|ja|gut|dann|oui|bon|alors|d['’]accord|vale|sí|bueno|entonces|beleza|sim|então|ок|ладно|хорошо|да)\b[\s,.!]*|(?:好的?|はい|那)[，、\s]*)*"
    r"(?:(?:let['’]?s (?:go with|use|take|do)|(?:we|i)(?:['’]?ll| will) (?:go with|take|use)|going with|i['’]d go with|(?:wir |ich )?(?:nehmen|nehme|nutzen|bleiben bei)(?: wir)?|on (?:part(?: sur)?|prend|utilise)"
    r"|(?:vamos|nos quedamos|quedamos|ficamos|bora|usemos|usamos|vai)(?: (?:con|com|de|usar))*|берём|берем|возьмём|давай|(?:就|还是)?[用选])\s*(?P<name>[@\w][\w@./+#-]{1,30})(?: then| dann| alors| entonces| então| тогда|\s*吧)?"
    r"|(?P<is>[@\w][\w@./+#-]{1,30}?)(?: it is(?: then)?| it['’]ll be|ですね|で(?:いきましょう|行きましょう|お願いします)|にしましょう))[\s.!。！]*",
    re.IGNORECASE,
)
"""A whole message that decides for one of several: "ok, redis it is"."""
_CHOICE_QUESTION = lazy_pattern(
    r"(?!.*\b(?:button|header|title|icon|page|colou?r|knopf|farbe|bouton|couleur|botón|botão|cor|кнопк\w*|цвет\w*)\b)(?=.*(?:\b(?:or|vs|oder|ou|o|или)\b|还是|それとも|、))(?=.*(?:\b(?:use|using|with|for|nutzen|verwenden|nehmen|für|utilise\w*|prend\w*|pour|usa\w*|para|использ\w+|взять|для)\b|用|使|は))",
    re.IGNORECASE,
)
"""Asks which of several is to be used, or for what."""


def find_decided_option(answer: str, reply: str) -> str:
    """The question at the end of a reply which of several tools is to be used, with the answer that
    decides for one by its name; empty for any other text.
    """
    found = _DECISION.fullmatch(answer) if len(answer) <= MAX_ANSWER_CHARS else None
    asked = _find_question(reply) if found else ""
    if found is None or _CHOICE_QUESTION.match(asked) is None:
        return ""
    named = re.search(
        rf"(?<![\w-]){re.escape(found['name'] or found['is'])}(?![\w-])",
        asked,
        re.IGNORECASE | re.ASCII,
    )
    is_tool = named is not None and (
        named[0][0].isupper() or re.fullmatch(NAMED_TOOLS, named[0], re.IGNORECASE)
    )
    return f"{asked} – {answer}" if is_tool else ""


def is_bare_choice(text: str) -> bool:
    """Whether a text only says which one, for good: without the options before it, nobody can tell
    what it means.
    """
    rest, count = _HOLDS_FOR_GOOD.subn(" ", text)
    if not count or _ANSWER_WORD.sub(" ", rest).strip():
        return False
    is_label = _CHOSEN_LABELS.match(rest) is not None
    return is_label or any(ordinal.search(rest) for ordinal in _ORDINALS)


def _is_lasting_answer_with_more(answer: str) -> bool:
    """Whether a lasting answer begins a text that goes on behind a comma: "no, never, ask first"."""
    part, _, rest = answer.rpartition(",")
    return LASTING_ANSWER.fullmatch(part) is not None and len(rest.split()) <= MAX_MORE_WORDS


MAX_MORE_WORDS = 4
MAX_REPLY_CHARS = 1_500
"""Characters at the end of a reply of which an answer may repeat words."""


def _find_option(answer: str, options: Sequence[tuple[str, str]]) -> str:
    """The options that an answer names by their position or their labels; empty where one is not
    there.
    """
    at = next((at for at, ordinal in enumerate(_ORDINALS) if ordinal.search(answer)), None)
    if at is not None:
        at = len(options) - 1 if at == len(_ORDINALS) - 1 else at
        return options[at][1] if 0 <= at < len(options) else ""
    named = _CHOSEN_LABELS.match(_HOLDS_FOR_GOOD.sub(" ", answer))
    texts = {name.lower(): text for name, text in options}
    labels = re.findall(rf"\b{_LABEL}\b", named["labels"].lower()) if named else []
    chosen = [texts.get(label, "") for label in labels]
    return "; ".join(chosen) if all(chosen) else ""


def _find_question(reply: str) -> str:
    """The last question among the last sentences of a reply, with the one before where it leans on
    that.
    """
    sentences = [one.text for one in split_prose_sentences(reply)][-MAX_SENTENCES_BACK:]
    at = next((n for n in reversed(range(len(sentences))) if sentences[n][-1:] in "?？"), -1)
    if at < 0:
        return ""
    leans = len(sentences[at]) < MIN_QUESTION_CHARS and _POINTS_BACK.search(sentences[at])
    is_bare = len(sentences[at].split()) < 3 and sentences[at].isascii()
    return " ".join(sentences[max(0, at - 1) if leans or is_bare else at : at + 1])


def _is_manner(sentence: str) -> bool:
    if len(sentence) < MIN_MANNER_CHARS and sentence.isascii():
        return False
    is_own = _OWN_MANNER.match(sentence) or _JAPANESE_MANNER.fullmatch(sentence)
    return (
        bool(is_own)
        and not _ONE_RESULT.search(sentence)
        and not is_question_or_supposition(sentence)
    )
