"""Public sets of long conversations with questions, read from the files their authors publish: LoCoMo and LongMemEval."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memorist.errors import InputError
from memorist.recall.entries import Entry, Place

ASKED_KINDS = {1: "several turns", 2: "time", 3: "open", 4: "one turn"}
"""LoCoMo's categories with an answer in the text, by what it takes to answer; the fifth has none."""

ROLES = frozenset({"user", "assistant"})
_EVIDENCE = re.compile(r"D\d+:\d+")


class Turn(Struct, frozen=True):
    """One thing said, with the session it is of and when that was."""

    id: str
    speaker: str
    text: str
    session: str
    date: str


class Asked(Struct, frozen=True):
    """A question with its answer and the ids of the turns, or sessions, that hold it."""

    id: str
    text: str
    answer: str
    kind: str
    evidence: frozenset[str]


class Conversation(Struct, frozen=True):
    """All that was said, in order, and what is asked of it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[Asked, ...]

    def entries(self) -> list[Entry]:
        """The turns as recall takes them."""
        return [
            # A question names people; `user` and `assistant` in it mean other things.
            Entry(
                id=turn.id,
                body=turn.text,
                author="" if turn.speaker in ROLES else turn.speaker,
                place=Place(turn.session, number, turn.date),
            )
            for number, turn in enumerate(self.turns)
        ]


def locomo_file(data: Path) -> Path:
    """Where LoCoMo lies below a folder of data."""
    return data / "locomo" / "locomo7.json"


def read_locomo(path: Path) -> list[Conversation]:
    """LoCoMo's conversations, with the questions that have evidence. A turn is its text and the caption of its picture. Raises InputError."""
    try:
        return [_locomo(each) for each in _json(path)]
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is not of LoCoMo's shape ({error!r} is wrong or missing)") from error


def _locomo(raw: dict[str, Any]) -> Conversation:
    said = raw["conversation"]
    sessions = sorted((name for name in said if re.fullmatch(r"session_\d+", name)), key=lambda name: int(name.split("_")[1]))
    turns = tuple(
        Turn(
            turn["dia_id"],
            turn["speaker"],
            " ".join(filter(None, (turn["text"], turn.get("blip_caption")))),
            name,
            said[f"{name}_date_time"],
        )
        for name in sessions
        for turn in said[name]
    )
    known = {turn.id for turn in turns}
    questions = []
    for number, each in enumerate(raw["qa"]):
        evidence = frozenset(_EVIDENCE.findall(" ".join(each.get("evidence") or ()))) & known
        if each["category"] in ASKED_KINDS and evidence:
            kind = ASKED_KINDS[each["category"]]
            questions.append(Asked(f"{raw['sample_id']}/{number}", each["question"], str(each["answer"]), kind, evidence))
    return Conversation(raw["sample_id"], turns, tuple(questions))


def read_longmemeval(path: Path) -> Iterator[Conversation]:
    """LongMemEval's questions, each with its own haystack of sessions; evidence are sessions. Raises InputError."""
    for raw in _json(path):
        try:
            yield _longmemeval(raw)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is not of LongMemEval's shape ({error!r} is wrong or missing)") from error


def _longmemeval(raw: dict[str, Any]) -> Conversation:
    sessions = raw["haystack_sessions"]
    names = [str(name) for name in raw.get("haystack_session_ids") or range(len(sessions))]
    days = raw.get("haystack_dates") or [""] * len(names)
    # A session may stand in a haystack twice; its turns are told apart by their place.
    turns = tuple(
        Turn(f"{place}:{name}:{at}", turn["role"], turn["content"], name, day)
        for place, (name, day, session) in enumerate(zip(names, days, sessions, strict=True))
        for at, turn in enumerate(session)
    )
    id = str(raw.get("question_id", raw["question"]))
    day = f" (asked on {raw['question_date']})" if raw.get("question_date") else ""
    asked = Asked(id, raw["question"] + day, str(raw["answer"]), raw["question_type"], frozenset(map(str, raw["answer_session_ids"])))
    return Conversation(id, turns, (asked,))


def is_longmemeval(path: Path) -> bool:
    """Whether the file is LongMemEval's rather than LoCoMo's. Raises InputError."""
    return any("haystack_sessions" in each for each in _json(path)[:1])


def _json(path: Path) -> list[dict[str, Any]]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except OSError as error:
        raise InputError(
            f"the file {path} cannot be read ({error.strerror}); it is published by its authors and no part of memorist"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a published file of questions ({error})") from error
    return found
