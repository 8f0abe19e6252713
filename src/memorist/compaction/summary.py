"""Parse and check a model's summary with distrust: unusable answers, leaked prompt instructions,
words the user never said (CP-7, CP-16).

Pure. Sources: claude-code.md section 6.5 steps 7 and 8, section 6.7 ("must never happen"), section
16 item 5.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.later import late_pattern

FINISHED = frozenset({"end_turn", "stop", "stop_sequence", "completed"})
"""Stop reasons of the three wire formats that mean the answer is complete."""

CUT_OFF = frozenset({"max_tokens", "length", "incomplete", "max_output_tokens", "model_context_window_exceeded"})
"""Stop reasons that mean the answer was cut off."""

ERROR_LENGTH = 400
"""Characters up to which a text may be just an error message."""

USER_SECTION = "6. User messages: listed below, word by word."
"""Replaces the sixth section (CP-16)."""

LEAST_WORDS = 3
"""A quotation of fewer words is a name or a term, not an utterance."""

LONGEST = 200_000
"""Characters of the longest accepted answer: twice what the reserve of 20,000 tokens can hold
(claude-code.md section 6.1).
"""

LINE_PIECE = 4_000
"""Characters of a line that are checked at once; keeps the check linear on hostile text."""

_ANALYSIS_TAG = late_pattern(r"<(/?)analysis>", re.IGNORECASE)
_SUMMARY_TAG = late_pattern(r"<(/?)summary>", re.IGNORECASE)
_LOOSE_TAG = late_pattern(r"</?(?:analysis|summary)>", re.IGNORECASE)
_ERROR = late_pattern(
    r"\s*(?:api error|error[: ]\s*\d{3}|error:|prompt is too long|request (?:timed out|was aborted|too large)|(?:connection|internal server|rate limit) "
    r"error|overloaded|credit balance|\{\s*\"(?:type\"\s*:\s*\"error|error)\")",
    re.IGNORECASE,
)
_NO_TOOLS = late_pattern(
    r"\b(?:do not|don['’]t|never|must not|may not|cannot|not allowed to|without|no)\b[^.\n]{0,16}"
    r"\b(?:call(?:s|ing)?|us(?:e|ing)|invok(?:e|ing)|run(?:ning)?)\s+(?:any\s+|more\s+|further\s+|the\s+|other\s+)*tools?\b"
    r"|\bno\s+(?:more\s+|further\s+)?tool (?:calls?|use)\b|\btools? (?:is|are) (?:switched off|disabled|forbidden|not (?:available|allowed))"
    r"|\b(?:respond|answer|reply)(?:ing)? (?:with|in) (?:plain )?text only\b",
    re.IGNORECASE,
)
_TURN = late_pattern(r"\s*(?:\*\*)?[\[<(]?(?:user|human)[\])>]?(?:\*\*)?\s*:\s*(?:\*\*)?\s*(?P<words>\S.*)", re.IGNORECASE)
_LISTED_TURN = late_pattern(
    r"\s*(?:[-*>]|\d+[.)])\s*(?:\*\*)?(?:user|human)(?:\*\*)?\s*:\s*(?:\*\*)?\s*(?P<words>[\"“„«].*)", re.IGNORECASE
)
_TAGGED = late_pattern(r"<(user|human)>(?P<words>.*?)</\1>", re.IGNORECASE | re.DOTALL)
_SAYS = late_pattern(
    r"\b(?:user|human)(?:['’]s)?\b[^\n]{0,80}?\b(?:said|says|saying|asked|asks|wrote|writes|told|request(?:ed|s|)|message|words|approv\w+|confirm\w+|"
    r"agree[ds]?|replied|answer(?:ed|s)?|instruct\w+|state[ds]?|insist\w+|order(?:ed|s)?|allow(?:ed|s)?|want(?:ed|s)?)\b",
    re.IGNORECASE,
)
_QUOTED = late_pattern(r"[\"“„«]([^\"“”„«»\n]+)[\"”“»]")
_USER_SECTION = late_pattern(
    r"^(?:#+\s*)?(?:\*\*)?6\.\s*(?:\*\*)?(?:all\s+)?(?:the\s+)?user(?:['’]s)?\s+(?:messages|requests|words|turns)\b[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_LATER_SECTION = late_pattern(r"^(?:#+\s*)?(?:\*\*)?[789]\.\s*(?:\*\*)?(?:pending|current|next|optional)\b", re.IGNORECASE | re.MULTILINE)
_SENTENCES = late_pattern(r"(?<=[.:;])\s+|\n\s*\n|\n- ")
_ABOUT_THE_ANSWER = late_pattern(r"(?=(?:\S+\s+){4})(?s:.)*\b(?:tools?|answer|hand-over|request|instructions)\b", re.IGNORECASE)
_BLANKS = late_pattern(r"\n[ \t]*\n(?:[ \t]*\n)+")
_SEVERED = late_pattern(r"\s*(?:\.\.\.|…|\[\.\.\.\])\s*")


class Unusable(Struct, frozen=True):
    """The answer is not a usable summary, and why, in one sentence. The conversation stays as it
    was.
    """

    why: str
    asked: bool = True
    """False where no model was asked at all: a cap on background work is reached, or the provider
    currently wants no requests.
    """


def read_summary(text: str, *, stop_reason: str | None = None, tool_calls: int = 0) -> str | Unusable:
    """Extract the summary from a model's answer: without its analysis and tags, blank lines
    collapsed. Without tags, the text as it is.

    `stop_reason` is the wire format's value; `tool_calls` is the number of tools the answer called.
    """
    bare = text.strip()
    if not bare:
        return Unusable("The model called a tool instead of writing a summary." if tool_calls else "The summary is empty.")
    if len(bare) <= ERROR_LENGTH and _ERROR.match(bare):
        return Unusable("The model's answer is an error message.")
    if len(bare) > LONGEST:
        return Unusable("The answer is far longer than any summary.")
    body = None if stop_reason in CUT_OFF else _body(_without_analysis(bare), finished=stop_reason in FINISHED)
    if body is None:
        return Unusable("The summary was cut off before its end.")
    body = _BLANKS.sub("\n\n", _LOOSE_TAG.sub("", body)).strip()
    return body or Unusable("The summary is empty.")


def _without_analysis(text: str) -> str:
    """The text without each part from an opening analysis tag to the next closing one; an unclosed
    opening tag stays.
    """
    kept: list[str] = []
    done = 0
    opened: int | None = None
    for tag in _ANALYSIS_TAG.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened is None else opened
        elif opened is not None:
            kept.append(text[done:opened])
            done, opened = tag.end(), None
    return "".join([*kept, text[done:]])


def _body(text: str, *, finished: bool) -> str | None:
    """The text between the first opening and the last closing summary tag, or the whole text
    without tags; None when the answer broke off.
    """
    tags = list(_SUMMARY_TAG.finditer(text))
    opening = next((tag for tag in tags if not tag[1]), None)
    if opening is None:
        return None if _ANALYSIS_TAG.search(text) and not finished else text
    closing = next((tag for tag in reversed(tags) if tag[1] and tag.start() > opening.start()), None)
    if closing is not None:
        return text[opening.end() : closing.start()]
    return text[opening.end() :] if finished else None


class Checked(Struct, frozen=True):
    """A summary after the check, and the lines that were dropped, unchanged."""

    text: str
    dropped: tuple[str, ...] = ()


def checked(summary: str, said: Sequence[str], orders: Sequence[str] = ()) -> Checked:
    """Remove what the summary must not contain.

    These are: lines of our own `orders` (the prompts it was asked with) and any ban on tools, the
    list of user messages (added from the transcript instead), and every line that attributes words
    to the user which are in none of `user_texts`.

    A line is dropped only for a quotation or for the shape of a user turn: paraphrases cannot be
    checked this way.
    """
    words = _plain(" \n ".join(said))
    ours = [_plain(sentence) for order in orders for sentence in _SENTENCES.split(order) if _ABOUT_THE_ANSWER.search(sentence)]
    kept: list[str] = []
    dropped: list[str] = []
    for line in _without_user_section(summary).split("\n"):
        bad = _leaks(line, ours) or _invents(line, words)
        (dropped if bad else kept).append(line)
    text = _BLANKS.sub("\n\n", "\n".join(kept)).strip()
    return Checked(text, tuple(line.strip() for line in dropped))


def _without_user_section(summary: str) -> str:
    """The summary with the body of its sixth section replaced; it is written from the transcript
    instead.
    """
    head = _USER_SECTION.search(summary)
    following = _LATER_SECTION.search(summary, head.end()) if head else None
    if head is None or following is None:
        return summary
    return f"{summary[: head.start()]}{USER_SECTION}\n\n{summary[following.start() :]}"


def _leaks(line: str, ours: Sequence[str]) -> bool:
    plain = _plain(line)
    return _NO_TOOLS.search(line) is not None or any(order in plain for order in ours)


def _invents(line: str, words: str) -> bool:
    # A listed "User: …" is as often a class of that name; there only a quotation is a turn.
    turn = _TURN.match(line) or _LISTED_TURN.match(line)
    claims = [turn["words"]] if turn else []
    pieces = [line[start : start + LINE_PIECE] for start in range(0, len(line), LINE_PIECE)]
    claims += [tag["words"] for piece in pieces for tag in _TAGGED.finditer(piece)]
    for piece in pieces:
        quotes = [quote[1] for quote in _QUOTED.finditer(piece) if len(quote[1].split()) >= LEAST_WORDS]
        claims += quotes if quotes and _SAYS.search(piece) else []
    return any(not _is_said(claim, words) for claim in claims)


def _is_said(claim: str, words: str) -> bool:
    """Whether every part of a quotation occurs in the user's words; an ellipsis separates parts."""
    pieces = [piece for part in _SEVERED.split(claim.strip(' "“”*')) if (piece := _plain(part))]
    return all(piece in words for piece in pieces)


def _plain(text: str) -> str:
    """Letters and digits only, lower case, single spaces, so that layout and quotation marks do not
    matter.
    """
    return " ".join(re.findall(r"\w+", text.lower()))
