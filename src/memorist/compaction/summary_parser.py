"""Parse a model's summary with distrust: unusable answers are refused (CP-7).

Pure. Source: Claude Code. What must not stand in a usable one is taken
out by `summary_cleaning`.
"""

from __future__ import annotations

import re

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
