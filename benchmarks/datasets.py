"""Long sessions made from recorded ones: copies of a session strung into one chain, each with ids
of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memorist.errors import InputError
from memorist.recall.lexical_score import EntryPositionInGroup, SearchEntry

_CHAIN = re.compile(
    rb'("(?:uuid|parentUuid|logicalParentUuid|leafUuid|messageId|sourceToolAssistantUUID)'
    rb'"\s*:\s*")[0-9a-fA-F]{8}'
)
_REPLY = re.compile(rb'("id"\s*:\s*"(?:msg|toolu)_|"tool_use_id"\s*:\s*"toolu_)')
_ROOT = re.compile(rb'"parentUuid"\s*:\s*null')
_UUID = re.compile(rb'"uuid"\s*:\s*"([0-9a-fA-F-]{36})"')
_CHAINED = re.compile(rb'"type"\s*:\s*"(?:user|assistant|attachment|system)"')


def long_session(sources: list[Path], size: int) -> Iterator[bytes]:
    """Lines of one Claude Code session of about `size` bytes, made by stringing copies of the
    sources together.
    """
    written, copy, last = 0, 0, b""
    contents = [
        [line for line in path.read_bytes().splitlines() if b'"isSidechain":true' not in line]
        for path in sources
    ]
    while written < size:
        for lines in contents:
            copy += 1
            for line in lines:
                made = _renamed(line, copy)
                if last and _ROOT.search(made):
                    made = _ROOT.sub(b'"parentUuid":"' + last + b'"', made, count=1)
                found = _UUID.search(made)
                if found and _CHAINED.search(made):
                    last = found.group(1)
                written += len(made) + 1
                yield made
            if written >= size:
                return


def _renamed(line: bytes, copy: int) -> bytes:
    return _REPLY.sub(rb"\g<1>%x" % copy, _CHAIN.sub(rb"\g<1>%08x" % copy, line))


def write_long_session(path: Path, sources: list[Path], size: int) -> int:
    """Write such a session; gives its size in bytes."""
    with path.open("wb") as file:
        for line in long_session(sources, size):
            file.write(line + b"\n")
        return file.tell()


def claude_sessions(data: Path) -> list[Path]:
    """The recorded Claude Code sessions, largest first."""
    return sorted(
        (data / "sessions" / "claude-code").glob("*.jsonl"),
        key=lambda path: path.stat().st_size,
        reverse=True,
    )


def all_sessions(data: Path, folders: str = "sessions") -> list[Path]:
    """All recorded sessions in folders of these names, by name."""
    return sorted(data.glob(f"{folders}/*/*.jsonl"))


# Public sets of long conversations with questions, read from the files their authors publish:
# LoCoMo and LongMemEval.


ASKED_KINDS = {1: "several turns", 2: "time", 3: "open", 4: "one turn"}
"""LoCoMo's categories with an answer in the text, by what it takes to answer; the fifth has none.
"""

_EVIDENCE = re.compile(r"D\d+:\d+")


class BenchTurn(Struct, frozen=True):
    """One thing said, with the session it is of and when that was."""

    id: str
    speaker: str
    text: str
    session: str
    date: str


class BenchQuestion(Struct, frozen=True):
    """A question with its answer and the ids of the turns, or sessions, that hold it."""

    id: str
    text: str
    answer: str
    kind: str
    evidence: frozenset[str]


class BenchConversation(Struct, frozen=True):
    """All that was said, in order, and what is asked of it."""

    name: str
    turns: tuple[BenchTurn, ...]
    questions: tuple[BenchQuestion, ...]

    def entries(self) -> list[SearchEntry]:
        """The turns as recall takes them."""
        return [
            SearchEntry(
                id=turn.id, body=turn.text, position=EntryPositionInGroup(turn.session, number)
            )
            for number, turn in enumerate(self.turns)
        ]


def locomo_file(data: Path) -> Path:
    """Where LoCoMo lies below a folder of data."""
    return data / "locomo" / "locomo7.json"


def read_locomo(path: Path) -> list[BenchConversation]:
    """LoCoMo's conversations, with the questions that have evidence. A turn is its text and the
    caption of its picture. Raises InputError.
    """
    try:
        return [_locomo(each) for each in _json(path)]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"{path} is not of LoCoMo's shape ({error!r} is wrong or missing)"
        ) from error


def _locomo(raw: dict[str, Any]) -> BenchConversation:
    said = raw["conversation"]
    sessions = sorted(
        (name for name in said if re.fullmatch(r"session_\d+", name)),
        key=lambda name: int(name.split("_")[1]),
    )
    turns = tuple(
        BenchTurn(
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
            questions.append(
                BenchQuestion(
                    f"{raw['sample_id']}/{number}",
                    each["question"],
                    str(each["answer"]),
                    kind,
                    evidence,
                )
            )
    return BenchConversation(raw["sample_id"], turns, tuple(questions))


def read_longmemeval(path: Path) -> Iterator[BenchConversation]:
    """LongMemEval's questions, each with its own haystack of sessions; evidence are sessions.
    Raises InputError.
    """
    for raw in _json(path):
        try:
            yield _longmemeval(raw)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{path} is not of LongMemEval's shape ({error!r} is wrong or missing)"
            ) from error


def _longmemeval(raw: dict[str, Any]) -> BenchConversation:
    sessions = raw["haystack_sessions"]
    names = [str(name) for name in raw.get("haystack_session_ids") or range(len(sessions))]
    days = raw.get("haystack_dates") or [""] * len(names)
    # A session may stand in a haystack twice; its turns are told apart by their place.
    turns = tuple(
        BenchTurn(f"{place}:{name}:{at}", turn["role"], turn["content"], name, day)
        for place, (name, day, session) in enumerate(zip(names, days, sessions, strict=True))
        for at, turn in enumerate(session)
    )
    id = str(raw.get("question_id", raw["question"]))
    day = f" (asked on {raw['question_date']})" if raw.get("question_date") else ""
    asked = BenchQuestion(
        id,
        raw["question"] + day,
        str(raw["answer"]),
        raw["question_type"],
        frozenset(map(str, raw["answer_session_ids"])),
    )
    return BenchConversation(id, turns, (asked,))


def is_longmemeval(path: Path) -> bool:
    """Whether the file is LongMemEval's rather than LoCoMo's. Raises InputError."""
    return any("haystack_sessions" in each for each in _json(path)[:1])


def _json(path: Path) -> list[dict[str, Any]]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]])
    except OSError as error:
        raise InputError(
            f"the file {path} cannot be read ({error.strerror}); it is published by its "
            f"authors and no part of memorist"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a published file of questions ({error})") from error
    return found
