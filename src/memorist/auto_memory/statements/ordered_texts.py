"""Sentences about a text that a message orders: "Write a poem. I live in Paris. Never mention rain."
Pure.

What follows such an order on its line is for the text, unless it says itself that it is for later, for
the project or for memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from memorist.auto_memory.statements.forget_requests import read_forget_request
from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.statement_patterns import (
    FROM_NOW_ON,
    PROJECT_NOUN,
    find_lead_in_end,
)
from memorist.auto_memory.statements.user_prose import ProseSentence
from memorist.core.lazy import lazy_pattern

_ORDERS_TEXT = OpeningPattern(
    r"(?:(?:can|could|would) you |please )*(?:write|compose|draft|tell|give|make|create) (?:me |us )?(?:an? |the |some |my )(?:[\w'’-]+ ){0,3}(?<!user )(?:poem|haiku|sonnet|limerick|story|tale|novel|song|joke|essay|speech|toast|eulogy|letter|e-?mail|mail|tweet|blog post|article|obituary|slogan|lyrics|rap)(?= (?:about|to|for|on|in|of|that|with|from|where|who)\b|\W*$|[,.:;])"
    r"|(?:bitte )?(?:schreibe?|verfasse?|dichte?|erzähle?|entwirf)(?: (?:mir|uns|bitte|mal))* (?:eine?n? |die |den |das )(?:\w+ ){0,3}\w*(?:gedicht|haiku|geschichte|märchen|lied|witz|rede|brief|e-?mail|mail|anschreiben|artikel|aufsatz|nachruf|slogan)\b(?!-)"
    r"|(?:écri(?:s|vez)|rédige[sz]?|compose[sz]?|raconte[sz]?)(?:-(?:moi|nous))? (?:une? |l[ae] |l['’])(?:\w+ ){0,3}(?:poème|haïku|histoire(?! utilisateur)|conte|chanson|blague|discours|lettre|e-?mail|mail|courriel|article|roman|slogan|nouvelle(?=[,;:]|\W*$| (?:sur|qui|où)\b))\b"
    r"|(?:escrib[ea]|redact[ae]|compón|cuéntame|haz|escríbeme|hazme|escrev[ae]|fa[zç]a?|redija|conte|componha|escreva-me)(?: (?:me|um|para mim))* ?(?:una? |uma? |el |la |o |a )?(?:\w+ ){0,3}(?:poema|haik[uú]|cuento|conto|hist[oó]ria(?! de usu[aá]rio)|canción|canção|chiste|piada|discurso|carta|correo|e-?mail|mail|mensaje de(?! commit)|artículo|artigo|novela|romance|eslogan)\b"
    r"|(?:напиши|сочини|составь|расскажи|придумай)(?:те)? (?:мне |нам )?(?:[\w-]+ ){0,3}(?:стих\w*|хайку|рассказ\w*|сказк\w+|истори\w+(?! (?:изменений|миграций|коммитов|версий|правок|бага))|песн\w+|анекдот\w*|реч[ьи]|письмо|стать\w+|эссе|слоган\w*)\b"
    r"|(?:请|帮我|给我)*(?:再)?(?:写|编|创作|作|讲)(?:一|个|首|篇|封|段|两|几)[^。，,?？]{0,16}(?:诗|俳句|故事|小说|歌词|歌|笑话|作文|散文|演讲稿|信|邮件|文章|童话)(?=[，。,!！;；:：]|$|吧|给|介绍|描述)"
    r"|[^。?？]{0,20}(?:詩|俳句|短歌|物語|小説|童話|歌詞|ジョーク|作文|スピーチ|手紙|メール|記事)を(?:書いて|作って|考えて|詠んで)"
)
"""Asks for a text of a kind that is written for people, whoever it is for."""
_REACHES_FURTHER = lazy_pattern(
    rf"{FROM_NOW_ON}|\b(?:remember|ab jetzt|künftig|in zukunft|merk|désormais|dorénavant|à l['’]avenir|retiens|de ahora en adelante|a partir de|en adelante|recuerda|daqui (?:pra|para)|lembr\w+|"
    rf"впредь|отныне|теперь|запомни)\b|\b{PROJECT_NOUN}\b|\b(?:we|our|wir|unser\w*|notre|nos|nuestr\w+|noss[oa]s?|наш\w*|мы|commits?|code)\b|以后|今后|记住|我们|项目|今後|これから|覚えて|うち|プロジェクト",
    re.IGNORECASE,
)


def drop_sentences_about_ordered_text(
    sentences: Iterable[ProseSentence],
) -> Iterator[ProseSentence]:
    """Yield the sentences of a message but those about a text that is ordered before them."""
    is_ordered = False
    for each in sentences:
        is_ordered = is_ordered and bool(each.before)
        if (
            not is_ordered
            or _REACHES_FURTHER.search(each.masked)
            or read_forget_request(each) is not None
        ):
            yield each
        is_ordered = is_ordered or (
            _ORDERS_TEXT.match(each.masked[find_lead_in_end(each.masked) :]) is not None
        )
