"""The extractive summary: fits a history into a budget without a model (CP-15, CP-16). Pure.

It produces one message that replaces the removed part, followed by the newest messages unchanged.
The message holds the user's words, the task list, failures, files, extracts chosen by how likely
they are to be needed again, and names with their files; all of it is taken from the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from msgspec import Struct

from memorist.compaction.digest_choose import Choice
from memorist.compaction.digest_names import Name, Standing, collect, names_text, ranked
from memorist.compaction.digest_rank import history, rate
from memorist.compaction.digest_sections import failures_text, files_text, tasks_text
from memorist.compaction.digest_tail import Window, window
from memorist.compaction.digest_text import BRIEF, OPENING, POINTER, extracts_text, section
from memorist.compaction.digest_units import Piece, Unit, pieces, taken_apart
from memorist.compaction.digest_user import Said, choose_words, earlier_words, user_words, words_text
from memorist.compaction.digest_words import names
from memorist.compaction.result import Compacted, Cut
from memorist.core.messages import Message, Origin, Text
from memorist.core.tokens import estimate_message, estimate_text
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.paths import root_of

SUMMARY_ID = "memorist-digest"

WORDS_SHARE = 0.3
"""Largest share of the budget for the user's words; the last request is kept whole in any case."""

TASKS_SHARE, FAILURES_SHARE, FILES_SHARE = 0.06, 0.06, 0.08
"""The largest share of the budget for each list; in recorded sessions they stay far below it."""

NAMES_SHARE = 0.22
NAMES_MOST = 1_800
"""Names take this share of the budget, and at most so many tokens: almost every name that is used
again is among those.
"""

_LABELS = 20
"""Tokens of the last two headings."""

_MARGIN = 2
"""Reserve in tokens for rounding."""


class _Past(Struct, frozen=True, kw_only=True):
    """Everything the summary is made from."""

    said: list[Said]
    pieces: list[Piece]
    named: list[set[str]]
    """The names in each block."""
    units: list[Unit]
    unit_names: list[set[str]]
    """The names in each extract."""
    ages: list[int]
    ledger: Ledger
    root: str
    """Folder that paths are shown relative to."""
    shown: str
    """Text of the messages that are kept unchanged."""


def digest(
    messages: Sequence[Message], budget: int, *, said: Sequence[str] = (), transcript: str = "", cwd: str = "", factor: float = 1.0
) -> Compacted:
    """Compress a history into `budget` estimated tokens of the model family with this `factor`.

    A history that fits is returned unchanged. The budget is exceeded only where the last request,
    or calls still waiting for results, exceed it alone. `user_texts` is everything the user typed
    in the session, including what an earlier compaction removed. `transcript` is the path of the
    full transcript; `cwd` is the session's folder, relative to which paths are shown.
    """
    sizes = [estimate_message(message, factor) for message in messages]
    before = sum(sizes)
    if before <= budget:
        return Compacted(strategy="structural", messages=tuple(messages), tokens_before=before, tokens_after=before)
    now = user_words(messages)
    needed = estimate_text(now[-1].text, factor) + estimate_text(OPENING + transcript, factor) if now else 0
    kept = window(messages, sizes, budget, needed=needed, factor=factor)
    room = int((budget - kept.tokens) / factor) - _MARGIN
    past = _past(messages, sizes, kept, cwd)
    past.said[:0] = earlier_words(said, messages)
    text = _text(past, room, transcript)
    summary = Message(id=SUMMARY_ID, role="user", blocks=(Text(text),), origin=Origin.SUMMARY)
    made = (summary, *kept.messages)
    after = sum(estimate_message(message, factor) for message in made)
    gone = zip(messages[: kept.first], sizes, strict=False)
    cut = tuple(Cut(message.id, size, "only extracts of it are in the digest") for message, size in gone)
    return Compacted(strategy="structural", messages=made, tokens_before=before, tokens_after=after, cut=cut)


def _past(messages: Sequence[Message], sizes: Sequence[int], kept: Window, cwd: str) -> _Past:
    ledger = Ledger(cwd)
    for message in messages:
        ledger.add(message)
    root = root_of(ledger.cwd, ledger.work.files.files)
    ages = list(accumulate(reversed(sizes)))[::-1]
    found = pieces(messages[: kept.first], root)
    shown = "\n".join(piece.text for piece in pieces(kept.messages, root))
    apart = [taken_apart(piece) for piece in found]
    own = [[names(unit.text) for unit in each.units] for each in apart]
    return _Past(
        said=user_words(messages[: kept.first]),
        pieces=found,
        named=[set().union(*each) if parts.whole else names(parts.piece.text) for parts, each in zip(apart, own, strict=True)],
        units=[unit for each in apart for unit in each.units],
        unit_names=[each for several in own for each in several],
        ages=ages,
        ledger=ledger,
        root=root,
        shown=shown,
    )


def _text(past: _Past, room: int, transcript: str) -> str:
    """The text of the summary, within `room` tokens unless the last request alone is larger."""
    pointer = f"{POINTER}{transcript}\n" if transcript else ""
    head = f"{OPENING}\n{pointer}"
    words = words_text(
        choose_words(past.said, int((room - estimate_text(head)) * WORDS_SHARE), last=past.said[-1].text if past.said else "")
    )
    parts = [
        head,
        section("What the user said", words),
        section("Tasks", tasks_text(past.ledger, int(room * TASKS_SHARE))),
        section("What failed", failures_text(past.ledger, int(room * FAILURES_SHARE))),
        section("Files", files_text(past.pieces, int(room * FILES_SHARE))),
    ]
    lists = "".join(parts)
    if estimate_text(lists) > room:
        return _short(head, pointer, words, room)
    left = room - estimate_text(lists) - _LABELS
    choice = _choice(past, lists)
    names_room = min(int(room * NAMES_SHARE), NAMES_MOST)
    choice.fill(left - names_room)
    found = ranked(collect(past.pieces, past.named), past.ages)
    here = Standing(past.shown + lists)
    extracts = extracts_text(choice.chosen)
    named = _names(past, found, (here, Standing(extracts)), names_room)
    choice.fill(left - estimate_text(extracts) - estimate_text(named))
    extracts = extracts_text(choice.chosen)
    named = _names(past, found, (here, Standing(extracts)), min(left - estimate_text(extracts), names_room))
    return f"{lists}{section('Extracts, in order', extracts)}{section('Names that also came up', named)}".strip()


def _names(past: _Past, found: list[Name], texts: tuple[Standing, Standing], room: int) -> str:
    one, other = texts
    return names_text(found, lambda name: one[name] or other[name], room, past.root)


def _choice(past: _Past, lists: str) -> Choice:
    seen = history(past.pieces, past.named, past.ages)
    found = zip(past.units, past.unit_names, strict=True)
    rates = [rate(unit, own, seen, past.ages[unit.source.step - 1]) for unit, own in found]
    return Choice(past.units, rates, (past.shown, lists))


def _short(head: str, pointer: str, words: str, room: int) -> str:
    """The text where there is room for little more than the user's words; includes the path of the
    transcript where it fits, or where nothing else would.
    """
    text = section("What the user said", words)
    if not text:
        return next((each for each in (head, BRIEF + "\n" + pointer, BRIEF) if estimate_text(each) <= room), "…").strip()
    size = estimate_text(text)
    if size + estimate_text(head) <= room:
        return f"{head}{text}".strip()
    return (pointer + text if size > room or size + estimate_text(pointer) <= room else text).strip()
