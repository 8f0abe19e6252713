"""What a short answer agreed to: the last proposal of the agent, in the words of the
agent. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import extract_prose_sentences, shorten_to_one_line
from memorist.rollouts.message_task_effect import DOUBTS

MAX_PROPOSAL_CHARACTERS = 320
MIN_OPTION_CHARACTERS = 100
"""Characters of each of several list items that were chosen. Our choice."""


_MAX_AGREEING_WORDS = 14


_PROPOSAL_SENTENCES = 3


_AGREES = lazy_pattern(
    r"(?:(?:oh |ah |ok(?:ay)?,? |well,? )*(?:yes|yep|yeah|yup|sure|agreed?|exactly|correct|right"
    r"|ok(?:ay)?(?!,? *(?:so|now|then|next|we|i|can|could|what|how|why|cool|show|let me)\b)"
    r"|fine|perfect|great|sounds (?:good|great|right)|go (?:ahead|for it)"
    r"|do (?:it|that|so)"
    r"|let['’]?s (?:do (?:it|that|this)|go)|please do|i agree|makes sense|that works|ship it)\b"
    r"|ja\b|s[ií]\b|oui\b|d['’]accord|好的?|可以|是的?|对|行|同意|はい|お願い|да\b)",
    re.IGNORECASE,
)


_CHOICE = lazy_pattern(
    r"(?:(?:i (?:choose|pick|prefer|want)|let['’]?s (?:do|go (?:with|for))|go (?:with|for)|use|do"
    r"|option|approach|choice|variant|number|nr\.?|方案|选)\s*)*[#(]?([1-9]|[a-f])[.):]?(?:[\s,;!.]|$)",
    re.IGNORECASE,
)


_MARKS = lazy_pattern(
    r"(?<![\w.'’/-])(?:#|\()?([1-9](?:(?: ?[-–] ?| to )[1-9])?|[A-F]"
    r"|(?:(?<=option )|(?<=choice )|(?<=variant )|(?<=approach ))[a-f])\b(?![%/:-]|\.\d)"
    r"(?=\W*\Z|[).,;!&]|\s+(?:and|or|then|first|please|now|too|only|is|sounds|looks|for|but|with"
    r"|as|plus)\b)"
)
"""Numbers and letters of list items in an answer, no counts (`in 3 commits`)."""
_LEFT_OUT = lazy_pattern(r"\b(?:ignore|skip|drop|not|without|except|leave)\b[^,;.]*", re.IGNORECASE)
_PROPOSES = lazy_pattern(
    r"\?$|\b(?:suggest|recommend(?:ed|ation)?|propose|proposal|we (?:could|can|should)"
    r"|i (?:can|could|would|['’]?d)|should (?:i|we)|shall (?:i|we)|want me to|would you like"
    r"|my (?:plan|pick)"
    r"|(?:cleaner|better|simplest|best) (?:solution|option|way|fix)|instead)\b|建议|要不要|可以",
    re.IGNORECASE,
)


def find_agreed_proposal(words: str, reply: str) -> str:
    """Return what a short answer agreed to, in the words of the reply before it; empty if the
    answer agrees to nothing, or the reply proposes nothing.

    Numbers and letters choose list items; a yes agrees to the proposal that ends the reply.
    """
    answer = words.strip().split("\n", 1)[0][:200]
    if not reply or len(answer.split()) > _MAX_AGREEING_WORDS or answer.endswith("?"):
        return ""
    chosen = _CHOICE.match(answer)
    if not chosen and (not _AGREES.match(answer) or DOUBTS.search(answer)):
        return ""
    options = _find_options(_list_marks(answer) or ([chosen[1]] if chosen else []), reply)
    return options if options or chosen else _find_last_proposal(reply)


def _list_marks(answer: str) -> list[str]:
    """The numbers and letters that an answer names, ranges in full."""
    found: list[str] = []
    for mark in _MARKS.findall(_LEFT_OUT.sub("", answer)):
        many = mark[0].isdigit() and len(mark) > 1
        found += map(str, range(int(mark[0]), int(mark[-1]) + 1)) if many else [mark]
    return list(dict.fromkeys(found))


def _find_options(marks: Sequence[str], reply: str) -> str:
    """The list items of a reply with these marks, each with its mark where there are several."""
    found = [(mark, text) for mark in marks if (text := _find_option(mark, reply))]
    if len(found) == 1:
        return shorten_to_one_line(found[0][1], MAX_PROPOSAL_CHARACTERS)
    room = max(MIN_OPTION_CHARACTERS, MAX_PROPOSAL_CHARACTERS // max(1, len(found)))
    return " ".join(f"{mark}. {shorten_to_one_line(text, room)}" for mark, text in found)


def _find_option(mark: str, reply: str) -> str:
    pattern = re.compile(
        rf"^[ \t]*(?:[-*•][ \t]+)?(?:\*\*|#+[ \t]*)?(?:option |approach )?[(]?{mark}"
        r"(?:[.):]|[ \t][—–-])[ \t]*(\S.*)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = pattern.findall(reply)
    return found[-1].replace("**", "") if found else ""


def _find_last_proposal(reply: str) -> str:
    sentences = [each.text for each in extract_prose_sentences(reply, short=True)]
    last = max((at for at, each in enumerate(sentences) if _PROPOSES.search(each)), default=-1)
    if last < 0 or last < len(sentences) - 2 * _PROPOSAL_SENTENCES:
        return ""
    text = ""
    for each in reversed(sentences[max(0, last - _PROPOSAL_SENTENCES) : last + 1]):
        longer = f"{each} {text}".strip()
        if text and len(longer) > MAX_PROPOSAL_CHARACTERS:
            break
        text = longer
    return shorten_to_one_line(text, MAX_PROPOSAL_CHARACTERS)
