"""What of the earlier conversation the assistant goes on to use, and how much of it each way of
compaction keeps (CP-15, CP-16). No model.

- *Points*: each recorded session is cut where 40, 60 and 80 % of its estimated tokens are reached,
  at the newest place that parts no pair, if there are 20,000 tokens and more before it: so a budget
  of 20,000 always means that something goes.
- *Used*: the facts and spans (`carryover_use`) of the assistant's later texts and tool inputs, to
  the session's end, that stand in the history before the cut and that no user, tool or harness
  shows between the cut and their first use. Reasoning after the cut does not count.
- *Kept*: a used fact, or span, that stands in the compacted history's texts. Figures are over all
  points together, so that each use counts once.

Budgets are estimated tokens (`core.token_count`, factor 1).
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from benchmarks.datasets import all_sessions
from benchmarks.report import BenchResult, BenchRow, PlotLine, draw_line_plot
from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.compaction_result import CompactedHistory, RemovedItem
from memorist.compaction.full_compaction import keep_newest_user_messages
from memorist.compaction.newest_messages import find_start_of_fitting_tail
from memorist.compaction.offline_compaction import OfflineOptions, compact_offline
from memorist.compaction.window_at_message import RecordedWindow
from memorist.core.messages import (
    Block,
    JsonObject,
    Message,
    Origin,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
)
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.core.tool_pairs import find_cut_points
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import SessionHead
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.settings import CompactionSettings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

# What a conversation shows, and what of it the assistant uses later: the two measures of
# `carryover`. Pure.


SPAN = 10
"""Words or signs in a row that count as verbatim."""

WORD = re.compile(r"\w+|[^\w\s]")
_FACT = re.compile(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_SHAPED = re.compile(
    r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|"
    r"\w\.[A-Za-z_]\w"
)
_LINE_NUMBER = re.compile(r"^ *\d+(?:→|\t|:)", re.MULTILINE)
_SHORTEST = 4

Span = tuple[str, ...]


class UsedFacts(Struct, frozen=True):
    """What the assistant took from the earlier conversation with nobody showing it again."""

    facts: frozenset[str]
    spans: frozenset[Span]


def extract_facts(text: str) -> set[str]:
    """The facts of a text."""
    found = (each.strip(".-/:") for each in _FACT.findall(text))
    return {each for each in found if len(each) >= _SHORTEST and _SHAPED.search(each)}


def spans(texts: Iterable[str]) -> set[Span]:
    """The spans of some texts, none across two of them."""
    found: set[Span] = set()
    for text in texts:
        words = WORD.findall(_LINE_NUMBER.sub("", text))
        found.update(zip(*(words[start:] for start in range(SPAN)), strict=False))
    return found


def iterate_values(given: JsonObject) -> Iterator[str]:
    """The texts in a tool's input."""
    stack: list[object] = [given]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            stack.extend(reversed(value.values()))
        elif isinstance(value, list):
            stack.extend(reversed(value))


def block_texts(block: Block) -> list[str]:
    """What a model reads in this block."""
    match block:
        case TextBlock(text=text) | ThinkingBlock(text=text):
            return [text]
        case ToolUse():
            return list(iterate_values(block.input)) or [block.arguments or ""]
        case ToolResult():
            return [block.text]
        case _:
            return []


def shown_texts(messages: Sequence[Message]) -> list[str]:
    """What a model reads in these messages, block by block."""
    return [text for message in messages for block in message.blocks for text in block_texts(block)]


def used_later(earlier: Sequence[Message], later: Sequence[Message]) -> UsedFacts:
    """What stands in `earlier`, and in `later` first in the assistant's own words or in the input
    of a tool, before a user or a tool shows it.
    """
    texts = shown_texts(earlier)
    known = "\n".join(texts)
    known_facts, known_spans = extract_facts(known), spans(texts)
    taken_facts: set[str] = set()
    taken_spans: set[Span] = set()
    seen_facts: set[str] = set()
    seen_spans: set[Span] = set()
    for message in later:
        own = message.origin is Origin.MODEL
        for block in message.blocks:
            if own and isinstance(block, ThinkingBlock):
                continue
            parts = block_texts(block)
            new_facts = extract_facts("\n".join(parts)) - seen_facts
            new_spans = spans(parts) - seen_spans
            if own:
                taken_facts |= new_facts & known_facts
                taken_spans |= new_spans & known_spans
            seen_facts |= new_facts
            seen_spans |= new_spans
    return UsedFacts(frozenset(taken_facts), frozenset(taken_spans))


def share_kept(messages: Sequence[Message], used: UsedFacts) -> tuple[float, float]:
    """Parts of the used facts and spans that these messages hold; 1.0 where nothing was used."""
    texts = shown_texts(messages)
    whole = "\n".join(texts)
    held_facts = sum(fact in whole for fact in used.facts) / len(used.facts) if used.facts else 1.0
    held_spans = len(used.spans & spans(texts)) / len(used.spans) if used.spans else 1.0
    return held_facts, held_spans


# Baseline strategies: a tail window, and clearing old tool results before it. Pure.


def keep_newest_messages(
    messages: Sequence[Message], budget: int, *, factor: float = 1.0
) -> CompactedHistory:
    """The newest messages within `budget` estimated tokens, whole and in order; neither pairs nor
    replies are split (CP-10).

    Nothing is left where the newest reply with its results alone is larger.
    """
    sizes = [estimate_message_tokens(message, factor) for message in messages]
    first = find_start_of_fitting_tail(sizes, find_cut_points(messages), budget)
    return CompactedHistory(
        strategy="tail",
        messages=tuple(messages[first:]),
        tokens_before=sum(sizes),
        tokens_after=sum(sizes[first:]),
        removed_items=tuple(
            RemovedItem(message.id, size, "older than the window")
            for message, size in zip(messages[:first], sizes[:first], strict=True)
        ),
    )


KEPT_RESULTS = 5
"""Newest results that are kept (Claude Code and CP-5 keep as many)."""

CLEARED_RESULT = "[old tool result cleared]"
"""Shorter than microcompact's text: what is cleared here, as in other agents, cannot be fetched
back.
"""


def clear_oldest_results(
    messages: Sequence[Message], keep: int = KEPT_RESULTS
) -> tuple[Message, ...]:
    """The messages with all but the newest `keep` tool results replaced by a short text. Messages
    without such a result are the same objects.
    """
    left = keep
    cleared: list[Message] = []
    for message in reversed(messages):
        results = len(message.tool_results)
        cleared.append(message if results <= left else _clear_oldest(message, left))
        left = max(0, left - results)
    return tuple(reversed(cleared))


def _clear_oldest(message: Message, keep: int) -> Message:
    doomed = len(message.tool_results) - keep
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, ToolResult):
            doomed -= 1
            blocks.append(
                block
                if doomed < 0 or len(block.text) <= len(CLEARED_RESULT)
                else msgspec.structs.replace(block, content=(TextBlock(CLEARED_RESULT),))
            )
        else:
            blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks))


def clear_and_tail(
    messages: Sequence[Message], budget: int, *, keep: int = KEPT_RESULTS, factor: float = 1.0
) -> CompactedHistory:
    """Clear old tool results, then keep the newest messages within `budget` estimated tokens."""
    if sum(estimate_message_tokens(message, factor) for message in messages) <= budget:
        return msgspec.structs.replace(
            keep_newest_messages(messages, budget, factor=factor), strategy="clearing"
        )
    cleared = clear_oldest_results(messages, keep)
    made = keep_newest_messages(cleared, budget, factor=factor)
    start = len(cleared) - len(made.messages)
    emptied = [
        cut
        for old, new in zip(messages[start:], made.messages, strict=True)
        for cut in _find_cleared_items(old, new, factor)
    ]
    before = sum(estimate_message_tokens(message, factor) for message in messages)
    return msgspec.structs.replace(
        made,
        strategy="clearing",
        tokens_before=before,
        removed_items=(*made.removed_items, *emptied),
    )


def _find_cleared_items(old: Message, new: Message, factor: float) -> list[RemovedItem]:
    pairs = zip(old.tool_results, new.tool_results, strict=True)
    return [
        RemovedItem(
            was.tool_use_id,
            estimate_text_tokens(was.text, factor) - estimate_text_tokens(now.text, factor),
            "an old tool result",
        )
        for was, now in pairs
        if was is not now
    ]


# The ways of compaction that `carryover` sets side by side, all without a model: each takes a
# history and a budget and gives what is left of it.


CarryoverMethod = Callable[[Sequence[Message], int, str], Sequence[Message]]
"""Of the history, the budget in tokens and the session's folder."""

DIGEST = "extractive summary"
LANGCHAIN = "LangChain trim_messages"
NOTES_TOKENS = 3_000
"""Tokens of the notes, or half the budget where that is less."""

_PREFIX = "What the conversation was about, from its notes:"


def ways() -> dict[str, CarryoverMethod]:
    """The ways by name; LangChain's only where `langchain_core` is installed."""
    found: dict[str, CarryoverMethod] = {
        "tail window": lambda messages, budget, _: keep_newest_messages(messages, budget).messages,
        "clearing + tail": lambda messages, budget, _: clear_and_tail(messages, budget).messages,
    }
    if importlib.util.find_spec("langchain_core") is not None:
        found[LANGCHAIN] = _langchain
    return found | {
        "inline compact": _inline,
        "session memory compact": _session_memory,
        DIGEST: _structural,
    }


def _structural(messages: Sequence[Message], budget: int, cwd: str) -> Sequence[Message]:
    """What `memorist compact --strategy structural` gives."""
    held = tuple(messages)
    recorded = RecordedWindow(
        head=SessionHead(session="carryover", format="memorist", cwd=cwd),
        last_message=held[-1].id,
        messages=held,
        all_messages=held,
    )
    options = OfflineOptions(
        budget=budget,
        texts=load_shipped_compaction_prompts(),
        template="",
        settings=CompactionSettings(),
    )
    made = compact_offline(recorded, "structural", options)
    return made.messages if isinstance(made, CompactedHistory) else held


def _notes(messages: Sequence[Message], budget: int, cwd: str) -> Message:
    ledger = TranscriptLedger(cwd)
    for message in messages:
        ledger.add(message)
    sections = render_structural_sections(
        ledger, NotesBudget(total_tokens=min(NOTES_TOKENS, budget // 2))
    )
    text = "\n\n".join(f"# {title}\n{body}" for title, body in sections.items() if body)
    return Message(
        id="memorist-notes",
        role="user",
        blocks=(TextBlock(f"{_PREFIX}\n{text}"),),
        origin=Origin.SUMMARY,
    )


def _inline(messages: Sequence[Message], budget: int, cwd: str) -> Sequence[Message]:
    """CP-11 with the structural notes as the summary: the user's messages within 20,000 tokens,
    then the notes.
    """
    notes = _notes(messages, budget, cwd)
    room = max(0, budget - estimate_message_tokens(notes))
    return (
        *keep_newest_user_messages(
            messages, min(CompactionSettings().inline_user_tokens, room), prefix=_PREFIX
        ),
        notes,
    )


def _session_memory(messages: Sequence[Message], budget: int, cwd: str) -> Sequence[Message]:
    """CP-9 with the structural notes, kept to the budget: the notes, then as much of the newest as
    fits, 40,000 tokens at most.
    """
    notes = _notes(messages, budget, cwd)
    room = max(0, budget - estimate_message_tokens(notes))
    return (
        notes,
        *keep_newest_messages(
            messages, min(CompactionSettings().keep_maximum_tokens, room)
        ).messages,
    )


def _langchain(messages: Sequence[Message], budget: int, _: str) -> Sequence[Message]:
    """`trim_messages` as its documentation shows it for agents: the newest whole messages,
    beginning with a person's or the model's.
    """
    parts = importlib.import_module("langchain_core.messages")
    sizes = {str(index): estimate_message_tokens(message) for index, message in enumerate(messages)}
    made = [
        each
        for index, message in enumerate(messages)
        for each in _converted(parts, str(index), message)
    ]

    def count(some: list[Any]) -> int:
        return sum(sizes[index] for index in {each.id.split("/")[0] for each in some})

    left = parts.trim_messages(
        made,
        max_tokens=budget,
        strategy="last",
        token_counter=count,
        start_on=("human", "ai"),
        include_system=True,
        allow_partial=False,
    )
    return [messages[index] for index in sorted({int(each.id.split("/")[0]) for each in left})]


def _converted(parts: ModuleType, index: str, message: Message) -> list[Any]:
    results = [block for block in message.blocks if isinstance(block, ToolResult)]
    made: list[Any] = [
        parts.ToolMessage(each.text, tool_call_id=each.tool_use_id, id=f"{index}/{at}")
        for at, each in enumerate(results)
    ]
    if message.origin is Origin.MODEL:
        calls = [{"name": use.name, "args": use.input, "id": use.id} for use in message.tool_uses]
        made.append(parts.AIMessage(message.text, tool_calls=calls, id=index))
    elif message.text or not results:
        made.append(parts.HumanMessage(message.text or "(picture)", id=index))
    return made


BUDGETS = (2_000, 8_000, 20_000, 40_000)
SHARES = (0.4, 0.6, 0.8)
LEAST = 20_000
"""Tokens before a point."""

GOAL_BUDGETS = (8_000, 20_000)
FACT_GOAL = 0.95
SPAN_GOAL = 1.25


class CarryoverPoint(Struct, frozen=True):
    """A place where a session is compacted: the history before it, and what of it is used later."""

    session: str
    cwd: str
    history: tuple[Message, ...]
    used: UsedFacts


class CarryoverShare(Struct, frozen=True):
    """What a way keeps at a budget: parts of the used facts and spans, from 0 to 1, over all
    points.
    """

    facts: float
    spans: float


class DigestPoints(Struct, frozen=True):
    """How the digest does point by point at a budget: means over the points, the mean of the worst
    tenth, the points where a plain way (tail, clearing and tail) holds more, and those over the
    budget.
    """

    mean: CarryoverShare
    worst_tenth: CarryoverShare
    below_plain: int
    over_budget: int


class Carryover(Struct, frozen=True):
    """The whole measurement: by way and budget; points, used facts and used spans."""

    shares: dict[str, dict[int, CarryoverShare]]
    points: int
    facts: int
    spans: int
    by_point: dict[int, DigestPoints] = {}
    """The digest point by point, by budget."""

    def best_other(self, budget: int) -> CarryoverShare:
        """The best of the other ways in each measure."""
        others = [found[budget] for name, found in self.shares.items() if name != DIGEST]
        return CarryoverShare(
            max(each.facts for each in others), max(each.spans for each in others)
        )


def points(paths: Sequence[Path]) -> Iterator[CarryoverPoint]:
    """The points of these sessions."""
    for path in paths:
        head, messages = "", []
        for entry in read_session(UnpackedUtf8Lines(path)):
            if isinstance(entry, SessionHead):
                head = entry.cwd
            elif isinstance(entry, Message):
                messages.append(entry)
        for cut in cuts(messages):
            used = used_later(messages[:cut], messages[cut:])
            if used.facts or used.spans:
                yield CarryoverPoint(path.stem, head, tuple(messages[:cut]), used)


def cuts(messages: Sequence[Message]) -> list[int]:
    """Where a session is compacted."""
    sizes = list(accumulate(estimate_message_tokens(message) for message in messages))
    starts = find_cut_points(messages)
    found: list[int] = []
    for share in SHARES if sizes else ():
        start = starts[max(0, bisect_right(starts, bisect_right(sizes, sizes[-1] * share)) - 1)]
        if start and sizes[start - 1] >= LEAST:
            found.append(start)
    return found


def compare_carryover(
    found: Sequence[CarryoverPoint], budgets: Sequence[int] = BUDGETS
) -> Carryover:
    """Every way at every budget over these points."""
    facts = sum(len(point.used.facts) for point in found)
    spans = sum(len(point.used.spans) for point in found)
    shares: dict[str, dict[int, CarryoverShare]] = {}
    for name, way in ways().items():
        shares[name] = {}
        for budget in budgets:
            held = [
                (point.used, share_kept(way(point.history, budget, point.cwd), point.used))
                for point in found
            ]
            held_facts = sum(share[0] * len(used.facts) for used, share in held)
            held_spans = sum(share[1] * len(used.spans) for used, share in held)
            shares[name][budget] = CarryoverShare(
                held_facts / max(1, facts), held_spans / max(1, spans)
            )
    by_point = {budget: _compare_points(found, budget) for budget in budgets} if found else {}
    return Carryover(shares, len(found), facts, spans, by_point)


def _compare_points(found: Sequence[CarryoverPoint], budget: int) -> DigestPoints:
    ours: list[tuple[float, float]] = []
    below = over = 0
    for point in found:
        made = _structural(point.history, budget, point.cwd)
        held = share_kept(made, point.used)
        plain = [
            share_kept(way(point.history, budget).messages, point.used)
            for way in (keep_newest_messages, clear_and_tail)
        ]
        ours.append(held)
        below += any(held[at] < each[at] - 1e-9 for each in plain for at in (0, 1))
        over += sum(map(estimate_message_tokens, made)) > budget
    tenth = max(1, len(ours) // 10)
    facts, spans = ([each[at] for each in ours] for at in (0, 1))
    return DigestPoints(
        CarryoverShare(sum(facts) / len(facts), sum(spans) / len(spans)),
        CarryoverShare(sum(sorted(facts)[:tenth]) / tenth, sum(sorted(spans)[:tenth]) / tenth),
        below,
        over,
    )


def measure(data: Path) -> BenchResult:
    """Every way at every budget, as a table with the goals of the digest."""
    made = load_carryover(data)
    if made is None:
        return BenchResult("carryover", absent=f"no recorded session below {data} is long enough")
    return BenchResult("carryover", carryover_rows(made))


def load_carryover(data: Path) -> Carryover | None:
    """Every way at every budget over the recorded sessions below this folder; None where none is
    long enough.
    """
    more = sorted((data / "sessions2").glob("*/*.jsonl"))
    found = list(points([*all_sessions(data), *more]))
    return compare_carryover(found) if found else None


def draw_carryover_chart(made: Carryover) -> str:
    """The comparison as a picture."""
    lines = [
        PlotLine(
            name,
            tuple(each.facts for each in by.values()),
            tuple(each.spans for each in by.values()),
            name == DIGEST,
        )
        for name, by in made.shares.items()
    ]
    below = (
        f"at {made.points} places in recorded sessions: {made.facts:,} facts and "
        f"{made.spans:,} spans of ten words; by tokens that are left"
    )
    budgets = list(next(iter(made.shares.values()), {}))
    return draw_line_plot(
        "What of the earlier conversation is used again, and still there",
        below,
        ("Facts", "Verbatim spans"),
        budgets,
        lines,
    )


def carryover_rows(made: Carryover) -> tuple[BenchRow, ...]:
    """The figures of a comparison."""
    table = [
        BenchRow("points of compaction", made.points),
        BenchRow("facts used again", made.facts),
        BenchRow("spans used again", made.spans),
    ]
    if LANGCHAIN not in made.shares:
        table.append(BenchRow(f"{LANGCHAIN} (not installed: pip install langchain-core)", 0))
    for name, by_budget in made.shares.items():
        for budget, share in by_budget.items():
            table += _rows(made, name, budget, share)
    for budget, each in made.by_point.items():
        at = f"{DIGEST}, {budget:,} tokens, over points"
        table += [
            BenchRow(f"{at}: facts, mean", each.mean.facts),
            BenchRow(f"{at}: facts, worst tenth", each.worst_tenth.facts),
            BenchRow(f"{at}: spans, mean", each.mean.spans),
            BenchRow(f"{at}: spans, worst tenth", each.worst_tenth.spans),
            BenchRow(f"{at}: points where a plain way holds more", each.below_plain),
            BenchRow(f"{at}: points over the budget", each.over_budget),
        ]
    return tuple(table)


def _rows(made: Carryover, name: str, budget: int, share: CarryoverShare) -> list[BenchRow]:
    facts, spans = f"{name}, {budget:,} tokens: facts", f"{name}, {budget:,} tokens: spans"
    if name != DIGEST:
        return [BenchRow(facts, share.facts), BenchRow(spans, share.spans)]
    best = made.best_other(budget)
    asked = budget in GOAL_BUDGETS
    least_facts = max(best.facts, FACT_GOAL) if asked else best.facts
    least_spans = best.spans * SPAN_GOAL if asked else best.spans
    return [
        BenchRow(facts, share.facts, "", f"at least {least_facts:.2f}", share.facts >= least_facts),
        BenchRow(spans, share.spans, "", f"at least {least_spans:.2f}", share.spans >= least_spans),
    ]


if __name__ == "__main__":
    whole = load_carryover(Path(sys.argv[1]))
    sys.stdout.write(draw_carryover_chart(whole) if whole is not None else "")
