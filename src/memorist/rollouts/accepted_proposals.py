"""What a short answer agreed to: the last proposal of the agent, in the words of the
agent. Pure.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line, split_sentences
from memorist.rollouts.message_effects import DOUBTS

MAX_PROPOSAL_CHARACTERS = 320


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

    A number or letter chooses a list item; a yes agrees to the proposal that ends the reply.
    """
    answer = words.strip().split("\n", 1)[0][:200]
    if not reply or len(answer.split()) > _MAX_AGREEING_WORDS or answer.endswith("?"):
        return ""
    chosen = _CHOICE.match(answer)
    if chosen:
        return _find_option(chosen[1], reply)
    if not _AGREES.match(answer) or DOUBTS.search(answer):
        return ""
    return _find_last_proposal(reply)


def _find_option(mark: str, reply: str) -> str:
    pattern = re.compile(
        rf"^[ \t]*(?:[-*•][ \t]+)?(?:\*\*|#+[ \t]*)?(?:option |approach )?[(]?{mark}[.):]"
        r"[ \t]*(\S.*)",
        re.IGNORECASE | re.MULTILINE,
    )
    found = pattern.findall(reply)
    return (
        shorten_to_one_line(found[-1].replace("**", ""), MAX_PROPOSAL_CHARACTERS) if found else ""
    )


def _find_last_proposal(reply: str) -> str:
    sentences = [each.text for each in split_sentences(reply, short=True)]
    last = max(
        (at for at, each in enumerate(sentences) if _PROPOSES.search(each)),
        default=-1,
    )
    if last < 0 or last < len(sentences) - 2 * _PROPOSAL_SENTENCES:
        return ""
    text = ""
    for each in reversed(sentences[max(0, last - _PROPOSAL_SENTENCES) : last + 1]):
        longer = f"{each} {text}".strip()
        if text and len(longer) > MAX_PROPOSAL_CHARACTERS:
            break
        text = longer
    return shorten_to_one_line(text, MAX_PROPOSAL_CHARACTERS)
