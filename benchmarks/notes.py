"""How much of a person-sized summary the structural notes hold, beside plain baselines of the same
size (SM-13).

The references are summaries that a model wrote of recorded sessions for their owners. Two recalls
are measured over intent, outcome and learnings:

- *identifiers*: runs of letters, digits, `.`, `/`, `_` and `-` with a dot, stroke or underscore
  inside, with letters and digits, or with a capital inside; and whatever stands in back-ticks. One
  counts as found when it, or its last path part, stands in the text, whatever the case.
- *words*: words of four letters and more, lower case, cut to six letters, stop words left out. A
  word counts when the text has one with the same six.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Protocol

import msgspec
from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import Message, Origin, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, SessionHead, TranscriptEntry
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

BUDGET = 3_000
"""Tokens (o200k) of the notes at most, and of the baselines that are cut."""

IDENTIFIER_GOAL = 0.92
WORD_GOAL = 0.68
ENCODING = "o200k_base"
_RUN = re.compile(r"[A-Za-z0-9_./\-]+")
_SHAPED = re.compile(r"\w[./_]\w|[a-z][A-Z]|[A-Z]{2,}[a-z]|[A-Z][a-z]+[A-Z]")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"\d")
_TICKED = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"\b[a-z]{4,}\b")
_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        about after again against also another because been before being between both cannot could does doing down during each either else
        even ever every from have having here into itself just like more most much must only other ours over same shall should some such
        than that their them then there these they this those through under until upon used using very were what when where which while
        whom whose will with within without would your
        """,
    )
)


class NotesFinding(Struct, frozen=True):
    """A part of a reference that names a place in the code."""

    finding: str
    path: str = ""


class Learnings(Struct, frozen=True):
    """What a reference says was learned: of the repository, of places in the code, of the way of
    working.
    """

    repo: tuple[str, ...] = ()
    code: tuple[NotesFinding, ...] = ()
    workflow: tuple[str, ...] = ()


class NotesSummary(Struct, frozen=True):
    """A reference summary."""

    intent: str
    outcome: str
    learnings: Learnings


class Reference(Struct, frozen=True):
    """A summary and the session it is of, as a path below the data folder."""

    session: str
    summary: NotesSummary

    @property
    def text(self) -> str:
        """What is measured against."""
        learned = self.summary.learnings
        code = [f"{each.path} {each.finding}" for each in learned.code]
        return "\n".join(
            [self.summary.intent, self.summary.outcome, *learned.repo, *code, *learned.workflow]
        )


class NotesRecall(Struct, frozen=True):
    """Parts found, from 0 to 1, and the tokens it took."""

    identifiers: float
    words: float
    tokens: float


class PastSessionRecall(Struct, frozen=True):
    """One session: the notes and each baseline by name."""

    session: str
    by_method: dict[str, NotesRecall]
    missing: tuple[str, ...]
    """Identifiers of the reference that the notes lack."""


class NotesResult(Struct, frozen=True):
    """Averages over the sessions by method, the goals, and each session. Empty where there are no
    references.
    """

    means: dict[str, NotesRecall]
    sessions: tuple[PastSessionRecall, ...]
    identifier_goal: float = IDENTIFIER_GOAL
    word_goal: float = WORD_GOAL

    @property
    def met(self) -> bool:
        """Both goals are reached within the budget."""
        notes = self.means.get("notes")
        within = all(each.by_method["notes"].tokens <= BUDGET for each in self.sessions)
        return (
            notes is not None
            and within
            and notes.identifiers >= IDENTIFIER_GOAL
            and notes.words >= WORD_GOAL
        )


class Tokenizer(Protocol):
    """What is needed of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text."""
        ...

    def decode(self, tokens: list[int]) -> str:
        """The text of tokens."""
        ...


def word_set(text: str) -> frozenset[str]:
    """The content words of a text as they are compared."""
    return frozenset(word[:6] for word in _WORD.findall(text.lower()) if word not in _STOP)


def identifiers(text: str) -> frozenset[str]:
    """The identifiers of a text as they are compared."""
    runs = (run.strip("./-") for run in _RUN.findall(text))
    shaped = (
        run for run in runs if _SHAPED.search(run) or (_LETTER.search(run) and _DIGIT.search(run))
    )
    return frozenset(shaped) | frozenset(each.strip() for each in _TICKED.findall(text))


def lacking(text: str, reference: str) -> frozenset[str]:
    """The identifiers of the reference that do not stand in the text."""
    lower = text.lower()
    return frozenset(
        name
        for name in identifiers(reference)
        if not any(each in lower for each in (name.lower(), name.rsplit("/", 1)[-1].lower()))
    )


def measure_notes_recall(text: str, reference: str, tokens: float) -> NotesRecall:
    """How much of the reference the text holds."""
    wanted, names = word_set(reference), identifiers(reference)
    found = 1 - len(lacking(text, reference)) / len(names) if names else 1.0
    return NotesRecall(found, len(wanted & word_set(text)) / len(wanted) if wanted else 1.0, tokens)


def replay_notes(entries: Iterator[TranscriptEntry], budget: NotesBudget | None = None) -> str:
    """The structural notes of a recorded session: section headers and texts."""
    ledger = TranscriptLedger()
    for entry in entries:
        match entry:
            case Message():
                ledger.add(entry)
            case CompactionBoundary():
                ledger.on_compaction()
            case SessionHead(cwd=cwd, title=title, branch=branch):
                ledger.cwd, ledger.title, ledger.branch = cwd, title, branch
            case _:
                pass
    return "\n\n".join(
        f"# {section}\n{body}"
        for section, body in render_structural_sections(ledger, budget).items()
        if body
    )


def _everything(messages: list[Message]) -> str:
    return "\n".join(_block_text(block) for message in messages for block in message.blocks)


def _block_text(block: object) -> str:
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return text
        case ToolUse(name=name, arguments=str() as arguments):
            return f"{name} {arguments}"
        case ToolUse(name=name):
            return f"{name} {msgspec.json.encode(block.input).decode()}"
        case ToolResult():
            return block.text
        case _:
            return ""


def _spoken(messages: list[Message]) -> str:
    kept = (Origin.USER, Origin.MODEL)
    return "\n".join(
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock) and (block.origin or message.origin) in kept
    )


def methods(tokenizer: Tokenizer) -> dict[str, Callable[[list[Message]], str]]:
    """The baselines by name: what a text of the conversation holds, whole or its last tokens."""

    def last(text: str) -> str:
        return tokenizer.decode(tokenizer.encode(text)[-BUDGET:])

    return {
        "whole transcript": _everything,
        "last 3,000 tokens": lambda messages: last(_everything(messages)),
        "last 3,000 tokens of what was said": lambda messages: last(_spoken(messages)),
    }


REFERENCE_FILES = "summaries*.jsonl"
"""The files of references: the notes were built beside the first, the others came later."""


def references(data: Path, files: str = REFERENCE_FILES) -> tuple[Reference, ...]:
    """The reference summaries below the data folder; none where there are no such files."""
    decode = msgspec.json.Decoder(Reference).decode
    return tuple(
        decode(line)
        for path in sorted((data / "references").glob(files))
        for line in path.read_bytes().splitlines()
        if line.strip()
    )


def measure_notes(data: Path, files: str = REFERENCE_FILES) -> NotesResult:
    """Notes and baselines for every session that has a reference in these files.

    Raises ImportError where `quicktok` is not installed, and UnreadableSession for a session file
    that cannot be read.
    """
    tokenizer: Tokenizer = importlib.import_module("quicktok").get_encoding(ENCODING)
    sessions = tuple(
        _session(data / each.session, each, tokenizer) for each in references(data, files)
    )
    names = list(sessions[0].by_method) if sessions else []
    return NotesResult(
        {name: _mean([each.by_method[name] for each in sessions]) for name in names}, sessions
    )


def _session(path: Path, reference: Reference, tokenizer: Tokenizer) -> PastSessionRecall:
    messages = [
        entry for entry in read_session(UnpackedUtf8Lines(path)) if isinstance(entry, Message)
    ]
    texts = {"notes": replay_notes(read_session(UnpackedUtf8Lines(path)))} | {
        name: make(messages) for name, make in methods(tokenizer).items()
    }
    by_method = {
        name: measure_notes_recall(text, reference.text, len(tokenizer.encode(text)))
        for name, text in texts.items()
    }
    return PastSessionRecall(
        reference.session, by_method, tuple(sorted(lacking(texts["notes"], reference.text)))
    )


def _mean(recalls: list[NotesRecall]) -> NotesRecall:
    return NotesRecall(
        fmean(each.identifiers for each in recalls),
        fmean(each.words for each in recalls),
        fmean(each.tokens for each in recalls),
    )


# The measurement of the notes as a table (see `benchmarks.notes` for how it is made).


LIMIT = 3_000
"""Tokens that the notes may have at most."""


def measure(data: Path) -> BenchResult:
    """How much of the reference summaries the structural notes hold, beside plain baselines."""
    if not (data / "references" / "summaries.jsonl").exists():
        return BenchResult("notes", absent=f"no reference summaries below {data}")
    if importlib.util.find_spec("quicktok") is None:
        return BenchResult(
            "notes", absent="the tokenizer quicktok-v1 is not installed (make bench installs it)"
        )
    found = measure_notes(data)
    rows = []
    for name, recall in found.means.items():
        ours = name == "notes"
        rows += [
            BenchRow(
                f"{name}: identifiers",
                recall.identifiers,
                "",
                _goal(IDENTIFIER_GOAL, ours),
                _met(recall.identifiers >= IDENTIFIER_GOAL, ours),
            ),
            BenchRow(
                f"{name}: content words",
                recall.words,
                "",
                _goal(WORD_GOAL, ours),
                _met(recall.words >= WORD_GOAL, ours),
            ),
            BenchRow(f"{name}: size", recall.tokens, "tokens (o200k), mean"),
        ]
    largest = max(session.by_method["notes"].tokens for session in found.sessions)
    rows.append(
        BenchRow("notes: largest", largest, "tokens", f"at most {LIMIT:,}", largest <= LIMIT)
    )
    return BenchResult("notes", tuple(rows))


def _goal(value: float, ours: bool) -> str:
    return f"at least {value}" if ours else ""


def _met(is_met: bool, ours: bool) -> bool | None:
    return is_met if ours else None
