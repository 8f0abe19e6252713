"""How well what the user said outright is found without a model: precision and recall against
labels by hand (AM-5, AM-7).

Two kinds of labels stand in `labels/`. `recorded.jsonl` has a verdict for every message that a
person typed in the recorded sessions, by session and message id, without its text. `made_up.jsonl`
has messages written for this, keepers and traps, in parts. The rules were made while looking at
`first`; `second` was set aside meanwhile; `later`, `last` and `unseen` were written after the
rules, met them once unseen (docs/benchmarks.md has those figures), and were looked at then; `final`
met them last, and nothing was changed after it.

Something kept is right where its message is labelled as one to keep, and what is to be forgotten is
not remembered or the reverse.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.auto_memory.statements.statement_kind import StatementKind
from memorist.auto_memory.statements.statement_parser import Statement, find_statements
from memorist.auto_memory.statements.statement_patterns import StatementAct
from memorist.core.messages import Message, Origin, TextBlock
from memorist.formats.format_detection import read_session
from memorist.formats.host_markup import strip_host_markup
from memorist.store.transcript_reader import UnpackedUtf8Lines

PRECISION = 0.9
"""The goal: of ten things kept, nine are ones that a person would keep."""

Label = TypeVar("Label", bound=Struct)

LABELS = Path(__file__).parent / "labels"
PARTS = ("first", "second", "later", "last", "unseen", "final")


class RecordedLabel(Struct, frozen=True):
    """The verdict on one message of a recorded session: the act and kind of what a person would
    keep of it, nothing for none.
    """

    session: str
    message: str
    act: StatementAct | None = None
    kind: StatementKind | None = None


class MadeUp(Struct, frozen=True):
    """A message made up for this measurement, with its verdict."""

    text: str
    part: str
    act: StatementAct | None = None
    kind: StatementKind | None = None


class Wrong(Struct, frozen=True):
    """A disagreement: what the label says, and what was kept in its stead (nothing for a miss)."""

    where: str
    label: StatementAct | None
    kept: StatementAct | None
    quote: str


class ExtractResult(BenchResult, frozen=True):
    """The figures, and each disagreement."""

    errors: tuple[Wrong, ...] = ()


class Tally(Struct):
    """Counts over labelled messages."""

    messages: int = 0
    labelled: int = 0
    found: int = 0
    kept: int = 0
    right: int = 0
    same_kind: int = 0

    @property
    def precision(self) -> float:
        """The right ones of what was kept; 1 where nothing was."""
        return self.right / self.kept if self.kept else 1.0

    @property
    def recall(self) -> float:
        """The labelled messages of which something was kept; 1 where none is labelled."""
        return self.found / self.labelled if self.labelled else 1.0


def measure(data: Path) -> ExtractResult:
    """Recorded sessions, where there are any, and the made-up messages by part."""
    errors: list[Wrong] = []
    recorded = Tally()
    for where, label, message in _recorded(data):
        errors += judge_extraction(recorded, where, label, find_statements(message))
    rows = _rows("recorded sessions", recorded) if recorded.messages else []
    labels = _read(LABELS / "made_up.jsonl", MadeUp)
    for part in PARTS:
        tally = Tally()
        for number, each in enumerate(labels, 1):
            if each.part == part:
                errors += judge_extraction(
                    tally, f"made_up.jsonl:{number}", each, find_statements(_message(each.text))
                )
        rows += _rows(f"made up, {part}", tally)
    return ExtractResult("extract", tuple(rows), errors=tuple(errors))


def judge_extraction(
    tally: Tally, where: str, label: RecordedLabel | MadeUp, kept: Iterable[Statement]
) -> Iterator[Wrong]:
    """Count one message; its disagreements."""
    tally.messages += 1
    tally.labelled += label.act is not None
    right = False
    for each in kept:
        tally.kept += 1
        if label.act is not None and (label.act == "forget") == (each.act == "forget"):
            right = True
            tally.right += 1
            tally.same_kind += each.kind == label.kind
        else:
            yield Wrong(where, label.act, each.act, each.quote)
    tally.found += right
    if label.act is not None and not right:
        yield Wrong(where, label.act, None, "")


def _rows(name: str, tally: Tally) -> list[BenchRow]:
    return [
        BenchRow(f"{name}: messages", tally.messages),
        BenchRow(f"{name}: kept", tally.kept),
        BenchRow(
            f"{name}: precision",
            tally.precision,
            "",
            f"at least {PRECISION}",
            tally.precision >= PRECISION,
        ),
        BenchRow(f"{name}: recall", tally.recall, f"of {tally.labelled}"),
        BenchRow(
            f"{name}: of what is right, of the right kind",
            tally.same_kind / tally.right if tally.right else 1.0,
        ),
    ]


def _recorded(data: Path) -> Iterator[tuple[str, RecordedLabel, Message]]:
    """Every message that a person typed, with its verdict; one that nobody labelled counts as not
    to keep.
    """
    labels = {
        (each.session, each.message): each
        for each in _read(LABELS / "recorded.jsonl", RecordedLabel)
    }
    for session in sorted({name for name, _ in labels}):
        path = data / "sessions" / session
        if not path.is_file():
            continue
        for entry in read_session(UnpackedUtf8Lines(path)):
            if isinstance(entry, Message) and entry.origin is Origin.USER and _is_typed(entry):
                yield (
                    f"{session}#{entry.id}",
                    labels.get((session, entry.id), RecordedLabel(session, entry.id)),
                    entry,
                )


def _is_typed(message: Message) -> bool:
    texts = [
        block.text
        for block in message.blocks
        if isinstance(block, TextBlock) and (block.origin or message.origin) is Origin.USER
    ]
    return any(strip_host_markup(text).strip() for text in texts)


def _message(text: str) -> Message:
    return Message(
        id="made-up", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )


def _read(path: Path, kind: type[Label]) -> list[Label]:
    decode = msgspec.json.Decoder(kind).decode
    return [decode(line) for line in path.read_bytes().splitlines() if line.strip()]


if __name__ == "__main__":
    for error in measure(Path(sys.argv[1])).errors:
        sys.stdout.write(
            f"{error.where}: labelled {error.label or 'not'}, kept {error.kept or 'nothing'} "
            f"{error.quote!r}\n"
        )
