"""Lines of a typed message that say nothing by themselves: "my horoscope today", "grade it", "who
wrote that?". Pure.

What such a line speaks of may be the line beside it, and then that one is a text of somebody else.
There are endlessly many of them, so they are not listed: a line counts as the user's own talk where
it can be read alone, and in doubt the rules beside it wait.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.sentence_language import is_english
from memorist.auto_memory.statements.statement_patterns import ORDER, find_lead_in_end
from memorist.auto_memory.statements.user_prose import INTERJECTION_WORDS, extract_prose_lines
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import count_cjk_letters

MIN_WORDS = 3
"""Words of the shortest English sentence that is read alone; two wide letters are one."""
MIN_FOREIGN_WORDS = 4
"""The same in another language, in which no list tells a sentence from a heading."""
SURE_WORDS = 10
"""Words from which a line holds what it points at."""
MAX_EXAMINED_CHARS = 400
"""Characters of a line that are looked at."""

_WORK_NOUN = (
    r"(?:error|exception|bug|failure|crash|trace\w*|branch|pr|pull request|mr|issue|commit(?! message)|test|tests|build|"
    r"job|pipeline|repo\w*|project|codebase|app|function|class|method|module|package|folder|directory|time|week|way)\b"
)
_TEXT_NOUN = (
    r"(?:words?|wording|texts?|sentences?|lines?|paragraphs?|titles?|headings?|headlines?|captions?|slogans?|banners?|footers?|fonts?|quotes?|docs? page|cards?|poem|story|stories|"
    r"draft|letter|e?-?mail|message|translation|grammar|spelling|tone|variants?|versions?|synonyms?|rhymes?|syllables?|fixtures?|test cases?|examples?|prompt|"
    r"text\w*|satz\w*|zeile|titel|spr[uü]che?|phrases?|titre|affiche|plakat|cartel|cartaz|poster|slide|texte|frases?|título|texto|фраз\w*|текст\w*|заголовок)"
)
"""A text or a part of one."""
_OF_A_TEXT = lazy_pattern(rf"\b{_TEXT_NOUN}\b|[句词段]|文[章本字]|标题|文案", re.IGNORECASE)
_SHOWS = lazy_pattern(
    r"\b(?:(?:this|these)(?=\W*\Z|\s?[,.;:!?]| (?:is|are|was|were|and|or|but|for|on|in|at|to|from|by|with|as|up|out|off|into|yesterday|today|goes?|came|means?|says?|should|must|will|would|can|ones?|questions?|"
    rf"{_TEXT_NOUN})\b)|following|below|above|das hier|ça|cela|ceci|esto|isto|isso|это)\b|(?:这|那)(?:个|段|句|条)?|[こそ]れ|이거|이건",
    re.IGNORECASE,
)
"""Points at what stands beside it, however long the line is."""
_POINTS = lazy_pattern(
    rf"\b(?:(?:this|that|these|those)(?! {_WORK_NOUN})|following|below|above|it|its|he|she|him|her|his|they|them|their|one|ones|here"
    r"|das|dies\w*|ça|cela|ceci|iss[oa]|это|es|er|sie|ihn|ihm|ce|cette|ces|il|elle|es[eoa]s?|est[ea]s?|él|ella|lo|ist[oa]|ess[ea]s?|ele|ela"
    r"|эт\w{1,3}|он|она|его|её|ему|ей)\b|[这那它他她其]|[こそあ]れ|[こそあ]の|이거|이건|그거|이게|[이그] ",
    re.IGNORECASE,
)
"""Points at something else; a long line mostly holds that itself."""
_ENDS_OPEN = lazy_pattern(
    r".*\b(?:says?|said|writes?|wrote|reads?|prints?|shows?|told (?:me|us|you)|answers?|answered|commented|posted|sent|sends|wants?|means?|meant|on about|expected|actual|received|got|typed|types|"
    r"sagt|schreibt|schrieb|kommentiert|geschrieben|geschickt|dit|écrit|commenté|dice|escribió|comentó|diz|escreveu|comentou|написал\w?|сказал\w?|пишет)\W*\Z",
    re.IGNORECASE,
)
"""Ends where what somebody says, or a program prints, is to follow."""
_LABEL = lazy_pattern(r"(?:todo|fixme|task|bug|also|note|step \d+)\s?[:：]\s+", re.IGNORECASE)
_WORK = lazy_pattern(
    r"\W*(?:(?:please|pls|now|then|and|also|just|ok|okay|yes|yep|first|next|finally|can you|could you|let['’]?s|i want to|we need to|you can)[\s,]+)*"
    r"(?:(?:(?:re-?)?(?:run|build|deploy|install|start|implement)|commit|push|pull|merge|rebase|debug|continue|proceed|go (?:on|ahead)|investigate|refactor|lint|ship|upgrade|migrate|bump)\b"
    r"|(?:do|try|fix|apply|commit|push|merge) (?:it|this|that|them|both|all|again)(?:\W+(?:again|now|all|please))*\W*\Z)",
    re.IGNORECASE,
)
"""Asks for work that is done on no text, or for what the agent offered."""
_SENTENCE = lazy_pattern(
    rf"\W*(?:at|(?:can|could|would|will|do|did|are|is|does|should) (?:you|we|i|the)|let['’]?s|{ORDER}|i|we|you|what|why|how|where|when|who|which)\b|.*[?？]\s*\Z"
    r"|.*\b(?:is|are|was|were|been|has|have|had|does|did|can|could|should|must|will|would|may|might|needs?|isn['’]t|aren['’]t|won['’]t|don['’]t|doesn['’]t|didn['’]t|can['’]t)\b"
    r"|.*\b(?:fail|crash|break|hang|throw|return|work|compile|load|render|time)s?(?:es)?\b|.*\w \w{3,}ed\b(?!\W*\Z)",
    re.IGNORECASE,
)
"""Has a verb, as a sentence of the user's does and a heading does not."""
_NEUTRAL = lazy_pattern(
    rf"\W*\Z|\s*(?:https?://\S+|[#!]?\d+|[A-Za-z]:\\\S+|/\S+|\[request interrupted.*)\s*\Z|\W*(?:(?:{INTERJECTION_WORDS}|(?:great|good|nice) (?:work|job|catch|call|find)|hi|hey|hello|hallo|hola|salut|bonjour|olá|oi|moin|привет|你好|(?:is (?:that|this) )?(?:clear|understood))\W*)+\Z",
    re.IGNORECASE,
)
"""A number, an address, a path, a word of thanks: it says nothing of the line beside it."""
_OWN_RULES = lazy_pattern(
    r"\W*(?:(?:and|also|here are|these are|some|a few|new|general|important|one|two|three|more|the|my|our|project|coding|code|team|style)[\s,]+)*"
    r"(?:things?|rules?|preferences|conventions|guidelines|reminders|regeln|règles|reglas|regras|правила|规则|ルール|규칙)(?: (?:for|in|of) (?:this|our|my|the|all|every|you)(?: \w+){0,3})?\W*\Z"
    r"|\W*(?:please )?(?:remember|keep in mind|from now on|going forward|note|important|always|never)\b[^:：]{0,40}[:：]\s*\Z",
    re.IGNORECASE,
)
"""Says of what follows that it holds rules of the user's."""
_REMARK_MARK = lazy_pattern(
    r"(?i:\s*(?:nit(?:pick)?s?|praise|thought|(?:suggestion|issue|chore|question|todo|note)\s?\((?:non-|if-)?[\w-]+\))\s?:\s)|\s*(?:/\*|//|--\s|\{\{|<!--|%%|\.\. |[|<＜[]|REM\b|;;)|.*(?:\*/|\}\}|-->)\s*$|.*[.!。]\s*(?:->|→|=>)\s*[\w ]{1,20}$|.*[.!。]\s*\([^()\n]*\d{4}[^()\n]*\)\s*$|.*\s(?:--|—|–)\s?[^\s.]+ ?[(\[@].*\d.*$"
    r"|.*[.!。]\s*(?:[-–—~]{1,2}|by\b)\s?[^\s.!?,]+(?: [^\s.!?,]+){0,2},? (?:\d+ ?\w{1,7} ago|yesterday|today|just now|\d{1,2}:\d\d)\W*$"
    r"|.*[(\[][^()\n]{0,12}\b(?:(?:up-?|down-?)?votes?|likes?|points?|stars?|replies|reactions?|karma)\b[^()\n]{0,12}[)\]]\s*$"
    r"|.*[\u202a-\u202e\u2066-\u2069]"
)
"""A comment's mark, a reviewer's label, an author with a time, votes, turned reading: a program or a
page wrote them around a line.
"""
_HEADING = lazy_pattern(
    r"\W*(?:my|our|your|his|her|their|the|an?|some|mein\w*|unser\w*|sein\w*|ihr\w*|das|der|die|ein\w*|les?|la|l['’]|une?|mon|ma|mes|notre|sa|son|el|los|las|una?|mis?|nuestr[ao]|su|os?|as?|uma?|meu|minha|noss[ao]|seu|sua|мо[йяёи]|наш\w?|его|её)\b"
    r"(?! ?(?:\w+ ){0,2}(?:things?|notes?|reminders?|points?|requests?|corrections?|polic(?:y|ies)|preferences?|rules?|conventions?|mistake|fault|bad|problems?|issues?|questions?|fehler|sache|erreur|chose|error|cosa|erro|coisa|(?:schuld|hinweis|erinnerung|regel|wunsch|faute|rappel|remarque|règle|demande|culpa|recordatorio|nota|regla|petición|lembrete|regra|pedido|ошибка|вина|просьба|правило|напоминание)(?=\W*\Z))\b)[^,]*[.。]\s*\Z",
    re.IGNORECASE,
)
"""A sentence that begins as a heading does ("My fortune cookie."), and names nothing that people say
of their own rules.
"""
_BULLET = lazy_pattern(r"\s*(?:[-*•·]|\d{1,2}[.)])\s+")


def list_context_dependent_lines(typed: str) -> tuple[str, ...]:
    """The lines of a message that cannot be read alone; none of a message of one line."""
    if "\n" not in typed.strip():
        return ()
    prose = list(extract_prose_lines(typed))
    if prose and prose[-1].rstrip().endswith((":", "：")):
        del prose[-1]
    return tuple(line for line in prose if not can_be_read_alone(line))


def is_marked_remark(line: str) -> bool:
    """Whether a line has the mark of a comment, a review or a page."""
    return _REMARK_MARK.match(line[:MAX_EXAMINED_CHARS]) is not None


def is_neutral_line(line: str) -> bool:
    """Whether a line says nothing of the lines near it: thanks, a number, an address."""
    return _NEUTRAL.match(line.strip()) is not None


def can_be_read_alone(line: str) -> bool:
    """Whether a line is talk that leans on no text beside it."""
    body, length = _strip_line(line)
    if _NEUTRAL.match(line.strip()) or _OWN_RULES.match(body):
        return True
    if refers_to_other_text(line):
        return False
    if length >= SURE_WORDS or _WORK.match(body):
        return True
    words = body.lower().split()
    if count_cjk_letters(body) or not is_english(words):
        return length >= MIN_FOREIGN_WORDS
    return length >= MIN_WORDS and _SENTENCE.match(body) is not None


def is_heading(sentence: str) -> bool:
    """Whether a sentence has no verb and names a thing of which the next one may be the text."""
    return (
        _HEADING.match(sentence) is not None
        and 1 < len(sentence.split()) < SURE_WORDS
        and _SENTENCE.match(sentence) is None
        and not can_be_read_alone(sentence)
    )


def refers_to_other_text(line: str) -> bool:
    """Whether a line names a text or what somebody says, or points at what it does not hold."""
    body, length = _strip_line(line)
    if _ENDS_OPEN.match(body):
        return True
    if length >= SURE_WORDS:
        return _SHOWS.search(body) is not None
    if _OF_A_TEXT.search(body) is not None:
        return True
    is_plain = _WORK.match(body) is not None or _NEUTRAL.match(line.strip()) is not None
    return not is_plain and _POINTS.search(body) is not None


def _strip_line(line: str) -> tuple[str, float]:
    """The beginning of a line without bullet, label and lead-in, and its length in words."""
    bullet = _BULLET.match(line)
    body = line[bullet.end() if bullet else 0 :].strip()[:MAX_EXAMINED_CHARS]
    label = _LABEL.match(body)
    body = body[label.end() if label else 0 :]
    body = body[find_lead_in_end(body) :]
    return body, len(body.split()) + count_cjk_letters(body) / 2
