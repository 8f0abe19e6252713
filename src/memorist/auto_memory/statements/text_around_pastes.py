"""What the user typed around what Claude Code marks as pasted. Pure.

"What does this mean?" in front of a marked paste is about the paste: it makes nothing of the text
behind the paste somebody else's.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memorist.auto_memory.statements.composite_message import GENERAL, OWN_LEAD
from memorist.auto_memory.statements.context_dependent_lines import refers_to_other_text
from memorist.auto_memory.statements.statement_patterns import find_lead_in_end
from memorist.auto_memory.statements.user_prose import (
    INTERJECTION_WORDS,
    PROSE_CACHE_SIZE,
    extract_redacted_user_text,
    find_sentence_ends,
    gives_text_job,
    mask_quotations,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message
from memorist.formats.host_markup import split_at_marked_pastes

TEXT_REMARK = lazy_pattern(
    r"\b(?:translat\w+|pretend|role-?play|"
    r"imagine (?:you|that)|act as|play the|what (?:does|do|is meant by)\b[^.?!\n]{0,40}\bmeans?|explain what|"
    r"(?:is|are|was) (?:a )?(?:bad|wrong|terrible|stupid|poor|false) (?:ideas?|advice|examples?|rules?)|"
    r"(?:use|given|using|based on|answer\w* (?:from|with|by)|according to) (?:only |just )?the (?:following|provided|retrieved|given) (?:\w+ of )?"
    r"(?:context|information|documents?|passages?|excerpts?|sources?|search results?|files?|snippets?|notes?)|"
    r"for example|examples? of|never do (?:the following|this))\b",
    re.IGNORECASE,
)
"""A job on a text, or a remark on one: what follows in the message is that text."""
_ANNOUNCES_RULES = lazy_pattern(
    r"(?:rules?|preferences|guidelines|conventions|instructions|notes|reminders|list|this|these|following|regeln|vorgaben|"
    r"règles|consignes|reglas|normas|regras|правила)\W*\Z|(?:规则|规范|约定|ルール|規約|규칙)\W*\Z",
    re.IGNORECASE,
)
_INTERJECTION = lazy_pattern(rf"\W*(?:{INTERJECTION_WORDS}\W*)+", re.IGNORECASE)


_PICTURE = '\n\n<pasted_content id="picture"></pasted_content id="picture">\n\n'
"""A picture, as something pasted that holds no words."""


def extract_text_with_picture_marks(message: Message) -> str:
    """As `extract_redacted_user_text`, with each picture as something pasted."""
    return extract_redacted_user_text(message, _PICTURE)


def extract_typed_text(message: Message) -> str:
    """As `extract_redacted_user_text`, without what Claude Code marks as pasted, and without what
    is asked or said of that, or of a picture, right beside it.
    """
    return extract_text_unrelated_to_pastes(extract_text_with_picture_marks(message))


@lru_cache(PROSE_CACHE_SIZE)
def extract_text_unrelated_to_pastes(text: str) -> str:
    """A text without what Claude Code marks as pasted, and without what is asked or said of that
    right beside it.
    """
    typed, pasted = split_at_marked_pastes(text)
    if not pasted:
        return text
    parts = [_drop_remark_in_front(part) for part in typed[:-1]] + [typed[-1]]
    parts[1:] = map(_drop_remark_behind, parts[1:])
    return "\n\n".join(parts)


def _drop_remark_in_front(part: str) -> str:
    """The text without the last sentence, where that is about what follows; thanks behind it go
    with it.
    """
    body = part.rstrip()
    begin = body.rfind("\n") + 1
    line = mask_quotations(body[begin:])
    starts = [0, *find_sentence_ends(line)[:-1]]
    ends = [*starts[1:], len(line)]
    for start, end in zip(reversed(starts), reversed(ends), strict=True):
        sentence = line[start:end].strip()
        if sentence and not _INTERJECTION.fullmatch(sentence):
            is_remark = announces_own_rules(sentence) or (
                GENERAL.search(sentence) is None
                and (_is_about_text(sentence) or refers_to_other_text(sentence))
            )
            return body[: begin + start] if is_remark else part
    return part


def announces_own_rules(sentence: str) -> bool:
    """Whether a sentence says of what follows that it holds the user's own rules."""
    return (
        OWN_LEAD.match(sentence, find_lead_in_end(sentence)) is not None
        and _ANNOUNCES_RULES.search(sentence) is not None
        and not gives_text_job(sentence)
    )


def _drop_remark_behind(part: str) -> str:
    """The text without the first sentence, where that is about what stands in front of it."""
    body = part.lstrip()
    line = mask_quotations(body.partition("\n")[0])
    end = find_sentence_ends(line)[0]
    sentence = line[:end].strip()
    is_remark = _is_about_text(sentence) or refers_to_other_text(sentence)
    if not is_remark or line.rstrip().endswith((":", "：")) or GENERAL.search(sentence):
        return part
    return body[end:]


def _is_about_text(sentence: str) -> bool:
    return (
        sentence.endswith(("?", "？"))
        or gives_text_job(sentence)
        or TEXT_REMARK.search(sentence) is not None
    )
