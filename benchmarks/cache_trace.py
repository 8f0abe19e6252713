"""Recorded sessions as token sequences, for playing them against the cache accounting: calls, and
the pieces of history between them.

The history is taken as if nothing had ever been compacted: summaries of the recorded agent are left
out, what came before them stays. Sizes are estimated tokens (`core.token_count`) before the model
family's factor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from memorist.core.messages import Message, Origin, ToolUse
from memorist.core.token_count import (
    estimate_message_tokens,
    estimate_text_tokens,
    get_token_factor,
)
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import SessionHead, UsageReport
from memorist.session_memory.structural_notes import render_structural_sections
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    ReadAction,
    parse_tool_action,
)
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

PREFIX = 15_000
"""Tokens of system prompt and tools where a session does not tell."""

NOTES_EVERY = 8
"""Calls between two looks at how long the structural notes are."""

PAUSE = 3_600.0
"""Seconds between the sessions of a string: the user comes back after an hour."""


class TracedPiece(NamedTuple):
    """A part of the history that is cleared or kept as one: a tool result, or the rest of a
    message.
    """

    key: str
    tokens: int
    kind: str
    """`said`, `reply` or `result`; a way of managing may add `summary`."""
    shows: tuple[str, ...] = ()
    """Names of files whose text stands in it."""


class TracedCall(NamedTuple):
    """One model call: when it began, what came since the last one, the reply, tokens of output,
    files it edits, and the notes' size by then.
    """

    at: float
    news: tuple[TracedPiece, ...]
    reply: tuple[TracedPiece, ...]
    output: int
    edits: tuple[str, ...]
    notes: int


class Trace(Struct, frozen=True):
    """A session: its name, the tokens of system prompt and tools, and its calls."""

    name: str
    prefix: int
    calls: tuple[TracedCall, ...]

    @property
    def history(self) -> int:
        """Tokens of history in the last request, had nothing ever been removed."""
        pieces = [piece for call in self.calls for piece in (*call.news, *call.reply)]
        return sum(piece.tokens for piece in pieces) - sum(
            piece.tokens for piece in self.calls[-1].reply
        )


class _CallBuilder:
    """The calls of one session, as its messages are added in order."""

    def __init__(self, name: str) -> None:
        self.done: list[TracedCall] = []
        self.ledger = TranscriptLedger()
        self._name = name
        self._files: dict[str, tuple[str, ...]] = {}
        self._reply: list[Message] = []
        self._news: list[TracedPiece] = []
        self._since: list[TracedPiece] = []
        self._at = self._time = 0.0
        self._notes = 0

    def add(self, message: Message) -> None:
        """One more message. Results that stand between the records of one reply came after it."""
        self.ledger.add(message)
        self._time = max(self._time, message.timestamp or 0.0)
        if message.role != "assistant":
            (self._since if self._reply else self._news).extend(self._pieces(message))
            return
        if self._reply and not self._continues(message):
            self.close()
        if not self._reply:
            self._at = self._time
        self._reply.append(message)
        self._files |= {use.id: _files_read(use) for use in message.tool_uses}

    def _continues(self, message: Message) -> bool:
        last = self._reply[-1]
        if message.reply_id is None:
            return last.reply_id is None and not self._since
        return message.reply_id == last.reply_id

    def close(self) -> None:
        """The reply that was being collected is whole."""
        if not self._reply:
            return
        if len(self.done) % NOTES_EVERY == 0:
            self._notes = sum(
                estimate_text_tokens(text)
                for text in render_structural_sections(self.ledger).values()
            )
        reply = tuple(piece for message in self._reply for piece in self._pieces(message))
        said = max([0, *(message.usage.output for message in self._reply if message.usage)])
        factor = get_token_factor(self._reply[0].model or "claude")
        uses = [use for message in self._reply for use in message.tool_uses]
        output = max(round(said / factor), sum(piece.tokens for piece in reply))
        self.done.append(
            TracedCall(
                self._at,
                tuple(self._news),
                reply,
                output,
                tuple(name for use in uses for name in _files_edited(use)),
                self._notes,
            )
        )
        self._news, self._since, self._reply = self._since, [], []

    def _pieces(self, message: Message) -> list[TracedPiece]:
        results = [
            TracedPiece(
                f"{self._name}:{block.tool_use_id}",
                estimate_text_tokens(block.text),
                "result",
                self._files.get(block.tool_use_id, ()),
            )
            for block in message.tool_results
        ]
        rest = estimate_message_tokens(message) - sum(piece.tokens for piece in results)
        kind = "reply" if message.role == "assistant" else "said"
        shows = tuple(name for use in message.tool_uses for name in _files_written(use))
        return (
            [*results, TracedPiece(f"{self._name}:{message.id}", rest, kind, shows)]
            if rest > 0
            else results
        )


def _bare(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _files_read(use: ToolUse) -> tuple[str, ...]:
    match parse_tool_action(use):
        case ReadAction(paths=paths, what=""):
            return tuple(_bare(path) for path in paths)
        case CommandAction(reads=paths):
            return tuple(_bare(path) for path in paths)
        case _:
            return ()


def _files_edited(use: ToolUse) -> tuple[str, ...]:
    match parse_tool_action(use):
        case ChangeAction(changes=changes) | CommandAction(changes=changes):
            return tuple(_bare(change.path) for change in changes if change.kind == "edit")
        case _:
            return ()


def _files_written(use: ToolUse) -> tuple[str, ...]:
    match parse_tool_action(use):
        case ChangeAction(changes=changes) | CommandAction(changes=changes):
            return tuple(
                _bare(change.path) for change in changes if change.kind in ("write", "add")
            )
        case _:
            return ()


def trace_of(path: Path) -> Trace:
    """The calls of a recorded session.

    Raises UnreadableSession for a file that holds none.
    """
    calls = _CallBuilder(path.stem)
    measured: int | None = None
    for entry in read_session(UnpackedUtf8Lines(path)):
        match entry:
            case Message(origin=Origin.SUMMARY):
                pass
            case Message(usage=usage, model=model):
                calls.add(entry)
                if usage is not None and measured is None and usage.context_tokens > usage.output:
                    measured = round(
                        (usage.context_tokens - usage.output) / get_token_factor(model or "claude")
                    )
            case UsageReport(input=given, cache_read=cached) if (
                given + cached > 0 and measured is None
            ):
                measured = round((given + cached) / get_token_factor("gpt"))
            case SessionHead(cwd=cwd, title=title, branch=branch):
                calls.ledger.cwd, calls.ledger.title, calls.ledger.branch = cwd, title, branch
            case _:
                pass
    calls.close()
    first = sum(piece.tokens for piece in calls.done[0].news) if calls.done else 0
    return Trace(
        path.stem, PREFIX if measured is None else max(0, measured - first), tuple(calls.done)
    )


def strung(name: str, traces: Sequence[Trace]) -> Trace:
    """One long session out of several: each begins `PAUSE` after the last call of the one before;
    the first one's system prompt serves all.
    """
    calls: list[TracedCall] = []
    for trace in traces:
        shift = calls[-1].at + PAUSE - trace.calls[0].at if calls else 0.0
        calls += [call._replace(at=call.at + shift) for call in trace.calls]
    return Trace(name, traces[0].prefix, tuple(calls))


def families(traces: Iterable[Trace]) -> dict[str, list[Trace]]:
    """The sessions of each repository, oldest first."""
    found: dict[str, list[Trace]] = {}
    for trace in traces:
        found.setdefault(trace.name.partition("__")[0], []).append(trace)
    return {
        name: sorted(group, key=lambda trace: trace.calls[0].at)
        for name, group in sorted(found.items())
    }
