"""A statement read as stances: each clause asks for something or rules it out. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.joined_clauses import (
    is_denied_by_conjunction,
    list_parts_with_shared_verb,
    may_be_part_of_negated_clause,
    may_join_words_in_cjk,
    remove_light_verb,
    split_clause_into_parts,
)
from memorist.auto_memory.statements.statement_patterns import VERB
from memorist.auto_memory.verb_forms import (
    SEPARABLE,
    find_separated_verb_prefix,
    fold_european_verb,
    fold_japanese_verb,
    fold_korean_verb,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

ALTERNATIVES: tuple[frozenset[str], ...] = tuple(
    frozenset(line.split())
    for line in """
    npm pnpm yarn bun
    pip uv poetry pipenv pdm conda
    tab space
    jest vitest mocha ava jasmine
    pytest unittest nose
    prettier biome dprint
    black ruff yapf autopep8
    webpack vite rollup esbuild parcel turbopack
    rebase merge squash
    docker podman
    postgres postgresql mysql mariadb sqlite mongodb
    british american
    single double
    snake_case camelcase pascalcase kebab-case
    short terse brief long detailed verbose
    formal informal
    du sie
    tu vous
    german english french spanish chinese japanese portuguese russian italian korean dutch polish
    """.strip().splitlines()
)
"""Words of which a project or a user chooses one at a time. Our choice: what people were seen to
correct; a pair that is missing here is two memories instead of one.
"""
DAYS = {
    day: "|".join(line.split())
    for day, line in (
        ("monday", "mondays montag montags lundi lundis lunes segunda-feira понедельник"
         " понедельникам 周一 星期一 月曜日 月曜 월요일"),
        ("tuesday", "tuesdays dienstag dienstags mardi mardis martes terça-feira вторник"
         " вторникам 周二 星期二 火曜日 火曜 화요일"),
        ("wednesday", "wednesdays mittwoch mittwochs mercredi mercredis miércoles quarta-feira"
         " среда среду средам 周三 星期三 水曜日 水曜 수요일"),
        ("thursday", "thursdays donnerstag donnerstags jeudi jeudis jueves quinta-feira четверг"
         " четвергам 周四 星期四 木曜日 木曜 목요일"),
        ("friday", "fridays freitag freitags vendredi vendredis viernes sexta-feira пятница"
         " пятницу пятницам 周五 星期五 金曜日 金曜 금요일"),
        ("saturday", "saturdays samstag samstags samedi samedis sábado sábados суббота субботу"
         " субботам 周六 星期六 土曜日 土曜 토요일"),
        ("sunday", "sundays sonntag sonntags dimanche dimanches domingo domingos воскресенье"
         " воскресеньям 周日 星期天 星期日 日曜日 日曜 일요일"),
    )
}  # fmt: skip
"""The days of the week, and what each is called in the other languages."""
ONE_WORD_FOR: dict[str, str] = {
    foreign: word
    for word, line in {
        "german": "deutsch|allemand|alemán|alemão|немецки|немецком|德语|德文|ドイツ語|독일어",
        "english": "englisch|anglais|inglés|inglês|английски|английском|英文|英语|英語|영어|영문",
        "french": "französisch|français|francés|francês|французски|французском|法语|法文"
        "|フランス語|프랑스어",
        "spanish": "spanisch|espagnol|español|espanhol|испански|испанском|西班牙语"
        "|スペイン語|스페인어",
        "chinese": "chinesisch|chinois|chino|chinês|китайски|китайском|中文|汉语|中国語|중국어",
        "japanese": "japanisch|japonais|japonés|japonês|японски|японском|日语|日文|日本語|일본어",
        "portuguese": "portugiesisch|portugais|portugués|português|португальски|португальском"
        "|葡萄牙语|ポルトガル語|포르투갈어",
        "russian": "russisch|russe|ruso|russo|русски|русском|俄语|俄文|ロシア語|러시아어",
        "italian": "italienisch|italien|italiano|итальянски|итальянском|意大利语|イタリア語"
        "|이탈리아어",
        "dutch": "niederländisch|néerlandais|neerlandés|holandés|holandês|нидерландски"
        "|нидерландском|荷兰语|オランダ語|네덜란드어",
        "polish": "polnisch|polonais|polaco|polonês|польски|польском|波兰语|ポーランド語|폴란드어",
        "answer": "reply|respond|antworte|antworten|antwortest|réponds|répondez|répondre|responde|"
        "responder|responda|respóndeme|respondas|respondes|отвечай|отвечайте|отвечать|回答|回复|答复|回應|答えて|"
        "答える|返答|返信|답변|대답|응답",
        "korean": "koreanisch|coréen|coreano|корейски|корейском|韩语|韩文|韓国語|한국어|한글",
        "comment": "kommentar|kommentare|commentaire|commentaires|comentario|comentarios"
        "|comentário|comentários|комментарий|комментарии|注释|コメント|주석",
        "make": "hacemos|fazemos|faisons"
        "|haz|hagas|haga|hagan|hacer|faz|faça|façam|fazer|fais|faites|faire|mach|mache"
        "|machen|делай|делайте|делать|dê|dar|dé",
        "commit": "committe|committen|committet|commitea|commitear|commitees|commite|comite|comita"
        "|comitar|commita|commitar|коммить|коммитить|коммит|коммиты|коммитов|提交|コミット|커밋",
        "push": "pushe|pushen|pusht|pushea|pushear|pushees|pusha|pushar|pushes|пушь|пушить|пуш|пуши"
        "|пушей|推送|プッシュ|푸시",
        "indent": "einrückung|отступ|отступы|缩进|インデント|들여쓰기",
        "space": "leerzeichen|espace|espaces|espacios|espaços|пробел|пробелы|пробелами|空格"
        "|スペース|스페이스|공백",
        "tab": "tabulatoren|tabulations|tabulaciones|таб|табы|табами|制表符|タブ|탭",
        "single": "einfache|einfachen|simples|одинарные|одинарных|单引号"
        "|シングルクォート|작은따옴표",
        "double": "doppelte|doppelten|doubles|dobles|duplas|двойные|двойных|双引号"
        "|ダブルクォート|큰따옴표",
        "quote": "anführungszeichen|guillemets|comillas|aspas|кавычки|кавычек",
        "2": "two|twice|zwei|zweimal|deux|dos|dois|duas|два|две|дважды",
        "3": "three|drei|dreimal|trois|tres|três|три|трижды",
        "4": "four|vier|viermal|quatre|cuatro|quatro|четыре",
        "5": "five|fünf|cinq|cinco|пять",
        "6": "six|sechs|seis|шесть",
        "8": "eight|acht|huit|ocho|oito|восемь",
        "10": "ten|zehn|dix|diez|dez|десять",
        **DAYS,
    }.items()
    for foreign in line.split("|")
}
"""The languages, `answer`, `make`, what is banned most, what else is chosen, small numbers and the
days of the week, in the nine languages that are read:
`antworte auf Deutsch` and `answer in Chinese` choose for the same thing.
"""
_CJK = r"\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3"
_CJK_WORD = lazy_pattern(
    rf"(?:{'|'.join(word for word in ONE_WORD_FOR if re.match(f'[{_CJK}]', word))})"
    r"(?![前后後时時信])我?"
)
_POLITE_PART = lazy_pattern(r"\Aпо-|-(?:moi|me|nous)\Z")

_REASON = lazy_pattern(
    r"(?:[,;(]?\s+(?:because|since|as it|so that|weil|damit|denn|parce que|porque|потому что)\b"
    r"|[,，]?\s*(?:因为|なぜなら))(?:[^.!?;。！？；\n]|\.(?=\S))*",
    re.IGNORECASE,
)
"""Why something is asked for, up to the end of the sentence."""
_NAME = r"(?P<{}>[\w@./+-]+(?: [A-Z0-9][\w.+-]*)?)"
SWITCHES = tuple(
    lazy_pattern(pattern.format(old=_NAME.format("old"), new=_NAME.format("new")), re.IGNORECASE)
    for pattern in (
        r"(?:switch|mov|migrat|chang|transition)\w*(?: \w+){{0,3}}? from {old} to {new}",
        r"(?:replac|swapp?)\w* {old} (?:with|by|for) {new}",
        r"von {old} (?:auf|zu) {new}(?: \w+)?",
        r"(?:pass|migr|bascul)\w* (?:de |d['’]){old} (?:à|vers) {new}",
        r"(?:pas|cambi|migr|mud|troc)\w* (?:de|do|da|del) {old} (?:a|para|por) {new}",
        r"(?:перешли|перешёл|мигрировали) с {old} на {new}",
        r"从\s*(?P<old>[\w.+-]+?)\s*(?:换成|换到|迁移到|切换到|改用|改成)了?\s*(?P<new>[\w.+-]+)",
        r"(?P<old>[A-Za-z][\w.+-]*)\s*から\s*(?P<new>[A-Za-z][\w.+-]*)\s*(?:に|へ)",
    )
)
_SWITCH_TO = lazy_pattern(
    r"\b(?:(?:switched|moved|migrated|changed|went|gone|reverted)(?: over| back)? to"
    r"|(?:on est |nous sommes )?(?:revenus?|repassés?) (?:à|sur|au)"
    r"|(?:volvimos|volvemos|hemos vuelto) a(?: usar)?|voltamos (?:a usar|a|para|pro|pra|ao)"
    r"|wir sind (?:wieder|zurück) (?:bei|auf|zu)|(?:мы )?(?:снова )?вернулись (?:к|на))"
    r" (?=[\w@./+-]+\W*$)",
    re.IGNORECASE,
)
_ASK_BEFORE = lazy_pattern(
    r"(?:\b(?:always|please) )*(?P<denied>\b(?:don['’]?t|do not|never|no need to|stop) )?"
    r"\b(?:ask|check with|confirm with)(?:ing)?(?: me| us| first| for permission)*"
    r" before (?:you )?(?P<what>[^,;.!?]+)",
    re.IGNORECASE,
)
"""An order to ask first, or not to."""
WORDS_OF_ASKING = frozenset(("befor", "check", "confirm", "first", "permission"))
"""Words of such an order, as they are folded, that the ban on doing it without does not have."""
_PREFERENCE = lazy_pattern(r"\bprefers? (?P<new>[\w@./+-]+) (?:to|over) ", re.IGNORECASE)
_NEGATIVE = (
    r"(?:don['’]?t|do not|never|no longer|not|no|stop|avoid|without|instead of|rather than|cannot|"
    r"can['’]?t|mustn['’]t|shouldn['’]t|nie|niemals|nicht|kein|keine|keinen|statt|anstatt|jamais|"
    r"ne(?!\s+\S+\s+(?:pas|jamais)\b)|n['’](?=\S+\s+plus\b)|pas|au lieu de|nunca|en vez de"
    r"|en lugar de|em vez de|não|sem|sin|ohne|sans|ning[uú]na?|nenhuma?|aucune?|"
    r"никогда(?!\s+не\b)|не|никаких|без|вместо)"
)
_OPENING = rf"(?:always|please|{_NEGATIVE}|{VERB}|immer|bitte|toujours|siempre|sempre|всегда)"
_CLAUSE_BREAK = lazy_pattern(
    r"(?:[,;!?—…–]|:(?!(?<=\d:)\d\d\b)|[.](?=\s|$)|[，。；！？、\n])+\s*"
    rf"|\s+(?:but|and|then|und|sondern|aber|et|mais|y|pero|e|mas|и|но)\s+(?={_OPENING}\b)"
    r"|\s+(?=(?:instead of|rather than|not|never|statt|anstatt|au lieu de|en vez de|en lugar de|"
    r"em vez de|вместо)\b)"
    r"|也(?=不|别)|(?=而不是)|(?<=말고)\s+|(?<=대신)에?\s+",
    re.IGNORECASE,
)
_NEGATION = lazy_pattern(
    rf"\b{_NEGATIVE}\b|不要|别|不用|不再|禁止|勿|而不是|[てで]は(?:いけ|なら|なり)(?:ない|ません)"
    r"|なくても?(?:よい|良い|いい|大丈夫|構わない|かまわない)|ない(?:で|こと)?|ません|禁止"
    r"|(?<=[うくぐすつぬぶむる])なよ?(?=[\s。．.!！]*\Z)"
    r"|(?<=지) ?(?:[말않][가-힣]*|마(?:세요|십시오|시[가-힣]+|셈|라|라고|요)?(?![가-힣]))"
    r"|하?면 ?안 ?[돼되됩된][가-힣]*|말고|대신에?|금지|(?<![가-힣])안 (?=[가-힣])",
    re.IGNORECASE,
)
_NO_NEGATION = lazy_pattern(
    r"なければ(?:なら|なり|いけ)(?:ない|ません)|ないと(?:いけない|いけません|だめ|ダメ)"
    r"|(?<!なく)[てで]も?(?:よい|良い|いい|大丈夫|構わない|かまわない|構いません|かまいません)(?:です)?"
    r"|\b(?:don['’]?t|do not|never)(?: ever)? forget(?: to\b)?"
    r"|\b(?:vergiss|vergesst|vergessen sie) (?:nicht|nie)\b,?(?: zu\b)?"
    r"|\bn['’]oublie[zs]? (?:pas|jamais)(?: (?:de\b|d['’]))?"
    r"|\b(?:no|nunca) (?:te )?olvid(?:e|en|es)(?: de)?\b"
    r"|\b(?:não|nunca) (?:se )?esque[çc]\w*(?: de)?\b"
    r"|\bне забы(?:вай|удь)(?:те)?\b|(?:不要|别|別)忘(?:了|记|記)?"
    r"|忘れ(?:ずに|ないで)|잊지 ?(?:말고|마세요|마)",
    re.IGNORECASE,
)
"""Holds a negation and asks for something or allows it."""
_LIMIT = lazy_pattern(
    r"\b(?:no|not|nicht|pas|não|не|non|niet) (more|less|fewer|longer|later|earlier|mehr|weniger"
    r"|länger|später|plus|moins|más|menos|mais|более|менее|больше|меньше|meer|minder)"
    r" (?=(?:than|als|d[eo]|que)\b|d['’]|\d)",
    re.IGNORECASE,
)
"""Begins a limit, which rules nothing out: `no more than 80 columns`."""
LIMIT_MARK = "limit-"
"""Begins the word that stands for one among the words of a clause, and in no text."""
_VALUE = lazy_pattern(
    r"(?:\b(?:is|are|be|on|at|to|use|uses|using|of|ist|sind|auf|est|es|são|на)\b|=|[是用])"
    r"(?:\s*[^\s\d]+){0,2}\s*[^\s\d]*\d\S*(?:\s+[^\W\d]+)?\W*\Z",
    re.IGNORECASE,
)
_DROPPED_CJK = lazy_pattern(
    r"请|总是|始终|一律|统一|永远|必须|使用|改用|换成|切换到|迁移到|以后|今后|从现在(?:开始"
    r"|起)|我们|了|的|都要|需要|可以|每次|务必|一定|都|使(?:わ|っ|い|う|用(?:し|する)?)|しないで|してください|ください|いつも|常に|必ず"
    r"|(?<=[a-z] )も|これから|今後|に?切り替え"
    r"|に?乗り換え|に?移行|しました|ました|ます|して|て|を|は|で|用"
)
_KOREAN_FRAME = lazy_pattern(
    r"(?<=[A-Za-z0-9가-힣 ])(?:을|를|은|는|이|가|(?:으로|로)만?|에서는?|에|의|도"
    r"|만)(?![가-힣])|(?<=[A-Za-z0-9])(?=[가-힣])"
    r"|(?<![가-힣])(?:(?:앞으로|이제부터|이제|지금부터|다음부터)는?|더 ?이상|더는|항상|언제나"
    r"|무조건|반드시|꼭|절대|모든|전부|우리|저희|팀|이 ?프로젝트|그냥|제발"
    r"|(?:쓰|쓸|써|쓴|씁|사용|이용|작성|부탁|통일|전환|갈아|바꿨|옮겼|넘어)[가-힣]*|(?:해|가자"
    r"|줘|주세요|하세요|합니다|해요|해줘|해주세요|마|마라|마세요|말|말아|것|않[가-힣]*|더|이상"
    r"|안|돼|돼요|된다|됩니다)(?![가-힣]))"
)
"""Particles, politeness and verbs that only say that something is used."""
_WORD = lazy_pattern(r"[぀-ヿ㐀-䶿一-鿿]+|[^\W_](?:[\w@./+#=-]|(?<=\d):(?=\d\d\b))*[\w+#]|[^\W_]")
_FRAME_WORDS = parse_word_list(
    """
             a an the this that these those it its is are be been was were as of to for in on at
    with         and or by i you we us me my our your they he she please pls kindly just only also
    really         actually always ever now again still yet back anymore more longer fine ok okay
    allowed         may can could should must shall will would need have has want like do does use
    used         using uses prefer preferred let lets make sure everywhere here there project repo
    repository codebase everything every all any time times future going forward then so than
    if instead rather over s t re ve ll m d both der die das ein eine einen einem wir ich du
    sie uns mir bitte immer nur ab jetzt sofort hier im projekt verwende verwenden benutze
    benutzen nutze nutzen nimm mit auf mehr und oder zu auch wieder stattdessen le la les un
    une des nous je tu on il est sommes suis toujours utilise utilisez utiliser ici dans ce
    utilisons cette projet désormais de du à plus el los las una unos nosotros yo siempre usa usar
    usamos utiliza aquí en este proyecto ahora ya o os um uma nós eu sempre use aqui neste
    projeto agora мы я всегда используй используйте использовать здесь в этом проекте теперь
    neither nor weder noch ni nem ни oder ou или jamais
    на с и em языке nehmen gehen läuft laufen über alles umgestiegen gewechselt umgestellt künftig
    zukunft seulement uniquement passe passons passés passé à solo sólo usaremos pasamos cambiamos
    migramos partir apenas mudamos passamos para только отныне впредь будем перешли переехали
    переходим берём используем sind wants
    bother bothering wird werden n ne никогда больше надо нужно можно muss musst darf darfst
    puedes puede pode podes podem usen usem utilices utilice utilizar utilizes utilize debes deve
    devem más mais por favor soll sollst sollen sollte solltest kannst können dürfen müssen
    """
)
"""Words that say nothing of what is asked for."""
_FROM_NOW = lazy_pattern(
    r"\bfrom (?:now|here|today|this (?:point|day|moment|week|month)|(?:the )?future)\b",
    re.IGNORECASE,
)
"""Says since when something holds; any other `from` says where to, and counts."""
MAX_COMPARED_CHARS = 600
"""Characters of a text that is read as stances: a memory is one fact, a long one is prose."""


class ClauseStance(Struct, frozen=True):
    """One clause: what it asks for, or rules out."""

    words: frozenset[str]
    """Content words, each without its ending."""
    order: tuple[str, ...]
    """The same words in their order, each as often as it occurs."""
    is_positive: bool
    value_length: int = 0
    """How many of the last words say the value that the clause gives something; 0 where it gives
    none, or one without a digit.
    """
    start: int = 0
    end: int = 0
    """Where the clause is in the text; 0 and 0 where it is nowhere as it is."""


@lru_cache(maxsize=20_000)
def parse_clause_stances(text: str) -> tuple[ClauseStance, ...]:
    """Read the clauses of a text as stances; clauses without content words are left out."""
    plain = _blank_out_reasons(text)
    rewritten = _rewrite_switches(plain)
    found: list[ClauseStance] = []
    ended = 0
    for start, end in _find_clauses(rewritten):
        clause = rewritten[start:end]
        goes_on = bool(found) and _is_next_of_several(rewritten[ended:start], clause, found[-1])
        read = _read_clause(clause, start if rewritten == plain else -1, goes_on=goes_on)
        if found and _leans_on_clause_before(rewritten, start, clause):
            before = found[-1].order
            read = [_say_of_same(each, before) if len(each.order) == 1 else each for each in read]
        found += read
        ended = end
    return tuple(found)


_STATE = lazy_pattern(
    r"(?:(?:and|but|not|yet|still|already|is|are|was|were) )*[a-z]{2,}ed\b", re.IGNORECASE
)


def _leans_on_clause_before(text: str, start: int, clause: str) -> bool:
    """Whether a clause of one word says something of what the one before names: the state it is in,
    as in `the fix is on main, not pushed`, or one of several that stand in brackets.
    """
    before = text[:start]
    return _STATE.fullmatch(clause.strip(" .")) is not None or (
        before.count("(") > before.count(")")
    )


def _say_of_same(stance: ClauseStance, order: tuple[str, ...]) -> ClauseStance:
    """A clause with the words of the one before."""
    order = (*order, *stance.order)
    return replace(stance, words=frozenset(order), order=order)


def _blank_out_reasons(text: str) -> str:
    """The text as far as it is read, with blanks for reasons: what is behind stays where it was."""
    return _REASON.sub(lambda found: " " * len(found[0]), text[:MAX_COMPARED_CHARS])


def parse_clauses_with_marks(text: str, marks: Marks) -> list[ClauseStance]:
    """What `parse_clause_stances` reads in the clauses that hold, of each group, one of its pieces
    of words, a tenth of a long text. One that only goes on with what another rules out is positive.
    """
    rewritten = _rewrite_switches(_blank_out_reasons(text))
    return [
        stance
        for start, end in _find_clauses(rewritten)
        if contains_substring_from_every_group(rewritten[start:end].casefold(), marks)
        for stance in _read_clause(rewritten[start:end], -1, goes_on=False)
    ]


def may_rule_out(text: str) -> bool:
    """Whether a clause of a text may rule something out."""
    return _NEGATION.search(text) is not None or is_denied_by_conjunction(text)


_AND = lazy_pattern(r"\s+(?:and|und|et|y|e|и)\s+")
_OR = frozenset(("or", "oder", "ou", "o", "или"))


def _is_next_of_several(joint: str, clause: str, before: ClauseStance) -> bool:
    """Whether a clause is the next of several single words that are ruled out: `don't commit and
    push`, `never commit, push or tag`.
    """
    words = clause.split()
    if before.is_positive or len(before.words) > 1:
        return False
    if _AND.fullmatch(joint):
        return len(words) == 1
    return joint.strip() == "," and len(words) == 3 and words[1] in _OR


def _find_clauses(text: str) -> Iterator[tuple[int, int]]:
    """Where the clauses of a text begin and end."""
    start = 0
    for match in _CLAUSE_BREAK.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


_BREAK = lazy_pattern(r"[,;:!?—…–，。；！？、]|\.\Z")
_LINKS = parse_word_list(
    """
         말고 대신 대신에
         but and then not never instead rather und sondern aber et mais y pero e mas и но statt
         or nor oder noch ou o u ni nem или ни
         anstatt au en em вместо because since as so weil damit denn parce porque потому
         switched moved migrated changed
    """
)
"""Words before or behind which a clause can end: more of them than end one, so that no clause is
missed.
"""
_PARTS_OF_PHRASES = parse_word_list(
    "lieu vez lugar from forget vergiss vergesst vergess oubli oubliez olvid esqueç esqueça esquec "
    "забыва забуд забудьт"
)
"""Words, as they are folded, that count for nothing within a phrase: `em vez de`, `from now on`,
`don't forget to`.
"""
_SWITCH_PARTS: tuple[tuple[tuple[str, ...], ...], ...] = (
    ((" from ",), (" to ",)),
    (("replac", "swap"),),
    (("von ",), (" auf ", " zu ")),
    ((" de ", " d'", " d’"), (" à ", " vers ")),
    ((" de ", " do ", " da ", " del "), (" a ", " para ", " por ")),
    ((" с ",), (" на ",)),
    (("从",),),
    (("から",),),
    (("prefer ", "prefers "), (" to ", " over ")),
)
"""A text that says one of `SWITCHES`, or a preference, has one of each of these, line by line."""
_JOINED_BREAKS = ("而不是", "因为", "なぜなら", "也不", "也别")
"""Clauses end here within a word."""

Marks = Sequence[Collection[str]]
"""Beginnings of words: what has to do with a clause, or a correction, holds one of each."""
_DIGITS: Marks = (tuple("0123456789"),)


def contains_substring_from_every_group(folded: str, marks: Marks) -> bool:
    """Whether a text in small letters holds, of each group, one of its pieces of words."""
    return all(any(word in folded for word in each) for each in marks)


class OppositeClausePrefilter(Struct, frozen=True):
    """What a clause has to be like that says the opposite of another."""

    marks: Marks
    """None for another that gives a value: it has a digit."""
    denies: bool
    """Whether only a negation makes it the opposite: the other asks for something, and neither
    chooses among alternatives nor gives a value.
    """


class ClauseTokenClassifier:
    """Content words of what agrees with a clause or opposes it, and what each token is beside them.
    A token is read once, however many texts hold it.
    """

    def __init__(self, words: frozenset[str]) -> None:
        self._words = words
        self._roles: dict[str, ClauseTokenRole] = {}

    def get_role(self, token: str) -> ClauseTokenRole:
        """What a token in small letters is in a clause of these words."""
        role = self._roles.get(token)
        if role is None:
            role = self._roles[token] = self._read_role(token)
        return role

    def _read_role(self, token: str) -> ClauseTokenRole:
        if _BREAK.search(token) is not None:
            return ClauseTokenRole.BREAK
        if token in _LINKS:
            return ClauseTokenRole.LINK
        return (
            ClauseTokenRole.WITHIN
            if self.has_no_other_content_words(token)
            else ClauseTokenRole.OTHER
        )

    def has_no_other_content_words(self, token: str) -> bool:
        """Whether a token has no content words but these and such with a digit."""
        return all(
            word in self._words
            or fold_european_verb(word) in self._words
            or any(map(str.isdigit, word))
            for word in _read_token(token)
        )


class ClauseTokenRole(Enum):
    """What a token is in a clause that has no content words but some."""

    WITHIN = "within"
    LINK = "link"
    """A clause can end before or behind it."""
    BREAK = "break"
    """A clause ends in it."""
    OTHER = "other"
    """It has other content words."""


def may_agree_or_oppose(
    folded: str, opposed: Collection[OppositeClausePrefilter], words: ClauseTokenClassifier
) -> bool:
    """Whether a line in small letters may have no content words but `words` and such with a digit,
    or a clause without others that is one of those `opposed`. In doubt, yes. Only what stands
    beside a mark is looked at, in a tenth of the time that it takes to read the text.
    """
    folded = folded[:MAX_COMPARED_CHARS]
    found = [
        each
        for each in opposed
        if contains_substring_from_every_group(folded, each.marks or _DIGITS)
    ]
    return bool(found) and (
        _may_agree(folded, words)
        or any(mark in folded for mark in _JOINED_BREAKS)
        or _may_switch(folded)
        or any(_may_oppose(folded, each, words) for each in found)
    )


@lru_cache(maxsize=20_000)
def _may_switch(folded: str) -> bool:
    return any(
        contains_substring_from_every_group(folded, parts) and pattern.search(folded) is not None
        for parts, pattern in zip(_SWITCH_PARTS, (*SWITCHES, _PREFERENCE), strict=True)
    )


def _may_agree(folded: str, words: ClauseTokenClassifier) -> bool:
    """Whether a text may have no content words but these. Behind `because` it may say anything, but
    only where something stands before.
    """
    has_content = False
    for token in _iter_tokens(folded):
        role = words.get_role(token)
        if role is ClauseTokenRole.LINK:
            if has_content:
                return True
            continue
        if role is ClauseTokenRole.OTHER or (
            role is ClauseTokenRole.BREAK
            and not all(
                words.has_no_other_content_words(part) for part in _BREAK.split(token) if part
            )
        ):
            return False
        has_content = True
    return True


def _may_oppose(
    folded: str, opposed: OppositeClausePrefilter, words: ClauseTokenClassifier
) -> bool:
    marks = opposed.marks or _DIGITS
    for mark in marks[0]:
        at = folded.find(mark)
        while at >= 0:
            start, end = folded.rfind(" ", 0, at) + 1, folded.find(" ", at)
            end = len(folded) if end < 0 else end
            clause = _join_clause(folded[:start], folded[start:end], folded[end:], words)
            if (
                clause
                and contains_substring_from_every_group(clause, marks)
                and not (
                    opposed.denies
                    and _NEGATION.search(clause) is None
                    and not may_be_part_of_negated_clause(clause)
                )
            ):
                return True
            at = folded.find(mark, end)
    return False


_NEAR_CHARS = 12
"""Characters beside a token of Chinese, Japanese or Korean in which another may be joined to it."""


def _join_clause(before: str, token: str, after: str, words: ClauseTokenClassifier) -> str:
    """The clause of a token between two texts, or more than it; empty where it has other content
    words.
    """
    near = f"{before[-_NEAR_CHARS:]}{token}{after[:_NEAR_CHARS]}"
    if not near.isascii() and may_join_words_in_cjk(near):
        return f"{before}{token}{after}"
    role = words.get_role(token)
    if role is ClauseTokenRole.OTHER:
        return ""
    if role is ClauseTokenRole.BREAK:
        parts = _BREAK.split(token)
        if not any(part and words.has_no_other_content_words(part) for part in parts):
            return ""
        if any(parts[1:]):  # a clause ends within the token
            return f"{before}{token}{after}"
        after = ""
    left = _take_clause(_iter_tokens_backwards(before), words)
    right = None if left is None else _take_clause(_iter_tokens(after), words)
    return "" if left is None or right is None else " ".join((*reversed(left), token, *right))


def _take_clause(tokens: Iterable[str], words: ClauseTokenClassifier) -> Sequence[str] | None:
    """The tokens up to the end of the clause; None where one before has other content words."""
    clause: list[str] = []
    may_end = False
    for token in tokens:
        role = words.get_role(token)
        if role is ClauseTokenRole.OTHER:
            return clause if may_end else None
        clause.append(token)
        if role is ClauseTokenRole.BREAK:
            return clause
        may_end = may_end or role is ClauseTokenRole.LINK
    return clause


def _iter_tokens(text: str) -> Iterator[str]:
    """The tokens of a text, of which mostly the first few are looked at."""
    while parts := text.split(None, 1):
        yield parts[0]
        text = parts[1] if len(parts) > 1 else ""


def _iter_tokens_backwards(text: str) -> Iterator[str]:
    while parts := text.rsplit(None, 1):
        yield parts[-1]
        text = parts[0] if len(parts) > 1 else ""


@lru_cache(maxsize=20_000)
def _read_token(token: str) -> tuple[str, ...]:
    return tuple(word for word in list_content_stems(token) if word not in _PARTS_OF_PHRASES)


def _rewrite_switches(text: str) -> str:
    """Say a change from one thing to another as what is ruled out and what is asked for."""
    for pattern in SWITCHES:
        match = pattern.search(text)
        if match is not None:
            return f"not {match['old']}, {match['new'].rstrip('.')}"
    text = _ASK_BEFORE.sub(_say_as_ban, text)
    text = _SWITCH_TO.sub("use ", text)
    return _PREFERENCE.sub(lambda match: f"{match['new']} instead of ", text)


def _say_as_ban(asks: re.Match[str]) -> str:
    """To ask first is to do nothing without."""
    return f"{'' if asks['denied'] else 'never '}{asks['what']} without asking"


def _read_clause(clause: str, start: int, *, goes_on: bool) -> list[ClauseStance]:
    """The stances of a clause; one that `goes_on` rules out what it names, as the one before."""
    negative = (
        goes_on
        or is_denied_by_conjunction(clause)
        or len(_NEGATION.findall(_NO_NEGATION.sub(" ", _LIMIT.sub(" ", clause)))) % 2 == 1
    )
    order = list_content_stems(clause)
    if all(word.startswith(LIMIT_MARK) for word in order):
        return []
    particle = find_separated_verb_prefix(clause)
    if particle and particle not in order:
        order = (*order, particle)
    if len(order) == 2 and "answer" in order:  # "answer in German" and "in German answer"
        order = tuple(sorted(order))
    span = (start, start + len(clause)) if start >= 0 else (0, 0)
    listed = [word for word in order if get_alternatives_of_word(word)]
    group = get_alternatives_of_word(listed[0]) if listed else None
    if (
        group
        and len(listed) > 1
        and all(get_alternatives_of_word(word) is group for word in listed)
    ):
        rest = [word for word in order if word not in listed]
        return [
            ClauseStance(frozenset([*rest, each]), (*rest, each), not negative, 0, *span)
            for each in listed
        ]
    if joined := _read_joined_clause(clause, start, negative=negative):
        return joined
    value = _VALUE.search(clause)
    value_length = 0 if value is None else len(list_content_stems(value[0]))
    order = remove_light_verb(order)
    return [ClauseStance(frozenset(order), order, not negative, value_length, *span)]


def _read_joined_clause(clause: str, start: int, *, negative: bool) -> list[ClauseStance]:
    """One stance for each part of a clause that can be told apart from the others."""
    plain = _say_cjk_in_english(clause)
    joined = split_clause_into_parts(plain)
    if joined is None:
        return []
    orders = list_parts_with_shared_verb(
        joined, [list_content_stems(part) for part in joined.parts], negative=negative
    )
    if not orders:
        return []
    if start < 0 or plain != clause or not len(orders) == len(joined.parts) == 2:
        spans = [(0, 0) for _ in orders]
    else:  # Without the first of two, the verb and the negation before it have to stay.
        spans = [(0, 0), *((start + at, start + end) for at, end in joined.spans[1:])]
    return [
        ClauseStance(frozenset(order), order, not negative, 0, *span)
        for order, span in zip(orders, spans, strict=True)
    ]


def _say_cjk_in_english(text: str) -> str:
    return _CJK_WORD.sub(lambda found: f" {ONE_WORD_FOR[found[0].rstrip('我')]} ", text)


def list_content_stems(text: str) -> tuple[str, ...]:
    """The words of a text that say what is asked for, each without its ending, in their order.
    None for `one` alone: it points to something else, as in `a list instead of one`.
    """
    plain = _LIMIT.sub(rf" {LIMIT_MARK}\1 ", _say_cjk_in_english(text))
    plain = _NEGATION.sub(" ", _NO_NEGATION.sub(" ", _FROM_NOW.sub(" ", plain)))
    if not plain.isascii():
        plain = _KOREAN_FRAME.sub(" ", _DROPPED_CJK.sub(" ", plain))
    stems = tuple(
        stem
        for word in _WORD.findall(plain)
        if word.casefold() not in _FRAME_WORDS and (stem := fold_word_ending(_say_in_english(word)))
    )
    return () if stems == ("one",) else stems


def _say_in_english(word: str) -> str:
    folded = word.casefold()
    if "-" in folded:
        folded = _POLITE_PART.sub("", folded)
    return ONE_WORD_FOR.get(folded, word)


_CYRILLIC_ENDING = lazy_pattern(r"(?<=[а-яё]{4})(?:йте|ть|ов|ами|ом|[йыиьуае])\Z")


def fold_word_ending(word: str) -> str:
    """Fold case, plural and the endings of verbs in English, Korean and Japanese, and some in
    German and Russian.
    """
    folded = word.casefold().strip("`'\"")
    if not folded.isascii() or not folded.isalpha():
        return _fold_foreign_ending(folded)
    if get_alternatives_of_word(folded):
        return folded
    if get_alternatives_of_word(folded.removesuffix("s")):
        return folded.removesuffix("s")
    for ending, least in (
        ("ing", 6),
        ("en", 7),
        ("ies", 6),
        ("ed", 5),
        ("es", 6),
        ("s", 4),
        ("e", 4),
    ):
        if len(folded) >= least and folded.endswith(ending) and not folded.endswith("ss"):
            stem = folded.removesuffix(ending)
            return stem[:-1] if stem.endswith(_DOUBLED) and ending in ("ing", "ed", "en") else stem
    return folded


_DOUBLED = ("bb", "gg", "mm", "nn", "pp", "tt")
"""What English writes in front of an ending where the verb has it once: `running`, `written`."""


def _fold_foreign_ending(folded: str) -> str:
    if "가" <= folded[-1:] <= "힣":
        return fold_korean_verb(folded)
    if "ぁ" <= folded[-1:] <= "ゖ":
        return fold_japanese_verb(folded)
    return _CYRILLIC_ENDING.sub("", folded)


_GROUP_BY_WORD = {word: group for group in reversed(ALTERNATIVES) for word in group}


def get_alternatives_of_word(word: str) -> frozenset[str] | None:
    """The alternatives that a word is one of; None where it is none."""
    return _GROUP_BY_WORD.get(word)


GROUP_NOUNS: dict[str, frozenset[str]] = {
    "npm": frozenset({"package", "manager", "install", "dependency", "run", "script"}),
    "pip": frozenset({"package", "manager", "install", "dependency", "environment"}),
    "tab": frozenset({"indent", "indentation"}),
    "single": frozenset({"quote"}),
    "british": frozenset({"spelling", "english"}),
    "jest": frozenset({"test", "runner", "framework"}),
    "pytest": frozenset({"test", "runner", "framework"}),
    "prettier": frozenset({"format", "formatter", "formatting"}),
    "black": frozenset({"format", "formatter", "formatting"}),
    "german": frozenset(
        {"write", "schreib", "schreibe", "écris", "écrivez", "escribe", "escreva", "пиши", "写"}
    ),
    "short": frozenset({"answer", "reply", "response"}),
}
"""What a choice is about, by one of its alternatives: words that two choices need not share."""
_ONE_OF_MANY = lazy_pattern(
    r"(?:speak|learn|know|understand|stud[yi]|support|translat|localiz|availabl|spr[ei]ch|lern"
    r"|versteh|übersetz|unterstütz|parl|appren|compren|tradu|soport|suport|habl|aprend|ent[ie]+nd"
    r"|fal[oa]?\Z|говор|знаю|учу|изуча|понима|перев|поддерж|공부|배우|번역|지원)"
    r"|.*(?:会说|会讲|学习|在学|支持|翻译|話せ|話し|勉強|翻訳|対応)"
)
"""Is done with several of the alternatives beside each other: `I speak German`."""


@lru_cache(maxsize=20_000)
def split_chosen_word_from_clause(stance: ClauseStance) -> tuple[str, frozenset[str]]:
    """The word of a choice among alternatives, and what else the clause says; no word without
    one, nor where one says nothing against another.
    """
    chosen = [word for word in stance.words if get_alternatives_of_word(word)]
    if len(chosen) != 1:
        return "", stance.words
    group = get_alternatives_of_word(chosen[0])
    nouns = next((nouns for member, nouns in GROUP_NOUNS.items() if group and member in group), ())
    stems = {fold_word_ending(noun) for noun in nouns}
    rest = frozenset(word for word in stance.words if word != chosen[0] and word not in stems)
    at = stance.order.index(chosen[0])
    near = (stance.order[0], *stance.order[max(0, at - 1) : at + 2])
    if any(_ONE_OF_MANY.match(word) for word in near):
        return "", stance.words
    return chosen[0], frozenset(word for word in rest if not word.isdigit())


@lru_cache(maxsize=20_000)
def list_verb_folded_clause_keys(stance: ClauseStance) -> frozenset[frozenset[str]]:
    """The content words of a clause, and again for each word that may be its verb with that one
    folded: the first, as in `no uses tabs`, with what stands apart from it in German, or the last,
    as in `nicht ausführen`.
    """
    first, *rest = stance.order
    verb = _fold_unless_chosen(first)
    keys = {stance.words, frozenset((verb, *rest))}
    if rest:
        keys.add(frozenset((first, *rest[:-1], _fold_unless_chosen(rest[-1]))))
        if rest[-1] in SEPARABLE:
            keys.add(frozenset((rest[-1] + verb, *rest[:-1])))
    return frozenset(keys)


def _fold_unless_chosen(word: str) -> str:
    return word if get_alternatives_of_word(word) else fold_european_verb(word)
