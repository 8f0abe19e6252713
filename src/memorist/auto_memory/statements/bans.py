"""What is forbidden, and why: "don't mock the database, we got burned last quarter". Pure.

What is forbidden mostly holds for later, and what is explained more so: so both wait from a lower
score than other sentences. Neither does what is forbidden for the moment ("don't merge yet, the build
is red"), for one thing in sight, or about how something looks. The words looked for are of closed
classes: negations of an order, conjunctions, and what a clause of its own begins with.
"""

from __future__ import annotations

import re
from typing import Literal

from memorist.auto_memory.statements.composite_message import GENERAL
from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.statement_filters import is_question_or_supposition
from memorist.auto_memory.statements.statement_patterns import (
    NEGATION,
    REFUSAL,
    VERB,
    find_lead_in_end,
)
from memorist.auto_memory.statements.user_prose import ProseSentence, mask_quotations
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

Ban = Literal["bare", "explained"]
"""Whether what is forbidden is explained."""
MIN_REASON_CHARS = 10
"""Characters of the shortest reason; less is an afterthought ("don't do that, ok")."""
MIN_OBJECT_CHARS = 3
"""Characters behind a ban without which it names nothing ("the build fails, don't merge")."""
EARLY_WORDS, EARLY_CHARS = 3, 12
"""How much of an order is its beginning, where it says that it is for always."""

_REFUSAL = lazy_pattern(
    rf"(?:{REFUSAL}|(?:stop|wait|hey)\s*[,.!:;–—-]+\s*|(?:no|nope|nah|stop|wait|hey)\s+(?=(?:{NEGATION}|never|please)\b)|(?:please|bitte|por favor|пожалуйста|stp|svp|s['’]il (?:te|vous) pla[iî]t)[\s,]+"
    r"|(?:不|请)[\s，。,.!、]+)+",
    re.IGNORECASE,
)
LACKED = (
    r"(?:problem\w*|worries|hurry|idea|clue|need|way|wonder|luck|success|chang\w+|difference|errors?|crash\w*|outputs?|results?|response|answer|reply|effect|access|internet|permissions?|memory|space|data|rows|match\w*|reason"
    r"|ahnung|eile|zeit|lust|witz|zweifel|sorge|wunder|idee|fehler\w*|erfolg|grund|wirkung|ergebnis\w*|ausgabe|unterschied|änderung\w*|effekt|treffer|antwort|verbindung|zugriff|rechte?|platz|speicher"
    r"|problèmes?|soucis?|chance|idée|réponse|succès|résultats?|effets?|erreurs?|accès|doute|urgence|changements?|différence|place|mémoire|raison"
    r"|éxito|duda|prisa|respuestas?|resultados?|efecto|error(?:es)?|acceso|cambios?|problemas?|diferencia|espacio|memoria|razón"
    r"|sucesso|dúvida|pressa|querer|respostas?|efeito|erros?|acesso|mudanças?|diferença|espaço|memória|motivo"
    r"|проблем\w*|успех\w*|ответ\w*|ошибок|ошибки|изменени[йя]|доступ\w*|сомнени\w*|спешки|эффект\w*|результат\w*|разницы|места|памяти|причины|понятия)"
)
"""What a report finds missing: "no answer, the server is down" forbids nothing."""
_GERMAN_SUBJECT = r"(?:d(?:er|ie|as|en|em|es)|(?:m|d|s|k)?eine?[rsnm]?|unser\w*|eue?re?\w*|ihre?\w*|dies\w*|jede\w*|alle\w*|welche\w*|manche\w*|viele|einige|beide)"
"""Begins a subject, not an order: "die Seite lädt nicht"."""
_BAN = OpeningPattern(
    rf"(?:{NEGATION}|never(?! \w+[^\Ws]s\b)|(?:you|u|we) (?:must ?n['’]?t|must not|should ?n['’]?t|should not|may not)|(?:you|u|we) can['’]?t(?= (?:use|add|install|ship|touch|change|break|rename|drop)\b)) (?!(?:worry|know|think|have|need|want|care|see|understand|get|mind|forget|feel|believe|hesitate|bother|be (?:afraid|scared|shy|sorry|surprised|alarmed|worried|sad|fooled|confused))\b)(?:ever |just |simply )*[a-z]+\b(?! (?:that|this|anything|so)\b)"
    rf"|(?:no|ohne|sans|sin|sem|без) (?!\w+ (?:nada|nadie|bien|m[aá]s|el|la|los?|ningun\w*)\b)(?!{LACKED}\b)(?!(?:no|nope|rush|thanks?|wrong|one|longer|more|not|it|that|this|the|other|same|wait|sorry|es|son|é|está|tengo|sé|hay|puedo|funciona)\b)[a-zà-ÿа-я./+-]+(?: (?!(?:is|are|was|in)\b)[a-zà-ÿа-я./+-]+){{0,2}}(?= ?[,;–—])"
    r"|(?:avoid|stop) (?!it\b|that\b|this\b)\w+ing\b|avoid \w+|(?:there['’]?s |there is )?no need (?:to|for) \w+"
    # German: an imperative with its object, or a ban without a verb.
    rf"|(?:nie(?:mals)?|kein(?:e|en)?|nicht) (?!{LACKED}\b)(?!(?:wahr|schlecht|schlimm|dringend|nötig|dein|mein|gut|ganz|so|nur|jetzt|gefunden|sichtbar|möglich|mehr)\b)\w+|(?!(?:{_GERMAN_SUBJECT}|ist|sind|war|hat|habe|kann|will|mag|konnte|könnte|wollte|würde|wurde|werde|hatte|hätte|musste|durfte|sollte|finde|sehe|verstehe|kenne|bekomme|es|ich|wir|du|er|sie|man|vor|nach|bei|mit|für|auf|aus|von|zu|über|unter|ohne|seit|gegen|durch|um|wegen|trotz|während|leider|aber|nur|auch|wenn|weil)\b)[a-zäöüß]{{3,}}(?<!t)(?<!en) (?:(?:mir|uns|d(?:ie|en|as|er|em)|eine?n?|meine?n?|unsere?n?|(?-i:[A-ZÄÖÜ])[\w-]+|alte[nrs]?|neue[nrs]?|direkt|einfach) )(?:[\w./-]+ ){{0,5}}(?:nicht|nie(?:mals)?|keine?n?)\b"
    r"|(?:pushe?|committe?|merge|deploye?|teste|lösche?|ändere?|nimm|nutze?) (?:nicht|nie(?:mals)?|keine?n?)\b|wir (?:dürfen|wollen|sollten) (?:[\w-]+ ){0,4}(?:nicht|keine?n?)\b"
    rf"|(?:ne |n['’])(?!est\b|a\b|ai\b|ont\b|sont\b|peu[tx]\b|marche|fonctionne|passe|va\b|sai[st]\b|faut\b|voi[st]\b|comprend|aie\b|était\b)[\w-]+ (?:[\w-]+ )?(?:pas|plus|jamais|aucune?|que|rien)\b|(?!c['’]|j['’]|je\b|tu\b|il\b|on\b|ça\b|marche|fonctionne|passe\b|va\b|sait\b|peut\b|faut\b|voit\b|mais\b|donc\b)\w{{3,}}(?<!t) (?:pas|plus|jamais) (?!mal\b|grave\b|de souci|encore\b|sûr\b|grand\b)\w+|(?:pas|plus) d(?:e |['’])(?!{LACKED}\b)\w+|(?:évite|arrête)[rz]? d(?:e |['’])\w+"
    rf"|not (?:with|via|through|using) (?!it\b|that\b|this\b|the\b|me\b|you\b)\w+|no (?!(?:puedes|tienes|entiendes|sabes|ves|haces|crees|debes|eres|estás|estas|has|es|quieres|pareces)\b)(?!{LACKED}\b)(?:l[oa]s? )?\w{{2,}}(?:es|as|éis|áis)\b(?! (?:eso|esto|lo)\b)|no (?:hay que|se (?:debe|puede)n?) \w+|(?:evita|deja de) \w+|nada de \w+|(?:[\w-]+ ){{1,6}}no (?:hacen? falta|se tocan?)\b"
    r"|n[ãa]o precisa (?:de )?\w+r\b|pas la peine d(?:e |['’])\w+r\b|не (?:надо|нужно|стоит) \w+(?:ть|ться|ти)\b|(?:du )?(?:brauchst|musst) (?:[\w-]+ ){0,4}nicht\b|no hace falta (?:que )?\w+|pas besoin d(?:e |['’])\w+r\b|n[ãa]o (?!(?:funciona|aparece|abre|carrega|existe|tem|está|esta|foi|sei|consig\w*|vai|pode|precisa|salva|mostra|entende|quero|gost\w+|vejo|era|acho|mais|muda|responde|roda|encontra|fica|volta|atualiza|passa|chega|conecta|recebe|cabe|atende|bate|permite|deixa|faria|seria|teria)\b)\w{2,}(?:a|e|am|em|ar|er|ir)\b(?! (?:isso|isto)\b)|(?:evite|pare? de) \w+"
    r"|(?:[\w.-]+ ){0,3}не (?!(?:очень|есть|здесь|весь|один|только|мои|свои|эти|те|там|день|дни|они|или|сами|все|нашли|смогли)\b)(?!\w*(?:ли|ый|ий|ой|ые|ие|ось|ись|ась)\b)\w{3,}(?:й|йте|ь|ьте|и|ите|ть|ти)\b(?! (?:это|его|её)\b)|(?:хватит|перестань|нельзя) \w+|никаких \w+"
    r"|[^，。,?？]{0,14}?(?:不[要用必]|别(?!的|人|处|名)|切勿|禁止|不准|不许|不能(?=用|改|动|删|加|碰))\s?[^，。,]{2,}"
    r"|[^。、?？]{2,40}(?:ないで(?:ください|下さい|ね|よ)?|(?:する|使う|触る|消す)な|をやめて(?:ください|ね)?|なくて(?:も)?いい(?:です)?よ?)(?:[。、!！]|$)|[^.?]{2,40}(?:지 ?(?:마|말)[^\s,.]*|금지)"
)
"""Begins with what is not to be done; "that" and "it" alone say nothing without their message."""
_BEHIND_CLAUSE = lazy_pattern(r"\s*[,;:–—]\s*|\s-+\s+|[，；。、]\s*|(?<=[마라고요])\s*[,.]\s*")
_BECAUSE = lazy_pattern(
    r"\b(?:because|cause|cuz|bc|since|otherwise|as (?:it|we|they|the|this|our)|weil|denn|sonst|parce qu['’e]|puisqu['’e]|sinon|car|porque|ya que|pues|si no|pois|já que|senão|потому что|так как|иначе|поскольку|а то)(?:\b|(?<=['’]))|因为|由于|否则|不然|会导致|(?:から|ので|ため)(?:です|ね|。|$)|(?:니까|서요|거든요?|라서|때문)",
    re.IGNORECASE,
)
_OWN_CLAUSE = OpeningPattern(
    r"(?:and |but |und |et |y |e |и )?(?:we|i|you|they|he|she|it|that|this|there|the|our|my|your|their|those|these|last|people|users|everybody|everyone|somebody|someone|nobody|legal|plugins|others?)\b|(?!(?:always|never|only)\b)\w+ (?:is|are|was|were|has|have|had|does|did|reads?|depends?|needs?|uses?|runs?|failed|broke|asked|told)\b"
    r"|(?:das|die|der|des|den|wir|ich|du|es|sie|er|man|damit|davon|dafür|daran|da|letzte[nsr]?|letztes|unsere?|meine?|deine?|jemand|alle|andere|dann)\b"
    r"|(?:on|ça|cela|c['’]|ce|il|elle|ils|elles|j['’]|je|tu|t['’]|nous|vous|la|le|les|l['’]|notre|nos|mon|ma|mes|après|ces|d['’]autres|tout)(?:\b|(?<=['’]))"
    r"|(?:la|el|los|las|lo|nos|se|es|son|eso|esto|ya|me|mis?|nuestr[oa]s?|yo|tú|hay|una?|otros|puedo|tengo|cada|después)\b|\w+(?:mos|ó|aron|ieron|aste|iste)\b"
    r"|(?:a|o|os|as|a gente|eu|você|vc|isso|é|são|ele|ela|eles|já|me|meus?|minhas?|nosso|nossa|na|tem|depois|outros)\b|\w+(?:ou|eram|aram)\b"
    r"|(?:мы|я|ты|он|она|они|это|там|их|его|её|у|в|так|оно|из-за|от этого|наш\w*|мой|другие|потом)\b"
    r"|(?:之前|上次|上个|以前|那|这|我|他|它|客户|会|都|已经|太|浪费|容易).+|(?:前|そ|こ|あ|私|うち|お客|誰|判断|以前|時間)[^。]{3,}|(?:그|저|전에|지난|우리|다른|내가|제가|이미)\S*.+"
)
"""Begins a clause of its own that says what is so, with a pronoun, an article or a verb in the past."""
_NO_REASON = lazy_pattern(
    r"\W*(?:(?:i|we|you|it|they|that|this|the \w+(?: \w+)?)(?:['’]d)? (?:should|must|need|needs|has to|have to|want|mean|meant|would like|like|can|could|just|think|said)\b|i['’]d\b|that['’]?s not what|we (?:only )?need\b|i only\b|"
    r"(?:ich|das|es|die|der|wir)\s(?:\w+ )?(?:soll\w*|muss|will|möchte|meine|meinte|reicht)\b|(?:je|ça|il|on|la|le|les)\s(?:\w+ )?(?:veux|voudrais|doit|devrait|faut|suffit)\b|(?:quiero|debe|tiene que|me refiero)|(?:eu )?(?:quero|deve|tem que|preciso)\b|(?:я|он|она|это|они) (?:хочу|имел\w*|должен|должна|должно|должны)\b|我(?:要|想|说|的意思)|.*(?:たい|べき)|.*(?:싶|해야))"
    rf"|\W*(?:please |just |and |then |but )*{VERB}\b(?! (?:is|are|was)\b)",
    re.IGNORECASE,
)
"""Says what is wanted in its place, or gives the next task."""
_THEREFORE = lazy_pattern(
    r"(?:\s*[,.;–—-]\s*|\s)(?:and )?(?:so|therefore|that['’]s why|deshalb|daher|darum|donc|du coup|así que|por eso|entonces|então|por isso|поэтому|так что)[\s,]+|[,.;–—-]\s*also\s+|[，。、,\s]*(?:所以|因此|だから|なので|그래서|그러니까)[，、,\s]*",
    re.IGNORECASE,
)
_HABIT = lazy_pattern(
    r"\b(?:every time|all the time|constantly|ständig|jedes mal|dauernd|tout le temps|à chaque fois|todo el (?:tiempo|rato)|cada vez|toda hora|o tempo todo|каждый раз|постоянно|вс[её] время)\b|每次|老是|总是|いちいち|毎回",
    re.IGNORECASE,
)
"""Says that it is done again and again."""
_MOMENT = lazy_pattern(
    r"\b(?:yet|still|now|today|tonight|tomorrow|for the moment|until|till|while i|again|"
    r"noch|erst|jetzt|heute|morgen|gerade|gleich|encore|maintenant|aujourd['’]hui|pour l['’]instant|tout de suite|todavía|aún|ahora|hoy|mañana|ainda|agora|hoje|amanhã|"
    r"ещё|еще|пока|сейчас|сегодня|завтра)\b|先|还(?=[没要在有])|现在|暂时|今天|目前|まだ|今(?!後)|とりあえず|아직|지금|일단|오늘",
    re.IGNORECASE,
)
"""Bound to the moment."""
_ONE_THING = lazy_pattern(
    r"\b(?:(?:this|that)(?= \w)|(?:hier|ici|aquí|aqui|здесь|тут)\b(?!\W*$|\s*[,;])|diese[mnrs]?|cette?|est[ea]|es[ea]|ess[ea]|ness[ea]|nest[ea]|эт(?:от|у|ой|ом|ого|и|их))\b(?! (?:repo\w*|pro(?:[jy]e[ck]t|jet)\w*|code\w*|código|monorepo|team|equip[eo]|équipe|company|way|kind|проект\w*|репо\w*|код\w*)\b)"
    r"|这[个里次段行](?!项目|仓库)|那个|この(?!プロジェクト|リポジトリ)|ここ|その|[이그] |여기",
    re.IGNORECASE,
)
"""Names one thing in sight, as a task does."""
_LEANS = lazy_pattern(r"\s+(?:it|them)\b", re.IGNORECASE)
"""Forbids what only the sentence before names."""
_ENDS_WITH_THING = lazy_pattern(r"\s+the [\w-]+\W*$", re.IGNORECASE)
"""Says no more of what is forbidden than one thing."""
_LOOKS = lazy_pattern(
    r"\b(?:show|display|hide|put|place|cent(?:er|re)|align|render|animate|draw|move|load|scroll|make the|zeige?|blende?|platziere?|setze?|affiche|cache|place|mets|dessine|muestres|ocultes|pongas|mostre|esconda|coloque|ponha|показывай\w*|скрывай\w*|ставь|рисуй)\b|显示|隐藏|放在|展示|表示し|置か|보여|표시|배치",
    re.IGNORECASE,
)
"""Says how something is to look, which is a task."""


def classify_ban(sentence: ProseSentence) -> Ban | None:
    """Whether a sentence forbids something, or orders it for always because of what it says before,
    and whether it or its neighbour on the line says why; None for any other sentence.
    """
    masked = sentence.masked[_find_order_start(sentence.masked) :]
    if _MOMENT.search(masked) or is_question_or_supposition(masked):
        return None
    found = _BAN.match(masked)
    if found is None:
        return "explained" if _follows_from_reason(masked) else None
    end = _find_clause_end(masked, found.end())
    if (
        _LEANS.match(masked, found.end())
        or _ONE_THING.search(masked, 0, end)
        or _LOOKS.search(masked, 0, end)
    ):
        return None
    is_explained = (
        bool(_HABIT.search(masked))
        or _holds_reason(masked, found.end())
        or any(_is_reason(mask_quotations(each)) for each in (sentence.after, sentence.before))
    )
    if is_explained:
        return "explained"
    return None if _ENDS_WITH_THING.match(masked, found.end()) else "bare"


def begins_with_general_word(order: str) -> bool:
    """Whether an order says at its beginning that it holds for always."""
    early = " ".join(order.split()[:EARLY_WORDS])
    return GENERAL.search(early[:EARLY_CHARS] if count_cjk_letters(order) else early) is not None


def states_reason(sentence: ProseSentence) -> bool:
    """Whether a sentence says why, beside another on its line."""
    return _is_reason(sentence.masked)


def _find_order_start(masked: str) -> int:
    start = find_lead_in_end(masked)
    refusal = _REFUSAL.match(masked, start)
    return refusal.end() if refusal else start


def _find_clause_end(masked: str, behind: int) -> int:
    ends = (_BEHIND_CLAUSE.search(masked, behind), _BECAUSE.search(masked, behind))
    return min((end.start() for end in ends if end), default=len(masked))


def _follows_from_reason(masked: str) -> bool:
    """Whether a ban, or an order with "always", is what a clause before it leads to."""
    for each in _THEREFORE.finditer(masked, MIN_REASON_CHARS):
        if _forbids(masked[each.end() :], even_by_general_word=True):
            return True
    return (
        _is_reason(masked)
        and _ONE_THING.search(masked) is None
        and any(
            _forbids(masked[each.end() :], even_by_general_word=False)
            for each in _BEHIND_CLAUSE.finditer(masked, MIN_REASON_CHARS)
        )
    )


def _forbids(clause: str, *, even_by_general_word: bool) -> bool:
    order = clause[_find_order_start(clause) :]
    found = _BAN.match(order)
    if _LOOKS.search(order):
        return False
    if not even_by_general_word:
        return found is not None and len(order) - found.end() >= MIN_OBJECT_CHARS
    return found is not None or (begins_with_general_word(order) and not _OWN_CLAUSE.match(order))


def _holds_reason(masked: str, behind: int) -> bool:
    """Whether a clause behind the ban says why."""
    because = _BECAUSE.search(masked, behind)
    if because is not None and _measure(masked[because.start() :]) >= MIN_REASON_CHARS:
        return True
    return any(_is_reason(masked[each.end() :]) for each in _BEHIND_CLAUSE.finditer(masked, behind))


def _is_reason(clause: str) -> bool:
    """Whether a clause says what is so, and neither what is wanted nor what is of the moment."""
    return (
        _measure(clause) >= MIN_REASON_CHARS
        and (_OWN_CLAUSE.match(clause) is not None or _BECAUSE.match(clause) is not None)
        and _NO_REASON.match(clause) is None
        and _MOMENT.search(clause) is None
        and not is_question_or_supposition(clause)
    )


def _measure(text: str) -> int:
    """The length of a text, in which a wide letter is two."""
    return len(text) + count_cjk_letters(text)
