"""Parse a model's summary with distrust: unusable answers are refused (CP-7).

Pure. Source: Claude Code. What must not stand in a usable one is taken out of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.json_answer import find_largest_json_object
from memorist.core.lazy import lazy_pattern
from memorist.formats.request_codec import CUT_OFF_REASONS, FINISHED_REASONS, REPEATED_REASON

MAX_ERROR_MESSAGE_CHARACTERS = 400
"""Characters up to which a text may be just an error message."""


MAX_ANSWER_CHARACTERS = 200_000
"""Characters of the longest accepted answer: twice what the reserve of 20,000 tokens can hold
(Claude Code).
"""


_ANALYSIS_TAG = lazy_pattern(r"<(/?)analysis>", re.IGNORECASE)
_SUMMARY_TAG = lazy_pattern(r"<(/?)summary>", re.IGNORECASE)
_LOOSE_TAG = lazy_pattern(r"</?(?:analysis|summary)>", re.IGNORECASE)
_ERROR = lazy_pattern(
    r"\s*(?:api error|error[: ]\s*\d{3}|error:|prompt is too long|request (?:timed out|was "
    r"aborted|too large)|(?:connection|internal server|rate limit) "
    r"error|overloaded|credit balance|\{\s*\"(?:type\"\s*:\s*\"error|error)\")",
    re.IGNORECASE,
)
_BLANK_LINES = lazy_pattern(r"\n[ \t]*\n(?:[ \t]*\n)+")


class UnusableSummary(Struct, frozen=True):
    """The answer is not a usable summary, and why, in one sentence. The conversation stays as it
    was.
    """

    why: str
    was_model_asked: bool = True
    """False where no model was asked at all: a cap on background work is reached, or the provider
    currently wants no requests.
    """
    too_long: bool = False
    """The provider refused the request as too long: a shorter one may do."""


def parse_summary(
    text: str, *, stop_reason: str | None = None, tool_calls: int = 0
) -> str | UnusableSummary:
    """Extract the summary from a model's answer: without its analysis and tags, blank lines
    collapsed. Without tags, the text as it is.

    `stop_reason` is the wire format's value; `tool_calls` is the number of tools the answer called.
    """
    bare = text.strip()
    if not bare:
        return UnusableSummary(
            "The model called a tool instead of writing a summary."
            if tool_calls
            else "The summary is empty."
        )
    if len(bare) <= MAX_ERROR_MESSAGE_CHARACTERS and _ERROR.match(bare):
        return UnusableSummary("The model's answer is an error message.")
    if len(bare) > MAX_ANSWER_CHARACTERS:
        return UnusableSummary("The answer is far longer than any summary.")
    body = (
        None
        if stop_reason in CUT_OFF_REASONS
        else _find_summary_body(_strip_analysis(bare), finished=stop_reason in FINISHED_REASONS)
    )
    if body is None:
        return UnusableSummary(
            "The model repeated itself without end, and was stopped."
            if stop_reason == REPEATED_REASON
            else "The summary was cut off before its end."
        )
    body = _unwrap_json(collapse_blank_lines(_LOOSE_TAG.sub("", body)).strip())
    return body or UnusableSummary("The summary is empty.")


def collapse_blank_lines(text: str) -> str:
    """Make one empty line of several."""
    return _BLANK_LINES.sub("\n\n", text)


def _strip_analysis(text: str) -> str:
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


def _find_summary_body(text: str, *, finished: bool) -> str | None:
    """The text between the first opening and the last closing summary tag, or the whole text
    without tags; None when the answer broke off.
    """
    tags = list(_SUMMARY_TAG.finditer(text))
    opening = next((tag for tag in tags if not tag[1]), None)
    if opening is None:
        return None if _ANALYSIS_TAG.search(text) and not finished else text
    closing = next(
        (tag for tag in reversed(tags) if tag[1] and tag.start() > opening.start()), None
    )
    if closing is not None:
        return text[opening.end() : closing.start()]
    return text[opening.end() :] if finished else None


def _unwrap_json(text: str) -> str:
    """The text of a summary that a model wrote as one JSON object, fenced or not: its one text, or
    its texts under their keys. Any other text as it is.
    """
    if not _WHOLE_OBJECT.fullmatch(text):
        return text
    found = find_largest_json_object(text) or {}
    texts = {key: value.strip() for key, value in found.items() if isinstance(value, str)}
    if not texts or len(texts) < len(found):
        return text
    named = "\n\n".join(f"{key}:\n{value}" for key, value in texts.items())
    return named if len(texts) > 1 else next(iter(texts.values()))


_WHOLE_OBJECT = lazy_pattern(r"(?:```\w*\s*)*\{.*\}(?:\s*```)*", re.DOTALL)


# Clean a model's summary of what it must not say: our own prompt's text, and words the user never
# said (CP-7, CP-16).

USER_SECTION = "6. User messages: listed below, word by word."
"""Replaces the sixth section (CP-16)."""

MIN_QUOTED_WORDS = 3
"""A quotation of fewer words is a name or a term, not an utterance."""

LINE_CHUNK_CHARACTERS = 4_000
"""Characters of a line that are checked at once; keeps the check linear on hostile text."""

_NO_TOOLS = lazy_pattern(
    r"\b(?:do not|don['’]t|never|must not|may not|cannot|not allowed to|without|no)\b[^.\n]{0,16}"
    r"\b(?:call(?:s|ing)?|us(?:e|ing)|invok(?:e|ing)|run(?:ning)?)\s+(?:any\s+|more\s+|"
    r"further\s+|the\s+|other\s+)*tools?\b"
    r"|\bno\s+(?:more\s+|further\s+)?tool (?:calls?|use)\b|\btools? (?:is|are) (?:switched off|"
    r"disabled|forbidden|not (?:available|allowed))"
    r"|\b(?:respond|answer|reply)(?:ing)? (?:with|in) (?:plain )?text only\b",
    re.IGNORECASE,
)
_TURN_LINE = lazy_pattern(
    r"\s*(?:\*\*)?[\[<(]?(?:user|human)[\])>]?(?:\*\*)?\s*:\s*(?:\*\*)?\s*(?P<words>\S.*)",
    re.IGNORECASE,
)
_LISTED_TURN_LINE = lazy_pattern(
    r"\s*(?:[-*>]|\d+[.)])\s*(?:\*\*)?(?:user|human)"
    r"(?:\*\*)?\s*:\s*(?:\*\*)?\s*(?P<words>[\"“„«].*)",
    re.IGNORECASE,
)
_TAGGED_TURN = lazy_pattern(
    r"<(?:user|human)>(?P<words>.*?)</(?:user|human)>", re.IGNORECASE | re.DOTALL
)
_TO_LAST_END_TAG = lazy_pattern(r"(?s:.*)</(?:user|human)>", re.IGNORECASE)
"""What follows the last end tag is left out: each start tag there would be read to the end."""
_SAYING_VERB = lazy_pattern(
    r"\b(?:user|human)(?:['’]s)?\b[^\n]{0,80}?\b(?:said|says|saying|asked|asks|wrote|writes|"
    r"told|request(?:ed|s|)|message|words|approv\w+|confirm\w+|"
    r"agree[ds]?|replied|answer(?:ed|s)?|instruct\w+|state[ds]?|insist\w+|order(?:ed|s)?|"
    r"allow(?:ed|s)?|want(?:ed|s)?)\b",
    re.IGNORECASE,
)
_QUOTED_TEXT = lazy_pattern(r"[\"“„«]([^\"“”„«»\n]+)[\"”“»]")
_USER_SECTION = lazy_pattern(
    r"^(?:#+\s*)?(?:\*\*)?6\.\s*(?:\*\*)?(?:all\s+)?(?:the\s+)?user(?:['’]s)?\s+(?:messages|"
    r"requests|words|turns)\b[^\n]*",
    re.IGNORECASE | re.MULTILINE,
)
_LATER_SECTION = lazy_pattern(
    r"^(?:#+\s*)?(?:\*\*)?[789]\.\s*(?:\*\*)?(?:pending|current|next|optional)\b",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_BREAK = lazy_pattern(r"(?<=[.:;])\s+|\n\s*\n|\n- ")
_CLAUSE_BREAK = lazy_pattern(r"(?<=[^\W\d_][.!?;])\s|(?<=[`\"”)][.!?;])\s|(?<=[。！？；])")
_ABOUT_THE_ANSWER = lazy_pattern(
    r"(?=(?:\S+\s+){4})(?s:.)*\b(?:tools?|answer|hand-over|request|instructions)\b", re.IGNORECASE
)
_ELLIPSIS = lazy_pattern(r"\s*(?:\.\.\.|…|\[\.\.\.\])\s*")


class SummaryAndDroppedLines(Struct, frozen=True):
    """A summary after the check, and the lines that were dropped, unchanged."""

    text: str
    dropped: tuple[str, ...] = ()


def drop_prompt_text_and_false_quotes(
    summary: str, user_texts: Sequence[str], orders: Sequence[str] = ()
) -> SummaryAndDroppedLines:
    """Remove what the summary must not contain.

    These are: lines of our own `orders` (the prompts it was asked with) and any ban on tools, the
    list of user messages (added from the transcript instead), and words attributed to the user
    which are in none of `user_texts`, with the rest of their line: it may build on them. What
    stands before them in the line stays.

    Only a quotation or the shape of a user turn is dropped: paraphrases cannot be checked this way.
    """
    words = _normalize_words(" \n ".join(user_texts))
    ours = [
        _normalize_words(sentence)
        for order in orders
        for sentence in _SENTENCE_BREAK.split(order)
        if _ABOUT_THE_ANSWER.search(sentence)
    ]
    kept: list[str] = []
    dropped: list[str] = []
    for line in _replace_user_section(summary).split("\n"):
        true = "" if _leaks_instructions(line, ours) else _cut_at_invented_words(line, words)
        if true or not line:
            kept.append(true)
        if true != line:
            dropped.append(line[len(true) :])
    text = collapse_blank_lines("\n".join(kept)).strip()
    return SummaryAndDroppedLines(text, tuple(line.strip() for line in dropped))


def _replace_user_section(summary: str) -> str:
    """The summary with the body of its sixth section replaced; it is written from the transcript
    instead.
    """
    head = _USER_SECTION.search(summary)
    following = _LATER_SECTION.search(summary, head.end()) if head else None
    if head is None or following is None:
        return summary
    return f"{summary[: head.start()]}{USER_SECTION}\n\n{summary[following.start() :]}"


def _leaks_instructions(line: str, ours: Sequence[str]) -> bool:
    plain = _normalize_words(line)
    return _NO_TOOLS.search(line) is not None or any(order in plain for order in ours)


def _cut_at_invented_words(line: str, words: str) -> str:
    """The line up to the first clause that invents words of the user; empty where that is the
    first.
    """
    if not _invents_user_words(line, words):
        return line
    ends = [clause.start() for clause in _CLAUSE_BREAK.finditer(line)]
    first = bisect_left(ends, True, key=lambda end: _invents_user_words(line[:end], words))
    true = [line[:end] for end in ends[:first]]
    return next((each for each in reversed(true) if _closes_quotations(each)), "")


def _closes_quotations(text: str) -> bool:
    return text.count('"') % 2 == 0 and all(text.count(a) == text.count(b) for a, b in ("“”", "«»"))


def _invents_user_words(line: str, words: str) -> bool:
    # A listed "User: …" is as often a class name; there only a quotation counts as a turn.
    turn = _TURN_LINE.match(line) or _LISTED_TURN_LINE.match(line)
    claims = [turn["words"]] if turn else []
    pieces = [
        line[start : start + LINE_CHUNK_CHARACTERS]
        for start in range(0, len(line), LINE_CHUNK_CHARACTERS)
    ]
    for piece in pieces:
        if tagged := _TO_LAST_END_TAG.match(piece):
            claims += [tag["words"] for tag in _TAGGED_TURN.finditer(tagged[0])]
    for piece in pieces:
        quotes = [
            quote[1]
            for quote in _QUOTED_TEXT.finditer(piece)
            if len(quote[1].split()) >= MIN_QUOTED_WORDS
        ]
        claims += quotes if quotes and _SAYING_VERB.search(piece) else []
    return any(not _is_user_quote(claim, words) for claim in claims)


def _is_user_quote(claim: str, words: str) -> bool:
    """Whether every part of a quotation occurs in the user's words; an ellipsis separates parts."""
    pieces = [
        piece for part in _ELLIPSIS.split(claim.strip(' "“”*')) if (piece := _normalize_words(part))
    ]
    return all(piece in words for piece in pieces)


def _normalize_words(text: str) -> str:
    """Letters and digits only, lower case, single spaces, so that layout and quotation marks do not
    matter.
    """
    return " ".join(re.findall(r"\w+", text.lower()))
