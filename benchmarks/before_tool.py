"""What is said before a tool call, on recorded sessions: how many failures that a former session of
the same repository had mended are named before the call, and how many calls are disturbed.

Each session is played against an index of those before it in time. A failure counts as mended
before where a former session had the same command (its first words) fail with the same line, but
for numbers and paths, and succeed later.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct, field

from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import Message, ToolUse
from memorist.engine.engine import Memorist
from memorist.formats.format_detection import read_session
from memorist.recall.session_index import SessionIndex
from memorist.settings import Settings
from memorist.store.rollout_rows import Rollout
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.call_outcome import (
    CallOutcome,
    get_result_head_and_tail,
    parse_call_outcome,
)
from memorist.transcript_analysis.command_lines import build_command_key
from memorist.transcript_analysis.invocation_log import split_invocations
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action

_WORK_KINDS = frozenset({"test", "lint", "typecheck", "format", "build", "commit", "push"})


class _RecordedCall(Struct, frozen=True):
    use: ToolUse
    action: CommandAction
    outcome: CallOutcome

    @property
    def signature(self) -> tuple[str, str]:
        line = re.sub(r"\S*/\S+", "P", self.outcome.line.lower())
        return build_command_key(self.action.short_command), re.sub(r"[0-9a-f]{7,}|\d+", "N", line)


class _Score(Struct):
    calls: int = 0
    mended: int = 0
    unusable: int = 0
    """Those of the mended ones whose command could not work as it was typed."""
    named: int = 0
    named_failing: int = 0
    false: int = 0
    milliseconds: list[float] = field(default_factory=list)


class _Manifest(Struct):
    file: str
    repo: str


def measure(data: Path) -> BenchResult:
    """Play all recorded sessions."""
    by_repository: dict[str, list[tuple[float, Path]]] = defaultdict(list)
    for name in ("manifest.json", "manifest2.json"):
        if (data / name).exists():
            rows = msgspec.json.decode((data / name).read_bytes(), type=list[_Manifest])
            for each in rows:
                path = data / each.file
                by_repository[each.repo].append((_start_of(path), path))
    score = _Score()
    for sessions in by_repository.values():
        _play(sorted(path for path in sessions), score)
    if not score.calls:
        return BenchResult("before-tool", (), f"no recorded sessions below {data}")
    times = sorted(score.milliseconds)
    return BenchResult(
        "before-tool",
        (
            BenchRow("before a call: commands played", score.calls),
            BenchRow("before a call: failures that a former session had mended", score.mended),
            BenchRow("of these, named before the call", score.named),
            BenchRow("of these, commands that could not work as typed", score.unusable),
            BenchRow("calls that failed and were warned of", score.named_failing),
            BenchRow("calls that worked and were warned of", score.false),
            BenchRow(
                "false alarms", 100 * score.false / score.calls, "in 100 calls", "<= 2",
                score.false <= 0.02 * score.calls,
            ),
            BenchRow(
                "95th percentile of a look-up", times[int(0.95 * len(times))], "ms", "<= 30",
                times[int(0.95 * len(times))] <= 30,
            ),
        ),
    )  # fmt: skip


def _start_of(path: Path) -> float:
    return next(
        (
            entry.timestamp
            for entry in read_session(UnpackedUtf8Lines(path))
            if isinstance(entry, Message) and entry.timestamp
        ),
        0.0,
    )


def _calls(path: Path) -> Iterator[_RecordedCall]:
    waiting: dict[str, tuple[ToolUse, CommandAction]] = {}
    for entry in read_session(UnpackedUtf8Lines(path)):
        if not isinstance(entry, Message):
            continue
        for use in entry.tool_uses:
            action = parse_tool_action(use)
            if isinstance(action, CommandAction):
                waiting[use.id] = use, action
        for result in entry.tool_results:
            if called := waiting.pop(result.tool_use_id, None):
                outcome = parse_call_outcome(result, called[1], get_result_head_and_tail(result))
                if outcome.ok is not None and not outcome.rejected:
                    yield _RecordedCall(*called, outcome)


def _play(sessions: Sequence[tuple[float, Path]], score: _Score) -> None:
    known: set[tuple[str, str]] = set()
    with tempfile.TemporaryDirectory() as place:
        project = Path(place, "project")
        project.mkdir()
        engine = Memorist(settings=Settings(home=str(Path(place, "home"))))
        past: list[Rollout] = []
        for at, (_, path) in enumerate(sessions):
            calls = list(_calls(path))
            with closing(SessionIndex(engine.layout.session_index)) as index:
                index.sync(past)
                _play_session(index, str(project), calls, known, score)
            known |= _mended_in(calls)
            facts = path.stat()
            past.append(
                Rollout(
                    id=f"{at}",
                    path=str(path),
                    format="claude_code",
                    size=facts.st_size,
                    modified_ns=facts.st_mtime_ns,
                    updated=at,
                    repository=str(project),
                )
            )


def _play_session(
    index: SessionIndex,
    project: str,
    calls: Sequence[_RecordedCall],
    known: set[tuple[str, str]],
    score: _Score,
) -> None:
    warned: set[tuple[str, str]] = set()
    seen: set[tuple[str, str]] = set()
    for call in calls:
        score.calls += 1
        began = time.perf_counter()
        found = {
            (mended.program, mended.word)
            for each in split_invocations(call.action.command)
            if (mended := index.find_fixed_invocation(each, project=project)) is not None
        }
        score.milliseconds.append(1_000 * (time.perf_counter() - began))
        shown = found - warned
        warned |= found
        failed = call.outcome.ok is False
        score.named_failing += bool(shown) and failed
        score.false += bool(shown) and not failed
        if failed and call.signature in known and call.signature not in seen:
            seen.add(call.signature)
            score.mended += 1
            score.named += bool(shown)
            score.unusable += bool(found)


def _mended_in(calls: Sequence[_RecordedCall]) -> set[tuple[str, str]]:
    """Signatures of failures after which the same command, or for a check one of its kind,
    succeeded.
    """
    waiting: list[_RecordedCall] = []
    mended: set[tuple[str, str]] = set()
    for call in calls:
        if call.outcome.ok is False:
            waiting.append(call)
            continue
        for failure in waiting:
            kind = call.action.kind
            if failure.signature[0] == call.signature[0] or (
                kind == failure.action.kind and kind in _WORK_KINDS
            ):
                mended.add(failure.signature)
    return mended
