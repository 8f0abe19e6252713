"""Lines of a typed message that its other lines show or speak of: "my boss's slide" above a rule, "who
said this" below it. Pure.

A user types the same lines as their own, so such a rule is not dropped: it waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memorist.auto_memory.statements.statement_patterns import VERB
from memorist.core.lazy import lazy_pattern

_TEXT_NOUN = (
    r"(?:(?:lines?|sentences?|rules?|texts?|paragraphs?|wiki|readme|contributing|manual|docs?|documentation|handbook|slides?|questions?|answers?|(?:test )?cases?|samples?|prompts?|slogan|hint|"
    r"copy|transcripts?|story|criteria|acceptance|comments?|policy|e?-?mails?|quotes?|tickets?|reviews?|articles?|posts?|tweets?|screenshots?|captions?|headlines?|poem|song|lyrics|joke|"
    r"examples?|snippets?|regex|variant \w|whiteboard|handbuch|zeile|satz|regel|anleitung|consigne|phrase|texte|règle|manuel|frase|texto|regla|regra|línea|linha|строк\w|фраз\w|правил\w|текст\w*)"
    r"(?: (?:for|of|in|on|from|by|with|about|to|was|is|de|du|da|do|von) [^.!?]{1,24}| (?:was|is)|,? \w+ \w| ?\d+)?$)"
)
"""A text at the end of a line."""
_SAYS = (
    r"(?:says?|said|wrote|writes|written|told (?:me|us|you)|tells|suggests?|suggested|answers?|answered|replies|replied|left|demands?|typed|posted|sent|claims?|insists?|recommends?|reads?|states?|"
    r"printed|prints|removed|dropped|has this|steht|sagt|schreibt|meint|verlangt|dit|écrit|demande|dice|escribió|pide|diz|escreveu|pede|está (?:no|na|en)|написано|пишет|сказал\w?|говорит|требует)"
)
_OWN = lazy_pattern(
    r"\W*(?:(?:my|our|new|one|another|house|ground|general|some|two|three|few|more) )+(?:rules?|notes?|preferences?|reminders?|things?|comments?)\b"
    r"|\W*(?:i|we|ich|wir|je|nous|yo|eu|я|мы|我|私)\b(?! (?:got|found|read|see|saw|have here|disagree|don['’]?t (?:agree|like)|hate)\b)"
    rf"|\W*(?:please |just |also |and |then )*(?:(?:can|could|would|will) (?:you|we)|let['’]?s|{VERB})\b(?! case)",
    re.IGNORECASE,
)
"""Speaks of the user's own rules or work, or asks for a task."""
_PLACES_TEXT = lazy_pattern(
    r"\W*(?:please |just |also |and |then |(?:can|could|would|will) you )*(?:put|add|write|insert|append|print|say|repeat|type|quote|copy|paste|show|include|match|rate|translate|"
    r"set|use|test|commit)\b[^.!?]*\b(?:this|that|line|sentence|text|rule|following|after me|placeholder|(?:in|to|into) (?:the |our )?(?:readme|docs?|contributing|wiki|changelog|handbook))\b[^.!?]{0,30}$",
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
_MARKER = lazy_pattern(
    r"\s*(?:[@📎🖼]?\ufe0f?\s?[\w./~-]+\.(?:md|txt|rst|adoc|pdf|docx?|html?|json|ya?ml|toml|ini|cfg|csv|log|py|js|ts|go|rs|java|rb|sh)\W*$|[\[<＜{(\\«].*[\]>＞})»]\W*$|[@%]{2}|commit [0-9a-f]{7}|"
    r"(?:author|committer|date|from|scenario|feature):\s.*|-{3,}.*|={3,}.*|~{3,}|<[|<]|\[/?\w+|.*<<-?\s?['\"]?\w+['\"]?\s*$|\W*(?:begin|end)\b.*|expected\b.*|(?:input|output|question|answer)s?\W*$"
    r"|line \d+.*|.{0,60}[\[(]\d{1,2}:\d\d[^\])\n]{0,6}[\])](?: \S+){0,2}\s*$)",
    re.IGNORECASE,
)
"""A name of a file, a bracketed line, a head of a commit, a time in front of a speaker, a fence."""
_COMMENTS = lazy_pattern(
    r"\W*(?:and |so |but |ok,? )*(?:(?:who|what|why|where|which|whose|how|when)\b[^\n]{0,50}\b(?:this|that|it|they|he|she|him|her|there|say|said|wrote|mean|means|means?|from|file|line|commit|hunk|template|printed|"
    r"answer|think)\b[^\n]{0,20}$|(?!is (?:this|that|it) (?:clear|ok(?:ay)?|understood|possible|fine)\b)(?:is|are|was|does|do|did|should|can|could|may|must) (?:this|that|it|they|he|she|those|these|(?:the|i|we) [^\n]{0,40}\b(?:this|that|it|file|text|line|rule|comment|matter|them)\b)"
    r"[^\n]{0,40}$|(?:true or false|thoughts|opinions?|agree|right|correct|really|lol|lmao|haha|wtf|legit|spam)\W*$|(?:explain|score|decode|count|summari[sz]e|shorten|rate|parse|rewrite|translate)\b[^\n]{0,30}$|"
    r"(?:make|remove|fix|drop) (?:it|the (?:signature|table|quote|text|line|comment|wording))\b|is too (?:long|short)|(?:we|they|i) (?:dropped|removed|changed|hate|like) (?:it|that)\b|it (?:does not|doesn['’]?t) (?:compile|"
    r"render|parse|work)|(?:stimmt|gilt) das|was (?:soll|heißt) das|on fait quoi|c['’]est (?:vrai|quoi)|qué (?:hacemos|significa)|es (?:verdad|cierto)|faz sentido|é verdade|это (?:так|правда)|что это|правда ли|对吗|真的|什么意思|本当|どういう)",
    re.IGNORECASE,
)
"""Asks or says something about the line above it."""
_WRAPPED = lazy_pattern(
    r"\s*(?:/\*|//|--\s|\{\{|<!--|%%|\.\. |[|<＜[]|REM\b|;;)|.*(?:\*/|\}\}|-->)\s*$|.*\s(?:--|—|–)\s?[^\s.]+ ?[(\[@].*\d.*$"
)
MAX_NEIGHBOUR_CHARS = 200
"""Characters of a line that are looked at."""
MAX_LINES = 200
"""Lines of a message that are looked at; a longer one is a paste as a whole."""


def find_shown_lines(text: str) -> tuple[str, ...]:
    """The lines of a typed text that the line above introduces or the one below speaks of, and those
    that a program's mark wraps.
    """
    lines = [line for line in text.splitlines()[:MAX_LINES] if line.strip()]
    return tuple(_list_shown(lines)) if len(lines) > 1 else ()


def _list_shown(lines: list[str]) -> Iterator[str]:
    for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if (
            _introduces(above.strip()[-MAX_NEIGHBOUR_CHARS:])
            or _COMMENTS.match(below[:MAX_NEIGHBOUR_CHARS])
            or _WRAPPED.match(line[:MAX_NEIGHBOUR_CHARS])
        ):
            yield line


def _introduces(above: str) -> bool:
    """Whether a line shows the one below it."""
    if not above:
        return False
    if _MARKER.match(above) or _PLACES_TEXT.match(above):
        return True
    return _OWN.match(above) is None and _INTRODUCES.search(above) is not None
