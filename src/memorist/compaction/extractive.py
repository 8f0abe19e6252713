"""The extractive summary: fits a history into a budget without a model (CP-15, CP-16). Pure.

It produces one message that replaces the removed part, followed by the newest messages unchanged.
The message holds the user's words, the task list, failures, files, extracts chosen by how likely
they are to be needed again, and names with their files; all of it is taken from the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate

import msgspec
from msgspec import Struct

from memorist.compaction.extracts import (
    Extract,
    ExtractSource,
    NameOccurrences,
    NameUsage,
    SourceBlock,
    WordRun,
    build_extract_history,
    collect_names,
    collect_source_blocks,
    find_names,
    find_word_runs,
    rank_names,
    render_names,
    score_extract,
    split_into_extracts,
)
from memorist.compaction.history import CompactedHistory, RemovedItem, find_tail_start
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, find_cut_points
from memorist.core.tokens import estimate_message_tokens, estimate_text_tokens, truncate_middle
from memorist.formats.host_markup import strip_host_markup
from memorist.session_memory.structural import NotesBudget, render_structural_notes
from memorist.session_memory.structural_work import ERRORS_SECTION
from memorist.transcript.ledger import TranscriptLedger
from memorist.transcript.tool_calls import find_display_root

# Choose the newest messages that stay unchanged beside an extractive summary. Pure.


KEPT_TAIL_SHARE = 0.15
"""Share of the budget for the newest messages. Between 0.1 and 0.3 it makes no difference to what
is kept of the earlier conversation; the assistant's next step relies on them.
"""

_CUT_MARK_TOKENS = 12
"""Tokens of the mark that `cut_middle` inserts."""


class KeptTail(Struct, frozen=True):
    """The messages from index `first` on, as they are kept."""

    first: int
    messages: tuple[Message, ...]
    tokens: int


def choose_kept_tail(
    messages: Sequence[Message], sizes: Sequence[int], budget: int, *, needed: int, factor: float
) -> KeptTail:
    """The newest messages that fit and can be cut off without splitting pairs or replies. Two
    things stay whatever they cost: a new request of the user, and calls that wait for a result.

    `needed` tokens are reserved for the last request where it is not kept as a message. Results
    beside a waiting call are shortened where they would not fit.
    """
    starts = find_cut_points(messages)
    end = len(messages)
    first = find_tail_start(
        sizes, starts, max(0, min(int(budget * KEPT_TAIL_SHARE), budget - needed))
    )
    newest = max((start for start in starts if start < end), default=0)
    if first <= newest or (end in starts and messages[-1].origin is not Origin.USER):
        return KeptTail(first, tuple(messages[first:]), sum(sizes[first:]))
    kept = tuple(messages[newest:])
    if sum(sizes[newest:]) > budget - needed:
        kept = _shorten_results(kept, int((budget - needed) / factor))
    return KeptTail(newest, kept, sum(estimate_message_tokens(message, factor) for message in kept))


def _shorten_results(kept: tuple[Message, ...], room: int) -> tuple[Message, ...]:
    """The messages with their results cut to the same length, so that all fit where possible."""
    results = [result for message in kept for result in message.tool_results]
    if not results:
        return kept
    fixed = sum(estimate_message_tokens(message) for message in kept) - sum(
        estimate_text_tokens(result.text) for result in results
    )
    most = max(1, (room - fixed) // len(results) - _CUT_MARK_TOKENS)
    return tuple(
        _cut_results(message, most) if message.tool_results else message for message in kept
    )


def _cut_results(message: Message, most: int) -> Message:
    blocks = tuple(
        msgspec.structs.replace(block, content=(TextBlock(truncate_middle(block.text, most)),))
        if isinstance(block, ToolResult)
        else block
        for block in message.blocks
    )
    return msgspec.structs.replace(message, blocks=blocks)


# Render an extractive summary as text. Pure.


SUMMARY_OPENING = (
    "This session goes on from an earlier conversation that no longer fits. What follows was "
    "taken from its transcript by a program; "
    "the words are as they stood there, … marks what is left out, and steps count its messages."
)
BRIEF_OPENING = "The earlier conversation no longer fits. …"
"""The opening where there is hardly any room."""

TRANSCRIPT_POINTER = "The full transcript, for exact details: "


def render_extracts(chosen: Iterable[Extract]) -> str:
    """Render the extracts in order, each source below one heading line."""
    by_source: dict[ExtractSource, list[Extract]] = {}
    for unit in chosen:
        by_source.setdefault(unit.source, []).append(unit)
    order = sorted(by_source, key=lambda source: source.step)
    return "\n".join(
        f"{render_extract_heading(source, by_source[source])}\n{_join_extracts(by_source[source])}"
        for source in order
    )


def render_extract_heading(source: ExtractSource, found: list[Extract]) -> str:
    """The line above the extracts of a source."""
    found.sort(key=lambda unit: unit.part)
    first, last = found[0].first, found[-1].last
    where = f" lines {first}–{last}" if first and last else ""
    return f"[step {source.step}] {source.title}{where}:"


def _join_extracts(found: Sequence[Extract]) -> str:
    lines: list[str] = ["…"] if found[0].part else []
    before = found[0].part
    for unit in found:
        if unit.part > before + 1:
            lines.append("…")
        before = unit.part
        lines.extend(unit.lines)
    return "\n".join(lines)


def estimate_heading_tokens(source: ExtractSource) -> int:
    """Upper bound of the tokens of that line."""
    return estimate_text_tokens(source.title) + 9


def render_summary_section(title: str, body: str) -> str:
    """A section with a heading; empty where the body is empty."""
    return f"\n## {title}\n{body}\n" if body.strip() else ""


# Greedy choice of the extracts that add the most new content per token. Pure.


_WORTHLESS = 1e-9
_MAX_WORDS_PER_TOKEN = 4
"""Upper bound of the words or signs in one token."""

_MIN_EXTRACT_TOKENS = 12
"""Remaining tokens below which no further extract is tried."""


class ExtractSelection:
    """The extracts selected so far, what they cover, and the remaining candidates.

    An extract's worth is its score times the number of its word runs that neither the `known` texts
    nor the selected extracts contain. This worth only falls as more is selected, so only the best
    candidate is re-weighed (lazy greedy selection).
    """

    def __init__(
        self, found: Sequence[Extract], rates: Sequence[float], known: Iterable[str]
    ) -> None:
        self.chosen: list[Extract] = []
        self._found = found
        self._rates = rates
        self._covered: set[WordRun] = set()
        self._sources: set[ExtractSource] = set()
        self._new: dict[int, set[WordRun]] = {}
        """The word runs of each weighed extract that were uncovered when it was last weighed;
        coverage only grows.
        """
        self._costs: dict[int, int] = {}
        self._queue = [(-_MAX_WORDS_PER_TOKEN * rate, at) for at, rate in enumerate(rates)]
        heapify(self._queue)
        for text in known:
            self._covered |= find_word_runs(text)

    def fill(self, room: int) -> int:
        """Select the best extracts within `room` tokens; returns the tokens left."""
        passed: list[tuple[float, int]] = []
        while self._queue and room > _MIN_EXTRACT_TOKENS:
            _, at = heappop(self._queue)
            worth, cost = self._weigh(at)
            if worth <= _WORTHLESS:
                continue
            # A queued worth is an upper bound: if the fresh one is below the next bound, requeue.
            if self._queue and worth < -self._queue[0][0]:
                heappush(self._queue, (-worth, at))
            elif cost > room:
                passed.append((-worth, at))
            else:
                room -= cost
                self._select(at)
        for each in passed:
            heappush(self._queue, each)
        return room

    def _weigh(self, at: int) -> tuple[float, int]:
        """The current worth and cost of an extract."""
        unit = self._found[at]
        known = self._new.get(at)
        if known is None:
            text = unit.text
            known, self._costs[at] = find_word_runs(text), estimate_text_tokens(text) + 1
        self._new[at] = new = known - self._covered
        cost = self._costs[at] + (
            0 if unit.source in self._sources else estimate_heading_tokens(unit.source)
        )
        return self._rates[at] * len(new) / cost, cost

    def _select(self, at: int) -> None:
        unit = self._found[at]
        self.chosen.append(unit)
        self._sources.add(unit.source)
        self._covered |= self._new.pop(at)


# The short lists of an extractive summary: tasks, failures, files. Pure.


_DONE_STATUSES = frozenset({"completed", "done", "cancelled", "deleted"})
_MIN_FAILURE_TOKENS = 150
"""Tokens of failures that are considered even for a small summary."""


def fit_lines(lines: Iterable[str], room: int) -> list[str]:
    """The longest prefix of the lines that fits into `room` tokens."""
    found = []
    left = room
    for line in lines:
        left -= estimate_text_tokens(line) + 1
        if left < 0:
            break
        found.append(line)
    return found


def render_tasks(ledger: TranscriptLedger, room: int) -> str:
    """Render the task list in its order; open tasks have priority where room is short."""
    tasks = list(ledger.work_record.tasks.values())
    lines = [f"- {task.text} ({task.status or 'pending'})" for task in tasks]
    ranked = sorted(range(len(tasks)), key=lambda at: tasks[at].status in _DONE_STATUSES)
    kept = set(fit_lines((lines[at] for at in ranked), room))
    return "\n".join(line for line in lines if line in kept)


def render_failures(ledger: TranscriptLedger, room: int) -> str:
    """Render the failures and what resolved them."""
    total = max(_MIN_FAILURE_TOKENS, room)
    text = render_structural_notes(
        ledger, NotesBudget(total_tokens=total * 4, section_tokens=total)
    )[ERRORS_SECTION]
    return "\n".join(fit_lines(reversed(text.split("\n")), room)[::-1]) if text else ""


def render_files(found: Sequence[SourceBlock], room: int) -> str:
    """Render the files with their full paths and last step: changed ones first, each group by
    recency.
    """
    changed: dict[str, int] = {}
    read: dict[str, int] = {}
    for piece in found:
        source = piece.source
        if source.path and len(source.path) <= _MAX_PATH_LENGTH and "\n" not in source.path:
            (changed if source.kind == "change" else read)[source.path] = source.step
    lines = [f"- changed {path} (last in step {step})" for path, step in _newest_first(changed)]
    lines += [
        f"- read {path} (last in step {step})"
        for path, step in _newest_first(read)
        if path not in changed
    ]
    return "\n".join(fit_lines(lines, room))


_MAX_PATH_LENGTH = 300


def _newest_first(steps: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(steps.items(), key=lambda pair: -pair[1])


# The user's own words in an extractive summary: verbatim, in order; corrections and newest first
# where room is short (CP-16). Pure.


MIN_UTTERANCE_CUT_TOKENS = 60
"""A message is dropped rather than cut to fewer tokens than this."""

_LIMITING_WORDS = re.compile(
    r"\b(?:don['’]?t|do not|never|always|only|must|must not|no longer|stop|instead|not|without|"
    r"avoid|keep|unless|wrong|revert|undo|actually)\b",
    re.IGNORECASE,
)
_SHORT_UTTERANCE = 400
"""Characters up to which words like `never` mark a message as a limit or correction; in a longer
one they prove nothing.
"""


class SummaryUtterance(Struct):
    """Words of the user: the step of their last occurrence, and how often they occurred in the same
    form.
    """

    step: int
    text: str
    times: int = 1


def collect_utterances(messages: Sequence[Message]) -> list[SummaryUtterance]:
    """What the user typed, in order; repetitions are counted with the first occurrence."""
    found: dict[str, SummaryUtterance] = {}
    for step, message in enumerate(messages, 1):
        for block in message.blocks:
            if (
                not isinstance(block, TextBlock)
                or (block.origin or message.origin) is not Origin.USER
            ):
                continue
            text = strip_host_markup(block.text).strip()
            if not text:
                continue
            known = found.get(text)
            if known is None:
                found[text] = SummaryUtterance(step, text)
            else:
                known.times += 1
                known.step = step
    return sorted(found.values(), key=lambda each: each.step)


def find_earlier_utterances(
    user_texts: Sequence[str], messages: Sequence[Message]
) -> list[SummaryUtterance]:
    """What the user typed before these messages: the texts that none of the messages holds. Their
    step is 0.
    """
    present = {each.text for each in collect_utterances(messages)}
    texts = dict.fromkeys(strip_host_markup(text).strip() for text in user_texts)
    return [SummaryUtterance(0, text) for text in texts if text and text not in present]


def is_limit_or_correction(text: str) -> bool:
    """Whether these words appear to set a limit or correct something."""
    return len(text) <= _SHORT_UTTERANCE and _LIMITING_WORDS.search(text) is not None


def choose_utterances(
    utterances: Sequence[SummaryUtterance], room: int, *, last: str = ""
) -> list[SummaryUtterance]:
    """The utterances that fit `room` tokens, in order.

    Priority: the last request (whole, whatever it costs), limits and corrections, the first
    request, then the others newest first. The first of each kind that does not fit is cut in its
    middle.
    """
    chosen: list[SummaryUtterance] = []
    for each in _rank_utterances(utterances, last):
        cost = estimate_text_tokens(each.text) + 6
        if each.text == last or cost <= room:
            chosen.append(each)
        elif room >= MIN_UTTERANCE_CUT_TOKENS:
            cut = truncate_middle(each.text, room - 20)
            chosen.append(SummaryUtterance(each.step, cut, each.times))
            cost = estimate_text_tokens(cut) + 6
        else:
            continue
        room -= cost
    return sorted(chosen, key=lambda each: each.step)


def _rank_utterances(utterances: Sequence[SummaryUtterance], last: str) -> list[SummaryUtterance]:
    newest = list(reversed(utterances))
    first = utterances[:1]
    ranked = [each for each in newest if each.text == last]
    ranked += [each for each in newest if is_limit_or_correction(each.text)]
    ranked += [each for each in first if estimate_text_tokens(each.text) < _SHORT_UTTERANCE]
    ranked += newest
    return list({id(each): each for each in ranked}.values())


def render_utterances(utterances: Sequence[SummaryUtterance]) -> str:
    """Render the utterances as a list."""
    lines = []
    for each in utterances:
        times = f", {each.times} times, last" if each.times > 1 else ""
        lines.append(f"[{f'step {each.step}' if each.step else 'earlier'}{times}] {each.text}")
    return "\n".join(lines)


EXTRACTIVE_SUMMARY_ID = "memorist-digest"

USER_WORDS_SHARE = 0.3
"""Largest share of the budget for the user's words; the last request is kept whole in any case."""

TASKS_SHARE, FAILURES_SHARE, FILES_SHARE = 0.06, 0.06, 0.08
"""The largest share of the budget for each list; in recorded sessions they stay far below it."""

NAMES_SHARE = 0.22
MAX_NAMES_TOKENS = 1_800
"""Names take this share of the budget, and at most so many tokens: almost every name that is used
again is among those.
"""

_HEADING_TOKENS = 20
"""Tokens of the last two headings."""

_ROUNDING_TOKENS = 2
"""Reserve in tokens for rounding."""


class _SummaryMaterial(Struct, frozen=True, kw_only=True):
    """Everything the summary is made from."""

    utterances: list[SummaryUtterance]
    blocks: list[SourceBlock]
    block_names: list[set[str]]
    """The names in each block."""
    extracts: list[Extract]
    extract_names: list[set[str]]
    """The names in each extract."""
    ages: list[int]
    ledger: TranscriptLedger
    root: str
    """Folder that paths are shown relative to."""
    shown_text: str
    """Text of the messages that are kept unchanged."""


def build_extractive_summary(
    messages: Sequence[Message],
    budget: int,
    *,
    user_texts: Sequence[str] = (),
    transcript: str = "",
    cwd: str = "",
    factor: float = 1.0,
) -> CompactedHistory:
    """Compress a history into `budget` estimated tokens of the model family with this `factor`.

    A history that fits is returned unchanged. The budget is exceeded only where the last request,
    or calls still waiting for results, exceed it alone. `user_texts` is everything the user typed
    in the session, including what an earlier compaction removed. `transcript` is the path of the
    full transcript; `cwd` is the session's folder, relative to which paths are shown.
    """
    sizes = [estimate_message_tokens(message, factor) for message in messages]
    before = sum(sizes)
    if before <= budget:
        return CompactedHistory(
            strategy="structural",
            messages=tuple(messages),
            tokens_before=before,
            tokens_after=before,
        )
    now = collect_utterances(messages)
    needed = (
        estimate_text_tokens(now[-1].text, factor)
        + estimate_text_tokens(SUMMARY_OPENING + transcript, factor)
        if now
        else 0
    )
    kept = choose_kept_tail(messages, sizes, budget, needed=needed, factor=factor)
    room = int((budget - kept.tokens) / factor) - _ROUNDING_TOKENS
    past = _gather_material(messages, sizes, kept, cwd)
    past.utterances[:0] = find_earlier_utterances(user_texts, messages)
    text = _render_summary(past, room, transcript)
    summary = Message(
        id=EXTRACTIVE_SUMMARY_ID, role="user", blocks=(TextBlock(text),), origin=Origin.SUMMARY
    )
    made = (summary, *kept.messages)
    after = sum(estimate_message_tokens(message, factor) for message in made)
    gone = zip(messages[: kept.first], sizes, strict=False)
    cut = tuple(
        RemovedItem(message.id, size, "only extracts of it are in the digest")
        for message, size in gone
    )
    return CompactedHistory(
        strategy="structural", messages=made, tokens_before=before, tokens_after=after, cut=cut
    )


def _gather_material(
    messages: Sequence[Message], sizes: Sequence[int], kept: KeptTail, cwd: str
) -> _SummaryMaterial:
    ledger = TranscriptLedger(cwd)
    for message in messages:
        ledger.add(message)
    root = find_display_root(ledger.cwd, ledger.work_record.files.files)
    ages = list(accumulate(reversed(sizes)))[::-1]
    found = collect_source_blocks(messages[: kept.first], root)
    shown = "\n".join(piece.text for piece in collect_source_blocks(kept.messages, root))
    apart = [split_into_extracts(piece) for piece in found]
    own = [[find_names(unit.text) for unit in each.extracts] for each in apart]
    return _SummaryMaterial(
        utterances=collect_utterances(messages[: kept.first]),
        blocks=found,
        block_names=[
            set().union(*each) if parts.is_whole else find_names(parts.block.text)
            for parts, each in zip(apart, own, strict=True)
        ],
        extracts=[unit for each in apart for unit in each.extracts],
        extract_names=[each for several in own for each in several],
        ages=ages,
        ledger=ledger,
        root=root,
        shown_text=shown,
    )


def _render_summary(past: _SummaryMaterial, room: int, transcript: str) -> str:
    """The text of the summary, within `room` tokens unless the last request alone is larger."""
    pointer = f"{TRANSCRIPT_POINTER}{transcript}\n" if transcript else ""
    head = f"{SUMMARY_OPENING}\n{pointer}"
    words = render_utterances(
        choose_utterances(
            past.utterances,
            int((room - estimate_text_tokens(head)) * USER_WORDS_SHARE),
            last=past.utterances[-1].text if past.utterances else "",
        )
    )
    parts = [
        head,
        render_summary_section("What the user said", words),
        render_summary_section("Tasks", render_tasks(past.ledger, int(room * TASKS_SHARE))),
        render_summary_section(
            "What failed", render_failures(past.ledger, int(room * FAILURES_SHARE))
        ),
        render_summary_section("Files", render_files(past.blocks, int(room * FILES_SHARE))),
    ]
    lists = "".join(parts)
    if estimate_text_tokens(lists) > room:
        return _render_short_summary(head, pointer, words, room)
    left = room - estimate_text_tokens(lists) - _HEADING_TOKENS
    choice = _build_selection(past, lists)
    names_room = min(int(room * NAMES_SHARE), MAX_NAMES_TOKENS)
    choice.fill(left - names_room)
    found = rank_names(collect_names(past.blocks, past.block_names), past.ages)
    here = NameOccurrences(past.shown_text + lists)
    extracts = render_extracts(choice.chosen)
    named = _render_remaining_names(past, found, (here, NameOccurrences(extracts)), names_room)
    choice.fill(left - estimate_text_tokens(extracts) - estimate_text_tokens(named))
    extracts = render_extracts(choice.chosen)
    named = _render_remaining_names(
        past,
        found,
        (here, NameOccurrences(extracts)),
        min(left - estimate_text_tokens(extracts), names_room),
    )
    return f"{lists}{render_summary_section('Extracts, in order', extracts)}{render_summary_section('Names that also came up', named)}".strip()


def _render_remaining_names(
    past: _SummaryMaterial,
    found: list[NameUsage],
    texts: tuple[NameOccurrences, NameOccurrences],
    room: int,
) -> str:
    one, other = texts
    return render_names(found, lambda name: one[name] or other[name], room, past.root)


def _build_selection(past: _SummaryMaterial, lists: str) -> ExtractSelection:
    seen = build_extract_history(past.blocks, past.block_names, past.ages)
    found = zip(past.extracts, past.extract_names, strict=True)
    rates = [score_extract(unit, own, seen, past.ages[unit.source.step - 1]) for unit, own in found]
    return ExtractSelection(past.extracts, rates, (past.shown_text, lists))


def _render_short_summary(head: str, pointer: str, words: str, room: int) -> str:
    """The text where there is room for little more than the user's words; includes the path of the
    transcript where it fits, or where nothing else would.
    """
    text = render_summary_section("What the user said", words)
    if not text:
        return next(
            (
                each
                for each in (head, BRIEF_OPENING + "\n" + pointer, BRIEF_OPENING)
                if estimate_text_tokens(each) <= room
            ),
            "…",
        ).strip()
    size = estimate_text_tokens(text)
    if size + estimate_text_tokens(head) <= room:
        return f"{head}{text}".strip()
    return (
        pointer + text if size > room or size + estimate_text_tokens(pointer) <= room else text
    ).strip()
