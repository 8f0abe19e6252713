"""The instruction and material of the dream's fork (DR-3). Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.prompt_templates import render_template
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_utc_day
from memorist.dream.memory_conflicts import InstructionSource
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.settings import DreamSettings

# Select the user utterances of past sessions that a model is shown: a few per memory, found by
# its rarest words (DR-3).


MAX_UTTERANCE_CHARACTERS = 300
"""Characters shown of one utterance."""
MAX_UTTERANCES_PER_MEMORY = 2
"""Upper bound of utterances per memory."""
MAX_UTTERANCES = 40
"""Upper bound of utterances per dream."""
MIN_SHARED_WORDS = 2
"""Words an utterance must share with a memory to match it."""
_MIN_WORD_CHARACTERS = 4


class UserUtterance(Struct, frozen=True, kw_only=True):
    """Something the user said in a session."""

    text: str
    at: float
    """Seconds since the epoch, UTC."""


def match_utterances_to_best_memory(
    topics: Sequence[MemoryFile], utterances: Sequence[UserUtterance]
) -> tuple[tuple[UserUtterance, str], ...]:
    """Return the utterances that match memories, best first and without duplicates, each with the
    path of its memory.
    """
    said_words = [frozenset(_significant_words(saying.text)) for saying in utterances]
    frequent = Counter(word for each in said_words for word in each)
    weight = {word: math.log(1 + len(said_words) / count) for word, count in frequent.items()}
    positions: dict[str, list[int]] = {}
    for number, each in enumerate(said_words):
        for word in each:
            positions.setdefault(word, []).append(number)
    ranked: list[tuple[float, int, str]] = []
    for topic in topics:
        mine = (
            frozenset(_significant_words(f"{topic.name} {topic.description} {topic.body}"))
            & weight.keys()
        )
        shared: Counter[int] = Counter(number for word in mine for number in positions[word])
        near = [number for number, count in shared.items() if count >= MIN_SHARED_WORDS]
        scores = sorted(
            ((sum(weight[word] for word in mine & said_words[number]), number) for number in near),
            reverse=True,
        )
        ranked += [
            (score, number, topic.path) for score, number in scores[:MAX_UTTERANCES_PER_MEMORY]
        ]
    chosen: dict[int, str] = {}
    for _, number, path in sorted(ranked, key=lambda row: (-row[0], row[1], row[2])):
        if len(chosen) < MAX_UTTERANCES:
            chosen.setdefault(number, path)
    return tuple((utterances[number], path) for number, path in chosen.items())


def _significant_words(text: str) -> list[str]:
    return [
        word[:6]
        for word in split_script_words(normalize_for_comparison(text))
        if len(word) >= _MIN_WORD_CHARACTERS
    ]


_MATERIAL_TAGS = ("memory", "index", "log", "saying", "instruction-file", "memorist-fork")


class DreamMaterial(Struct, frozen=True, kw_only=True):
    """Everything a dream may be made from, most informative first."""

    folder: Path
    index: str
    topics: tuple[MemoryFile, ...]
    """Memories that a model may be shown, most important first."""
    logs: tuple[tuple[str, str], ...] = ()
    """Day and text of the daily logs, newest first."""
    utterances: tuple[tuple[UserUtterance, str], ...] = ()
    instructions: tuple[InstructionSource, ...] = ()


class FittedDreamMaterial(Struct, frozen=True, kw_only=True):
    """The material that fits."""

    text: str
    paths: tuple[str, ...]
    """The memories that are shown whole."""
    utterances: tuple[UserUtterance, ...]


def render_fitting_dream_material(
    material: DreamMaterial, settings: DreamSettings
) -> FittedDreamMaterial:
    """Render the material in at most about `dream.material` characters.

    Of what does not fit, memories are dropped last.
    """
    limit = settings.material
    memories, paths = _select_fitting(
        [(topic.path, _render_memory(material.folder, topic)) for topic in material.topics],
        limit * 7 // 10,
    )
    room = limit - sum(map(len, memories))
    logs = _render_newest_logs(material.logs, room // 3)
    room -= sum(map(len, logs))
    said, spoken = _select_fitting(
        [
            (str(number), _render_utterance(*each))
            for number, each in enumerate(material.utterances)
        ],
        room // 2,
    )
    files, _ = _select_fitting(
        [(file.path, _render_instructions(file)) for file in material.instructions],
        room - sum(map(len, said)),
    )
    index = f"<index>\n{_escape_data(material.index.strip()) or '(empty)'}\n</index>"
    return FittedDreamMaterial(
        text="\n\n".join((index, *memories, *logs, *said, *files)),
        paths=paths,
        utterances=tuple(material.utterances[int(number)][0] for number in spoken),
    )


def _select_fitting(
    parts: Sequence[tuple[str, str]], room: int
) -> tuple[list[str], tuple[str, ...]]:
    """Select the parts that fit, in order; a part that is too large is skipped in favour of the
    next.
    """
    texts: list[str] = []
    names: list[str] = []
    for name, text in parts:
        if len(text) <= room:
            texts.append(text)
            names.append(name)
            room -= len(text)
    return texts, tuple(names)


def _render_newest_logs(logs: Sequence[tuple[str, str]], room: int) -> list[str]:
    """The logs that fit, newest first; of the first that does not, its end."""
    found: list[str] = []
    for day, text in logs:
        lines = _escape_data(text).rstrip("\n")
        over = len(_frame_log(day, lines)) - room
        if over > 0:
            _, _, lines = lines[over - 1 :].partition("\n")
        if not lines:
            break
        found.append(_frame_log(day, lines))
        room -= len(found[-1])
    return found


def _frame_log(day: str, lines: str) -> str:
    return f'<log day="{day}">\n{lines}\n</log>'


def _render_memory(folder: Path, topic: MemoryFile) -> str:
    return (
        f"<memory "
        f'path="{strip_hidden_characters(str(folder / topic.path))}">\n'
        f"{_escape_data(topic.text().rstrip())}\n</memory>"
    )


def _render_utterance(saying: UserUtterance, path: str) -> str:
    text = (
        saying.text
        if len(saying.text) <= MAX_UTTERANCE_CHARACTERS
        else saying.text[:MAX_UTTERANCE_CHARACTERS].rstrip() + " …"
    )
    return (
        f'<saying memory="{path}" '
        f'day="{format_utc_day(saying.at)}">\n{_escape_data(text)}\n</saying>'
    )


def _render_instructions(file: InstructionSource) -> str:
    return (
        f'<instruction-file path="{strip_hidden_characters(file.path)}" '
        f'changed="{format_utc_day(file.at)}">\n{_escape_data(file.text.strip())}\n</'
        f"instruction-file>"
    )


def _escape_data(text: str) -> str:
    return neutralize_markup(
        redact(strip_hidden_characters(replace_surrogates(text))).text, _MATERIAL_TAGS
    )


def render_dream_instruction(
    text: str, folder: Path, *, now: float, max_retired_memories: int
) -> str:
    """The instruction of a dream from its template `text`: with the folder, the day in UTC of `now`
    (seconds since the epoch), and how many memories it may retire.
    """
    return (
        render_template(
            text,
            {
                "folder": str(folder),
                "today": format_utc_day(now),
                "retired": str(max_retired_memories),
            },
            strict=True,
        ).strip()
        + "\n"
    )
