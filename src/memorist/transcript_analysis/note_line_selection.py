"""Select the lines of notes of a given size: always the one that adds most for its length to what
is selected. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush

from msgspec import Struct

from memorist.core.text_analysis import (
    analyze_text,
    estimate_o200k_tokens,
    normalize_names_for_comparison,
)

NAME_WEIGHT = 1.5
"""Value of a new identifier, in new words."""

MIN_NEW_SHARE = 0.04
"""Share of a line that must be new to the notes."""

MIN_ALWAYS_ADDED_WEIGHT = 2.5
"""Lines of at least this weight fill the remaining room even if they add nothing new: the user's
words are better whole.
"""

LINE_OVERHEAD_TOKENS = 3
"""Tokens of a bullet and a line end."""

MIN_LINE_TOKENS = LINE_OVERHEAD_TOKENS + 3
"""Remaining tokens below which no line is tried."""

LINE_CACHE_SIZE = 512
"""Size of the line cache: most lines of a session are unchanged from one update of the notes to the
next.
"""


class NoteLine(Struct, frozen=True, gc=False):
    """A candidate line of a section. Lines of one `group` belong together; `order` is their
    position.
    """

    section: str
    text: str
    stems: frozenset[str]
    keys: frozenset[str]
    cost: int
    weight: float
    order: tuple[int, ...]
    is_required: bool = False
    is_bullet: bool = False
    is_table: bool = False


def build_weighted_note_line(
    section: str, text: str, order: tuple[int, ...], weight: float = 1.0, *, must: bool = False
) -> NoteLine:
    """Build a line from this text."""
    stems, keys, cost = _weigh_text(text)
    return NoteLine(section, text, stems, keys, cost, weight, order, must)


@lru_cache(LINE_CACHE_SIZE)
def _weigh_text(text: str) -> tuple[frozenset[str], frozenset[str], int]:
    found = analyze_text(text)
    return (
        found.stems,
        normalize_names_for_comparison(found.names),
        estimate_o200k_tokens(text) + LINE_OVERHEAD_TOKENS,
    )


class NoteLineSelection:
    """The lines selected so far, and what they cover."""

    __slots__ = ("budget", "caps", "keys", "lines", "per_section", "spent", "stems")

    def __init__(self, budget: int, caps: Mapping[str, int]) -> None:
        self.budget = budget
        self.caps = caps
        self.lines: list[NoteLine] = []
        self.spent = 0
        self.per_section: dict[str, int] = {}
        self.stems: set[str] = set()
        self.keys: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Whether no line has room any more."""
        return self.spent + MIN_LINE_TOKENS > self.budget

    def fits(self, candidate: NoteLine, most: int | None = None) -> bool:
        """Whether there is room for the line: in total, and in its section, of which `most` tokens
        may be used.
        """
        cost = candidate.cost
        cap = self.caps[candidate.section]
        limit = cap if most is None else min(most, cap)
        return (
            self.spent + cost <= self.budget
            and self.per_section.get(candidate.section, 0) + cost <= limit
        )

    def add(self, candidate: NoteLine) -> bool:
        """Add the line if there is room for it."""
        if not self.fits(candidate):
            return False
        self.lines.append(candidate)
        self.spent += candidate.cost
        self.per_section[candidate.section] = (
            self.per_section.get(candidate.section, 0) + candidate.cost
        )
        self.stems |= candidate.stems
        self.keys |= candidate.keys
        return True

    def compute_value_per_token(self, candidate: NoteLine) -> float:
        """What the line adds to the notes, for each token."""
        return candidate.weight * self._count_new(candidate) / (candidate.cost + 4)

    def adds_enough_new(self, candidate: NoteLine) -> bool:
        """Whether enough of the line is not in the notes yet."""
        whole = len(candidate.stems) + NAME_WEIGHT * len(candidate.keys)
        return self._count_new(candidate) > MIN_NEW_SHARE * whole

    def _count_new(self, candidate: NoteLine) -> float:
        return len(candidate.stems - self.stems) + NAME_WEIGHT * len(candidate.keys - self.keys)


def select_note_lines(
    lines: Sequence[NoteLine], budget: int, caps: Mapping[str, int], floors: Mapping[str, int]
) -> NoteLineSelection:
    """Select lines: first those that must be included, in order; then the best of each section up
    to its floor; then the best of all while there is room.
    """
    chosen = NoteLineSelection(budget, caps)
    for each in lines:
        if each.is_required:
            chosen.add(each)
    rest = [each for each in lines if not each.is_required]
    worth: dict[int, float] = {}
    for section, floor in floors.items():
        _fill(chosen, [each for each in rest if each.section == section], floor, worth)
    _fill(chosen, rest, budget, worth)
    selected = set(map(id, chosen.lines))
    for each in rest:
        if each.weight >= MIN_ALWAYS_ADDED_WEIGHT and id(each) not in selected:
            chosen.add(each)
    return chosen


def _fill(
    chosen: NoteLineSelection, lines: Sequence[NoteLine], most: int, worth: dict[int, float]
) -> None:
    """Add the best of the lines until none fits or adds anything; `most` is the limit of tokens of
    each section. `worth` is what each line added when it was last weighed, by its `id`.

    What a line adds only falls as more is selected, so only the best one is weighed again (lazy
    greedy selection).
    """
    selected = set(map(id, chosen.lines))
    queue = []
    for at, each in enumerate(lines):
        key = id(each)
        if key not in selected:
            if key not in worth:
                worth[key] = chosen.compute_value_per_token(each)
            queue.append((-worth[key], at))
    heapify(queue)
    while queue and not chosen.is_full:
        _, at = heappop(queue)
        each = lines[at]
        if not chosen.fits(each, most):
            continue
        worth[id(each)] = now = chosen.compute_value_per_token(each)
        if queue and (-now, at) > queue[0]:
            heappush(queue, (-now, at))
        elif chosen.adds_enough_new(each):
            chosen.add(each)
