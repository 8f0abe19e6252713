"""A model's answer at stage one: its shape, and its strict reading (RO-4). Pure."""

from __future__ import annotations

import re

import msgspec
from msgspec import Struct

from memorist.core.json_answer import find_json_object_with_any_key, find_largest_json_object
from memorist.core.json_decoding import convert_value, decode_json
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.rollouts.raw_memory import parse_raw_memory

MAX_ANSWER_CHARACTERS = 400_000
"""Characters of an answer that are examined; a longer one is unusable."""
MAX_ANSWERS = 2
"""Answers requested before the structural fallback is used."""

ANSWER_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "raw_memory": {"type": "string"},
        "rollout_summary": {"type": "string"},
        "rollout_slug": {"type": ["string", "null"]},
    },
    "required": ["raw_memory", "rollout_summary", "rollout_slug"],
    "additionalProperties": False,
}
"""The published shape of the answer (Codex)."""


class StageOneAnswer(Struct, frozen=True, forbid_unknown_fields=True):
    """The model's answer: both texts, and words for a file name.

    If all are empty, nothing is worth keeping.
    """

    raw_memory: str
    rollout_summary: str
    rollout_slug: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it is a no-op."""
        return not (self.raw_memory.strip() or self.rollout_summary.strip())


class UnusableStageOneAnswer(Struct, frozen=True):
    """An unusable answer, and why, in one sentence."""

    why: str


def parse_stage_one_answer(text: str) -> StageOneAnswer | UnusableStageOneAnswer:
    """Parse the model's answer: one object of the three texts, possibly in a fence or surrounded by
    words. A slug may be missing, and a text may hold line ends and quotation marks unescaped. Of an
    answer that was cut off, the complete lines count: each is judged by itself in any case.
    """
    begin = _ANSWER_START.search(text[:MAX_ANSWER_CHARACTERS])
    start, end = begin.start() if begin else text.find("{"), text.rfind("}")
    if len(text) > MAX_ANSWER_CHARACTERS:
        return UnusableStageOneAnswer(f"it is longer than {MAX_ANSWER_CHARACTERS:,} characters.")
    cut = _parse_cut_answer(text[start:]) if start >= 0 else None
    if cut is not None:
        return cut
    if start < 0 or end < start:
        return UnusableStageOneAnswer("it holds no JSON object.")
    body = text[start : end + 1]
    try:
        answer = decode_json(body.encode("utf-8", "replace"), as_type=StageOneAnswer)
    except msgspec.ValidationError as error:
        return UnusableStageOneAnswer(f"its object has not the three texts alone ({error}).")
    except msgspec.DecodeError:
        loose = _parse_loose_answer(body) or _parse_repaired_answer(body)
        if loose is None:
            return UnusableStageOneAnswer("its JSON is broken.")
        answer = loose
    why = _missing_content(answer)
    return UnusableStageOneAnswer(why) if why else answer


_ANSWER_START = lazy_pattern(r"\{\s*\"(?:raw_memory|rollout_summary|rollout_slug)\"\s*:")
_LOOSE_ANSWER = lazy_pattern(
    r"\{\s*\"raw_memory\"\s*:\s*\"(.*?)\"\s*,\s*\"rollout_summary\"\s*:\s*\"(.*?)\"\s*"
    r"(?:,\s*\"rollout_slug\"\s*:\s*(?:null|\"([^\"\n]*)\")\s*)?\}",
    re.DOTALL,
)
_ESCAPE = lazy_pattern(r"\\(?:([\"\\/])|(n)|(t)|r|u([0-9a-fA-F]{4}))")


def _parse_loose_answer(body: str) -> StageOneAnswer | None:
    """The three texts of an object whose strings are not escaped, told by its keys in their
    order.
    """
    found = _LOOSE_ANSWER.fullmatch(body)
    if found is None:
        return None
    raw, summary = (_ESCAPE.sub(_unescape, found[at]) for at in (1, 2))
    return StageOneAnswer(raw, summary, found[3])


def _parse_repaired_answer(body: str) -> StageOneAnswer | None:
    """An answer with comments, trailing commas or single quotes, or inside another object."""
    found = find_json_object_with_any_key(
        find_largest_json_object(body), "raw_memory", "rollout_summary", "rollout_slug"
    )
    try:
        return None if found is None else convert_value(found, StageOneAnswer)
    except msgspec.ValidationError:
        return None


_CUT_ANSWER = lazy_pattern(
    r"\{\s*\"raw_memory\"\s*:\s*\"(?P<raw>(?:[^\"\\]|\\.)*+)"
    r"(?:\"\s*(?:,\s*(?:\"rollout_summary\"\s*:\s*(?:\"(?P<summary>(?:[^\"\\]|\\.)*+))?)?)?)?\\?",
    re.DOTALL,
)


def _parse_cut_answer(text: str) -> StageOneAnswer | None:
    """The complete lines of an answer that ends within one of its texts; None for any other, and
    where they name no task.
    """
    found = _CUT_ANSWER.fullmatch(text.rstrip())
    if found is None:
        return None
    raw, summary = (_ESCAPE.sub(_unescape, found[key] or "") for key in ("raw", "summary"))
    if found["summary"] is None:
        raw = raw.rpartition("\n")[0]
    if not any(task.name for task in parse_raw_memory(raw).tasks):
        return None
    return StageOneAnswer(raw, summary.rpartition("\n")[0])


def _unescape(found: re.Match[str]) -> str:
    if found[4]:
        return chr(int(found[4], 16)).encode("utf-8", "replace").decode()
    return found[1] or ("\n" if found[2] else "\t" if found[3] else "")


def _missing_content(answer: StageOneAnswer) -> str:
    """Return why an answer of the right shape is incomplete; empty for a complete one, and for one
    that says nothing at all.
    """
    if answer.is_empty:
        return ""
    if not (answer.raw_memory.strip() and answer.rollout_summary.strip()):
        return "one of `raw_memory` and `rollout_summary` is empty and the other is not."
    if any(task.name for task in parse_raw_memory(answer.raw_memory).tasks):
        return ""
    return "its `raw_memory` names no task."
