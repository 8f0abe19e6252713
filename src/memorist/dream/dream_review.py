"""Review what a model did to a copy of the folder before any of it is written: what it removed, and
whether that exceeds one dream's limit (DR-4). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_changes import (
    MemoryChange,
    find_added_line_fault,
    find_memory_path_problem,
)
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.auto_memory.quotation_proof import split_sentences_by_line
from memorist.auto_memory.statements.statement_similarity import (
    count_negations,
    keeps_negations_and_word_order,
)
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.front_matter import join_front_matter, split_front_matter
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import NOTES_STOP_WORDS, STEM_LETTERS, parse_word_list
from memorist.dream.structural_dream import DreamAct
from memorist.settings import DreamSettings
from memorist.transcript_analysis.answer_check import AnswerLineChecker, CoveredLineDetector
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

RETIRED_MARK = re.compile(r"\s*retired:\s*(?P<why>\S[^\n]{0,300})\s*", re.IGNORECASE)
"""All that a model leaves of a memory which it retires."""
RETIRED_MEMORIES_DIVISOR = 5
"""At most one in this many memories may be retired in one dream."""
MIN_RETIRED_LIMIT = 3
"""At least this many may be retired, even in a small folder."""


class ReviewedChanges(Struct, frozen=True, kw_only=True):
    """The reviewed changes of a model."""

    changes: tuple[MemoryChange, ...] = ()
    """To be judged by the gate and written; removals come last."""
    questions: tuple[tuple[MemoryChange, str], ...] = ()
    """Memories that the model wants retired although the user stated them, or no other memory says
    what they say, with its reason: the user decides.
    """
    dropped_changes: tuple[tuple[str, str], ...] = ()
    """Changed memories whose new text may not stand, each with the reason."""
    acts: tuple[DreamAct, ...] = ()
    refusal: str = ""
    """Why none of it is kept; empty if it is acceptable."""
    sessions: str = ""
    """What the model was shown of past sessions."""


def review_model_changes(
    changed: Mapping[str, tuple[bytes | None, bytes | None]],
    before: Mapping[str, bytes],
    settings: DreamSettings,
    check: AnswerLineChecker,
    sessions: str = "",
) -> ReviewedChanges:
    """Sort the differences between the folder (`before`: every memory) and the copy.

    `changed` maps each path to its old and new bytes in the copy; `check` knows what the model was
    shown, and `sessions` is what it was shown of past sessions. What the model takes out, of a
    memory that it rewrites as well, is gone only where another memory says it or the sessions
    speak of it.
    """
    written: list[MemoryChange] = []
    removed: list[tuple[MemoryChange, str]] = []
    dropped: dict[str, str] = {}
    for path, old, new in _list_changes(changed, before):
        change = MemoryChange(path=path, before=old, after=new)
        retired = RETIRED_MARK.fullmatch((new or b"").decode("utf-8", "replace"))
        if new is None or retired is not None:
            why = " ".join(retired["why"].split()) if retired else "it deleted the file"
            removed += [(replace(change, after=None), why)] if old is not None else []
        elif fault := find_added_line_fault(old, new, check.find_line_fault):
            dropped[path] = fault
        else:
            written.append(change)
    losing = find_changes_that_lose_text(
        [*written, *(change for change, _ in removed)], before, sessions
    )
    shortened = [change for change in written if change.path in losing]
    written = [change for change in written if change.path not in losing]
    dropped |= {change.path: losing[change.path] for change in shortened}
    acts = [
        DreamAct(
            path=each.path, did="added" if each.before is None else "changed", why="by the model"
        )
        for each in written
    ]
    asked: list[tuple[MemoryChange, str]] = []
    retirements: list[MemoryChange] = []
    for change, why in removed:
        stated = parse_memory_file(change.path, change.before or b"").provenance.trust in USER_TRUST
        if stated or change.path in losing:
            asked.append((change, f"the dream would retire it: {why}"))
        else:
            retirements.append(change)
            acts.append(DreamAct(path=change.path, did="retired", why=why))
    # The limit counts what the model would have lost, also where a part of it does not stand.
    rewritten = (*written, *shortened)
    after = render_files_after_changes(before, (*rewritten, *retirements))
    count = len(removed) + _count_gutted(rewritten, before, _folder_words(after))
    refused = _find_too_many_retired(count, len(before), settings) or _find_too_many_words_lost(
        _folder_words(before), _folder_words(after), settings
    )
    if refused:
        return ReviewedChanges(refusal=refused)
    return ReviewedChanges(
        changes=(*written, *retirements),
        questions=tuple(asked),
        acts=tuple(acts),
        dropped_changes=tuple(sorted(dropped.items())),
        sessions=sessions,
    )


def find_changes_that_lose_text(
    changes: Sequence[MemoryChange], before: Mapping[str, bytes], sessions: str
) -> dict[str, str]:
    """The changes of a model that may not stand where these alone are made, with the reason: what
    one takes out, no memory says that is left. One that may not stand holds nothing for others.
    """
    losing: dict[str, str] = {}
    while True:
        kept = [each for each in changes if each.path not in losing]
        left = {path: _read_body(path, data) for path, data in _overlay(before, kept).items()}
        known = "\n".join((sessions, *left.values()))
        found = {
            each.path: why for each in kept if (why := _find_loss(each, left, known, sessions))
        }
        if not found:
            return losing
        losing |= found


def _find_loss(change: MemoryChange, left: Mapping[str, str], known: str, sessions: str) -> str:
    if change.before is None:
        return ""
    if change.after is None:
        body = _read_body(change.path, change.before)
        others = (text for path, text in left.items() if path != change.path)
        is_said = any(contains_whole_memory(text, body) for text in others)
        return "" if is_said else "no other memory says what it says"
    return _find_lost_name(change.path, change.before, known) or _find_lost_sentence(
        change.path, change.before, tuple(left.values()), sessions
    )


def _find_lost_name(path: str, old: bytes, known: str) -> str:
    """Return why a rewritten memory may not stand: a file or identifier of it is in no memory any
    more, and the sessions say nothing of it.
    """
    present = NameOccurrenceLookup(known)
    lost = sorted(
        name for name in find_recognizable_names(_read_body(path, old)) if not present[name]
    )
    return f"would lose {lost[0]}, which no other memory says" if lost else ""


def _find_lost_sentence(path: str, old: bytes, left: Sequence[str], sessions: str) -> str:
    """Return why a rewritten memory may not stand: no memory that is left holds all that a sentence
    of it says, and the sessions do not speak of the rest. What the user stated is not for this
    review: the user is asked about it.
    """
    if parse_memory_file(path, old).provenance.trust in USER_TRUST:
        return ""
    for sentence in split_sentences_by_line(_read_body(path, old)):
        wanted, denied = _content_words(sentence), count_negations(sentence)
        if not any(
            count_negations(f"{text}\n{sessions}") >= denied
            and _holds_words(f"{text}\n{sessions}", wanted)
            and keeps_negations_and_word_order(text, sentence)
            for text in left
        ):
            return f"would lose “{' '.join(sentence.split())[:80]}”, which no other memory says"
    return ""


def _content_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if word not in _FUNCTION_WORDS]


def _holds_words(text: str, wanted: Sequence[str]) -> bool:
    """Tell whether a text holds the words, inflected or not; one with a digit as it stands."""
    words = f" {' '.join(_content_words(text))} "
    return all(
        f" {word} " in words if any(map(str.isdigit, word)) else f" {word[:STEM_LETTERS]}" in words
        for word in wanted
    )


_WORD = lazy_pattern(r"\w+")
_FUNCTION_WORDS = NOTES_STOP_WORDS | parse_word_list(
    "a an and are as at be by do for has he her his if in is it its of on or our she so the they"
    " to too was we who you"
)
"""Words that a sentence may lose without saying less."""


def _read_body(path: str, data: bytes) -> str:
    return parse_memory_file(path, data).body


def _overlay(before: Mapping[str, bytes], changes: Sequence[MemoryChange]) -> dict[str, bytes]:
    """The folder as these changes leave it; a memory that goes is empty."""
    return {**before, **{each.path: each.after or b"" for each in changes}}


def contains_whole_memory(text: str, body: str) -> bool:
    """Tell whether a text, or a line of it, holds every word of a memory, rules out the same and
    keeps what comes before what: "do not use it" holds every word of "use it".
    """
    denied = count_negations(body)
    return any(
        CoveredLineDetector(part).covers_line(body, share=1.0)
        and count_negations(part) == denied
        and all(
            keeps_negations_and_word_order(part, each) for each in split_sentences_by_line(body)
        )
        for part in (text, *text.splitlines())
    )


def render_files_after_changes(
    before: Mapping[str, bytes], changes: Sequence[MemoryChange]
) -> dict[str, bytes]:
    """Return the folder as it would be."""
    after = dict(before)
    for change in changes:
        after.pop(change.path, None)
        if change.after is not None:
            after[change.path] = change.after
    return after


def _count_gutted(
    written: Sequence[MemoryChange], before: Mapping[str, bytes], left: frozenset[str]
) -> int:
    """Count memories rewritten so that most of their words no longer occur anywhere: as good as
    retired.
    """
    had = [
        _folder_words({change.path: before[change.path]})
        for change in written
        if change.path in before
    ]
    return sum(2 * len(words - left) > len(words) for words in had)


def compute_max_retired_memories(present: int, settings: DreamSettings) -> int:
    """Return how many of `present` memories a model may retire in one dream."""
    return min(settings.retired, max(MIN_RETIRED_LIMIT, present // RETIRED_MEMORIES_DIVISOR))


def _list_changes(
    changed: Mapping[str, tuple[bytes | None, bytes | None]], before: Mapping[str, bytes]
) -> Iterator[tuple[str, bytes | None, bytes | None]]:
    """The memories that differ, with their bytes before and after."""
    for path, (old, given) in sorted(changed.items()):
        new = _with_header(old, given)
        if (
            path != INDEX_NAME
            and not find_memory_path_problem(path, frozenset(before))
            and old != new
        ):
            yield path, old, new


def _with_header(old: bytes | None, new: bytes | None) -> bytes | None:
    """The new text of a memory, with the header of the old one where the model wrote none: it holds
    the name and the proof. What retires a memory stays as it is.
    """
    text = (new or b"").decode("utf-8", "replace")
    before = split_front_matter((old or b"").decode("utf-8", "replace"))
    if before.front is None or not text.strip() or RETIRED_MARK.fullmatch(text):
        return new
    if split_front_matter(text).front is not None:
        return new
    return join_front_matter(replace(before, body=f"\n{text.lstrip()}")).encode()


def _find_too_many_retired(removed: int, present: int, settings: DreamSettings) -> str:
    most = compute_max_retired_memories(present, settings)
    if removed > most:
        return (
            f"it would take out {removed} of {present} memories, "
            f"and at most {most} may go in one dream"
        )
    return ""


def _find_too_many_words_lost(
    had: frozenset[str], left: frozenset[str], settings: DreamSettings
) -> str:
    """Return why too many of the folder's words would be lost; a word that occurs elsewhere is not
    lost. A small folder may lose a few words.
    """
    lost = len(had - left)
    if lost <= max(MIN_RETIRED_LIMIT * 10, int(settings.loss * len(had))):
        return ""
    return (
        f"it would take {lost} of {len(had)} words out of memory, and at most "
        f"{settings.loss:.0%} may go in one dream"
    )


def _folder_words(folder: Mapping[str, bytes]) -> frozenset[str]:
    return frozenset(
        word
        for path, data in folder.items()
        for word in split_script_words(normalize_for_comparison(parse_memory_file(path, data).body))
    )
