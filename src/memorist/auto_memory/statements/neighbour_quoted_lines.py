"""Lines of a typed message that its other lines show or speak of: "my boss's slide" above a rule, "who
said this" below it. Pure.

A user types the same lines as their own, so such a rule is not dropped: it waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memorist.auto_memory.statements.sentence_language import is_english
from memorist.auto_memory.statements.statement_patterns import ORDER, VERB, find_lead_in_end
from memorist.auto_memory.statements.user_prose import INTERJECTION_WORDS, PROSE_CACHE_SIZE
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

_BULLET = lazy_pattern(r"^(?:[-*•·]|\d{1,2}[.)])\s+")
_TEXT_NOUN = (
    r"(?:(?:lines?|sentences?|rules?|texts?|paragraphs?|wiki|readme|contributing|manual|docs?|documentation|handbook|slides?|questions?|answers?|(?:test )?cases?|samples?|prompts?|slogan|hint|"
    r"copy|notes|transcripts?|story|criteria|acceptance|comments?|policy|e?-?mails?|quotes?|tickets?|reviews?|articles?|posts?|tweets?|screenshots?|captions?|headlines?|poem|song|lyrics|joke|"
    r"examples?|snippets?|regex|variant \w|whiteboard|handbuch|zeile|satz|regel|anleitung|consigne|phrase|texte|règle|manuel|frase|texto|regla|regra|línea|linha|строк\w|фраз\w|правил\w|текст\w*)"
    r"(?: (?:for|of|in|on|from|by|with|about|to|was|is|de|du|da|do|von) [^.!?]{1,24}| (?:was|is)|,? \w+ \w| ?\d+)?$)"
)
"""A text at the end of a line."""
_SAYS = (
    r"(?:says?|said|wrote|writes|written|told (?:me|us|you)|tells|suggests?|suggested|answers?|answered|replies|replied|left|demands?|typed|posted|sent|claims?|insists?|recommends?|reads?|states?|"
    r"printed|prints|removed|dropped|has this|steht|sagt|schreibt|meint|verlangt|dit|écrit|demande|dice|escribió|pide|diz|escreveu|pede|está (?:no|na|en)|написано|пишет|сказал\w?|говорит|требует|kommentiert\w*|geantwortet|gepostet|geschickt|commenté|répondu|posté|envoyé|comentó|comentou|respondió|respondeu|publicó|postou|mandó|mandou|envió|enviou|sugirió|sugeriu|propuso|propôs|avisó|avisou|прокомментировал\w*|ответил\w*|прислал\w*|написал\w*|предложил\w*)"
)
_OWN = lazy_pattern(
    r"\W*(?:(?:my|our|new|one|another|house|ground|general|some|two|three|few|more) )+(?:rules?|notes?|preferences?|reminders?|things?|comments?)\b"
    r"|\W*(?:i|we|ich|wir|je|nous|yo|eu|я|мы|我|私)\b(?! (?:got|found|read|see|saw|have here|disagree|don['’]?t (?:agree|like)|hate)\b)"
    rf"|\W*(?:please |just |also |and |then )*(?:(?:can|could|would|will) (?:you|we)|let['’]?s|(?:\w+ly )?(?:{VERB}|dig|investigate|brainstorm|explore|continue|proceed|analy[sz]e|figure out|double-?check|recheck|rethink|debug|research))\b(?! (?:case|sentence|phrase|input|string|message|prompt|line|utterance))"
    r"|\W*(?:who|what|why|where|which|how|when|is|are|was|does|do|did|should|can|could)\b[^.!?]*\b(?:you|we|i)\b",
    re.IGNORECASE,
)
"""Speaks of the user's own rules or work, or asks for a task."""
_PLACES_TEXT = lazy_pattern(
    r"\W*(?:please |just |also |and |then |(?:can|could|would|will) you )*(?:(?:put|write|insert|append|print|say|repeat|type|quote|copy|paste|translate)\b[^.!?]*\b(?:this|that|following|after me)\b[^.!?]{0,30}$"
    r"|(?:put|add|write|insert|append|print|say|type|quote|copy|paste|show|include|match|rate|translate|set|use)\b[^.!?]*\b(?:(?:this|that|following) (?:line|sentence|text|rule)|line|sentence|placeholder|"
    r"(?:in|to|into) (?:the |our )?(?:readme|docs?|contributing|wiki|handbook))\b[^.!?]{0,30}$"
    r"|[^.!?]*\b(?:where|in which|when|if) (?:\w+ ){1,3}(?:says?|said|writes?|wrote|types?|typed|sends?|sent|asks?|asked)\W*$"
    r"|[^.!?]*\b(?:saw|found|read|got|came across) (?:this|these|those|that|them|it|an?|some|the following)(?: [\w-]+){0,2} (?:on|in|at|from|by)\b.{0,60}$"
    r"|(?:(?:i|we)(?:['’]ve| have)?(?: just)? )?(?:copied|pasted|transcribed|typed (?:up|out)|scanned|screenshotted|photographed)\b[^.!?]{0,80}$"
    r"|[^.!?]*\b(?:kopiert|abgetippt|abgeschrieben|fotografiert)\W*$|\W*(?:(?:j['’]ai|he|yo|eu|я) )?(?:copi[ée]|recopié|copiado|copiei|скопировал\w*|списал\w*) [^.!?]{0,80}$"
    r"|[^.!?]*\b(?:do|does|are|is) (?:these|those|they|this|that|it) (?:\w+ ){0,2}(?:make sense|hold|apply|true|valid|any good|worth|good|useful)\b[^.!?]{0,30}\?\W*$"
    r"|[^.!?]*\bwhat(?:['’]s| is| are| was| were| does| do| did) (?:he|she|they|(?:the|my|our|this|that|a) (?:[\w-]+ )?[\w-]+) (?:wants?|means?|meant|asks?|asking|expects?|says?|said|saying|complains?|complaining|tells?|telling|suggests?|suggesting|on about)\b[^.!?]{0,40}[.!?]*\W*$"
    r"|[^.!?]*\b(?:what|who|where|why|is|are|does|do|did|should)\b[^.!?]*\b(?:this|these|the following) (?:lines?|sentences?|texts?|rules?|paragraphs?|quotes?|messages?|e?-?mails?|instructions?|wording|sign)\b"
    r"[^.!?]{0,40}\?\W*$)",
    re.IGNORECASE,
)
_INTRODUCES = lazy_pattern(
    rf"\b{_TEXT_NOUN}|\b{_SAYS}\b[^.!?]{{0,30}}$|\b(?:this|that|these|the following|the opposite)(?: (?:in|on|from|of|with|at) [^.!?]{{1,30}})?$"
    r"|^\W*(?:from|in|on|aus|dans|en|na|no|в) (?:the|a|an|our|their|his|her|dem|der|le|la|el|o|a) [^.!?]{1,40}$|^\W*(?:(?:my|our|the|a) )?[\w-]+['’]s [\w-]+$"
    r"|(?:^\W*(?:in english|en français|en español|em português|in german|in french|in spanish)|\b(?:auf deutsch|по-русски))\W*$|^\W*(?:given|when) (?:an?|the|it|i|we)\b[^.!?,]*$|(?:写着|写道|上写|里写|说|如下)[^。]{0,10}$"
    r"|(?:書いて(?:ある|あった)?|言って(?:いた|た)?|とのこと|日本語にして|英語にして|訳して)$|^\W*(?:voici|voilà|aquí (?:está|tienes)|aqui está|вот|hier (?:ist|kommt)|here (?:is|are|comes?))\b",
    re.IGNORECASE,
)
"""Ends with a text, or with who said something: what is below it may be that."""
_OF_A_COMPARISON = lazy_pattern(
    r"(?:[:：;–—]|,(?= (?:expected|actual|got|received)\b))\s*(?:the |it |we |i )?(?:expected|actual|got|received|wanted|given|before|after|inputs?|outputs?|results?|was|reads?|should (?:be|read|say|print|return)|erwartet|bekommen|vorher|nachher|attendu|obtenu|esperado|"
    r"obtenido|obtido|ожидалось|получено)(?: (?:output|result|text|value|message))?\W*$",
    re.IGNORECASE,
)
"""Ends with one side of what is compared, behind a colon or comma: its text is below."""
_RIDICULES = lazy_pattern(
    r"\W*(?:\w+ ){0,2}?(?:(?:this|that|these|those|it)(?:['’]s| is| are| was)|what) (?:(?:so|just|such|pure|total|complete|utter|absolute|really|a|an) )*"
    r"(?:garbage|rubbish|nonsense|bullshit|bs|crap|trash|hilarious|funny|ridiculous|absurd|insane|cringe|spam|satire|jokes?|gold|stupid|silly|laughable|quatsch|unsinn|absurde|ridicule|ridículo|basura|lixo|бред|чушь)\W*$",
    re.IGNORECASE,
)
"""Laughs at a text, or at what the agent did: a line below it may be that text."""
_MARKER = lazy_pattern(
    r"\s*(?:[@📎🖼]?\ufe0f?\s?[\w./~-]+\.(?:md|txt|rst|adoc|pdf|docx?|html?|json|ya?ml|toml|ini|cfg|csv|log|py|js|ts|go|rs|java|rb|sh)\W*$|[\[<＜{\\«].*[\]>＞}»]\W*$|[@%]{2}|commit [0-9a-f]{7}|"
    r"(?:author|committer|date|from|scenario|feature):\s.*|-{3,}.*|={3,}.*|~{3,}|<[|<]|\[/?\w+|.*<<-?\s?['\"]?\w+['\"]?\s*$|\W*(?:begin|end)\b.*|expected\b.*|(?:input|output|question|answer)s?\W*$"
    r"|line \d+.*|.{0,60}[\[(]\d{1,2}:\d\d[^\])\n]{0,6}[\])](?: \S+){0,2}\s*$)",
    re.IGNORECASE,
)
"""A name of a file, a bracketed line, a head of a commit, a time in front of a speaker, a fence."""
_COMMENTS = lazy_pattern(
    r"\W*(?:and |so |but |ok,? )*(?:(?!how['’]s it)(?:who|what|why|where|which|whose|how|when)\b[^\n]{0,50}\b(?:this|that|it|they|he|she|him|her|there|say|said|wrote|mean|means|means?|from|file|line|commit|hunk|template|printed|"
    r"answer|think)\b[^\n]{0,20}$|(?!do (?:it|this|that)\W*$|is (?:this|that|it) (?:clear|ok(?:ay)?|understood|possible|fine)\b)(?:is|are|was|does|do|did|should|can|could|may|must) (?!it make)(?:this|that|it|they|he|she|those|these|(?:i|we) (?:refuse|accept|follow|ignore|sign|obey|believe|trust)\b|the [^\n]{0,40}\b(?:file|text|line|rule|comment|front matter|template)\b)"
    r"[^\n]{0,40}$|which (?:(?:one )?of (?:these|those|them|the)\b|(?:comment|answer|reply|option|review|opinion|line|quote|post)s?\b)[^\n]{0,40}$|(?:true or false|thoughts|opinions?|agree|right|correct|really|lol|lmao|haha|wtf|legit|spam)\W*$|(?:explain|score|decode|count|summari[sz]e|shorten|rate|parse|rewrite|translate)\b(?! (?:your|my|our|what|how|why|the (?:work|changes?|plan|code|pr|diff)))[^\n]{0,30}$|"
    r"(?:make|remove|drop) (?:it|the (?:signature|table|quote|text|line|comment|wording))\b|is too (?:long|short)|(?:we|they|i) (?:dropped|removed|changed|hate|like) (?:it|that)\b|it (?:does not|doesn['’]?t) (?:compile|"
    r"render|parse|work)|(?:stimmt|gilt) das|was (?:soll|heißt) das|on fait quoi|c['’]est (?:vrai|quoi)|qué (?:hacemos|significa)|es (?:verdad|cierto)|faz sentido|é verdade|это (?:так|правда)|что это|правда ли|对吗|真的|什么意思|本当|どういう)",
    re.IGNORECASE,
)
"""Asks or says something about the line above it."""
_OF_A_FAILURE = lazy_pattern(
    r"\bth(?:is|e) (?:error|exception|bug|failure|crash|stack ?trace|traceback)\b", re.IGNORECASE
)
"""Asks about a failure, which no rule or wish above it is."""
_WRAPPED = lazy_pattern(
    r"(?i:\s*(?:nit(?:pick)?s?|praise|thought|(?:suggestion|issue|chore|question|todo|note)\s?\((?:non-|if-)?[\w-]+\))\s?:\s)|\s*(?:/\*|//|--\s|\{\{|<!--|%%|\.\. |[|<＜[]|REM\b|;;)|.*(?:\*/|\}\}|-->)\s*$|.*[.!。]\s*(?:->|→|=>)\s*[\w ]{1,20}$|.*[.!。]\s*\([^()\n]*\d{4}[^()\n]*\)\s*$|.*\s(?:--|—|–)\s?[^\s.]+ ?[(\[@].*\d.*$"
    r"|.*[.!。]\s*(?:[-–—~]{1,2}|by\b)\s?[^\s.!?,]+(?: [^\s.!?,]+){0,2},? (?:\d+ ?\w{1,7} ago|yesterday|today|just now|\d{1,2}:\d\d)\W*$"
    r"|.*[(\[][^()\n]{0,12}\b(?:(?:up-?|down-?)?votes?|likes?|points?|stars?|replies|reactions?|karma)\b[^()\n]{0,12}[)\]]\s*$"
)
_OWN_HEADING = lazy_pattern(
    r"\W*(?:(?:my|our|the|some|a few|two|three|general|new|other|coding|code|team|project|house|one|another|more|last) )*(?:rules?|preferences?|style|tooling|tools|testing|tests|git|commits?|setup|stack|"
    r"conventions?|backend|frontend|general|context|constraints|requirements|notes?|reminders?|important|workflow|process|formatting|naming|docs|tasks?|todo|goals?|things?|background|scope|summary|"
    r"(?:for|in|on) (?:this|our|my|the|all|every)(?: \w+){1,3}|regeln|aufgabe|règles|tâche|reglas|tarea|regras|tarefa|правила|задача|规则|任务|ルール|タスク)\W*$",
    re.IGNORECASE,
)
"""What a user writes above a part of their own message."""
_NEUTRAL = lazy_pattern(
    r"\W*$|\s*(?:https?://\S+|[#!]?\d+|[A-Za-z]:\\\S+|/\S+|```.*|\[request interrupted.*)\s*$",
    re.IGNORECASE,
)
"""A number, an address, a path, a fence: it says nothing of the line beside it."""
_TALK = lazy_pattern(
    rf"\W*(?:{INTERJECTION_WORDS}|btw|fyi|hi|hey|hello|dear|hallo|hola|salut|bonjour|olá|oi|moin|привет|你好|お世話)(?:\W|$)"
    r"|\W*(?:before (?:we|i|you)|one more thing|heads.?up|by the way|first of all|quick (?:note|question))\b"
    rf"|\W*(?:(?:please|pls|just|also|and|then|now|so|but|well|actually|ok(?:ay)?|no|yes|first|next|finally)[\s,]+)*(?:(?:can|could|would|will) (?:you|we|i)|let['’]?s|{ORDER}|from now on|in (?:the )?future|"
    r"remember|i|we|my|our|you|it|there|ich|wir|du|je|nous|on|tu|yo|eu|nós|a gente|я|мы|ты|我|我们|你|私|僕)\b",
    re.IGNORECASE,
)
"""Begins as the user talks to the agent."""
_VERB_INSIDE = lazy_pattern(
    r"\b(?:is|are|was|were|be|been|has|have|had|do|does|did|can|could|should|must|will|would|may|might|needs?|isn['’]t|aren['’]t|won['’]t|don['’]t|doesn['’]t|didn['’]t|can['’]t)\b(?!\W*$)"
    r"|\w+['’](?:s|re|ve|ll) \w+ing\b|\w \w{3,}ed\b(?!\W*$)"
    rf"|\w \w+s (?:on|in|at|to|when|with|for|the|an?|no|not|nothing|too|very|again|every|after|before|because|if|\d+)\b|^\W*\w+s (?:\w+ )?{VERB} ",
    re.IGNORECASE,
)
_POINTS = lazy_pattern(
    r"\W*(?:please |can you |could you |just |now |and |then |why |so )*(?:make|reply|respond|answer|tag|clean|modernis\w+|moderniz\w+|translate|shorten|rewrite|rephrase|format|proofread|explain|rate|parse|score|insert|file|label|post|quote|summari\w+|remove|delete|drop|ignore|correct|improve|polish|load|import|count|decode|convert|reject|accept|forward)(?: \w+)? (?:it|that|them|this)(?: (?:up|out|down|off|bold|shorter|longer|away|to \w+|in \w+|into \w+|please))*\W*$"
    r"|\W*(?:seems?|looks?|sounds?|feels?|got|gets|should|shall)(?: \S+){1,2}\W*$|\W*(?:saw|found|came|taken|copied|pasted|quoted|seen|via|source|quelle|fuente|fonte|per favore|per|von|por|par|aus|\^|<-|←|↑|\()\b|\W*[\^←↑]"
    r"|\W*not (?:my|mine|our|ours)\b|\s*(?:--|—|–|~)\s?\S|\s*\[(?:\.\.\.|…)\]|\s*\(",
    re.IGNORECASE,
)
"""Says something of the line above without naming it, or whose it is."""
_TURNED = lazy_pattern(r"[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of reading, which nobody types."""
MIN_FOREIGN_WORDS = 3
"""Words from which a line in a language without a list of verbs counts as talk; of a Chinese or
Japanese line, three times as many characters."""
MAX_NEIGHBOUR_CHARS = 120
"""Characters of the longest line that introduces another: a longer one is a sentence of its own. Of a
line itself and of the one below it only the beginning is looked at.
"""
MAX_EXAMINED_LINES_PER_END = 100
"""Lines at the beginning and at the end of a message that are looked at."""


@lru_cache(2 * PROSE_CACHE_SIZE)
def find_lines_quoted_by_neighbours(
    text: str, *, fragments_introduce: bool = True
) -> frozenset[str]:
    """The lines of a typed text that the line above introduces or the one below speaks of, or that
    stand beside one that is no talk of the user's; and those that a program's mark wraps. The line
    above a list introduces all of its items. `fragments_introduce` false leaves out what only stands
    below a line that is no sentence, such as a heading of the user's own.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 2 * MAX_EXAMINED_LINES_PER_END:
        lines = lines[:MAX_EXAMINED_LINES_PER_END] + lines[-MAX_EXAMINED_LINES_PER_END:]
    return frozenset(_list_shown(lines, fragments_introduce))


def _list_shown(lines: list[str], fragments_introduce: bool) -> Iterator[str]:
    in_list = [_BULLET.match(line.lstrip()) is not None for line in lines]
    leads = list(_list_leads(lines, in_list))
    ends = list(_list_leads(lines[::-1], in_list[::-1]))[::-1]
    for at, line in enumerate(lines):
        above, below = lines[at - 1] if at else "", lines[at + 1] if at + 1 < len(lines) else ""
        if (
            _TURNED.search(line[:MAX_NEIGHBOUR_CHARS])
            or _WRAPPED.match(line[:MAX_NEIGHBOUR_CHARS])
            or any(
                introduces_next_line(_strip_lead_in(each), fragments_introduce)
                for each in {above, leads[at]}
            )
            or any(
                speaks_of_previous_line(_BULLET.sub("", each.strip())[:MAX_NEIGHBOUR_CHARS])
                for each in {below, ends[at]}
            )
        ):
            yield line


def _list_leads(lines: list[str], in_list: list[bool]) -> Iterator[str]:
    """For each line of a list the line before the list; nothing for another line."""
    lead = ""
    for line, is_item in zip(lines, in_list, strict=True):
        yield lead if is_item else ""
        if not is_item:
            lead = line


def _strip_lead_in(line: str) -> str:
    """A line without its bullet, and without "yes, now" in front of more."""
    body = _BULLET.sub("", line.strip())
    return body[find_lead_in_end(body) :]


def introduces_next_line(above: str, fragments_introduce: bool) -> bool:
    """Whether a line shows the one below it, or is no talk of the user's where that counts."""
    if not 0 < len(above) <= MAX_NEIGHBOUR_CHARS:
        return False
    if _MARKER.match(above) or _PLACES_TEXT.match(above) or _OF_A_COMPARISON.search(above):
        return True
    if _NEUTRAL.match(above) or _OWN_HEADING.match(above) or _OWN.match(above):
        return False
    if _INTRODUCES.search(above):
        return True
    return fragments_introduce and (_RIDICULES.match(above) is not None or not _is_talk(above))


def speaks_of_previous_line(below: str) -> bool:
    """Whether a line asks or says something about the one above it, or whose that is."""
    if _NEUTRAL.match(below) or _OF_A_FAILURE.search(below):
        return False
    return _COMMENTS.match(below) is not None or _POINTS.match(below) is not None


def _is_talk(line: str) -> bool:
    """Whether a line reads as a sentence of the user's; in doubt about a language it does."""
    if _TALK.match(line) or line.rstrip().endswith(("?", "？", "!", "！")):
        return True
    wide = count_cjk_letters(line)
    words = line.lower().split()
    if wide or not is_english(words):
        return len(words) + wide / 3 >= MIN_FOREIGN_WORDS
    return _VERB_INSIDE.search(line) is not None
