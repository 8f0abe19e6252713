"""Select the lines of notes of a given size: one pass over the candidates, best first, each taken
if it adds something new. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.core.text_analysis import analyze_text, estimate_token_cost, name_keys

NAME_WEIGHT = 1.5
"""Value of a new identifier, in new words."""

NEW_SHARE = 0.25
"""Share of a line that must be new to the notes."""

FILL_WEIGHT = 0.9
"""Lines of at least this weight fill the remaining room if they add anything new at all."""

FILL_SHARE = 0.04
"""The share of such a line that must be new."""

WHOLE_WEIGHT = 2.5
"""Lines of at least this weight fill it even if they add nothing new: the user's words are better
whole.
"""

LINE_OVERHEAD = 3
"""Tokens of a bullet and a line end."""

MIN_LINE_TOKENS = LINE_OVERHEAD + 3
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
    must: bool = False
    bullet: bool = False
    table: bool = False


def build_line(
    section: str, text: str, order: tuple[int, ...], weight: float = 1.0, *, must: bool = False
) -> NoteLine:
    """Build a line from this text."""
    stems, keys, cost = _weigh_text(text)
    return NoteLine(section, text, stems, keys, cost, weight, order, must)


@lru_cache(LINE_CACHE_SIZE)
def _weigh_text(text: str) -> tuple[frozenset[str], frozenset[str], int]:
    found = analyze_text(text)
    return found.stems, name_keys(found.names), estimate_token_cost(text) + LINE_OVERHEAD


def line_worth(candidate: NoteLine) -> float:
    """Value of the line per token."""
    return (
        candidate.weight
        * (len(candidate.stems) + NAME_WEIGHT * len(candidate.keys))
        / (candidate.cost + 4)
    )


class LineSelection:
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

    def fits(self, candidate: NoteLine) -> bool:
        """Whether there is room for the line, in total and in its section."""
        cost = candidate.cost
        return (
            self.spent + cost <= self.budget
            and self.per_section.get(candidate.section, 0) + cost <= self.caps[candidate.section]
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

    def newness(self, candidate: NoteLine) -> float:
        """The share of the line that is not in the notes yet."""
        whole = len(candidate.stems) + NAME_WEIGHT * len(candidate.keys)
        return (
            (len(candidate.stems - self.stems) + NAME_WEIGHT * len(candidate.keys - self.keys))
            / whole
            if whole
            else 0.0
        )

    def says_new(self, candidate: NoteLine) -> bool:
        """Whether enough of the line is not in the notes yet."""
        fresh = len(candidate.stems - self.stems) + NAME_WEIGHT * len(candidate.keys - self.keys)
        whole = len(candidate.stems) + NAME_WEIGHT * len(candidate.keys)
        return fresh >= 2 and fresh >= NEW_SHARE * whole


def select_lines(
    lines: Sequence[NoteLine], budget: int, caps: Mapping[str, int], floors: Mapping[str, int]
) -> LineSelection:
    """Select lines: first those that must be included, in order; then the best of each section up
    to its floor; then the rest by worth while there is room.
    """
    chosen = LineSelection(budget, caps)
    for each in lines:
        if each.must:
            chosen.add(each)
    rest = sorted([each for each in lines if not each.must], key=line_worth, reverse=True)
    filled = _fill_floors(chosen, rest, floors)
    left: list[NoteLine] = []
    for each in rest:
        if chosen.is_full:
            return chosen
        if (
            id(each) not in filled
            and chosen.fits(each)
            and not (chosen.says_new(each) and chosen.add(each))
        ):
            left.append(each)
    for each in left:
        whole = each.weight >= WHOLE_WEIGHT
        if (
            (whole or each.weight >= FILL_WEIGHT)
            and chosen.fits(each)
            and (whole or chosen.newness(each) > FILL_SHARE)
        ):
            chosen.add(each)
    return chosen


def _fill_floors(
    chosen: LineSelection, rest: list[NoteLine], floors: Mapping[str, int]
) -> set[int]:
    """Fill each section up to its floor; returns the ids of the lines added."""
    of_section: dict[str, list[NoteLine]] = {section: [] for section in floors}
    for each in rest:
        if each.section in of_section:
            of_section[each.section].append(each)
    filled: set[int] = set()
    for section, floor in floors.items():
        filled |= _fill_section(chosen, of_section[section], floor)
    return filled


def _fill_section(chosen: LineSelection, lines: list[NoteLine], floor: int) -> set[int]:
    """Add the best lines of one section up to its floor; returns the ids of those added."""
    filled: set[int] = set()
    for each in lines:
        used = chosen.per_section.get(each.section, 0)
        if used + MIN_LINE_TOKENS > floor or chosen.is_full:
            break
        if (
            used + each.cost <= floor
            and chosen.fits(each)
            and chosen.says_new(each)
            and chosen.add(each)
        ):
            filled.add(id(each))
    return filled
