"""An order for later behind something else in the same sentence: `fix the typo, and from now on run
the tests first`; and where a task begins behind a fact: `prod runs on a Pi, so make it smaller`. Pure.
"""

from __future__ import annotations

import re

from memorist.auto_memory.statements.pattern_required_words import holds_required_word
from memorist.auto_memory.statements.statement_patterns import FROM_NOW_ON, VERB
from memorist.core.lazy import lazy_pattern

_CONJUNCTION = r"(?:and|but|also|then|plus|und|aber|et|mais|y|e|pero|mas|и|а|но)"
_MARKER = (
    rf"(?:{FROM_NOW_ON}|ab jetzt|ab sofort|von nun an|in zukunft|zukünftig|künftig"
    r"|dorénavant|désormais|à partir de maintenant|à l['’]avenir"
    r"|de ahora en adelante|a partir de ahora|en adelante|en el futuro"
    r"|a partir de agora|de agora em diante|daqui (?:em|pra|para) (?:diante|frente)|no futuro"
    r"|с этого момента|отныне|впредь|в будущем"
    r"|never(?=.*\b(?:again|ever)\b)|nie wieder|n(?:e |['’])(?=[\w-]+ plus jamais\b)|no(?= vuelvas a\b)|nunca m[aá]is?|nunca m[aá]s|больше(?= (?:никогда )?не\b)"
    r"|grundsätzlich|generell|par principe|por principio|por princípio|as a rule)\b"
)
_CLAUSE_TEXT = (
    rf"(?:[,;]\s*(?:{_CONJUNCTION}\s+)?|\s[-–—]+\s+(?:{_CONJUNCTION}\s+)?|\s{_CONJUNCTION},?\s+)"
    rf"(?P<clause>{_MARKER}.{{6,}}|\w+ {_MARKER}.{{6,}})"
    r"|[，、；]\s*(?:而且|并且|另外|还有|そして|あと)?(?P<wide>(?:以后|从现在(?:开始|起)|从今以后|今后|今後|これから|再也不|别再|不要再|二度と).{4,})"
)
_CLAUSE = lazy_pattern(_CLAUSE_TEXT, re.IGNORECASE)
"""The end of a clause, then words that say that the next holds from now on, or a verb before them."""
_ABOUT_PROGRAM = lazy_pattern(
    rf"(?:{_MARKER},? )?(?!{_MARKER})(?:it|this|that|they|he|she|the|these|those|there|its|das|es|der|die|il|elle|le|la|les|el|los|las|o|a|os|as|"
    r"он|она|оно|это)\b",
    re.IGNORECASE,
)
"""Says what something does from now on, which is a part of the task before it."""


def find_lasting_clause_start(text: str, start: int) -> int | None:
    """Where the clause begins in `text`, behind `start`; None where there is none."""
    if not holds_required_word(_CLAUSE_TEXT, text):
        return None
    found = _CLAUSE.search(text, start)
    if found is None or found.start() == start:
        return None
    group = "clause" if found["clause"] is not None else "wide"
    return None if _ABOUT_PROGRAM.match(found[group]) else found.start(group)


_TASK = lazy_pattern(
    r"\s*(?:[,;–—]|\s-|\.(?=\s))\s*(?:(?:so|therefore|then|hence|thus|and|also|daher|deshalb|donc|así que|por eso|então|por isso|поэтому)[\s,]+)*"
    rf"(?:(?:please|pls|bitte|por favor|пожалуйста|(?:can|could|would|will|should) (?:you|we|u)|kannst du|peux-tu|puedes|podes|você pode|можешь|let['’]s|find|pick|map|remove|explain|{VERB})\b)"
    r"|[，；、]\s*(?:所以|请|帮|麻烦|把|给|改|加|删|修|优化)",
    re.IGNORECASE,
)
_REASON_WORD = lazy_pattern(
    r"(?:since|because|given that|as|da|weil|puisque|comme|ya que|como|já que|так как|поскольку|因为|由于)[\s,]*(?=\S)",
    re.IGNORECASE,
)
MIN_FRONT_CHARS = 8


def find_clause_before_task(masked: str, start: int) -> tuple[int, int] | None:
    """Where the clause in front of a task is, without the word that makes it a reason; None where
    no task follows.
    """
    task = _TASK.search(masked, start)
    if task is None or task.start() - start < MIN_FRONT_CHARS:
        return None
    reason = _REASON_WORD.match(masked, start)
    return reason.end() if reason else start, task.start()
