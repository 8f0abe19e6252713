"""The dream as a form that a model fills in: memories that say the same, and sentences that the
person proved wrong. Pure (DR-3).

A small model rewrites whole files and closes none of them; it can name numbers. What it names is
looked at: a memory goes only where another says all of it, and a sentence changes only by what the
person said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.statements.statement_similarity import extract_comparable_words
from memorist.core.messages import JsonObject
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import to_printable_line
from memorist.core.token_count import estimate_text_tokens
from memorist.core.utc_time import format_utc_day
from memorist.core.word_stems import stem_word
from memorist.dream.dream_prompt import DreamMaterial, FittedDreamMaterial, UserUtterance
from memorist.dream.dream_review import contains_whole_memory
from memorist.forks.answer_form import (
    FormTask,
    build_object_list_schema,
    build_object_schema,
    coerce_to_object_list,
    read_numbers_up_to,
)
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement, WriteFileCall
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact

MAX_FORM_TOKENS = 6_000
"""Tokens of the memories and sayings that one form shows, as of a consolidation's. Our choice: some
minutes of reading on a machine without a graphics card.
"""
FORM_WINDOW_DIVISOR = 2
"""They take at most one part in so many of the window."""
MAX_GROUPS = 10
MAX_CORRECTIONS = 8
MAX_MEMORY_CHARACTERS = 600
MAX_SAYING_CHARACTERS = 300
"""Bounds of what is shown of one, and of an answer: they end a model in a loop. Our choice."""
MIN_SAID_SHARE = 0.5
"""Share of the new words of a corrected sentence that what the person said must hold. Our choice.
"""


class _ShownMemories(Struct, frozen=True):
    """What a form shows, numbered from 1."""

    folder: Path
    topics: tuple[MemoryFile, ...]
    sayings: tuple[tuple[UserUtterance, str], ...]
    """With the path of the memory that each bears on."""

    def path(self, topic: MemoryFile) -> str:
        return str(self.folder / topic.path)


def build_dream_form_task(
    material: DreamMaterial, fitted: FittedDreamMaterial, instruction: str, *, window: int
) -> FormTask:
    """The form over the memories of `fitted` that fit the window, most important first; a window
    of 0 is unknown.
    """
    room = min(MAX_FORM_TOKENS, window // FORM_WINDOW_DIVISOR) if window else MAX_FORM_TOKENS
    shown = _select_memories(material, fitted, room)

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        dropped: list[str] = []
        calls: tuple[EditFileCall | WriteFileCall, ...] = (
            *_retire_repeats(shown, answer.get("same"), dropped),
            *_correct_sentences(shown, answer.get("corrections"), dropped),
        )
        return ParsedAnswerEdits(calls, dropped=tuple(dict.fromkeys(dropped)))

    return FormTask(
        instruction=instruction.strip(),
        material=_render_memories(shown),
        schema=_build_schema(corrects=bool(shown.sayings)),
        read=read,
    )


def _build_schema(*, corrects: bool) -> JsonObject:
    """The schema; `corrects` where there are sayings, which alone prove a sentence wrong: a small
    model fills in each list that it is shown.
    """
    text: JsonObject = {"type": "string"}
    number: JsonObject = {"type": "integer"}

    numbers: JsonObject = {"type": "array", "maxItems": 6, "items": number}
    properties: JsonObject = {"same": build_object_list_schema(MAX_GROUPS, {"numbers": numbers})}
    if corrects:
        properties["corrections"] = build_object_list_schema(
            MAX_CORRECTIONS, {"number": number, "saying": number, "old": text, "new": text}
        )
    return build_object_schema(properties)


def _select_memories(
    material: DreamMaterial, fitted: FittedDreamMaterial, room: int
) -> _ShownMemories:
    topics: list[MemoryFile] = []
    for topic in material.topics:
        if topic.path in fitted.paths:
            room -= estimate_text_tokens(_memory_line(topic))
            if room >= 0:
                topics.append(topic)
    paths = {topic.path for topic in topics}
    sayings = [
        (said, path)
        for said, path in material.utterances
        if said in fitted.utterances and path in paths
    ]
    return _ShownMemories(material.folder, tuple(topics), tuple(sayings))


def _memory_line(topic: MemoryFile) -> str:
    body = to_printable_line(topic.body, MAX_MEMORY_CHARACTERS)
    about = to_printable_line(topic.description, MAX_SAYING_CHARACTERS)
    return body if about in body else f"{about}: {body}"


def _render_memories(shown: _ShownMemories) -> str:
    lines = ["Memories:"]
    lines += [f"{number}. {_memory_line(topic)}" for number, topic in enumerate(shown.topics, 1)]
    numbers = {topic.path: number for number, topic in enumerate(shown.topics, 1)}
    if shown.sayings:
        lines += ["", "Sayings of the person:"]
    lines += [
        f"{number}. (memory {numbers[path]}, {format_utc_day(said.at)}) "
        f"{to_printable_line(said.text, MAX_SAYING_CHARACTERS)}"
        for number, (said, path) in enumerate(shown.sayings, 1)
    ]
    return redact(neutralize_markup(strip_hidden_characters("\n".join(lines)))).text


def _retire_repeats(
    shown: _ShownMemories, given: object, dropped: list[str]
) -> Iterator[WriteFileCall]:
    """Retire each memory of a group all of which another one of it says."""
    retired: set[str] = set()
    for group in coerce_to_object_list(given)[:MAX_GROUPS]:
        numbers = read_numbers_up_to(group.get("numbers"), len(shown.topics))
        topics = [shown.topics[number - 1] for number in numbers]
        for topic in reversed(topics):
            others = [each for each in topics if each is not topic and each.path not in retired]
            fuller = next(
                (each for each in others if contains_whole_memory(each.body, topic.body)), None
            )
            if fuller is not None and topic.path not in retired:
                retired.add(topic.path)
                yield WriteFileCall(shown.path(topic), f"retired: {fuller.name} says it\n")
        if len(topics) < 2 or not retired & {topic.path for topic in topics}:
            names = ", ".join(topic.name for topic in topics) or "none"
            dropped.append(f"no memory of a group says all that another one says ({names})")


def _correct_sentences(
    shown: _ShownMemories, given: object, dropped: list[str]
) -> Iterator[EditFileCall]:
    """Replace each sentence that a saying about its memory proves wrong."""
    for each in coerce_to_object_list(given)[:MAX_CORRECTIONS]:
        numbers = read_numbers_up_to(each.get("number"), len(shown.topics))
        sayings = read_numbers_up_to(each.get("saying"), len(shown.sayings))
        old, new = (str(each.get(key) or "").strip() for key in ("old", "new"))
        fault = _find_correction_fault(shown, numbers, sayings, old, new)
        if fault:
            dropped.append(f"“{shorten_to_one_line(new, 80)}” {fault}")
            continue
        topic = shown.topics[numbers[0] - 1]
        yield EditFileCall(shown.path(topic), (TextReplacement(old, new),))


def _find_correction_fault(
    shown: _ShownMemories, numbers: Sequence[int], sayings: Sequence[int], old: str, new: str
) -> str:
    """Why a sentence may not be replaced; empty where it may."""
    if len(numbers) != 1 or len(sayings) != 1:
        return "names no memory or no saying that there is"
    topic = shown.topics[numbers[0] - 1]
    said, path = shown.sayings[sayings[0] - 1]
    if path != topic.path:
        return "rests on a saying about another memory"
    if not old or old == new or topic.text().count(old) != 1 or topic.body.count(old) != 1:
        return "takes the place of no sentence of that memory"
    fresh = _stems(new) - _stems(topic.body)
    if not new or len(fresh & _stems(said.text)) < MIN_SAID_SHARE * len(fresh):
        return "says what the person did not"
    return ""


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem_word, extract_comparable_words(text)))
