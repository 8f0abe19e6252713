"""Questions that a dream puts to the user: which of them, how many, and which were asked before."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec import Struct

from memorist.ports import FileSystem
from memorist.store.disk_files import read_json_if_valid
from memorist.store.home_layout import MemoryLayout

MAX_ASKED_MARKS = 5_000
"""Newest marks of asked questions that are remembered."""
_ASKED_FILE = "asked.json"


class MemoryRemovalQuestion(Struct, frozen=True, kw_only=True):
    """A memory that perhaps should be removed, and why; the user decides."""

    path: str
    why: str
    other_path: str = ""
    """The other memory involved; empty for an instruction file."""
    mark: str
    """Identifies the two texts: the same question is asked once, until one of them changes."""


def choose_removal_questions_for_user(
    found: Iterable[MemoryRemovalQuestion],
    *,
    asked: Collection[str],
    waiting: Collection[str],
    limit: int,
) -> tuple[MemoryRemovalQuestion, ...]:
    """Choose at most `limit` of the questions found (`dream.questions`), one for each memory: none
    whose mark was `asked` before, and none of a path that the user is asked about already.
    """
    chosen: dict[str, MemoryRemovalQuestion] = {}
    for each in found:
        if each.mark not in asked and not {each.path, each.other_path} & set(waiting):
            chosen.setdefault(each.path, each)
    return tuple(chosen.values())[:limit]


def load_asked_question_keys(files: FileSystem, layout: MemoryLayout) -> tuple[str, ...]:
    """The marks of questions that earlier dreams asked; empty for a file that cannot be read."""
    return read_json_if_valid(files, layout.dream_state / _ASKED_FILE, tuple[str, ...]) or ()


def append_asked_question_keys(
    files: FileSystem, layout: MemoryLayout, marks: Sequence[str]
) -> None:
    """Remember that these questions were asked."""
    if marks:
        known = dict.fromkeys((*load_asked_question_keys(files, layout), *marks))
        data = msgspec.json.encode(tuple(known)[-MAX_ASKED_MARKS:])
        files.write(layout.dream_state / _ASKED_FILE, data)
