"""Statement patterns: a regular expression with the act it stands for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.statements.pattern_alternatives import (
    compile_alternatives_stepwise,
    match_alternatives,
)
from memorist.core.lazy import lazy_pattern

SENTENCE_CACHE_SIZE = 128
"""Sentences of which is remembered what a look at them alone tells: each reading of a message asks
the same of them.
"""

StatementAct = Literal["remember", "forget", "rule", "correction"]
"""What the user wants: remember this, forget that, work so from now on, work otherwise from now on.
"""


class StatementPattern(Struct, frozen=True):
    """One pattern.

    It is matched at the start of a sentence, after its lead-in; group `text` is the statement.
    """

    act: StatementAct
    pattern: str
    """The regular expression, matched without case."""
    rejects_task_words: bool = False
    """The phrase is also used of single tasks, so words that bind it to one task rule it out."""
    exception_pattern: str = ""
    """Matched against the statement's text; a match rules it out. Empty for none."""
    preceding_pattern: str = ""
    """The preceding sentence has to match this from its start. Empty for none."""
    may_ask: bool = False
    """Whether it is a complaint that people put as a question."""

    def match(self, sentence: str) -> re.Match[str] | None:
        """Match a sentence against the pattern."""
        return match_alternatives(self.pattern, sentence)

    def compile_stepwise(self) -> Iterator[None]:
        """Compile its expressions, as the first look at them would, one part at each step."""
        for each in (self.pattern, self.exception_pattern, self.preceding_pattern):
            if each:
                yield from compile_alternatives_stepwise(each)

    def is_exception_to_pattern(self, statement_text: str) -> bool:
        """Whether the statement's text is an exception to the pattern."""
        return (
            bool(self.exception_pattern)
            and match_alternatives(self.exception_pattern, statement_text) is not None
        )

    def can_follow_sentence(self, before: str) -> bool:
        """Whether the pattern may match after this sentence."""
        return (
            not self.preceding_pattern
            or match_alternatives(self.preceding_pattern, before) is not None
        )


_KINDS = {
    **{act: StatementPattern(act, "") for act in get_args(StatementAct)},
    **{
        f"{act} beyond tasks": StatementPattern(act, "", rejects_task_words=True)
        for act in get_args(StatementAct)
    },
    "rule as question": StatementPattern("rule", "", may_ask=True),
    "correction as question": StatementPattern("correction", "", may_ask=True),
}
"""What a pattern may be, by the words in front of it; those beyond tasks reject task words."""
_FIELDS = {"unless": "exception_pattern", "after": "preceding_pattern"}


def parse_statement_patterns(table: str) -> tuple[StatementPattern, ...]:
    r"""Read a table of patterns, whose expressions all ignore case. A row begins in the fifth column
    with what the pattern is, one with `#` is a comment. Below it, from the seventh column on, what
    is an exception (`unless`) and the sentence before (`after`). A line from the ninth column on
    goes on with the line above it, with nothing between.

        correction beyond tasks: (?P<text>stop using
            .+)
          unless: .*\bnow\b
    """
    found: list[StatementPattern] = []
    field = ""
    for line in table.split("\n"):
        text = line.strip(" ")
        match len(line) - len(line.lstrip(" ")):
            case _ if not text or text.startswith("#"):
                pass
            case 4:
                kind, _, expression = text.partition(": ")
                field = "pattern"
                found.append(replace(_KINDS[kind], pattern=expression))
            case 6:
                name, _, expression = text.partition(": ")
                field = _FIELDS[name]
                found[-1] = replace(found[-1], **{field: expression})
            case 8:
                found[-1] = replace(found[-1], **{field: getattr(found[-1], field) + text})
            case _:
                raise ValueError(
                    f"a line of the table begins in no column that means anything: {text}"
                )
    return tuple(found)


# Building blocks of the patterns: verbs that give an order, and phrases around them.


_VERBS = """
    add address adhere adopt align allow annotate answer apply archive ask assert assign assume attach avoid back batch begin branch break bring build bump call
    capture cast catch change check choose cite clean clear close collect combine comment commit communicate compare compile compress configure
    confirm consider consult convert copy count cover create cut debug declare deduplicate default defer define delete deploy describe design disable discuss
    display divide document download draft drop duplicate echo edit embed enable end enforce ensure escape estimate execute explain expose export
    extend extract fail favor favour fetch fill filter find finish fix flag focus follow force format generate get give go group guard guess handle
    highlight hard-code hardcode hide ignore implement import include increment indent infer inform inject inline insert inspect install integrate introduce
    invent isolate join keep label lead leave let leverage limit link lint list load lock log look lower maintain make mark match measure mention merge
    migrate minimise minimize mock modify mount move name nest note notify number offer omit open optimise optimize order organise organize output
    overwrite package parse pass paste pause perform pick pin place plan point post prefer prefix prepare present preserve print prioritise
    prioritize produce propose provide publish pull push put query quote raise re-run read rebase recommend record redirect reduce refactor refer
    reformat refresh regenerate release reload rely remind remove rename reorder repeat rephrase replace reply report request require rerun reset
    resolve respect respond restart restore restrict retain retry return reuse revert review rewrite roll run save say scan schedule scope search
    see send separate set ship shorten show sign simplify skip sort speak specify split squash stage stash start state stay stick stop store
    stub structure submit suffix suggest summarise summarize suppress switch sync tag take talk target tell terminate test think throw touch track
    translate treat trim trust try turn type uninstall update upgrade upload use validate verify version wait warn watch work wrap write
"""

VERBS = frozenset(_VERBS.split())
"""The base forms of verbs that order something."""
VERB = "(?:" + "|".join(sorted(VERBS, key=lambda verb: (-len(verb), verb))) + ")"
"""One of them."""

NEGATION = r"(?:don['’]?t|do not|dont)"
SOFTENERS = (
    r"(?:(?:please|pls|kindly|also|just|only|do|really|then|simply|first|instead|either|"
    r"ever|at least)\s+)*"
)
_NOT_AN_ORDER = (
    r"(?! (?:worry|hesitate|mind|bother|know|see|understand|have|get|like|want|need|believe|"
    r"care|give up|say never"
    r"|look forward|be afraid)\b)"
)
ORDER = (
    rf"(?:{SOFTENERS}(?:{NEGATION}{_NOT_AN_ORDER}|always|never|no more|avoid|be|{VERB})\b(?!['’]s))"
)
"""The beginning of an order."""
ANY_ORDER = (
    r"(?:(?!(?:i|it|this|that|these|those|he|she|they|you|we|there|here|why|how|what|when|where|who|"
    r"does|do|is|are|was|the|a|an|my|our|your|their|some|any|every\w*|no\w*|all|both|each|people|maybe|"
    r"perhaps|if|not|almost|nearly|still|just|and|but|so)\b)"
    r"[a-z]{3,}(?<!ed)(?<!s)(?<!ing)(?<!ly) "
    r"(?!(?:is|are|was|were|has|have|had|does|did|can|will|should|must|would|may|might|could|needs?|"
    r"fails?|\w+ly)\b))"
)
"""The beginning of an order whose verb may be any; of a statement where its subject is one word."""

CONDITION = (
    r"(?:if|when|whenever|every ?time|anytime) (?:(?:i|we|you)(?:['’](?:m|re|d|ve))? )?(?:ask|booking|travelling|traveling|flying|ordering|shopping|cooking|choosing|requesting|request|look|looking|"
    r"want|wants|book|booking|fly|mention|talk|search|searching|travel|order|plan|planning|discuss|say|need|"
    r"go|visit|buy|watch|listen|eat|inquire|choose|rent|reserve|make|am|are(?! (?:done|finished|ready|back)\b))\b(?:(?! (?:how|what|why|does)\b)"
    r"[^?]){2,120}?(?:,|\bthen\b| (?=give me|make sure|show me|use|always)) ?(?:please |always |then |you should )*"
    r"(?:make sure|give|use|show|include|mention|tell|provide|suggest|i['’]d (?:prefer|like|rather)|i (?:always |"
    r"usually |only |would )?(?:prefer|want|like)|my (?:favou?rite|preferred|go-to|usual)|it should|it must|"
    r"the [^?,]{1,40} (?:should|will|must|needs? to) be|always|never|list|format|answer|recommend|search|only)"
    r"\b"
)
"""A condition of what the person will ask for, and what then holds: "when I ask for recipes, …"."""

_REFUSED_WAY = r"(?:not (?:like )?(?:that|this)|nicht so|so nicht|pas (?:comme )?ça|así no|asi no|eso no|assim n[ãa]o|isso n[ãa]o|не так|не то)"
REFUSAL = (
    rf"(?:(?:(?:no|nope|nah|nein|nee|non|n[ãa]o|нет|не)(?:[\s,]+(?:no|nein|non|n[ãa]o|нет|wait))*(?:[\s,]+{_REFUSED_WAY})?|{_REFUSED_WAY}|wait,? no|wrong|not quite|that['’]?s (?:wrong|not right|"
    r"incorrect|outdated|not how .{1,30})|incorrect|不是)\s*[,.!:;–—，。！、：-]+\s*|(?:(?:不对|错了|不行|違う|違います|いや|いいえ|아니(?:요|야)?)[\s,.!:;–—，。！、：-]*)+(?<=[\s,.!:;–—，。！、：-]))"
)
"""Begins a correction: "no, not like that, …", "no no así no, …", 不对不对，…."""

PROJECT_NOUN = (
    r"(?:repo|repos|repository|repositories|project|projects|codebase|code base|monorepo|team|"
    r"company|org|organisation"
    r"|organization|workspace)"
)

FROM_NOW_ON = (
    r"(?:from (?:now|here|this point|today) on(?:wards?|ward)?(?: out)?|from here on(?: out)?|"
    r"going forward|moving forward|starting (?:today|now)"
    r"|in (?:the )?future"
    r"|henceforth|for (?:all )?(?:the )?future (?:sessions|work|tasks|changes|conversations|"
    r"projects|chats|runs|commits)"
    r"|in (?:all )?(?:our )?future (?:sessions|work|tasks|changes|conversations|chats)|for "
    r"next time|as a (?:general )?rule"
    r"|as a rule of thumb)"
)
"""Says that what follows holds from now on."""

_LEAD_IN = lazy_pattern(
    r"(?:(?:ok|okay|k|yes|yeah|yep|yup|sure|good|great|great work|good work|nice|nice work|"
    r"cool|perfect|thanks|thank you|thx"
    r"|alright|right|exactly"
    r"|and|also|but|so|well|btw|by the way|fyi|hey|hi|hello|please|pls|oh|ah|ach|übrigens|au fait|por cierto|aliás|now|then|one more "
    r"thing|one thing|another thing|um+|uh+|uhm|erm|eu?h+|alors|hm+|hmm+|ey|moin|hallo|hola|salut|bonjour|olá|oi|привет|слушай|non mais|mais non|nein aber|no pero|não mas|нет но|ну"
    r"|for the record|quick note|just so you know|to be clear|heads[- ]up|pour info|zur info|para que sepas|last thing|finally|remark"
    r"|(?:basically|essentially|anyways?|honestly|you know|i guess|bon|ben|du coup|en fait|bueno|pues|o sea|bom|naja|tja|im grunde|grundsätzlich|короче|в общем)"
    r"(?=[ ,]+(?:from now on|going forward|in future|always|never|please|don['’]?t|ab jetzt|künftig|in zukunft|immer|niemals|bitte|à partir|désormais|toujours|jamais|ne |de ahora|a partir|siempre|nunca|sempre|no |não |"
    r"basically|like|so|yeah|okay|с этого|отныне|всегда|никогда|не ))|like(?= (?:always|never|from now on)\b)"
    r"|next(?! time\b)|sorry|look|listen|important|rule|reminder|actually|got it|looks good|lgtm)"
    r"(?:\s*[,.:;!–—-]+\s*|\s+)|(?:update|correction|edit|news|info|note|nb|ps|tip|merke|wichtig|nota|remarque|важно|hinweis|korrektur|correctif|corrección|correção|уточнение)\s*[:–—]\s*)+",
    re.IGNORECASE,
)
_FORMER_ORDER = lazy_pattern(
    r"(?:i(?:['’]ve| keep)? (?:already |just |clearly |repeatedly )?(?:said|told you|telling you|saying)(?: already| before| so| \w+ times)*\s*[:,–—-]"
    r"|(?:wie )?(?:ich )?(?:sagte|hab(?:e)?|hatte)(?: (?:ich|es|dir|euch|doch|ja|schon|bereits|mehrfach|gesagt|geschrieben))*\s*[:,–—-]"
    r"|(?:je (?:te|vous|l)['’ ]?(?:ai|avais)|j['’](?:ai|avais))(?: déjà| bien)* (?:dit|demandé)(?:\s*[:,–—-]| que\b| de\b| (?=d['’]))"
    r"|(?:yo )?(?:ya )?(?:te |les |os )?(?:dije|he dicho|había dicho|pedí)(?:\s*[:,–—-]| que\b)"
    r"|(?:eu )?(?:já )?(?:te |lhe |vos )?(?:disse|falei|avisei|pedi)(?: já)?(?:\s*[:,–—-]| que\b| para\b| pra\b)"
    r"|(?:я )?(?:же |уже |ведь |тебе |вам )*(?:говорил|сказал|просил|писал)а?(?: уже| же| тебе)*(?:\s*[:,–—-]| что\b)?)\s*",
    re.IGNORECASE,
)
"""The user quotes an order of their own: what follows is their word."""
_LEAD_IN_WIDE = lazy_pattern(
    r"(?:(?:注意|备注|メモ)(?=[：:])|好的?|可以|行|嗯|对了|另外|还有|顺便|顺便说一下|そういえば|ところで|谢谢|那|请|麻烦|麻烦你|你|最后|然后|(?:네|넵|예|응|어|아|음|아니|아니요|아뇨|좋아요?|좋습니다|고마워요?|감사합니다|"
    r"그리고|그런데|근데|참고로|참|자|미안|죄송|잠깐|제발)(?=[\s,.!~]))[，,。！!、：:.~\s]*(?=\S)"
)


@lru_cache(SENTENCE_CACHE_SIZE)
def find_lead_in_end(text: str) -> int:
    """Return where a sentence begins after greetings, thanks and connecting words."""
    at = 0
    for lead_in in (_LEAD_IN, _FORMER_ORDER):
        match = lead_in.match(text, at)
        if match and match.end() < len(text):
            at = match.end()
    wide = _LEAD_IN_WIDE.match(text, at)
    while wide:
        at = wide.end()
        wide = _LEAD_IN_WIDE.match(text, at)
    return at
